//go:build unix

package copilot

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// playLauncher is the script that npm installs: it starts the program, here in a session of its own, and waits. It handles no
// signal, so one ends it at once and leaves the program running.
func playLauncher() {
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	for _, v := range os.Environ() {
		if v != launcherVar+"=1" {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if cmd.Run() != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// inbox has nothing to say.
type inbox struct{}

func (inbox) Receive(context.Context) (execution.Command, error) {
	return execution.EndInput{}, context.Canceled
}

// TestLauncherLeavesNothing: what the script leaves behind when a signal ends it is ended too, and its exit is no success.
func TestLauncherLeavesNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: there is a supervisor on Linux only")
	}
	dir, state := adaptertest.LinkSelf(t, "copilot"), t.TempDir()
	for _, scenario := range []adaptertest.Scenario{adaptertest.Hang, adaptertest.Stubborn} {
		req := request()
		grace := int64(200)
		req.Run.GracePeriodMs, req.Run.ApprovalMode = &grace, execution.ApprovalYolo
		req.Run.Env = map[string]string{"PATH": dir + string(filepath.ListSeparator) + os.Getenv("PATH"), fakeVar: string(scenario), stateVar: state, launcherVar: "1", "HOME": state}
		ctx, cancel := context.WithCancel(t.Context())
		var last execution.Result
		for e, err := range New(cliagent.Options{}).Execute(ctx, req, inbox{}) {
			if err != nil {
				t.Fatal(err)
			}
			switch b := e.Body.(type) {
			case execution.TextDelta:
				cancel()
			case execution.Finished:
				last = b.Result
			}
		}
		cancel()
		if last.Status != execution.StatusFailed || last.Error.ErrorCode() != execution.CodeAborted {
			t.Errorf("%s: %s %+v", scenario, last.Status, last.Error)
		}
		if err := adaptertest.MarkedProcesses(stateVar + "=" + state)(); err != nil {
			t.Errorf("%s: %v", scenario, err)
		}
	}
}
