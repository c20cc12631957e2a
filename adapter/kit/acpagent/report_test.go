package acpagent

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// TestReports: what an extension reports of model calls is counted once, whether it comes before or after the reply to the prompt, and
// decides how the turn ended.
func TestReports(t *testing.T) {
	t.Parallel()
	call := Report{Ended: true, Usage: execution.Usage{Input: 10, Output: 1}, USD: 0.25}
	of := func(r Report, session string) Report { r.Session = session; return r }
	failed, retry := Report{Ended: true, Failed: execution.CodeProvider, Message: "no route"}, Report{Retry: execution.CodeProvider, Message: "no route"}
	cost := update("usage_update", `"used":1,"size":9,"cost":{"amount":7,"currency":"USD"}`)
	over := `{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","usage":{"inputTokens":90,"outputTokens":9}}}`
	broken := `{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Internal error"}}`
	for _, tc := range []struct {
		name    string
		lines   []any
		status  execution.Status
		input   int64
		usd     float64
		retries int
	}{
		{"none", []any{over}, execution.StatusCompleted, 90, 0, 0},
		{"a call", []any{Report{}, call, chunk("well"), cost, over}, execution.StatusCompleted, 10, 0.25, 0},
		{"behind the reply", []any{Report{}, chunk("well"), cost, over, call}, execution.StatusCompleted, 10, 0.25, 0},
		{"of a sub-agent", []any{of(call, "sub"), of(call, "s"), of(failed, "sub"), over}, execution.StatusCompleted, 20, 0.5, 0},
		{"a failure", []any{failed, chunk("no route"), over}, execution.StatusFailed, 0, 0, 0},
		{"a failure that passed", []any{failed, retry, call, chunk("well"), over}, execution.StatusCompleted, 10, 0.25, 1},
		{"a failure before a good call", []any{failed, call, chunk("well"), over}, execution.StatusCompleted, 10, 0.25, 0},
		{"a call that was cut off", []any{call, Report{Lost: true}, over}, execution.StatusCompleted, 10, 0.25, 0},
		{"a model", []any{Report{Model: "a/b"}, Report{Model: "no/other", Session: "sub"}, over}, execution.StatusCompleted, 0, 0, 0},
		{"a notice", []any{Report{Session: "sub", Notice: "refused it"}, over}, execution.StatusCompleted, 0, 0, 0},
		{"a failure that the reply does not explain", []any{Report{}, failed, broken}, execution.StatusFailed, 0, 0, 0},
		{"a failure that is explained after the reply", []any{Report{}, broken, failed}, execution.StatusFailed, 0, 0, 0},
		{"a failure after an answer", []any{call, chunk("well"), failed, over}, execution.StatusFailed, 10, 0.25, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var reports []Report
			spec := Spec{Name: "fake", Report: func(line []byte) (Report, bool) {
				if string(line) != "!" {
					return Report{}, false
				}
				return reports[0], true
			}}
			p, s := spec.NewParser(execution.Request{Message: execution.Message{Text: "hi"}}), cliagent.NewSink(false)
			p.Open(s)
			for _, line := range []string{`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`, `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`} {
				p.Line(process.Stdout, []byte(line), s)
			}
			for _, l := range tc.lines {
				switch l := l.(type) {
				case Report:
					reports = []Report{l}
					p.Line(process.Stderr, []byte("!"), s)
				case string:
					p.Line(process.Stdout, []byte(l), s)
				}
			}
			p.Line(process.Stderr, []byte("no report"), s)
			reports = []Report{{}}
			if noisy := p.(cliagent.Noisy); !noisy.Noise("!") || noisy.Noise("no report") {
				t.Error("a report is shown as the text of a failure, or another line is not")
			}
			res := p.Exit(process.Exit{}, s)
			var usd float64
			retries, notices, lost := 0, "", false
			for _, e := range s.Take() {
				switch b := e.Body.(type) {
				case execution.Debug:
					notices += b.Message
				case execution.CostEvent:
					if b.Cost.TotalUSD == nil {
						lost = b.Cost.Unpriced
						continue
					}
					usd += *b.Cost.TotalUSD
				case execution.Retry:
					retries++
					if b.Code != execution.CodeProvider || b.Reason != "no route" || b.Attempt != retries {
						t.Errorf("%+v", b)
					}
				}
			}
			if want := map[bool]string{true: "fake refused it"}[tc.name == "a notice"]; notices != want {
				t.Errorf("notices %q, want %q", notices, want)
			}
			if lost != (tc.name == "a call that was cut off") {
				t.Errorf("a call is unknown: %v", lost)
			}
			if want := map[bool]string{true: "a/b"}[tc.name == "a model"]; res.Model != want {
				t.Errorf("model %q", res.Model)
			}
			input := int64(0)
			if res.Usage != nil {
				input = res.Usage.Input
			}
			if res.Status != tc.status || input != tc.input || usd != tc.usd || res.Retries != tc.retries || retries != tc.retries {
				t.Errorf("%s %+v, %d in, $%v, %d retries", res.Status, res.Error, input, usd, res.Retries)
			}
			if tc.status == execution.StatusFailed && (res.Error.ErrorCode() != execution.CodeProvider || !strings.Contains(res.Error.Message, "no route") || res.Output != nil) {
				t.Errorf("%+v %+v", res.Error, res.Output)
			}
		})
	}
}

