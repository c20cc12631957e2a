//go:build unix

package turnruntime

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/claude"
	"github.com/drawbar/drawbar/adapter/codex"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/govern"
)

// known are the agents whose output is read here, as a client knows them.
type known struct{ govern.Agents }

func (known) ReadOutput(line []byte) adapter.Output {
	for _, a := range []adapter.Adapter{claude.New(cliagent.Options{}), codex.New(cliagent.Options{})} {
		if r, ok := adapter.As[adapter.OutputReader](a); ok {
			if out := r.ReadOutput(line); out != nil {
				return out
			}
		}
	}
	return nil
}

func TestWhatProgramsState(t *testing.T) {
	for name, tt := range map[string]struct {
		file  string
		code  string
		want  Outcome
		model string
		in    int64
		usd   float64
	}{
		"claude":              {"claude-plain.jsonl", "0", Outcome{Class: ClassExit}, "claude-opus-5-5", 100, 0.0008},
		"claude, one object":  {"claude-plain_json.jsonl", "0", Outcome{Class: ClassExit}, "claude-opus-5-5", 100, 0.0008},
		"claude, rate limit":  {"claude-err429_forever_max2.jsonl", "1", Outcome{Class: "rate_limited", ExitCode: 1, Transient: true}, "", 0, 0},
		"claude, no login":    {"claude-err401.jsonl", "1", Outcome{Class: "auth_failure", ExitCode: 1}, "", 0, 0},
		"claude, no budget":   {"claude-budget.jsonl", "1", Outcome{Class: "budget_exceeded", ExitCode: 1}, "claude-opus-5-5", 100, 0.0008},
		"codex":               {"codex-plain.jsonl", "0", Outcome{Class: ClassExit}, "", 100, 0},
		"codex, rate limit":   {"codex-err429_forever.jsonl", "1", Outcome{Class: "rate_limited", ExitCode: 1, Transient: true}, "", 0, 0},
		"codex, words only":   {"codex-noauth.jsonl", "1", Outcome{Class: "auth_failure", ExitCode: 1}, "", 0, 0},
		"codex, with session": {"codex-session_1_new.jsonl", "0", Outcome{Class: ClassExit}, "", 100, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, _ := filepath.Abs(filepath.Join("testdata", tt.file))
			d := scene(t, "print", tt.code, file)
			o := carryWith(t, known{}, d)
			if o.Class != tt.want.Class || o.ExitCode != tt.want.ExitCode || o.Transient != tt.want.Transient || o.Staged {
				t.Errorf("%+v", o)
			}
			if o.Meta == nil || o.Meta.SessionID == "" || tt.model != "" && o.Meta.Model != tt.model {
				t.Errorf("meta %+v", o.Meta)
			}
			if tt.in > 0 && (o.Cost == nil || o.Cost.InputTokens != tt.in || o.Cost.OutputTokens != 20 || o.Cost.USD != tt.usd || *o.Meta.TotalTokens != tt.in+20) {
				t.Errorf("cost %+v, meta %+v", o.Cost, o.Meta)
			}
			if tt.usd == 0 && tt.in > 0 && o.Meta.CostUSD != nil {
				t.Error("an unknown price is stated")
			}
		})
	}
}

// readLines is what is stated in the lines of a program that ends with code.
func readLines(now time.Time, code int, lines ...string) *stated {
	s := &stated{now: func() time.Time { return now }, read: known{}}
	for _, line := range lines {
		s.line([]byte(line))
	}
	s.end(code, "")
	return s
}

const (
	claudeInit  = `{"type":"system","subtype":"init","session_id":"s","model":"m","claude_code_version":"2.1.0"}`
	codexThread = `{"type":"thread.started","thread_id":"t"}`
)

