package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern"
)

const peopleConfig = `{"schema_version":"1.0","project":{"id":"crash","name":"Crash"},
"roles":{"dev":{"title":"Developer","mandate":"Build.","write_authority":"authoritative","runtime":"hand"},
"adviser":{"title":"Adviser","mandate":"Advise.","write_authority":"proposed","runtime":"hand"}},
"runtimes":{"hand":{"type":"manual"}},
"routing":{"implementation":{"entry_role":"dev","allowed_next_roles":["dev","adviser","human"],"exit_gate":"done"}},
"gates":{"done":{"requires_human_approval":true}},"rules":{"challenge_required":false},"workflow_kit":{}}
`

// TestPeopleKills kills with SIGKILL what a person types: the commands that make a turn ready, hand it in, accept, object,
// decline, approve, and apply or reject what was proposed. After each kill nothing that was accepted or applied is lost or
// there twice, the record fits its chain and its commits, and the same way of working goes on. bench/crash.sh does it a
// thousand times.
func TestPeopleKills(t *testing.T) {
	killPeople(t, *kills/2, 25, func(ctx context.Context, o killing, n int) (person, error) {
		s, err := newProject(ctx, o, n, peopleConfig)
		return somebody{s}, err
	})
}

// killPeople kills commands of a person n times.
func killPeople(t *testing.T, n, every int, begin func(ctx context.Context, o killing, n int) (person, error)) {
	if runtime.GOOS == "windows" || testing.Short() {
		t.Skip("SKIPPED: needs a shell and some ten seconds")
	}
	drawbar, err := build()
	if err != nil {
		t.Fatal(err)
	}
	got, err := killing{drawbar: drawbar, kills: max(1, n), every: every, seed: *seed, dir: t.TempDir(), out: os.Stderr}.people(t.Context(), begin)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(got.tally, got.by)
	if got.running < n/4 || got.accepted == 0 {
		t.Errorf("the kills hit nothing: %s", got.tally)
	}
}

type peopleTally struct {
	tally
	by map[string]int // kills by command
}

// person works in a project.
type person interface {
	// types is what they would type now.
	types(*rand.Rand) ([]string, error)
	// sound looks for what a kill must not have done. pending is 1 when a transaction is left to finish.
	sound(context.Context) (pending int, err error)
	of() *subject
	accepted() int
}

// people kills commands of a person in one project after another. Each is typed again until it has done its work, and then the
// next is typed.
func (o killing) people(ctx context.Context, begin func(ctx context.Context, o killing, n int) (person, error)) (t peopleTally, err error) {
	t.seed, t.by = o.seed, map[string]int{}
	started := time.Now()
	defer func() { t.took = time.Since(started) }()
	random := rand.New(rand.NewPCG(o.seed, 2)) //nolint:gosec // the moments need no secrecy
	longest := map[string]time.Duration{}
	for n := 0; t.kills < o.kills; n++ {
		p, err := begin(ctx, o, n)
		if err != nil {
			return t, err
		}
		s := p.of()
		for last := t.kills + o.every; t.kills < min(last, o.kills); {
			command, err := p.types(random)
			if err != nil {
				return t, fmt.Errorf("in %s: %w", s.root, err)
			}
			kind := strings.Join(command[:min(2, len(command))], " ")
			if longest[kind] == 0 { // the first of its kind says how long it takes
				started := time.Now()
				if out, err := s.command(ctx, o.drawbar, append([]string{"govern"}, command...)...).CombinedOutput(); unlimited(err) != nil {
					return t, fmt.Errorf("govern %v in %s: %w: %s", command, s.root, err, out)
				}
				longest[kind] = time.Since(started)
				continue
			}
			moment := time.Duration(random.Int64N(int64(longest[kind])))
			alive, err := s.killed(ctx, moment, command...)
			pending := 0
			if err == nil {
				pending, err = p.sound(ctx)
			}
			if err != nil {
				return t, fmt.Errorf("kill %d, of govern %v %s after its start, in %s: %w", t.kills, command, moment, s.root, err)
			}
			t.resume += pending
			t.kills, t.by[kind] = t.kills+1, t.by[kind]+1
			if alive {
				t.running++
				longest[kind] += longest[kind] / 20
			} else {
				t.after++
				longest[kind] -= longest[kind] / 10
			}
		}
		t.accepted += p.accepted()
		if err := os.RemoveAll(s.root); err != nil {
			return t, err
		}
	}
	return t, nil
}

// somebody carries one run by hand.
type somebody struct{ *subject }

func (s somebody) of() *subject  { return s.subject }
func (s somebody) accepted() int { return len(s.turns) }

