package clitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// Damage tests the parser with damaged recordings: a line dropped, a line repeated, the end cut off at each line.
type Damage struct {
	// Success reports whether a line is the agent's statement that the run succeeded.
	Success func(line []byte) bool
	// Usage reports whether a line states tokens that no other line repeats.
	Usage func(line []byte) bool
	// Text reports whether a line contains text of the answer that no other line repeats.
	Text func(line []byte) bool
}

// TestDamaged replays every damaged variant of every transcript. For a conversation only the agent's lines are
// replayed, because the client's do not fit a damaged one.
func (g Goldens) TestDamaged(t *testing.T, d Damage) {
	for _, file := range Glob(t, g.Pattern, g.Least) {
		r := g.recording(t, file)
		lines := lines(r.Stdout)
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			_, whole := g.Replay(t, r)
			for n := range 3 * len(lines) {
				i, what := n/3, []string{"dropped", "doubled", "the last"}[n%3]
				var kept [][]byte
				switch what {
				case "dropped":
					kept = append(append(kept, lines[:i]...), lines[i+1:]...)
				case "doubled":
					kept = append(append(kept, lines[:i+1]...), lines[i:]...)
				default:
					kept = append(kept, lines[:i+1]...)
				}
				damaged := r
				damaged.Stdout = bytes.Join(kept, nil)
				name := fmt.Sprintf("line %d of %d %s: %.200s", i+1, len(lines), what, lines[i])
				events, res := g.Replay(t, damaged)
				d.check(t, name, kept, events, res)
				if what == "dropped" && whole.Status == execution.StatusCompleted && res.Status == execution.StatusCompleted {
					if whole.Text != "" && res.Text == "" && !d.Text(lines[i]) {
						t.Errorf("%s: the text is lost", name)
					}
					if whole.Usage != nil && res.Usage == nil && !d.Usage(lines[i]) {
						t.Errorf("%s: the usage is lost", name)
					}
				}
			}
		})
	}
}

// check checks the events of a damaged recording. The order of events is not checked, because package agent ends
// tools that have no end.
func (d Damage) check(t *testing.T, name string, lines [][]byte, events []execution.Event, res execution.Result) {
	t.Helper()
	said := false
	for _, line := range lines {
		said = said || d.Success(line)
	}
	if res.Status == execution.StatusCompleted && !said {
		t.Errorf("%s: completed although the agent did not state it: %s", name, render(res))
	}
	if err := res.Error; err != nil && strings.Contains(err.Message, "panicked") {
		t.Errorf("%s: %s", name, err.Message)
	}
	for _, e := range events {
		if b, ok := e.Body.(execution.ErrorEvent); ok && strings.Contains(b.Message, "panicked") {
			t.Errorf("%s: %s", name, b.Message)
		}
	}
	CheckUsage(&located{TB: t, name: name}, events, res)
}

func render(res execution.Result) string {
	b, err := json.Marshal(res)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// located adds to each error which mutation caused it.
type located struct {
	testing.TB
	name string
}

func (l *located) Errorf(format string, args ...any) {
	l.Helper()
	l.TB.Errorf("%s: "+format, append([]any{l.name}, args...)...)
}

// Has returns a Success, Usage or Text that searches a line for any of these strings.
func Has(any ...string) func(line []byte) bool {
	return func(line []byte) bool {
		return slices.ContainsFunc(any, func(s string) bool { return bytes.Contains(line, []byte(s)) })
	}
}
