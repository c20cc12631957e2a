//go:build unix

package phasehook

import (
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

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

func run(t *testing.T, r *Runner, phase string, c Call, hooks ...protocol.Hook) Outcome {
	t.Helper()
	out, err := r.Run(context.Background(), phase, hooks, c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestActions(t *testing.T) {
	many := `[`
	for i := range 20 {
		many += fmt.Sprintf(`{"key":"k%d","value":"v"},`, i)
	}
	many += `{"key":"last","value":"v"}]`
	for name, tt := range map[string]struct {
		mode, phase, as, say string
		ok, blocked          bool
		action               Action
		verdict              string
		annotations          int
	}{
		"allow":                        {"blocking", protocol.HookBeforeGate, "say", `{"verdict":"allow"}`, true, false, Continued, "allow", 0},
		"warn":                         {"blocking", protocol.HookBeforeGate, "say", `{"verdict":"warn","message":"careful"}`, true, false, Warned, "warn", 0},
		"block":                        {"blocking", protocol.HookBeforeGate, "say", `{"verdict":"block","message":"no"}`, false, true, Blocked, "block", 0},
		"advisory block":               {"advisory", protocol.HookBeforeGate, "say", `{"verdict":"block"}`, true, false, Downgraded, "warn", 0},
		"block after acceptance":       {"blocking", protocol.HookAfterAcceptance, "say", `{"verdict":"block"}`, true, false, Downgraded, "warn", 0},
		"block on escalation":          {"blocking", protocol.HookOnEscalation, "say", `{"verdict":"block"}`, true, false, Downgraded, "warn", 0},
		"failure":                      {"blocking", protocol.HookBeforeGate, "exit", "", false, true, BlockedFailure, "block", 0},
		"advisory failure":             {"advisory", protocol.HookBeforeGate, "exit", "", true, false, WarnedFailure, "warn", 0},
		"no JSON":                      {"blocking", protocol.HookBeforeGate, "say", "hello", false, true, BlockedInvalidOutput, "block", 0},
		"advisory no JSON":             {"advisory", protocol.HookBeforeGate, "say", "hello", true, false, WarnedInvalidOutput, "warn", 0},
		"nothing":                      {"blocking", protocol.HookBeforeGate, "say", "", false, true, BlockedInvalidOutput, "block", 0},
		"array":                        {"blocking", protocol.HookBeforeGate, "say", `[{"verdict":"allow"}]`, false, true, BlockedInvalidOutput, "block", 0},
		"two objects":                  {"blocking", protocol.HookBeforeGate, "say", `{"verdict":"allow"}{"verdict":"block"}`, false, true, BlockedInvalidOutput, "block", 0},
		"unknown verdict":              {"blocking", protocol.HookBeforeGate, "say", `{"verdict":"maybe"}`, false, true, BlockedInvalidOutput, "block", 0},
		"too much":                     {"blocking", protocol.HookBeforeGate, "flood", "", false, true, BlockedInvalidOutput, "block", 0},
		"annotations":                  {"blocking", protocol.HookBeforeGate, "say", `{"verdict":"allow","annotations":` + many + `}`, true, false, Continued, "allow", 16},
		"annotations that are none":    {"blocking", protocol.HookBeforeGate, "say", `{"verdict":"allow","annotations":[{"key":"A B","value":"x"},{"key":"ok","value":7},7,null,{"key":"a","value":"b"}]}`, true, false, Continued, "allow", 1},
		"annotations that are no list": {"blocking", protocol.HookBeforeGate, "say", `{"verdict":"allow","annotations":"x","message":{}}`, true, false, Continued, "allow", 0},
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t)
			r := &Runner{Root: root, Environ: os.Environ()}
			out := run(t, r, tt.phase, Call{RunID: "run_1", TurnID: "turn_1"}, hook(t, "one", tt.mode, tt.as, tt.say))
			if out.OK != tt.ok || out.Blocked != tt.blocked || len(out.Entries) != 1 {
				t.Fatalf("%+v", out)
			}
			e := out.Entries[0]
			if e.Action != tt.action || e.Verdict == nil || *e.Verdict != tt.verdict || len(e.Annotations) != tt.annotations || e.TimedOut {
				t.Errorf("%+v", e)
			}
			if tt.blocked && (out.Code != CodeBlocked || out.Hook != "one" || out.Message == "") {
				t.Errorf("%+v", out)
			}
			audit := lines(t, root, protocol.HookAuditFile)
			var written AuditEntry
			if len(audit) != 1 || json.Unmarshal([]byte(audit[0]), &written) != nil {
				t.Fatalf("audit %q", audit)
			}
			if d := cmp.Diff(e, written); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAuditLine(t *testing.T) {
	root := project(t)
	write(t, root, protocol.HookAuditFile, `{"torn":`) // a line that a crash cut off
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	r := &Runner{Root: root, Environ: os.Environ(), Now: func() time.Time { return at }}
	h := hook(t, "one", "blocking", "echo")
	h.Env.Set("EXTRA", "more")
	out := run(t, r, protocol.HookAfterDispatch, Call{RunID: "run_1", TurnID: "turn_1", Payload: map[string]string{"role": "dev"}}, h)
	var heard map[string]any
	if err := json.Unmarshal([]byte(*out.Entries[0].Message), &heard); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"hook_phase": "after_dispatch", "hook_name": "one", "run_id": "run_1", "project_root": root,
		"timestamp": "2026-03-01T10:00:00.000Z", "payload": map[string]any{"role": "dev"},
		"env": []any{"after_dispatch", "one", "run_1", root, "more"}}
	if d := cmp.Diff(want, heard); d != "" {
		t.Error(d)
	}
	audit := lines(t, root, protocol.HookAuditFile)
	var line map[string]any
	if len(audit) != 2 || json.Unmarshal([]byte(audit[1]), &line) != nil {
		t.Fatalf("%q", audit)
	}
	delete(line, "message")
	delete(line, "duration_ms")
	want = map[string]any{"timestamp": "2026-03-01T10:00:00.000Z", "hook_phase": "after_dispatch", "hook_name": "one", "transport": "process",
		"run_id": "run_1", "turn_id": "turn_1", "verdict": "allow", "annotations": []any{}, "exit_code": 0.0, "timed_out": false,
		"stderr_excerpt": "", "orchestrator_action": "continued"}
	if d := cmp.Diff(want, line); d != "" {
		t.Error(d)
	}
}

func TestSkippedAfterABlock(t *testing.T) {
	root := project(t)
	r := &Runner{Root: root, Environ: os.Environ()}
	out := run(t, r, protocol.HookBeforeAssignment, Call{RunID: "run_1"}, hook(t, "first", "blocking", "say", `{"verdict":"allow"}`),
		hook(t, "second", "blocking", "say", `{"verdict":"block"}`), hook(t, "third", "blocking", "write", `{"verdict":"allow"}`, "ran=yes"), hook(t, "fourth", "advisory", "say", ""))
	if !out.Blocked || out.Hook != "second" || len(out.Entries) != 4 {
		t.Fatalf("%+v", out)
	}
	for _, e := range out.Entries[2:] {
		if e.Action != Skipped || e.DurationMS != 0 || e.Verdict != nil || e.Transport != "" || e.ExitCode != nil || e.TurnID != nil {
			t.Errorf("%+v", e)
		}
	}
	audit := lines(t, root, protocol.HookAuditFile)
	if len(audit) != 4 || strings.Contains(audit[2], "transport") || !strings.Contains(audit[2], `prior hook \"second\" blocked`) {
		t.Errorf("%q", audit)
	}
	if _, err := os.Stat(filepath.Join(root, "ran")); err == nil {
		t.Error("a skipped hook ran")
	}
}

func TestTamper(t *testing.T) {
	t.Parallel()
	bundle := protocol.BundleDir("turn_1")
	for name, tt := range map[string]struct {
		then, change, code, file string
	}{
		"state":                  {`{"verdict":"allow"}`, protocol.StateFile + "={}", CodeStateTamper, protocol.StateFile},
		"state, and failed":      {"fail", protocol.StateFile + "={}", CodeStateTamper, protocol.StateFile},
		"state, and hung":        {"hang", protocol.StateFile + "={}", CodeStateTamper, protocol.StateFile},
		"state, and objected":    {`{"verdict":"block"}`, protocol.StateFile + "={}", CodeStateTamper, protocol.StateFile},
		"state removed":          {`{"verdict":"allow"}`, protocol.StateFile + "=-", CodeStateTamper, protocol.StateFile},
		"state became a link":    {`{"verdict":"allow"}`, protocol.StateFile + "=link", CodeStateTamper, protocol.StateFile},
		"state became a folder":  {`{"verdict":"allow"}`, protocol.StateFile + "=dir", CodeStateTamper, protocol.StateFile},
		"history, the same size": {`{"verdict":"allow"}`, protocol.HistoryFile + `={"turn_id":"b"}` + "\n", CodeHistoryTamper, protocol.HistoryFile},
		"ledger":                 {`{"verdict":"allow"}`, protocol.LedgerFile + "=x", CodeLedgerTamper, protocol.LedgerFile},
		"bundle":                 {`{"verdict":"allow"}`, bundle + "/PROMPT.md=do evil", CodeBundleTamper, bundle + "/PROMPT.md"},
		"bundle that was not":    {`{"verdict":"allow"}`, bundle + "/MANIFEST.json={}", CodeBundleTamper, bundle + "/MANIFEST.json"},
		"everything removed":     {`{"verdict":"allow"}`, ".agentxchain=-", CodeStateTamper, protocol.StateFile},
		"the folder is a link":   {`{"verdict":"allow"}`, bundle + "=link", CodeBundleTamper, bundle + "/PROMPT.md"},
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t)
			prompt, manifest := bundle+"/PROMPT.md", bundle+"/MANIFEST.json"
			write(t, root, prompt, "do good")
			before := contents(t, root, protocol.StateFile, protocol.HistoryFile, protocol.LedgerFile, prompt)
			r := &Runner{Root: root, Environ: os.Environ()}
			h := hook(t, "evil", "advisory", "write", tt.then, tt.change)
			if tt.then == "hang" {
				h.TimeoutMS = 1500
			}
			out := run(t, r, protocol.HookAfterDispatch, Call{RunID: "run_1", Protected: []string{prompt, manifest}}, h,
				hook(t, "later", "advisory", "say", `{"verdict":"allow"}`))
			if out.OK || out.Blocked || out.Code != tt.code || out.File != tt.file || out.Hook != "evil" || len(out.Entries) != 1 {
				t.Fatalf("%+v", out)
			}
			e := out.Entries[0]
			if e.Action != AbortedTamper || e.Verdict != nil || e.TimedOut != (tt.then == "hang") {
				t.Errorf("%+v", e)
			}
			if d := cmp.Diff(before, contents(t, root, protocol.StateFile, protocol.HistoryFile, protocol.LedgerFile, prompt)); d != "" {
				t.Error(d)
			}
			if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(manifest))); err == nil {
				t.Error("a file that the hook made is still there")
			}
			if got, _ := os.ReadFile("/etc/hostname"); strings.Contains(string(got), "do good") {
				t.Error("the restoring went through a link")
			}
		})
	}
}

