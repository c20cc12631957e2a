//go:build unix

package orchestrator

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/base/testenv"
)

// crashingEngine carries one turn and kills itself, as nothing else can, at a point of its transactions: the one that has the
// number DRAWBAR_TEST_CRASH among those whose transaction is of the kind that is asked for. It says so before.
func crashingEngine(*worker) {
	number, _ := strconv.Atoi(os.Getenv("DRAWBAR_TEST_CRASH"))
	os.Unsetenv(workerEnv)
	e, err := Open(os.Getenv("DRAWBAR_TEST_ROOT"), Options{Trust: anything, Getenv: os.Getenv, Environ: os.Environ(), Crash: func(point string) {
		if strings.HasPrefix(point, "sync ") {
			return // what a process has written outlives it, flushed or not
		}
		if number--; number < 0 {
			fmt.Println(point)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}})
	switch what := os.Getenv("DRAWBAR_TEST_TEAM"); {
	case err != nil:
	case what == "sync":
		_, err = Shared{e}.Sync(context.Background(), govern.SyncOptions{})
	case what == "step":
		_, err = Shared{e}.Step(context.Background(), govern.StepOptions{})
	case what == "run":
		_, err = Shared{e}.Run(context.Background(), govern.RunOptions{MaxTurns: 4})
	default:
		_, err = e.Step(context.Background(), govern.StepOptions{})
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// crash steps in another process that dies at a point; the point is empty when there are fewer.
func (p *world) crash(number int) (point string) {
	p.t.Helper()
	self, err := testenv.Self()
	if err != nil {
		p.t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), workerEnv+"=crashing engine", "DRAWBAR_TEST_ROOT="+p.root, "DRAWBAR_TEST_CRASH="+strconv.Itoa(number))
	out, err := c.CombinedOutput()
	if err == nil {
		return ""
	}
	if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		p.t.Fatalf("crash %d: %v\n%s", number, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestCrashAtEveryPointOfATurn kills the engine after every write, flush, rename and removal of a turn's transactions, its
// checkpoint in git included, and wants the next command to go on by itself.
func TestCrashAtEveryPointOfATurn(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(runtimeOf("ok"), ""))
	finished := 0
	for n := 0; ; n++ {
		before := p.accepted()
		point := p.crash(n)
		if point == "" {
			if n < 20 {
				t.Errorf("a turn has only %d points", n)
			}
			break
		}
		// What a reader sees now is what stays.
		seen := p.accepted()
		p.step(govern.OutcomeAccepted)
		after := p.accepted()
		if !slices.Equal(after[:len(seen)], seen) || len(seen) < len(before) || len(after) != len(seen)+1 {
			t.Fatalf("%d, after %s: accepted %v, then %v, then %v", n, point, before, seen, after)
		}
		finished += len(seen) - len(before)
		if err := soundness(t.Context(), p.root); err != nil {
			t.Fatalf("%d, after %s: %v", n, point, err)
		}
	}
	if finished < 5 {
		t.Errorf("only %d points lie behind the decision", finished)
	}
	if dirty := p.git("status", "--porcelain"); strings.Contains(dirty, "work.txt") {
		t.Errorf("the work is not committed: %s", dirty)
	}
}
