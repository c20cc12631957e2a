//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// costs are what a command says by session.
type costs struct {
	Groups []struct {
		Key                       string
		InputTokens, OutputTokens int64
		TotalUSD                  float64
	}
}

func (c costs) lines() map[string]string {
	m := map[string]string{}
	for _, g := range c.Groups {
		m[g.Key] = fmt.Sprintf("%d/%d $%.6f", g.InputTokens, g.OutputTokens, g.TotalUSD)
	}
	return m
}

// helper makes the agent start a sub-agent, for those that have one.
var helper = map[string]string{
	"claude": `{"name":"Task","input":{"description":"look","prompt":"look around","subagent_type":"general-purpose"}}`,
	"qwen":   `{"name":"agent","input":{"description":"look","prompt":"look around","subagent_type":"general-purpose"}}`,
}

// TestCosts: what Drawbar's record says of runs, what the agent's own files say of their sessions, and what the model server sent is
// the same, by session: with resumes, a fork, a sub-agent, and what the agent asks for by itself.
func TestCosts(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		turn := func(text string, in, out int, tools string) string {
			return fmt.Sprintf(`{"text":%q,"usage":{"input":%d,"output":%d},"tools":[%s]}`, text, in, out, tools)
		}
		turns := []string{turn("one", 7000, 700, ""), turn("again", 80, 8, ""), turn("two", 200, 20, "")}
		if k.name != "gemini" && k.name != "copilot" { // these fork nothing
			turns = append(turns, turn("three", 30, 3, ""))
		}
		if tool := helper[k.name]; tool != "" {
			turns = append(turns, turn("I ask.", 400, 41, tool), turn("looked", 500, 52, ""), turn("four", 600, 63, ""))
		} else {
			turns = append(turns, turn("four", 600, 63, ""))
		}
		l := newLab(t, k, `{"onExhausted":"text:more","defaults":{"usage":{"input":11,"output":1}},"side":{"usage":{"input":90,"output":9}},"turns":[`+strings.Join(turns, ",")+`]}`)
		first := l.run("--approve", "yolo", "one")
		first.completed(t)
		if oneShot := l.run("--approve", "deny", "again"); oneShot.result.Model != first.result.Model || first.result.Model == "" {
			t.Errorf("the model is %q, of a run without a second direction %q", first.result.Model, oneShot.result.Model)
		}
		l.run("--approve", "yolo", "--session", first.result.SessionID, "two").completed(t)
		if o := l.run("--approve", "yolo", "--fork", first.result.SessionID, "three"); o.code != 0 && o.code != 6 {
			t.Errorf("fork: exit code %d", o.code)
		}
		l.run("--approve", "yolo", "--session", first.result.SessionID, "four").completed(t)
		record, files := answer[costs](l, "cost", "--by", "session").lines(), answer[costs](l, "sessions", "cost", "--by", "session").lines()
		for s, want := range files {
			if k.ownTokens != "" {
				partly(t, k.ownTokens)
				continue
			}
			if k.drives != "" { // whose files they are
				record[s] = record[k.name+strings.TrimPrefix(s, k.drives)]
			}
			if k.lateCost != "" { // the tokens are the same
				partly(t, k.lateCost)
				record[s], _, _ = strings.Cut(record[s], " ")
				want, _, _ = strings.Cut(want, " ")
			}
			if record[s] != want {
				t.Errorf("%s: the record has %s, the files have %s", s, record[s], want)
			}
		}
		t.Logf("%d requests; by session %v", len(l.model.Requests()), files)
	})
}

// TestGuessedCost: a model that Claude knows no price of has none here either, whatever Claude makes of its tokens.
func TestGuessedCost(t *testing.T) {
	only(t, "claude", func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"one","usage":{"input":100,"output":20}}]}`)
		o := l.run("--approve", "yolo", "--model", "scripted-model", "go")
		o.completed(t)
		if c := o.result.Cost; c == nil || !c.Unpriced || c.TotalUSD != nil || c.InputTokens != 100 {
			t.Errorf("the cost of a run whose model has no price: %+v", c)
		}
		for _, of := range []string{"cost", "sessions cost"} {
			if o := l.command(strings.Fields(of)...); !strings.Contains(o.stdout, "?") || strings.Contains(o.stdout, "0.0000") {
				t.Errorf("drawbar %s:\n%s", of, o.stdout)
			}
		}
	})
}

// TestCostOfAStoppedRun: a run that is stopped by a limit costs what its tokens cost, although the agent never says so.
func TestCostOfAStoppedRun(t *testing.T) {
	only(t, "claude", func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"text":"one","usage":{"input":50000,"output":100},"tools":[%s]}]}`, k.shell("sleep 60")))
		o := l.run("--approve", "yolo", "--model", "claude-opus-5-5", "--timeout", "5s", "go")
		c := o.result.Cost
		if c == nil || c.TotalUSD == nil || *c.TotalUSD < 0.2 || c.Source != "table" || c.Unpriced {
			t.Errorf("the cost of a run that was stopped: %+v", c)
		}
		if o := l.command("cost"); !strings.Contains(o.stdout, "0.20") {
			t.Errorf("drawbar cost:\n%s", o.stdout)
		}
	})
}

