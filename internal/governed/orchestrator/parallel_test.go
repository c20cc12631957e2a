//go:build unix

package orchestrator

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// several is a project in whose only phase roles a, b and c work beside each other.
func several(most int, more string, runtimes ...string) string {
	var roles, rts, next []string
	for i, rt := range runtimes {
		id := string(rune('a' + i))
		roles = append(roles, fmt.Sprintf(`%q:{"title":%q,"mandate":"Build.","write_authority":"authoritative","runtime":"rt-%s"}`, id, id, id))
		rts = append(rts, fmt.Sprintf(`"rt-%s":%s`, id, rt))
		next = append(next, fmt.Sprintf("%q", id))
	}
	return `{"schema_version":"1.0","project":{"id":"p","name":"P"},"roles":{` + strings.Join(roles, ",") + `},"runtimes":{` + strings.Join(rts, ",") + `},
"routing":{"build":{"entry_role":"a","allowed_next_roles":[` + strings.Join(next, ",") + `,"human"],"exit_gate":"done","max_concurrent_turns":` + fmt.Sprint(most) + `}},
"gates":{"done":{"requires_verification_pass":true}},"rules":{"challenge_required":false}` + more + `,"workflow_kit":{}}`
}

func init() {
	// Each works on a file of its own, but not before all of them work.
	workers["together"] = func(w *worker) {
		role, _ := w.assignment["role"].(string)
		w.outside("at-"+role, "")
		w.meet(os.Args[1:])
		w.append(role + ".txt")
		r := w.result(role + ".txt")
		r["proposed_next_role"] = role
		w.stage(r)
	}
	// All change one file, in places that no merge brings together; a second attempt finds what was accepted.
	workers["same file"] = func(w *worker) {
		role, _ := w.assignment["role"].(string)
		if w.attempt == 1 {
			w.outside("at-"+role, "")
			w.meet(os.Args[1:])
		}
		b, _ := os.ReadFile("README.md")
		w.put("README.md", strings.TrimSpace(string(b))+" "+role+"\n")
		for i := range 9 {
			w.put(fmt.Sprintf("%s%d.txt", role, i), role)
		}
		files := []string{"README.md"}
		for i := range 9 {
			files = append(files, fmt.Sprintf("%s%d.txt", role, i))
		}
		r := w.result(files...)
		r["proposed_next_role"] = role
		w.stage(r)
	}
	workers["file of the role"] = func(w *worker) {
		role, _ := w.assignment["role"].(string)
		w.append(role + ".txt")
		r := w.result(role + ".txt")
		r["proposed_next_role"] = role
		w.stage(r)
	}
	workers["exit 3 together"] = func(w *worker) { w.outside("at-a", ""); w.meet(os.Args[1:]); os.Exit(3) }
}

