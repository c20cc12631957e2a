package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// TestContextFill: the last line states how full the context is after the last model call, if the agent reports usage by call.
func TestContextFill(t *testing.T) {
	t.Parallel()
	usage := func(in, out int64) execution.Body {
		return execution.TokenUsage{InputTokens: in / 2, CachedTokens: in - in/2, OutputTokens: out}
	}
	start, end, tool := execution.StepStart{}, execution.StepEnd{}, execution.ToolResultEvent{}
	for name, c := range map[string]struct {
		bodies []execution.Body
		window int64
		want   string
	}{
		"the last call":              {[]execution.Body{start, usage(9_000, 10), end, tool, start, usage(19_000, 1000), end}, 200_000, " · context 20k of 200k (10%)"},
		"increments of one call":     {[]execution.Body{start, usage(1_000, 0), usage(0, 500), end}, 3_000, " · context 1500 of 3000 (50%)"},
		"a sum after the calls":      {[]execution.Body{start, usage(9_000, 10), end, usage(30_000, 10)}, 200_000, ""},
		"several calls in one step":  {[]execution.Body{start, tool, usage(30_000, 10), end}, 200_000, ""},
		"compacted":                  {[]execution.Body{start, usage(9_000, 10), end, execution.ContextCompacted{}}, 200_000, ""},
		"from the session file":      {[]execution.Body{start, execution.TokenUsage{InputTokens: 5, FromSession: true}, end}, 200_000, ""},
		"the window is unknown":      {[]execution.Body{start, usage(9_000, 10), end}, 0, ""},
		"more than the window holds": {[]execution.Body{start, usage(9_000, 10), end}, 8_000, ""},
	} {
		var out, err bytes.Buffer
		r := NewRenderer(&App{Out: &out, Err: &err, NoColor: true}, false, nil)
		r.Window = func(agent, model string) int64 {
			if agent != "a" || model != "m" {
				t.Errorf("window of %s %s", agent, model)
			}
			return c.window
		}
		for _, b := range c.bodies {
			r.Event(execution.Event{Body: b})
		}
		r.Event(execution.Event{Parent: "sub", Body: usage(1, 1)})
		r.Event(execution.Event{Body: execution.Finished{Result: execution.Result{Agent: "a", Model: "m", Status: execution.StatusCompleted}}})
		line := err.String()
		line, _, _ = strings.Cut(line[strings.Index(line, "a · m"):], "\n")
		if want := "a · m · 0s · cost unknown" + c.want; line != want {
			t.Errorf("%s: %q, want %q", name, line, want)
		}
	}
}