func (s somebody) types(random *rand.Rand) ([]string, error) {
	var st struct {
		Status  string
		Pending string `json:"pending_gate"`
		Turns   []struct {
			ID     string `json:"turn_id"`
			Role   string `json:"assigned_role"`
			Staged bool
		} `json:"active_turns"`
		Objections []struct{ ID string } `json:"open_objections"`
	}
	var proposals []govern.Proposal
	if err := errors.Join(s.ask(&st, "status"), s.ask(&proposals, "proposal", "list", "--open")); err != nil {
		return nil, err
	}
	coin := random.IntN(2) == 0
	switch {
	case len(proposals) > 0 && random.IntN(4) == 0:
		return []string{"proposal", "reject", proposals[0].TurnID, "--reason", "not needed"}, nil
	case len(proposals) > 0:
		return []string{"proposal", "apply", proposals[0].TurnID}, nil
	case len(st.Turns) == 0: // the next turn starts from a clean tree
		if err := s.commitAdvice(); err != nil {
			return nil, err
		}
	}
	switch {
	case st.Status == "completed":
		return []string{"restart"}, nil
	case len(st.Objections) > 0 && coin:
		return []string{"objections", "resolve", st.Objections[0].ID, "--reason", "settled"}, nil
	case st.Pending != "" && coin:
		return []string{"decline", "--reason", "not yet"}, nil
	case st.Pending != "":
		return []string{"approve", "--comment", "good"}, nil
	case len(st.Turns) > 0 && st.Turns[0].Staged:
		return []string{"step"}, nil
	case len(st.Turns) > 0 && st.Turns[0].Role == "adviser":
		file := filepath.Join(s.o.dir, "advice")
		err := os.WriteFile(file, []byte(st.Turns[0].ID), 0o600)
		return []string{"submit", "--summary", "a piece of advice", "--replace", "--next", "dev", "--propose", adviceOf(st.Turns[0].ID) + "=" + file}, err
	case len(st.Turns) > 0:
		f, err := os.OpenFile(filepath.Join(s.root, "work.txt"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		_, err = fmt.Fprintln(f, st.Turns[0].ID)
		args := []string{"submit", "--summary", "a line more", "--replace"}
		switch random.IntN(3) {
		case 0:
			args = append(args, "--complete")
		case 1, 2:
			args = append(args, "--next", "adviser")
		}
		if random.IntN(4) == 0 {
			args = append(args, "--objection", "blocking: look at it")
		}
		return args, errors.Join(err, f.Close())
	}
	return []string{"step", "--no-wait"}, nil
}

func adviceOf(turn string) string { return "advice-" + turn + ".txt" }

// commitAdvice commits what was applied, as the command says.
func (s somebody) commitAdvice() error {
	for _, args := range [][]string{{"status", "--porcelain", "--", adviceOf("*")}, {"add", "--all", "--", adviceOf("*")}, {"commit", "--quiet", "--message", "advice"}} {
		out, err := s.command(context.Background(), "git", args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
		if args[0] == "status" && len(out) == 0 {
			return nil
		}
	}
	return nil
}

// advised looks for a proposal that is not what its decision says.
func (s somebody) advised() error {
	var proposals []govern.Proposal
	if err := s.ask(&proposals, "proposal", "list"); err != nil {
		return err
	}
	for _, p := range proposals {
		b, err := os.ReadFile(filepath.Join(s.root, adviceOf(p.TurnID)))
		switch {
		case p.Fault != "":
			return fmt.Errorf("the proposal of %s: %s", p.TurnID, p.Fault)
		case err == nil && string(b) != p.TurnID:
			return fmt.Errorf("the proposal of %s is half there: %q", p.TurnID, b)
		case p.Status == govern.ProposalApplied && err != nil:
			return fmt.Errorf("the proposal of %s was applied: %w", p.TurnID, err)
		}
	}
	return nil
}

func (s somebody) sound(ctx context.Context) (pending int, err error) {
	if pending, err = s.look(); err != nil {
		return pending, err
	}
	if pending == 0 { // the folder of a proposal may be a part of what is left to finish
		if err := s.advised(); err != nil {
			return pending, err
		}
	}
	return pending, s.verified(ctx)
}

// verified looks for a record that does not hold, and for turns with two checkpoints.
func (s *subject) verified(ctx context.Context) error {
	var rep struct {
		OK     bool
		Broken any
		Git    any
	}
	if err := s.ask(&rep, "verify"); err != nil {
		return err
	}
	if !rep.OK {
		return fmt.Errorf("the record does not hold: %v %v", rep.Broken, rep.Git)
	}
	out, err := s.command(ctx, "git", "log", "--format=%(trailers:key=AgentXchain-Turn,valueonly,separator=%x2c)").Output()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for turn := range strings.FieldsSeq(string(out)) {
		if seen[turn] {
			return fmt.Errorf("turn %s has two checkpoints", turn)
		}
		seen[turn] = true
	}
	return nil
}