func TestLimitThatEndsLater(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	for name, tt := range map[string]struct {
		resets    int64
		status    string
		transient bool
		after     time.Duration
	}{
		"soon":        {1000 + 60, "rejected", true, time.Minute},
		"in hours":    {1000 + 7200, "rejected", false, 2 * time.Hour},
		"only warned": {1000 + 7200, "allowed_warning", true, 0},
	} {
		s := readLines(now, 1, claudeInit, fmt.Sprintf(`{"type":"rate_limit_event","rate_limit_info":{"status":%q,"resetsAt":%d}}`, tt.status, tt.resets),
			`{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"limit"}`)
		o, ok := s.outcome(Dispatch{})
		if !ok || o.Class != "rate_limited" || o.Transient != tt.transient || o.RetryAfter != tt.after {
			t.Errorf("%s: %+v", name, o)
		}
		if tt.after > 0 && !strings.Contains(o.Hint, time.Unix(tt.resets, 0).UTC().Format(time.RFC3339)) {
			t.Errorf("%s: hint %q", name, o.Hint)
		}
	}
}

func TestStatedFailures(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized"}}`:                                                                      "auth_failure",
		`{"type":"turn.failed","error":{"message":"unexpected status 503 Service Unavailable"}}`:                                                               "provider_overloaded",
		`{"type":"turn.failed","error":{"message":"{\"error\":{\"message\":\"too long\",\"code\":\"context_length_exceeded\"}}"}}`:                             "context_overflow",
		`{"type":"turn.failed","error":{"message":"{\"error\":{\"message\":\"no\",\"type\":\"invalid_request_error\",\"code\":\"unknown\"},\"status\":400}"}}`: "invalid_request",
		`{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again at 5 PM."}}`:                                                         "rate_limited",
		`{"type":"item.completed","item":{"type":"agent_message","text":"unexpected status 429"}}`:                                                             "",
		`{"type":"error","message":"Reconnecting... 1/2 (exceeded retry limit, last status: 429 Too Many Requests)"}`:                                          "rate_limited",
		`{"type":"result","subtype":"error_max_turns","is_error":true}`:                                                                                        "turn_limit",
		`{"type":"result","subtype":"error_max_structured_output_retries","is_error":true}`:                                                                    "turn_result_extraction_failure",
		`{"type":"result","subtype":"success","is_error":true,"terminal_reason":"rapid_refill_breaker"}`:                                                       "context_overflow",
		`{"type":"result","subtype":"success","is_error":true,"terminal_reason":"prompt_too_long"}`:                                                            "context_overflow",
		`{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error"}`:                                                                  "provider_overloaded",
		`{"type":"result","subtype":"success","is_error":true,"api_error_status":404}`:                                                                         "model_not_found",
		`{"type":"result","subtype":"success","is_error":false,"result":"rate limited, 429"}`:                                                                  "",
		`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["rate limited"]}`:                                                       "subprocess_failed",
		`{"level":"error","msg":"rate limited","status":429}`:                                                                                                  "",
		`{"type":"result"`: "",
	} {
		first := claudeInit
		if strings.Contains(line, "turn.") || strings.Contains(line, "item.") || strings.Contains(line, `"type":"error"`) {
			first = codexThread
		}
		if o, _ := readLines(time.Now(), 1, first, line).outcome(Dispatch{}); o.Class != want {
			t.Errorf("%s: %q, want %q", line, o.Class, want)
		}
	}
	// A failure that was overcome is none.
	s := readLines(time.Now(), 0, codexThread, `{"type":"turn.failed","error":{"message":"unexpected status 429"}}`,
		`{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":2}}`)
	if _, failed := s.outcome(Dispatch{}); failed {
		t.Error("a turn that completed has failed")
	}
	// The records of another program are nobody's, however many there are.
	lines := slices.Repeat([]string{`{"type":"turn.failed","error":{"message":"unexpected status 401"}}`}, recordTries)
	if _, failed := readLines(time.Now(), 1, append(lines, codexThread, lines[0])...).outcome(Dispatch{}); failed {
		t.Error("what another program printed is taken for an agent's")
	}
}

func FuzzStated(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.jsonl")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			f.Add(bytes.TrimSpace(line))
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, first := range []string{claudeInit, codexThread, string(line)} {
			s := readLines(time.Now(), 1, first, string(line), string(line))
			if o, ok := s.outcome(Dispatch{}); ok && o.Class == "" {
				t.Error("a fault without a class")
			}
			if m, c := s.meta(); m == nil && c != nil {
				t.Error("a cost of nobody")
			}
		}
	})
}
