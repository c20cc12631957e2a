//go:build unix

package turnruntime

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

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
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	d := scene(t, "stubborn", pidFile, "child")
	d.Timeout, d.Runtime.GraceMS = 1500*time.Millisecond, new(300)
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
	if last := w.progress[len(w.progress)-1]; last.Stage != govern.StageStopping {
		t.Errorf("%+v", last)
	}
}

func TestTermLeavesTimeToEndWell(t *testing.T) {
	t.Parallel()
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
		{Dispatch{Runtime: protocol.Runtime{GraceMS: new(70)}}, 70 * time.Millisecond}, {Dispatch{Runtime: protocol.Runtime{GraceMS: new(0)}}, -1},
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
		"runtime":           {Dispatch{Runtime: protocol.Runtime{TimeoutMS: new(600000)}}, 10 * time.Minute},
		"the earlier":       {Dispatch{Deadline: now.Add(time.Hour), Runtime: protocol.Runtime{TimeoutMS: new(600000)}}, 10 * time.Minute},
		"the earlier, too":  {Dispatch{Deadline: now.Add(time.Minute), Runtime: protocol.Runtime{TimeoutMS: new(600000)}}, time.Minute},
		"one that passed":   {Dispatch{Deadline: now.Add(-time.Minute)}, 20 * time.Minute},
		"the caller's wins": {Dispatch{Timeout: 2 * time.Hour, Deadline: now.Add(time.Minute), Runtime: protocol.Runtime{TimeoutMS: new(1)}}, 2 * time.Hour},
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
		"standard output is life":      {[]string{"slowly", "stdout", "16"}, 2500, 2500, "", "stdout"},
		"standard error is life":       {[]string{"slowly", "stderr", "16"}, 2500, 2500, "", "stderr"},
		"half a line is life":          {[]string{"slowly", "part", "16"}, 2500, 2500, "", "stdout"},
		"writing the result is life":   {[]string{"slowly", "staged", "16"}, 2500, 2500, "", "staged_result"},
		"silence within the threshold": {[]string{"slowly", "none", "8"}, 4000, 4000, "", "staged_result"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := scene(t, tt.as[0], tt.as[1:]...)
			d.Runtime.StartupWatchdogMS, d.Loop.StaleTurnThresholdMS = &tt.startup, &tt.stale
			d.Runtime.GraceMS = new(200)
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

func TestWatchdogSettings(t *testing.T) {
	t.Parallel()
	d := scene(t, "silent")
	d.Loop.StartupWatchdogMS = new(500)
	if o := carry(t, context.Background(), d, &watcher{}); o.Class != ClassNoOutput {
		t.Errorf("the loop's: %+v", o)
	}
	d = scene(t, "silent")
	d.Loop.StartupWatchdogMS, d.Runtime.StartupWatchdogMS, d.Timeout = new(400), new(60000), 1500*time.Millisecond
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
		stage  govern.Stage
	}{
		"before the first sign":          {"silent", func(d *Dispatch) { d.Runtime.StartupHeartbeatMS = new(100) }, govern.StageStarting},
		"before, by the loop":            {"silent", func(d *Dispatch) { d.Loop.StartupHeartbeatMS = new(100) }, govern.StageStarting},
		"after the first sign":           {"once", func(d *Dispatch) { d.Runtime.LivenessHeartbeatMS = new(100) }, govern.StageRunning},
		"after the first, by the loop":   {"once", func(d *Dispatch) { d.Loop.LivenessHeartbeatMS = new(100) }, govern.StageRunning},
		"none while nothing asks for it": {"once", func(*Dispatch) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := scene(t, tt.as)
			d.Timeout, d.Runtime.GraceMS = 1500*time.Millisecond, new(50)
			tt.change(&d)
			w := &watcher{}
			carry(t, context.Background(), d, w)
			n := map[govern.Stage]int{}
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
	t.Parallel()
	d := scene(t, "stubborn", filepath.Join(t.TempDir(), "pid"))
	d.Runtime.GraceMS = new(100)
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

func TestProgressInWords(t *testing.T) {
	at := time.Unix(1000, 0)
	p := govern.Progress{Role: "dev", Runtime: "local-dev", Worker: "claude", Stage: govern.StageRunning, Since: at.Add(-150 * time.Second), At: at,
		LastSign: at.Add(-5 * time.Second), Deadline: at.Add(10 * time.Minute), Doing: "Bash", CostUSD: new(0.12), Tokens: 1234}
	if got, want := p.String(), "dev (local-dev, claude) running for 2m30s: Bash, last activity 5s ago, 1234 tokens, $0.1200, 10m left"; got != want {
		t.Errorf("%q", got)
	}
	p = govern.Progress{Role: "pm", Runtime: "m", Worker: "a person", Stage: govern.StageWaiting, Since: at, At: at}
	if got, want := p.String(), "pm (m, a person) waiting for 0s"; got != want {
		t.Errorf("%q", got)
	}
}

func TestStoppedWhileItTriesAgain(t *testing.T) {
	t.Parallel()
	d := scene(t, "tries")
	d.Timeout, d.Runtime.GraceMS = time.Second, new(100)
	if o := carryWith(t, known{}, d); o.Class != "auth_failure" || !strings.Contains(o.Detail, "timeout") || !strings.Contains(o.Detail, "401") {
		t.Errorf("%+v", o)
	}
}