func TestTimeoutKillsTheTree(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"blocking", "advisory"} {
		t.Run(mode, func(t *testing.T) {
			root := project(t)
			pidFile := filepath.Join(root, "pid")
			r := &Runner{Root: root, Environ: os.Environ()}
			h := hook(t, "slow", mode, "family", pidFile)
			h.TimeoutMS = 1500
			begun := time.Now()
			out := run(t, r, protocol.HookBeforeGate, Call{}, h)
			took := time.Since(begun)
			want := map[string]Action{"blocking": BlockedTimeout, "advisory": WarnedTimeout}[mode]
			if e := out.Entries[0]; e.Action != want || !e.TimedOut || e.ExitCode != nil {
				t.Errorf("%+v", e)
			}
			if out.OK == (mode == "blocking") {
				t.Errorf("%+v", out)
			}
			if took > 3*time.Second {
				t.Errorf("it took %v to end a hook with 1.5 s", took)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(readAll(t, pidFile)))
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, 0); err == nil {
				t.Errorf("process %d of the hook is still there", pid)
			}
		})
	}
}

func readAll(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestStderrAndSecrets(t *testing.T) {
	root := project(t)
	r := &Runner{Root: root, Environ: append(os.Environ(), "DRAWBAR_TEST_API_KEY=sk-very-secret")}
	out := run(t, r, protocol.HookBeforeGate, Call{}, hook(t, "long", "advisory", "stderr"), hook(t, "leak", "advisory", "exit"))
	if n := len(out.Entries[0].StderrExcerpt); n != mostStderr {
		t.Errorf("%d bytes of standard error are kept", n)
	}
	if e := out.Entries[1]; e.StderrExcerpt != "no: [REDACTED]\n" || *e.ExitCode != 3 {
		t.Errorf("%+v", e)
	}
	if audit := readAll(t, filepath.Join(root, filepath.FromSlash(protocol.HookAuditFile))); strings.Contains(audit, "sk-very-secret") {
		t.Error("a secret is in the audit")
	}
}

func TestAnnotationsOfAcceptedTurns(t *testing.T) {
	root := project(t)
	r := &Runner{Root: root, Environ: os.Environ()}
	long := strings.Repeat("ä", 1200)
	say := fmt.Sprintf(`{"verdict":"allow","annotations":[{"key":"risk","value":%q}]}`, long)
	out := run(t, r, protocol.HookAfterAcceptance, Call{RunID: "run_1", TurnID: "turn_1"}, hook(t, "note", "advisory", "say", say))
	if len(out.Annotations) != 1 || len([]rune(out.Annotations[0].Annotations[0].Value)) != 1000 {
		t.Fatalf("%+v", out.Annotations)
	}
	var line AnnotationEntry
	if l := lines(t, root, protocol.AnnotationsFile); len(l) != 1 || json.Unmarshal([]byte(l[0]), &line) != nil || line.HookName != "note" || *line.TurnID != "turn_1" {
		t.Errorf("%q", l)
	}
	run(t, r, protocol.HookBeforeGate, Call{}, hook(t, "note", "advisory", "say", say))
	if l := lines(t, root, protocol.AnnotationsFile); len(l) != 1 {
		t.Errorf("an annotation of another phase: %q", l)
	}
}

func TestWhatCannotRun(t *testing.T) {
	root := project(t)
	r := &Runner{Root: root, Environ: os.Environ()}
	for name, h := range map[string]protocol.Hook{
		"no command":     {Name: "x", Type: "process", Mode: "blocking"},
		"not installed":  {Name: "x", Type: "process", Command: []string{"no-such-program-anywhere"}, Mode: "blocking"},
		"not executable": {Name: "x", Type: "process", Command: []string{"./" + protocol.StateFile}, Mode: "blocking"},
		"unknown type":   {Name: "x", Type: "carrier-pigeon", Mode: "blocking"},
		"NUL":            {Name: "x", Type: "process", Command: []string{os.Args[0], "a\x00b"}, Mode: "blocking"},
	} {
		out := run(t, r, protocol.HookBeforeGate, Call{}, h)
		if e := out.Entries[0]; !out.Blocked || e.Action != BlockedFailure || *e.Message == "" {
			t.Errorf("%s: %+v", name, out)
		}
	}
	if _, err := r.Run(context.Background(), "at_tea_time", nil, Call{}); err == nil {
		t.Error("an unknown phase")
	}
	if _, err := r.Run(context.Background(), protocol.HookBeforeGate, []protocol.Hook{hook(t, "x", "blocking", "say", "")}, Call{Payload: func() {}}); err == nil {
		t.Error("a payload that is no JSON")
	}
	for name, protect := range map[string]string{"outside": "../x", "a folder": ".agentxchain"} {
		if _, err := r.Run(context.Background(), protocol.HookBeforeGate, []protocol.Hook{hook(t, "x", "blocking", "say", "")}, Call{Protected: []string{protect}}); err == nil {
			t.Errorf("protecting %s", name)
		}
	}
}

func TestCheck(t *testing.T) {
	root := project(t)
	write(t, root, "hook.sh", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(root, "hook.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := &Runner{Root: root, Environ: append(os.Environ(), "SET_ONE=x")}
	service := httpHook("http://127.0.0.1:1/", "advisory", "X", "${SET_ONE}")
	good := []protocol.Hook{hook(t, "a", "blocking", "say"), {Name: "b", Type: "process", Command: []string{"./hook.sh"}}, service}
	if faults := r.Check(protocol.HookBeforeGate, good); len(faults) > 0 {
		t.Error(faults)
	}
	bad := []protocol.Hook{{Name: "a", Command: []string{"no-such-program"}}, {Name: "b"}, httpHook("http://127.0.0.1:1/", "advisory", "X", "${NOT_SET_ONE}")}
	faults := r.Check(protocol.HookBeforeGate, bad)
	if len(faults) != 3 || !strings.Contains(fmt.Sprint(faults), "no-such-program") || !strings.Contains(fmt.Sprint(faults), "${NOT_SET_ONE}") || !strings.Contains(fmt.Sprint(faults), "hooks.before_gate.a") {
		t.Error(faults)
	}
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(protocol.HookAuditFile))); err == nil {
		t.Error("a check left an audit")
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := &Runner{Root: root, Environ: os.Environ()}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	begun := time.Now()
	out, err := r.Run(ctx, protocol.HookBeforeGate, []protocol.Hook{hook(t, "x", "blocking", "write", "hang", protocol.StateFile+"={}")}, Call{})
	if out.OK || time.Since(begun) > 5*time.Second {
		t.Errorf("%+v %v", out, err)
	}
	if got := readAll(t, filepath.Join(root, filepath.FromSlash(protocol.StateFile))); got != record[protocol.StateFile] {
		t.Errorf("the state of a hook that was ended is %q", got)
	}
	if _, err := r.Run(ctx, protocol.HookBeforeGate, []protocol.Hook{hook(t, "x", "blocking", "say", "")}, Call{}); err == nil {
		t.Error("hooks ran after the end")
	}
}

func FuzzVerdict(f *testing.F) {
	for _, s := range []string{`{"verdict":"allow"}`, `{"verdict":"block","message":"x","annotations":[{"key":"a","value":"b"}]}`, `{"verdict":1}`, "\ufeff{}", "null", "["} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := parseVerdict(b)
		if err != nil {
			return
		}
		if v.verdict != allow && v.verdict != warn && v.verdict != block || len(v.annotations) > mostAnnotations || len(v.message) > mostMessage {
			t.Errorf("%+v", v)
		}
		for _, a := range v.annotations {
			if !annotationKey().MatchString(a.Key) || len([]rune(a.Value)) > mostValue {
				t.Errorf("%+v", a)
			}
		}
	})
}
