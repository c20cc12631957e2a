//go:build unix

package turnruntime

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWhatVendorsState(t *testing.T) {
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
		"codex, words only":   {"codex-noauth.jsonl", "1", Outcome{Class: ClassExit, ExitCode: 1}, "", 0, 0},
		"codex, with session": {"codex-session_1_new.jsonl", "0", Outcome{Class: ClassExit}, "", 100, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, _ := filepath.Abs(filepath.Join("testdata", tt.file))
			d := scene(t, "print", tt.code, file)
			o := carry(t, context.Background(), d, &watcher{})
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

func TestLimitThatEndsLater(t *testing.T) {
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
		v := vendor{now: func() time.Time { return now }}
		v.line(fmt.Appendf(nil, `{"type":"rate_limit_event","rate_limit_info":{"status":%q,"resetsAt":%d}}`, tt.status, tt.resets))
		v.line([]byte(`{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"limit"}`))
		o, ok := v.outcome()
		if !ok || o.Class != "rate_limited" || o.Transient != tt.transient || o.RetryAfter != tt.after {
			t.Errorf("%s: %+v", name, o)
		}
		if tt.after > 0 && !strings.Contains(o.Hint, time.Unix(tt.resets, 0).UTC().Format(time.RFC3339)) {
			t.Errorf("%s: hint %q", name, o.Hint)
		}
	}
}

func TestVendorRecords(t *testing.T) {
	for line, want := range map[string]string{
		`{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized"}}`:                                                                      "auth_failure",
		`{"type":"turn.failed","error":{"message":"unexpected status 503 Service Unavailable"}}`:                                                               "provider_overloaded",
		`{"type":"turn.failed","error":{"message":"{\"error\":{\"message\":\"too long\",\"code\":\"context_length_exceeded\"}}"}}`:                             "context_overflow",
		`{"type":"turn.failed","error":{"message":"{\"error\":{\"message\":\"no\",\"type\":\"invalid_request_error\",\"code\":\"unknown\"},\"status\":400}"}}`: "invalid_request",
		`{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again at 5 PM."}}`:                                                         "rate_limited",
		`{"type":"turn.failed","error":{"message":"the tests say: unexpected status 429"}}`:                                                                    "",
		`{"type":"item.completed","item":{"type":"agent_message","text":"unexpected status 429"}}`:                                                             "",
		`{"type":"error","message":"Reconnecting... 1/2 (exceeded retry limit, last status: 429 Too Many Requests)"}`:                                          "",
		`{"type":"result","subtype":"error_max_turns","is_error":true}`:                                                                                        "turn_limit",
		`{"type":"result","subtype":"success","is_error":true,"terminal_reason":"prompt_too_long"}`:                                                            "context_overflow",
		`{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error"}`:                                                                  "provider_overloaded",
		`{"type":"result","subtype":"success","is_error":true,"api_error_status":404}`:                                                                         "model_not_found",
		`{"type":"result","subtype":"success","is_error":false,"result":"rate limited, 429"}`:                                                                  "",
		`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["rate limited"]}`:                                                       "",
		`{"level":"error","msg":"rate limited","status":429}`:                                                                                                  "",
		`{"type":"result"`: "",
	} {
		v := vendor{now: time.Now}
		v.line([]byte(line))
		if o, _ := v.outcome(); o.Class != want {
			t.Errorf("%s: %q, want %q", line, o.Class, want)
		}
	}
	// A failure that was overcome is none.
	v := vendor{now: time.Now}
	v.line([]byte(`{"type":"turn.failed","error":{"message":"unexpected status 429"}}`))
	v.line([]byte(`{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":2}}`))
	if _, failed := v.outcome(); failed {
		t.Error("a turn that completed has failed")
	}
}

func FuzzVendor(f *testing.F) {
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
		v := vendor{now: time.Now}
		v.line(line)
		v.line(line)
		if o, ok := v.outcome(); ok && o.Class == "" {
			t.Error("a fault without a class")
		}
		if m, c := v.meta(); m == nil && c != nil {
			t.Error("a cost of nobody")
		}
	})
}