// TestUnexplainedFailure: an error reply without a report ends the turn soon, as does an interrupt.
func TestUnexplainedFailure(t *testing.T) {
	t.Parallel()
	for _, interrupted := range []bool{false, true} {
		spec := Spec{Name: "fake", Report: func([]byte) (Report, bool) { return Report{}, true }}
		p, s := spec.NewParser(execution.Request{Message: execution.Message{Text: "hi"}}), cliagent.NewSink(false)
		p.Open(s)
		p.Line(process.Stderr, []byte("!"), s)
		for _, line := range []string{`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`, `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`,
			`{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Internal error"}}`} {
			p.Line(process.Stdout, []byte(line), s)
		}
		want := execution.CodeInternal
		if interrupted {
			want = execution.CodeInterrupted
			if err := p.Command(execution.Interrupt{}, s); err != nil {
				t.Fatal(err)
			}
		} else {
			p.(cliagent.Alarmed).Alarm(s)
		}
		if res := p.Exit(process.Exit{}, s); res.Error.ErrorCode() != want {
			t.Errorf("interrupted %v: %s %+v", interrupted, res.Status, res.Error)
		}
	}
}

// TestTurnLimit: a turn that the agent cancels by itself reached the limit if an extension says so, before the reply or after it; then
// nothing follows. Any other cancelled turn was interrupted.
func TestTurnLimit(t *testing.T) {
	t.Parallel()
	const cancelled = `{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}`
	limit := Report{Session: "s", Limit: true}
	for _, tc := range []struct {
		name  string
		max   int
		lines []any
		want  execution.TurnEndReason
	}{
		{"reported before the reply", 2, []any{limit, cancelled}, execution.TurnLimitReached},
		{"reported after the reply", 2, []any{cancelled, limit}, execution.TurnLimitReached},
		{"not reported", 2, []any{cancelled, "alarm"}, execution.TurnInterrupted},
		{"of a sub-agent", 2, []any{Report{Session: "sub", Limit: true}, cancelled, "alarm"}, execution.TurnInterrupted},
		{"interrupted", 2, []any{"interrupt", cancelled}, execution.TurnInterrupted},
		{"interrupted after the reply", 2, []any{cancelled, "interrupt"}, execution.TurnInterrupted},
		{"without a limit", 0, []any{cancelled}, execution.TurnInterrupted},
		{"ends by itself", 2, []any{strings.Replace(cancelled, "cancelled", "end_turn", 1)}, execution.TurnCompleted},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var reported Report
			spec := Spec{Name: "fake", TurnLimit: true, Report: func(line []byte) (Report, bool) { return reported, string(line) == "!" }}
			req := execution.Request{Message: execution.Message{Text: "hi"}}
			req.Run.MaxTurns, req.Run.Interactive = tc.max, true
			p, s := spec.NewParser(req), cliagent.NewSink(false)
			p.Open(s)
			for _, line := range []string{`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`, `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`} {
				p.Line(process.Stdout, []byte(line), s)
			}
			if err := p.Command(execution.Say{ID: "later", Text: "and then"}, s); err != nil {
				t.Fatal(err)
			}
			for _, l := range tc.lines {
				switch l := l.(type) {
				case Report:
					reported = l
					p.Line(process.Stderr, []byte("!"), s)
				case string:
					switch l {
					case "alarm":
						p.(cliagent.Alarmed).Alarm(s)
					case "interrupt":
						if err := p.Command(execution.Interrupt{}, s); err != nil {
							t.Fatal(err)
						}
					default:
						p.Line(process.Stdout, []byte(l), s)
					}
				}
			}
			var got execution.TurnEndReason
			limits, dropped, next := 0, 0, 0
			for _, e := range s.Take() {
				switch b := e.Body.(type) {
				case execution.TurnEnd:
					got = b.Reason
				case execution.TurnLimit:
					limits += b.MaxTurns
				case execution.InputCancelled:
					dropped++
				case execution.InputTaken:
					next++
				}
			}
			reached := tc.want == execution.TurnLimitReached
			if got != tc.want || (limits == tc.max) != reached && tc.max > 0 || (dropped == 1) != reached || (next == 1) == reached || s.Finished() != reached {
				t.Errorf("%s, limits %d, dropped %d, next %d, finished %v", got, limits, dropped, next, s.Finished())
			}
		})
	}
}
