//go:build unix

package turnruntime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/internal/governance/protocol"
)

func carry(t *testing.T, ctx context.Context, d Dispatch, w Watch) Outcome {
	t.Helper()
	rt, err := For(d.Runtime, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	if err := rt.Check(d); err != nil {
		t.Fatal(err)
	}
	o, err := rt.Carry(ctx, d, w)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestOutcomes is how a program may end, and what is made of it.
func TestOutcomes(t *testing.T) {
	for name, tt := range map[string]struct {
		as   []string
		want Outcome
		says string
	}{
		"a result":                            {[]string{"result", "0", goodResult}, Outcome{Staged: true}, ""},
		"a result and a bad code":             {[]string{"result", "7", goodResult}, Outcome{Staged: true, ExitCode: 7}, ""},
		"a result and the transient code":     {[]string{"result", "75", goodResult}, Outcome{Staged: true, ExitCode: 75}, ""},
		"a fenced result":                     {[]string{"result", "0", "\ufeff" + goodResult}, Outcome{Staged: true}, ""},
		"something unreadable in good order":  {[]string{"result", "0", "I am done."}, Outcome{Staged: true}, ""},
		"half a result and a bad code":        {[]string{"result", "1", goodResult[:40]}, Outcome{Class: ClassExit, ExitCode: 1}, "cannot be read"},
		"half a result and the transient one": {[]string{"result", "75", goodResult[:40]}, Outcome{Class: ClassExit, ExitCode: 75, Transient: true}, "75"},
		"{} is none":                          {[]string{"result", "0", " {\n} "}, Outcome{Class: ClassExit}, "no result"},
		"blank is none":                       {[]string{"result", "0", "\ufeff \n"}, Outcome{Class: ClassExit}, "no result"},
		"nothing":                             {[]string{"exit", "0", "", ""}, Outcome{Class: ClassExit}, "no result"},
		"a bad code":                          {[]string{"exit", "3", "", "it is broken"}, Outcome{Class: ClassExit, ExitCode: 3}, "it is broken"},
		"the transient code":                  {[]string{"exit", "75", "", "later"}, Outcome{Class: ClassExit, ExitCode: 75, Transient: true}, "75"},
		"killed":                              {[]string{"killed"}, Outcome{Class: ClassSubprocess, Signal: "SIGKILL"}, "SIGKILL"},
		"the flat file of older agents":       {[]string{"flat", goodResult}, Outcome{Staged: true}, ""},
		"a flat file of another turn":         {[]string{"flat", strings.Replace(goodResult, "turn_1", "turn_0", 1)}, Outcome{Class: ClassExit}, "no result"},
		// What a log says in words is no fault of a provider.
		"a log that says rate limited": {[]string{"exit", "1", "429 Too Many Requests: rate limited, usage limit reached, overloaded", "Error: rate limited (rate_limit_error), 401 unauthorized"}, Outcome{Class: ClassExit, ExitCode: 1}, "exit code 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := scene(t, tt.as[0], tt.as[1:]...)
			w := &watcher{}
			o := carry(t, context.Background(), d, w)
			if o.Staged != tt.want.Staged || o.Class != tt.want.Class || o.ExitCode != tt.want.ExitCode || o.Signal != tt.want.Signal ||
				o.Transient != tt.want.Transient || o.Cancelled || !strings.Contains(o.Detail, tt.says) {
				t.Errorf("%+v", o)
			}
			if !o.Staged && (o.Hint == "" || o.Detail == "" || strings.Contains(o.Detail, "\n")) {
				t.Errorf("no way on: %+v", o)
			}
			if o.Meta == nil || o.Meta.LatencyMS == nil {
				t.Error("the latency is missing")
			}
			if len(w.pids) != 1 || w.pids[0] <= 0 || len(w.progress) == 0 {
				t.Errorf("%+v", w)
			}
			if p := w.progress[0]; p.Role != "dev" || p.Turn != "turn_1" || p.Runtime != "local-dev" || p.Worker == "" || p.Since.IsZero() || p.PID != w.pids[0] {
				t.Errorf("%+v", p)
			}
		})
	}
}

// TestWhatVendorsState uses output that real programs wrote.
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

func hearing(t *testing.T, d Dispatch) heard {
	t.Helper()
	var h heard
	if err := json.Unmarshal([]byte(read(t, filepath.Join(d.BundleDir, "heard.json"))), &h); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestPromptTransports(t *testing.T) {
	const text = "Do this.\n\n---\n\nKnow that.\n"
	for name, tt := range map[string]struct {
		transport string
		args      []string
		want      []string
		stdin     string
		file      bool
	}{
		"argv":                       {"argv", []string{"-p", "{prompt}"}, []string{"-p", text}, "", false},
		"argv within an argument":    {"argv", []string{"--say={prompt}!"}, []string{"--say=" + text + "!"}, "", false},
		"argv twice":                 {"argv", []string{"{prompt}", "{prompt}"}, []string{text, text}, "", false},
		"stdin":                      {"stdin", []string{"-"}, []string{"-"}, text, false},
		"dispatch_bundle_only":       {"dispatch_bundle_only", []string{"x"}, []string{"x"}, "", false},
		"inferred argv":              {"", []string{"{prompt}"}, []string{text}, "", false},
		"inferred bundle":            {"", []string{"x"}, []string{"x"}, "", false},
		"arg, appended":              {"arg", []string{"-x"}, []string{"-x", text}, "", false},
		"arg, substituted":           {"arg", []string{"{prompt}", "-x"}, []string{text, "-x"}, "", false},
		"file, appended":             {"file", []string{"-x"}, nil, "", true},
		"file, substituted":          {"file", []string{"-x", "{prompt_file}"}, nil, "", true},
		"one argument stays one":     {"argv", []string{"run --prompt {prompt}"}, []string{"run --prompt " + text}, "", false},
		"nothing is split after all": {"", []string{"a b", "c  d"}, []string{"a b", "c  d"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := scene(t, "echo", tt.args...)
			d.Runtime.PromptTransport = tt.transport
			if o := carry(t, context.Background(), d, &watcher{}); !o.Staged {
				t.Fatalf("%+v", o)
			}
			h := hearing(t, d)
			if tt.file {
				if h.File != text || len(h.Args) != 2 || h.Args[0] != "-x" {
					t.Errorf("%+v", h)
				}
			} else if fmt.Sprint(h.Args) != fmt.Sprint(tt.want) || len(h.Args) != len(tt.want) {
				t.Errorf("arguments %q", h.Args)
			}
			if h.Stdin != tt.stdin {
				t.Errorf("standard input %q", h.Stdin)
			}
			if log := transcriptOf(t, d); strings.Contains(log, "Know that") {
				t.Error("the prompt is in the log: " + log)
			}
		})
	}
}

func TestSplitWords(t *testing.T) {
	for line, want := range map[string][]string{
		"agent run {prompt}": {"agent", "run", "{prompt}"}, "  a\t b\n": {"a", "b"}, `a "b c" 'd "e"'`: {"a", "b c", `d "e"`},
		`a\ b c\"d`: {"a b", `c"d`}, `"" x`: {"", "x"}, `C:\tools\x y`: {`C:\tools\x`, "y"}, "": nil,
	} {
		if got, err := splitWords(line); err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%q: %q %v", line, got, err)
		}
	}
	if _, err := splitWords(`a "b`); err == nil {
		t.Error("an open quote")
	}
}

func FuzzSplitWords(f *testing.F) {
	f.Add(`agent --x "a b" 'c' \ d`)
	f.Fuzz(func(t *testing.T, line string) {
		if words, err := splitWords(line); err == nil && len(words) > len(line) {
			t.Errorf("%q", words)
		}
	})
}

func TestCommandForms(t *testing.T) {
	self, _ := os.Executable()
	blank := filepath.Join(t.TempDir(), "my tools")
	if err := os.MkdirAll(blank, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(blank, "agent")); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		command protocol.Words
		args    []string
		want    []string
	}{
		"a string":                    {protocol.Words{List: []string{self + " run x"}, String: true}, nil, []string{"run", "x"}},
		"a string and args":           {protocol.Words{List: []string{self + " run"}, String: true}, []string{"a b", "c"}, []string{"run", "a b", "c"}},
		"a list with a command line":  {protocol.Words{List: []string{self + " run x"}}, nil, []string{"run", "x"}},
		"a list":                      {protocol.Words{List: []string{self, "a b"}}, nil, []string{"a b"}},
		"a list has its args in it":   {protocol.Words{List: []string{self, "a"}}, []string{"lost"}, []string{"a"}},
		"a file with a blank in it":   {protocol.Words{List: []string{filepath.Join(blank, "agent"), "a"}}, nil, []string{"a"}},
		"a string that is such a one": {protocol.Words{List: []string{filepath.Join(blank, "agent")}, String: true}, []string{"a"}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := scene(t, "echo")
			d.Runtime.Command, d.Runtime.Args = tt.command, tt.args
			var said []string
			d.Out = func(s string) { said = append(said, s) }
			if o := carry(t, context.Background(), d, &watcher{}); !o.Staged {
				t.Fatalf("%+v", o)
			}
			if h := hearing(t, d); fmt.Sprintf("%q", h.Args) != fmt.Sprintf("%q", tt.want) {
				t.Errorf("%q", h.Args)
			}
			if (len(said) > 0) != (strings.Contains(name, "its args")) {
				t.Errorf("said %q", said)
			}
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	self, _ := os.Executable()
	for name, tt := range map[string]struct {
		change func(*Dispatch)
		says   string
	}{
		"no command":          {func(d *Dispatch) { d.Runtime.Command = protocol.Words{} }, "command is missing"},
		"an empty command":    {func(d *Dispatch) { d.Runtime.Command = protocol.Words{List: []string{"  "}, String: true} }, "command is missing"},
		"not installed":       {func(d *Dispatch) { d.Runtime.Command.List[0] = "no-such-agent" }, "no-such-agent"},
		"the prompt runs":     {func(d *Dispatch) { d.Runtime.Command.List = []string{"{prompt}"} }, "program itself"},
		"an open quote":       {func(d *Dispatch) { d.Runtime.Command.List = []string{self + " 'x"} }, "no second one"},
		"NUL":                 {func(d *Dispatch) { d.Runtime.Command.List = []string{self, "a\x00"} }, "NUL"},
		"argv without prompt": {func(d *Dispatch) { d.Runtime.PromptTransport = "argv" }, "{prompt}"},
		"unknown transport":   {func(d *Dispatch) { d.Runtime.PromptTransport = "pigeon" }, "pigeon"},
		"too long": {func(d *Dispatch) {
			d.Runtime.PromptTransport, d.Prompt = "arg", strings.Repeat("x", 128<<10)
		}, "131071"},
		"NUL in the prompt":       {func(d *Dispatch) { d.Runtime.PromptTransport, d.Prompt = "arg", "a\x00b" }, "NUL"},
		"cwd outside":             {func(d *Dispatch) { d.Runtime.CWD = ".." }, "outside"},
		"cwd outside, absolute":   {func(d *Dispatch) { d.Runtime.CWD = os.TempDir() }, "outside"},
		"cwd outside by a link":   {func(d *Dispatch) { _ = os.Symlink(os.TempDir(), filepath.Join(d.Root, "l")); d.Runtime.CWD = "l" }, "outside"},
		"no cwd":                  {func(d *Dispatch) { d.Runtime.CWD = "nowhere" }, "nowhere"},
		"cwd is a file":           {func(d *Dispatch) { _ = os.WriteFile(filepath.Join(d.Root, "f"), nil, 0o600); d.Runtime.CWD = "f" }, "no folder"},
		"missing variable":        {func(d *Dispatch) { d.Runtime.Env.Set("A", "x${NOT_SET_ANYWHERE}") }, "${NOT_SET_ANYWHERE}"},
		"a name that is none":     {func(d *Dispatch) { d.Runtime.Env.Set("A=B", "x") }, "A=B"},
		"NUL in the environment":  {func(d *Dispatch) { d.Runtime.Env.Set("A", "\x00") }, "NUL"},
		"just over with the rest": {func(d *Dispatch) { d.Runtime.PromptTransport, d.Prompt = "arg", strings.Repeat("x", 128<<10-5) }, "131"},
	} {
		t.Run(name, func(t *testing.T) {
			d := scene(t, "echo")
			tt.change(&d)
			rt, err := For(d.Runtime, Deps{})
			if err != nil {
				t.Fatal(err)
			}
			err = rt.Check(d)
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "; ") {
				t.Errorf("%v", err)
			}
			if _, again := rt.Carry(context.Background(), d, &watcher{}); again == nil {
				t.Error("it was started all the same")
			}
			if _, err := os.Stat(filepath.Join(d.BundleDir, "evidence")); err == nil {
				t.Error("something was written")
			}
		})
	}
}

func TestEnvironmentAndDirectory(t *testing.T) {
	d := scene(t, "echo")
	d.Environ = append(d.Environ, "MY_TOKEN=tok-12345678", "EMPTY_ONE=")
	d.Getenv = func(name string) string { return map[string]string{"ELSEWHERE": "from-getenv"}[name] }
	d.Runtime.Env.Set("API_KEY", "${MY_TOKEN}")
	d.Runtime.Env.Set("BOTH", "a-${ELSEWHERE}-${EMPTY_ONE}-$HOME")
	d.Runtime.Env.Set("AGENTXCHAIN_TURN_ID", "a lie")
	if err := os.MkdirAll(filepath.Join(d.Root, "sub", "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.Runtime.CWD = "sub/dir"
	if o := carry(t, context.Background(), d, &watcher{}); !o.Staged {
		t.Fatalf("%+v", o)
	}
	h := hearing(t, d)
	for name, want := range map[string]string{"API_KEY": "tok-12345678", "BOTH": "a-from-getenv--$HOME", "AGENTXCHAIN_TURN_ID": "turn_1",
		"AGENTXCHAIN_DISPATCH_DIR": d.BundleDir, "AGENTXCHAIN_STAGING_PATH": d.StagedPath, "MY_TOKEN": "tok-12345678"} {
		if h.Env[name] != want {
			t.Errorf("%s is %q, want %q", name, h.Env[name], want)
		}
	}
	if want, _ := filepath.EvalSymlinks(filepath.Join(d.Root, "sub", "dir")); h.Dir != want {
		t.Errorf("it ran in %s", h.Dir)
	}
}

func TestSecretsStayOutOfTheLog(t *testing.T) {
	d := scene(t, "exit", "1", "the key is tok-12345678 and hid-87654321", "Bearer tok-12345678")
	d.Runtime.Command.List = append(d.Runtime.Command.List, "--api-key", "plain-on-argv", "--token=plain-too")
	d.Environ = append(d.Environ, "MY_TOKEN=tok-12345678", "HIDDEN=hid-87654321")
	d.Runtime.Env.Set("PLAIN_NAME", "${HIDDEN}")
	var also bytes.Buffer
	d.Log = &also
	o := carry(t, context.Background(), d, &watcher{})
	log := transcriptOf(t, d)
	for _, text := range []string{log, also.String(), o.Detail} {
		for _, secret := range []string{"tok-12345678", "hid-87654321", "plain-on-argv", "plain-too"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q in %s", secret, text)
			}
		}
	}
	if !strings.Contains(log, "\nthe key is [redacted] and [redacted]\n") || !strings.Contains(log, "\n[stderr] Bearer [redacted]\n") {
		t.Error(log)
	}
	if !strings.Contains(also.String(), "[stderr] Bearer [redacted]") {
		t.Error("the caller's log lacks the output")
	}
	if info, err := os.Stat(filepath.Join(d.BundleDir, "evidence", "stdout.log")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

func TestLogIsBounded(t *testing.T) {
	d := scene(t, "flood")
	if o := carry(t, context.Background(), d, &watcher{}); !o.Staged {
		t.Fatalf("%+v", o)
	}
	log := transcriptOf(t, d)
	if len(log) > transcriptHead+transcriptTail+8<<10 || !strings.Contains(log, "bytes are left out here") || !strings.Contains(log, "the last line") || !strings.Contains(log, "[drawbar] ") {
		t.Errorf("%d bytes, ...%s", len(log), log[len(log)-300:])
	}
}

// TestOlderResult: what an earlier attempt left is no result of this one, and is not lost.
func TestOlderResult(t *testing.T) {
	for name, old := range map[string]string{"a result": goodResult, "half of one": goodResult[:50]} {
		t.Run(name, func(t *testing.T) {
			d := scene(t, "exit", "1", "", "")
			flat := filepath.Join(filepath.Dir(filepath.Dir(d.StagedPath)), "turn-result.json")
			if err := d.put([]byte(old)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(flat, []byte(goodResult), 0o600); err != nil {
				t.Fatal(err)
			}
			o := carry(t, context.Background(), d, &watcher{})
			if o.Staged || o.Class != ClassExit {
				t.Errorf("%+v", o)
			}
			if got := read(t, filepath.Join(d.BundleDir, "evidence", "older-result-1.json")); got != old {
				t.Errorf("kept %q", got)
			}
			if got := read(t, filepath.Join(d.BundleDir, "evidence", "older-result-2.json")); got != goodResult {
				t.Errorf("kept %q", got)
			}
		})
	}
	d := scene(t, "exit", "1", "", "")
	flat := filepath.Join(filepath.Dir(filepath.Dir(d.StagedPath)), "turn-result.json")
	other := strings.Replace(goodResult, "turn_1", "turn_0", 1)
	_ = os.MkdirAll(filepath.Dir(flat), 0o755)
	_ = os.WriteFile(flat, []byte(other), 0o600)
	carry(t, context.Background(), d, &watcher{})
	if read(t, flat) != other {
		t.Error("another turn's result was touched")
	}
}

func gone(t *testing.T, pid int) {
	t.Helper()
	if pid <= 0 {
		t.Fatal("no process")
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("process %d is still there", pid)
	}
}

func TestTimeoutKillsTheTree(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	d := scene(t, "stubborn", pidFile, "child")
	d.Timeout, d.Runtime.GraceMS = 1500*time.Millisecond, ptr(300)
	w := &watcher{}
	begun := time.Now()
	o := carry(t, context.Background(), d, w)
	if o.Class != ClassTimeout || o.Transient || o.Staged || o.Signal != "SIGKILL" || !strings.Contains(o.Hint, "--timeout") {
		t.Errorf("%+v", o)
	}
	if took := time.Since(begun); took < 1700*time.Millisecond || took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	gone(t, w.pids[0])
	child, err := strconv.Atoi(read(t, pidFile))
	if err != nil {
		t.Fatal(err)
	}
	gone(t, child)
	if last := w.progress[len(w.progress)-1]; last.Stage != StageStopping {
		t.Errorf("%+v", last)
	}
}

func TestTermLeavesTimeToEndWell(t *testing.T) {
	d := scene(t, "mild", goodResult)
	d.Timeout = time.Second
	if o := carry(t, context.Background(), d, &watcher{}); !o.Staged || o.Class != "" {
		t.Errorf("a result that came in the grace: %+v", o)
	}
	d = scene(t, "mild")
	d.Timeout = time.Second
	if o := carry(t, context.Background(), d, &watcher{}); o.Staged || o.Class != ClassTimeout || o.Signal != "" {
		t.Errorf("%+v", o)
	}
}

func TestGrace(t *testing.T) {
	for _, tt := range []struct {
		d    Dispatch
		want time.Duration
	}{
		{Dispatch{}, 10 * time.Second}, {Dispatch{Role: protocol.Role{Adapter: "local_cli"}}, 5 * time.Second},
		{Dispatch{Runtime: protocol.Runtime{GraceMS: ptr(70)}}, 70 * time.Millisecond}, {Dispatch{Runtime: protocol.Runtime{GraceMS: ptr(0)}}, -1},
	} {
		if got := tt.d.grace(); got != tt.want {
			t.Errorf("%v, want %v", got, tt.want)
		}
	}
}

func TestLimit(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, tt := range map[string]struct {
		d    Dispatch
		want time.Duration
	}{
		"default":           {Dispatch{}, 20 * time.Minute},
		"deadline":          {Dispatch{Deadline: now.Add(time.Hour)}, time.Hour},
		"runtime":           {Dispatch{Runtime: protocol.Runtime{TimeoutMS: ptr(600000)}}, 10 * time.Minute},
		"the earlier":       {Dispatch{Deadline: now.Add(time.Hour), Runtime: protocol.Runtime{TimeoutMS: ptr(600000)}}, 10 * time.Minute},
		"the earlier, too":  {Dispatch{Deadline: now.Add(time.Minute), Runtime: protocol.Runtime{TimeoutMS: ptr(600000)}}, time.Minute},
		"the caller's wins": {Dispatch{Timeout: 2 * time.Hour, Deadline: now.Add(time.Minute), Runtime: protocol.Runtime{TimeoutMS: ptr(1)}}, 2 * time.Hour},
	} {
		if got := tt.d.limit(now).Sub(now); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWatchdogs(t *testing.T) {
	for name, tt := range map[string]struct {
		as             []string
		startup, stale int
		class, first   string
	}{
		"never a sign":                 {[]string{"silent"}, 600, 60000, ClassNoOutput, ""},
		"fell silent":                  {[]string{"once"}, 5000, 600, ClassStalled, "stdout"},
		"standard output is life":      {[]string{"slowly", "stdout", "8"}, 1200, 1200, "", "stdout"},
		"standard error is life":       {[]string{"slowly", "stderr", "8"}, 1200, 1200, "", "stderr"},
		"half a line is life":          {[]string{"slowly", "part", "8"}, 1200, 1200, "", "stdout"},
		"writing the result is life":   {[]string{"slowly", "staged", "8"}, 1200, 1200, "", "staged_result"},
		"silence within the threshold": {[]string{"slowly", "none", "8"}, 4000, 4000, "", "staged_result"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := scene(t, tt.as[0], tt.as[1:]...)
			d.Runtime.StartupWatchdogMS, d.Loop.StaleTurnThresholdMS = &tt.startup, &tt.stale
			d.Runtime.GraceMS = ptr(200)
			w := &watcher{}
			o := carry(t, context.Background(), d, w)
			if o.Class != tt.class || o.Staged != (tt.class == "") {
				t.Errorf("%+v", o)
			}
			if tt.first != "" && tt.as[0] != "slowly" || tt.as[0] == "slowly" && tt.as[1] != "none" {
				if len(w.first) != 1 || w.first[0] != tt.first {
					t.Errorf("first sign %q", w.first)
				}
			}
			gone(t, w.pids[0])
		})
	}
}

// TestWatchdogSettings: those of the runtime go before those of the loop.
func TestWatchdogSettings(t *testing.T) {
	d := scene(t, "silent")
	d.Loop.StartupWatchdogMS = ptr(500)
	if o := carry(t, context.Background(), d, &watcher{}); o.Class != ClassNoOutput {
		t.Errorf("the loop's: %+v", o)
	}
	d = scene(t, "silent")
	d.Loop.StartupWatchdogMS, d.Runtime.StartupWatchdogMS, d.Timeout = ptr(400), ptr(60000), 1500*time.Millisecond
	if o := carry(t, context.Background(), d, &watcher{}); o.Class != ClassTimeout {
		t.Errorf("the runtime's: %+v", o)
	}
	if setting(defaultStartup) != 180*time.Second || setting(defaultStale) != 10*time.Minute {
		t.Error("the defaults of the protocol")
	}
}

func TestHeartbeats(t *testing.T) {
	for name, tt := range map[string]struct {
		as     string
		change func(*Dispatch)
		stage  Stage
	}{
		"before the first sign":          {"silent", func(d *Dispatch) { d.Runtime.StartupHeartbeatMS = ptr(100) }, StageStarting},
		"before, by the loop":            {"silent", func(d *Dispatch) { d.Loop.StartupHeartbeatMS = ptr(100) }, StageStarting},
		"after the first sign":           {"once", func(d *Dispatch) { d.Runtime.LivenessHeartbeatMS = ptr(100) }, StageRunning},
		"after the first, by the loop":   {"once", func(d *Dispatch) { d.Loop.LivenessHeartbeatMS = ptr(100) }, StageRunning},
		"none while nothing asks for it": {"once", func(*Dispatch) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := scene(t, tt.as)
			d.Timeout, d.Runtime.GraceMS = 1500*time.Millisecond, ptr(50)
			tt.change(&d)
			w := &watcher{}
			carry(t, context.Background(), d, w)
			n := map[Stage]int{}
			for _, p := range w.progress {
				n[p.Stage]++
				if p.At.IsZero() || p.Deadline.IsZero() || p.String() == "" {
					t.Errorf("%+v", p)
				}
			}
			if tt.stage == "" {
				if len(w.progress) > 4 {
					t.Errorf("%v", n)
				}
			} else if n[tt.stage] < 4 {
				t.Errorf("%v", n)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	d := scene(t, "stubborn", filepath.Join(t.TempDir(), "pid"))
	d.Runtime.GraceMS = ptr(100)
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{seen: make(chan string, 1)}
	go func() {
		<-w.seen
		cancel()
	}()
	if o := carry(t, ctx, d, w); !o.Cancelled || o.Staged || o.Class != "" {
		t.Errorf("%+v", o)
	}
	gone(t, w.pids[0])
	if o := carry(t, ctx, scene(t, "silent"), &watcher{}); !o.Cancelled {
		t.Errorf("ended before it began: %+v", o)
	}
}

func TestNotStarted(t *testing.T) {
	d := scene(t, "echo")
	bad := filepath.Join(d.Root, "bad")
	if err := os.WriteFile(bad, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.Runtime.Command.List = []string{"./bad"}
	if o := carry(t, context.Background(), d, &watcher{}); o.Class != ClassSpawn || o.Hint == "" || o.Transient {
		t.Errorf("%+v", o)
	}
}

func TestWorktree(t *testing.T) {
	d := scene(t, "echo")
	d.WorkDir = filepath.Join(d.Root, ".agentxchain", "worktrees", "turn_1")
	if err := os.MkdirAll(filepath.Join(d.WorkDir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.Runtime.CWD = "sub"
	if o := carry(t, context.Background(), d, &watcher{}); !o.Staged {
		t.Fatalf("%+v", o)
	}
	if want, _ := filepath.EvalSymlinks(filepath.Join(d.WorkDir, "sub")); hearing(t, d).Dir != want {
		t.Errorf("it ran in %s", hearing(t, d).Dir)
	}
	d.Runtime.CWD = d.Root
	if err := (&localCLI{Deps{}}).Check(d); err == nil {
		t.Error("a folder outside of the worktree")
	}
}

func TestProgressInWords(t *testing.T) {
	at := time.Unix(1000, 0)
	p := Progress{Role: "dev", Runtime: "local-dev", Worker: "claude", Stage: StageRunning, Since: at.Add(-150 * time.Second), At: at,
		LastSign: at.Add(-5 * time.Second), Deadline: at.Add(10 * time.Minute), Doing: "Bash", CostUSD: ptr(0.12), Tokens: 1234}
	if got, want := p.String(), "dev (local-dev, claude) running for 2m30s: Bash, last sign of life 5s ago, 1234 tokens, $0.1200, 10m left"; got != want {
		t.Errorf("%q", got)
	}
	p = Progress{Role: "pm", Runtime: "m", Worker: "a person", Stage: StageWaiting, Since: at, At: at}
	if got, want := p.String(), "pm (m, a person) waiting for 0s"; got != want {
		t.Errorf("%q", got)
	}
}

func TestFor(t *testing.T) {
	for _, typ := range []string{protocol.RuntimeAPIProxy, protocol.RuntimeMCP, protocol.RuntimeRemoteAgent, "zeppelin", ""} {
		if rt, err := For(protocol.Runtime{Type: typ}, Deps{}); rt != nil || err == nil || !strings.Contains(err.Error(), typ) {
			t.Errorf("%s: %v", typ, err)
		}
	}
}

// TestStoppedWhileItTriesAgain: a program that tries again and again is stopped, and what it was told by the provider is why.
func TestStoppedWhileItTriesAgain(t *testing.T) {
	d := scene(t, "tries")
	d.Timeout, d.Runtime.GraceMS = time.Second, ptr(100)
	if o := carry(t, context.Background(), d, &watcher{}); o.Class != "auth_failure" || !strings.Contains(o.Detail, "timeout") || !strings.Contains(o.Detail, "401") {
		t.Errorf("%+v", o)
	}
}

func TestTimeThatIsOver(t *testing.T) {
	d := scene(t, "echo")
	d.Timeout, d.Deadline = 0, time.Now().Add(-time.Minute)
	w := &watcher{}
	if o := carry(t, context.Background(), d, w); o.Class != ClassTimeout || o.Hint == "" || len(w.pids) != 0 {
		t.Errorf("%+v", o)
	}
	d = seat(t)
	d.Timeout, d.Deadline = 0, time.Now().Add(-time.Minute)
	l := employ(nil)
	if o := l.carry(t, context.Background(), d, w); o.Class != ClassTimeout || len(l.asked) != 0 {
		t.Errorf("%+v", o)
	}
}
