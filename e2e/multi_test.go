//go:build e2e

package e2e

import (
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

// multiProject is a repository of TestGovernedMulti, whose developer is an agent.
const multiProject = `{
  "schema_version": "1.0", "project": {"id": %[1]q, "name": %[1]q},
  "roles": {"dev": {"title": "Developer", "mandate": "Build it.", "write_authority": "authoritative", "runtime": "agent"}},
  "runtimes": {"agent": {"type": "agent", "agent": %[2]q, "approve": "yolo"}},
  "routing": {"build": {"entry_role": "dev", "allowed_next_roles": ["dev", "human"]}},
  "rules": {"challenge_required": false}, "workflow_kit": {}
}`

const multiConfig = `{
  "schema_version": "0.1", "project": {"id": "m", "name": "M"},
  "repos": {"api": {"path": "./api"}, "web": {"path": "./web"}},
  "workstreams": {
    "first": {"phase": "build", "repos": ["api"], "entry_repo": "api", "depends_on": [], "completion_barrier": "all_repos_accepted"},
    "order": {"phase": "build", "repos": ["api", "web"], "entry_repo": "web", "depends_on": ["first"], "completion_barrier": "ordered_repo_sequence"},
    "align": {"phase": "build", "repos": ["web"], "entry_repo": "web", "depends_on": ["order"], "completion_barrier": "interface_alignment",
      "interface_alignment": {"decision_ids_by_repo": {"web": ["DEC-201"]}}},
    "names": {"phase": "build", "repos": ["api"], "entry_repo": "api", "depends_on": ["align"], "completion_barrier": "named_decisions",
      "named_decisions": {"decision_ids_by_repo": {"api": ["DEC-101"]}}},
    "person": {"phase": "build", "repos": ["web"], "entry_repo": "web", "depends_on": ["names"], "completion_barrier": "shared_human_gate"}
  },
  "routing": {"build": {"entry_workstream": "first"}}
}`

// TestGovernedMulti: two repositories, in which Claude Code and Codex work, go through every kind of barrier. Commands are killed while an agent
// works and between a repository's acceptance and what the coordinator makes of it.
func TestGovernedMulti(t *testing.T) {
	only(t, "claude", func(t *testing.T, k kit) {
		g := newGoverned(t, k, "")
		base := g.work
		g.file(protocol.CoordinatorConfigFile, multiConfig)
		agents := map[string]kit{"api": k, "web": kits[slices.IndexFunc(kits, func(k kit) bool { return k.name == "codex" })]}
		in := func(repo string) *governed {
			l := *g.lab
			l.work, l.kit = filepath.Join(base, repo), agents[repo]
			return &governed{&l}
		}
		for repo, k := range agents {
			p := in(repo)
			p.file("agentxchain.json", fmt.Sprintf(multiProject, repo, k.name))
			p.file(".gitignore", ".agentxchain/\nTALK.md\n")
			for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.email", "e2e@localhost"}, {"config", "user.name", "e2e"}, {"add", "-A"}, {"commit", "-qm", "start"}} {
				p.git(args...)
			}
			p.trust()
		}
		multi := func(args ...string) govern.MultiReport {
			t.Helper()
			return answer[govern.MultiReport](g.lab, append([]string{"govern", "multi"}, args...)...)
		}
		if st := answer[govern.MultiStatus](g.lab, "govern", "multi", "init"); !st.Begun || len(st.Repos) != 2 {
			t.Fatalf("%+v", st)
		}
		// prepare assigns the next turn and tells the agent's model what to do in it.
		prepare := func(repo, workstream string, wait string, more map[string]any) govern.MultiReport {
			t.Helper()
			r := multi("step", "--assign")
			if r.Action != govern.MultiAssigned || r.RepoID != repo || r.WorkstreamID != workstream {
				t.Fatalf("next is %s of %s, want %s of %s: %+v", r.WorkstreamID, r.RepoID, workstream, repo, r)
			}
			p := in(repo)
			file := workstream + ".txt"
			fields := map[string]any{"objections": []any{}, "files_changed": []string{file}, "verification": verified("pass", "true"), "artifact": map[string]any{"type": "workspace", "ref": nil}}
			for key, v := range more {
				fields[key] = v
			}
			var turns []string
			if wait != "" {
				turns = append(turns, `{"tools":[`+p.kit.shell("touch "+wait+".on; until test -e "+wait+"; do sleep 0.1; done")+`]}`)
			}
			g.kit = p.kit
			g.script(append(turns,
				`{"tools":[`+p.kit.write(filepath.Join(p.work, file), workstream+"\n")+`]}`,
				`{"tools":[`+p.kit.write(filepath.Join(p.work, filepath.FromSlash(stagedPath(r.TurnID))), p.result(r.TurnID, "dev", "agent", fields))+`]}`,
				`{"text":"Done.","repeat":true}`)...)
			return r
		}
		// turn is prepare, and runs it.
		turn := func(repo, workstream string, more map[string]any) {
			t.Helper()
			assigned := prepare(repo, workstream, "", more)
			r := multi("step")
			if r.Turn == nil || r.Turn.Outcome != govern.OutcomeAccepted && r.Turn.Outcome != govern.OutcomeCompleted || r.TurnID != assigned.TurnID {
				t.Fatalf("%s of %s: %+v", workstream, repo, r.Turn)
			}
		}
		decides := func(id string) map[string]any {
			return map[string]any{"decisions": []any{map[string]any{"id": id, "category": "architecture", "statement": "so it is", "rationale": "because"}}}
		}
		projected := func(id string) (n int) {
			t.Helper()
			b, err := os.ReadFile(filepath.Join(base, filepath.FromSlash(protocol.CoordinatorHistoryFile)))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(b)) {
				if strings.Contains(line, protocol.SuperProjection) && strings.Contains(line, id) {
					n++
				}
			}
			return n
		}

		// killed while the agent works: the same turn is taken up
		go1 := filepath.Join(base, "go")
		killed := prepare("api", "first", go1, nil)
		w := g.begin("multi", "step", "--json")
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			if _, err := os.Stat(go1 + ".on"); err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the agent does not work: %s", w.err.String())
			}
		}
		_ = w.cmd.Process.Kill()
		<-w.done
		if err := os.WriteFile(go1, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := multi("step"); r.TurnID != killed.TurnID || r.Turn == nil || r.Turn.Outcome != govern.OutcomeAccepted || projected(killed.TurnID) != 1 {
			t.Fatalf("after a kill in the turn %s: %+v %+v", killed.TurnID, r, r.Turn)
		}

		// accepted in the repository, and nobody told the coordinator, as after a kill between the two
		order := prepare("web", "order", "", nil)
		told, err := os.ReadFile(filepath.Join(base, "web", ".agentxchain", "dispatch", "turns", order.TurnID, "CONTEXT.md"))
		if err != nil || !strings.Contains(string(told), "\n- api (first): dev has looked Files: `first.txt`.") {
			t.Errorf("what the turn is told of the other repository: %v\n%s", err, told)
		}
		if r := in("web").govern("step"); r.Outcome != "accepted" {
			t.Fatalf("%+v", r)
		}
		if n := projected(order.TurnID); n != 0 {
			t.Errorf("the turn is there %d times before the next command", n)
		}
		turn("api", "order", nil)
		if n := projected(order.TurnID); n != 1 {
			t.Errorf("the turn is there %d times", n)
		}
		turn("web", "align", decides("DEC-201"))
		turn("api", "names", mergedWith(decides("DEC-101"), "run_completion_request", true))
		turn("web", "person", map[string]any{"run_completion_request": true})
		g.kit = k
		if o := g.command("govern", "multi", "step"); o.code != 20 {
			t.Errorf("the gate: exit code %d %s %s", o.code, o.stdout, o.stderr)
		}
		if r := multi("approve-gate"); r.Action != govern.MultiCompleted {
			t.Errorf("%+v", r)
		}
		for repo := range agents {
			if o := in(repo).command("govern", "verify"); o.code != 0 {
				t.Errorf("%s: %s %s", repo, o.stdout, o.stderr)
			}
		}
		st := answer[govern.MultiStatus](g.lab, "govern", "multi", "status")
		for id, b := range st.Barriers.All() {
			if b.Status != protocol.BarrierSatisfied {
				t.Errorf("%s is %s", id, b.Status)
			}
		}
	})
}

func mergedWith(m map[string]any, key string, v any) map[string]any {
	m[key] = v
	return m
}