// TestCostsOfBrokenRuns: what the record says of a session whose runs were interrupted, killed or timed out, and of a conversation, is
// what the agent's own files say of it.
func TestCostsOfBrokenRuns(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		if k.drives != "" {
			unsupported(t, "its sessions are those of the agent that it drives")
			return
		}
		l := newLab(t, k, fmt.Sprintf(`{"onExhausted":"text:more","defaults":{"usage":{"input":1000,"output":100}},"side":{"usage":{"input":90,"output":9}},"turns":[
			{"text":"I try.","tools":[%[1]s]},{"text":"I try.","tools":[%[1]s]},{"text":"I try.","tools":[%[1]s]},{"text":"I try.","tools":[%[1]s]},{"text":"one"},{"text":"two"},{"text":"three"}]}`, k.shell("tail -f /dev/null")))
		was := map[string]string{}
		name := func(o outcome, what string) { was[o.result.SessionID] = what }
		name(signalled(syscall.SIGINT)(l), "interrupted")
		switch {
		case k.revives != "": // what it would use then is no run's
			defect(t, k.revives)
		case k.inside: // it cannot be killed alone
			name(signalled(syscall.SIGINT)(l), "interrupted")
		default:
			name(agentKilled(l), "killed")
		}
		if k.revives == "" {
			lost := l.start("--approve", "yolo", "go")
			begun := await[execution.SessionStart](lost)
			was[begun.SessionID] = "lost"
			lost.toolRuns()
			if err := lost.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = lost.cmd.Wait() // killed
			l.noSurvivors()
		}
		name(l.run("--approve", "yolo", "--timeout", max(12*time.Second, k.slowStart).String(), "--grace", "2s", "go"), "timed out")
		s := l.startWith(true, "-i", "one")
		for i, line := range []string{"two\n", "three\n", ""} {
			s.until("turn_end", func(e execution.Event) bool { _, ok := e.Body.(execution.TurnEnd); return ok && e.Parent == "" })
			if _, err := s.in.Write([]byte(line)); err != nil {
				t.Fatalf("turn %d: %v", i, err)
			}
		}
		if err := s.in.Close(); err != nil {
			t.Fatal(err)
		}
		name(s.end(), "conversation")
		record, files := answer[costs](l, "cost", "--by", "session").lines(), answer[costs](l, "sessions", "cost", "--by", "session").lines()
		unknown := false
		for session, what := range was {
			r, f := record[k.name+":"+session], files[k.name+":"+session]
			t.Logf("%-12s record %s, files %s", what, r, f)
			if f == "" && (what == "killed" || what == "lost") && strings.HasPrefix(r, "1000/100 ") { // the tokens were streamed, and the end came before the file
				partly(t, "the tokens of a run that was "+what+" are in the record and in no file")
				continue
			}
			if f == "" { // it ended before it wrote that part of its file
				if what != "killed" && what != "lost" && k.forgets == "" {
					t.Errorf("%s: the files have nothing", what)
				}
				partly(t, "the tokens of a run that was "+what+" are in no file: its cost is unknown")
				f, unknown = "0/0 $0.000000", true
			}
			if k.lateCost != "" { // the tokens are the same
				partly(t, k.lateCost)
				r, _, _ = strings.Cut(r, " ")
				f, _, _ = strings.Cut(f, " ")
			}
			if r != f {
				t.Errorf("%s: the record has %q, want %q", what, r, f)
			}
		}
		if o := l.command("cost"); strings.Contains(o.stderr, "used an unknown number of tokens") != unknown {
			t.Errorf("drawbar cost: %s", o.stderr)
		}
		t.Logf("record %v, files %v", record, files)
	})
}
