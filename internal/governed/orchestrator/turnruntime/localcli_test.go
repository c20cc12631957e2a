//go:build unix

package turnruntime

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

func carry(t *testing.T, ctx context.Context, d Dispatch, w Watch) Outcome {
	t.Helper()
	return carryBy(t, ctx, nil, d, w)
}

func carryWith(t *testing.T, agents govern.Agents, d Dispatch) Outcome {
	t.Helper()
	return carryBy(t, context.Background(), agents, d, &watcher{})
}

func carryBy(t *testing.T, ctx context.Context, agents govern.Agents, d Dispatch, w Watch) Outcome {
	t.Helper()
	rt, err := For(d.Runtime, Deps{Agents: agents})
	if err != nil {
		t.Fatal(err)
	}
	if err := rt.Check(d); err != nil {
		t.Fatal(err)
	}
	o, err := rt.Run(ctx, d, w)
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
		"a fenced result":                     {[]string{"result", "3", "\ufeffIt is done:\n```json\n" + goodResult + "\n```\n"}, Outcome{Staged: true, ExitCode: 3}, ""},
		"with a mark before it":               {[]string{"result", "0", "\ufeff" + goodResult}, Outcome{Staged: true}, ""},
		"something unreadable in good order":  {[]string{"result", "0", "I am done."}, Outcome{Staged: true}, ""},
		"half a result and a bad code":        {[]string{"result", "1", goodResult[:40]}, Outcome{Class: ClassExit, ExitCode: 1}, "cannot read its result"},
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
		"a log that says rate limited": {[]string{"exit", "1", "429 Too Many Requests: rate limited, usage limit reached, overloaded", "Error: rate limited (rate_limit_error), 401 unauthorized"}, Outcome{Class: ClassExit, ExitCode: 1}, "exited with code 1"},
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
	if !strings.Contains(log, "\nthe key is [REDACTED] and [REDACTED]\n") || !strings.Contains(log, "\n[stderr] Bearer [REDACTED]\n") {
		t.Error(log)
	}
	if !strings.Contains(also.String(), "[stderr] Bearer [REDACTED]") {
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
	if len(log) > transcriptHead+transcriptTail+8<<10 || !strings.Contains(log, "bytes are omitted here") || !strings.Contains(log, "the last line") {
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

// TestWatchdogSettings: those of the runtime go before those of the loop.

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

func TestFor(t *testing.T) {
	for _, typ := range []string{"zeppelin", ""} {
		if rt, err := For(protocol.Runtime{Type: typ}, Deps{}); rt != nil || err == nil || !strings.Contains(err.Error(), typ) {
			t.Errorf("%s: %v", typ, err)
		}
	}
}

// TestStoppedWhileItTriesAgain: a program that tries again and again is stopped, and what it was told by the provider is why.