// meet waits for other workers.
func (w *worker) meet(roles []string) {
	for _, role := range roles {
		for range 4000 {
			if _, err := os.Stat(filepath.Join(os.Getenv("DRAWBAR_TEST_OUTSIDE"), "at-"+role)); err == nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func (p *world) runs(o govern.RunOptions, want govern.Stop, turns int) govern.RunReport {
	p.t.Helper()
	r, err := p.engine().Run(p.t.Context(), o)
	if err != nil || r.Stop != want || len(r.Turns) != turns {
		p.t.Fatalf("stop %s, %d turns, want %s, %d: %v (%s) %+v", r.Stop, len(r.Turns), want, turns, err, hint(err), r.Last)
	}
	return r
}

// Where a phase allows it, turns of several roles work at once, each in a worktree, and all are accepted.
func TestParallelTurns(t *testing.T) {
	t.Setenv("DRAWBAR_TEST_OUTSIDE", t.TempDir())
	all := []string{runtimeOf("together", "a", "b", "c"), runtimeOf("together", "a", "b", "c"), runtimeOf("together", "a", "b", "c")}
	p := newProject(t, several(3, "", all...))
	r := p.runs(govern.RunOptions{MaxTurns: 3}, govern.StopMaxTurns, 3)
	var roles []string
	for _, turn := range r.Turns {
		if turn.Outcome != govern.OutcomeAccepted {
			t.Errorf("%s: %s %v", turn.Role, turn.Outcome, turn.Errors)
		}
		roles = append(roles, turn.Role)
	}
	if slices.Sort(roles); strings.Join(roles, "") != "abc" || strings.Count(p.read("a.txt")+p.read("b.txt")+p.read("c.txt"), "\n") != 3 {
		t.Errorf("%v %q", roles, p.read("a.txt"))
	}
	for _, h := range p.history() {
		if len(h.ConcurrentWith) != 2 {
			t.Errorf("%s was beside %v", h.Role, h.ConcurrentWith)
		}
	}
	p.sound()
	if left := p.git("worktree", "list"); strings.Count(left, "\n") != 0 || p.git("status", "--short") != "" {
		t.Errorf("left behind: %s %s", left, p.git("status", "--short"))
	}
	// Another limit: never more than two at once. The workers wait for each other no longer.
	p.write("agentxchain.json", several(2, "", runtimeOf("together"), runtimeOf("together"), runtimeOf("together")))
	p.git("commit", "-qam", "two")
	p.runs(govern.RunOptions{MaxTurns: 5}, govern.StopMaxTurns, 5)
	for _, h := range p.history()[3:] {
		if len(h.ConcurrentWith) > 2 { // one before, and one after
			t.Errorf("%s was beside %v", h.Role, h.ConcurrentWith)
		}
	}
	p.sound()
}

// A turn whose files were overtaken begins again on top of what was accepted, by itself.
func TestParallelConflict(t *testing.T) {
	t.Setenv("DRAWBAR_TEST_OUTSIDE", t.TempDir())
	p := newProject(t, several(2, "", runtimeOf("same file", "a", "b"), runtimeOf("same file", "a", "b")))
	r := p.runs(govern.RunOptions{MaxTurns: 2}, govern.StopMaxTurns, 2)
	accepted := 0
	for _, turn := range r.Turns {
		if turn.Outcome == govern.OutcomeAccepted {
			accepted++
		}
	}
	if text := p.read("README.md"); accepted != 2 || text != "start a b\n" && text != "start b a\n" || len(p.events("turn_conflicted")) != 1 {
		t.Errorf("%d accepted, %q, %d conflicts", accepted, text, len(p.events("turn_conflicted")))
	}
	p.sound()
	if left := p.git("worktree", "list"); strings.Count(left, "\n") != 0 {
		t.Errorf("left behind: %s", left)
	}
}

// A turn that fails stops the run, but not before the turns beside it have ended.
func TestParallelFailure(t *testing.T) {
	t.Setenv("DRAWBAR_TEST_OUTSIDE", t.TempDir())
	p := newProject(t, several(2, "", runtimeOf("exit 3 together", "b"), runtimeOf("together", "a")))
	p.runs(govern.RunOptions{MaxTurns: 2}, govern.StopBlocked, 2)
	if got := p.accepted(); len(got) != 1 || p.state().ActiveTurns.Len() != 1 {
		t.Errorf("accepted %v, %d active", got, p.state().ActiveTurns.Len())
	}
	p.sound()
}

// A process that is killed with two turns in work: the next one takes up both.
func TestParallelAfterAKill(t *testing.T) {
	t.Setenv("DRAWBAR_TEST_OUTSIDE", t.TempDir())
	p := newProject(t, several(2, "", runtimeOf("together", "a", "b"), runtimeOf("together", "a", "b")))
	ctx, cancel := context.WithCancel(t.Context())
	p.write("agentxchain.json", several(2, "", runtimeOf("hangs"), runtimeOf("hangs")))
	p.git("commit", "-qam", "hang")
	done := make(chan govern.RunReport)
	go func() { r, _ := p.engine().Run(ctx, govern.RunOptions{}); done <- r }()
	until(t, "two turns work", func() bool { return len(p.heard(govern.NoticeDispatched)) == 2 })
	cancel()
	if r := <-done; r.Stop != govern.StopInterrupted || len(r.Turns) != 2 {
		t.Fatalf("%s %d", r.Stop, len(r.Turns))
	}
	ids := p.state().ActiveTurns.Keys()
	if _, err := p.engine().Step(t.Context(), govern.StepOptions{}); err == nil || !strings.Contains(hint(err), "--turn") {
		t.Errorf("which of two turns: %v (%s)", err, hint(err))
	}
	p.write("agentxchain.json", several(2, "", runtimeOf("together", "a", "b"), runtimeOf("together", "a", "b")))
	p.git("commit", "-qam", "go on")
	p.runs(govern.RunOptions{MaxTurns: 2}, govern.StopMaxTurns, 2)
	got := p.accepted()
	slices.Sort(got)
	if slices.Sort(ids); !slices.Equal(got, ids) {
		t.Errorf("%v, want %v", got, ids)
	}
	p.sound()
}

// A role that was asked for begins beside the active one; a phase for one turn at a time refuses it, and so does a project without git.
func TestStepBeside(t *testing.T) {
	t.Setenv("DRAWBAR_TEST_OUTSIDE", t.TempDir())
	config := several(2, "", manualRuntime, manualRuntime)
	p := newProject(t, config)
	first := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true, Role: "a"}).TurnID
	second := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true, Role: "b"}).TurnID
	if again := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true, Role: "a"}).TurnID; again != first || p.state().ActiveTurns.Len() != 2 {
		t.Errorf("%s, %s, and again %s", first, second, again)
	}
	for _, id := range []string{first, second} {
		if p.state().ActiveTurns.At(id).Worktree != protocol.WorktreesDir+"/"+id {
			t.Errorf("worktree %q", p.state().ActiveTurns.At(id).Worktree)
		}
	}
	q := newProject(t, strings.Replace(config, `"max_concurrent_turns":2`, `"max_concurrent_turns":1`, 1))
	q.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true, Role: "a"})
	if _, err := q.engine().Step(t.Context(), govern.StepOptions{NoWait: true, Role: "b"}); err == nil {
		t.Error("two turns at once")
	}
}
