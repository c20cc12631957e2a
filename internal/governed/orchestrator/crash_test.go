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
	"github.com/drawbar/drawbar/internal/governed/audit"
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
	switch what := os.Getenv("DRAWBAR_TEST_COMMAND"); {
	case err != nil:
	case what == "sync":
		_, err = Shared{e}.Sync(context.Background(), govern.SyncOptions{})
	case what == "run":
		_, err = Shared{e}.Run(context.Background(), govern.RunOptions{MaxTurns: 4})
	case what == "apply":
		_, err = e.DecideProposal(context.Background(), govern.ProposalOptions{})
	default:
		_, err = e.Step(context.Background(), govern.StepOptions{})
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// crash steps, or does something else, in another process that dies at a point; the point is empty when there are fewer.
func (p *world) crash(number int, what string) (point string) {
	p.t.Helper()
	self, err := testenv.Self()
	if err != nil {
		p.t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), workerEnv+"=crashing engine", "DRAWBAR_TEST_ROOT="+p.root, "DRAWBAR_TEST_COMMAND="+what, "DRAWBAR_TEST_CRASH="+strconv.Itoa(number))
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
	for name, c := range map[string]struct {
		config string
		stride int
	}{"work": {one(runtimeOf("ok"), ""), 1}, "proposal": {alone("proposed", runtimeOf("proposes a file of its own"), ""), 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, c.config)
			finished := 0
			for n := 0; ; n += c.stride {
				before := p.accepted()
				point := p.crash(n, "step")
				if point == "" {
					if n < 20 {
						t.Errorf("a turn has only %d points", n)
					}
					break
				}
				// What a reader sees now is what stays.
				seen := p.accepted()
				p.verified(n, point)
				p.step(govern.OutcomeAccepted)
				after := p.accepted()
				if !slices.Equal(after[:len(seen)], seen) || len(seen) < len(before) || len(after) != len(seen)+1 {
					t.Fatalf("%d, after %s: accepted %v, then %v, then %v", n, point, before, seen, after)
				}
				finished += len(seen) - len(before)
				p.whole(n, point)
			}
			if finished < 5/c.stride {
				t.Errorf("only %d points lie behind the decision", finished)
			}
			if dirty := p.git("status", "--porcelain"); strings.Contains(dirty, "work.txt") {
				t.Errorf("the work is not committed: %s", dirty)
			}
		})
	}
}

// TestCrashAtEveryPointOfAnApplication kills the engine while it applies proposals: each is applied once, and as a whole.
func TestCrashAtEveryPointOfAnApplication(t *testing.T) {
	t.Parallel()
	p := newProject(t, alone("proposed", runtimeOf("proposes a file of its own"), ""))
	for n := 0; ; n++ {
		turn := p.step(govern.OutcomeAccepted).TurnID
		point := p.crash(n, "apply")
		p.verified(n, point)
		_, err := p.decide(govern.ProposalOptions{Turn: turn})
		if last := p.proposals()[n]; last.Fault != "" || last.Status != govern.ProposalApplied || err != nil && !strings.Contains(err.Error(), "already applied") {
			t.Fatalf("%d, after %s: %v, %+v", n, point, err, last)
		}
		p.whole(n, point)
		if got := p.git("status", "--porcelain", "-uall"); p.read(turn+".txt") != turn || got != "?? "+turn+".txt" {
			t.Fatalf("%d, after %s: %q in %s.txt; git status: %s", n, point, p.read(turn+".txt"), turn, got)
		}
		if point == "" {
			if n < 10 {
				t.Errorf("an application has only %d points", n)
			}
			break
		}
		p.git("add", "-A")
		p.git("commit", "-qm", "advice")
	}
}

// verified wants the record to hold as a crash left it, with a transaction that has to be finished or without one.
func (p *world) verified(number int, point string) {
	p.t.Helper()
	if r, err := audit.Verify(p.t.Context(), p.root); err != nil || !r.OK {
		p.t.Fatalf("%d, after %s: %v %+v %+v", number, point, err, r.Broken, r.Git.Findings)
	}
}

// whole wants nothing to be left to finish.
func (p *world) whole(number int, point string) {
	p.t.Helper()
	if err := soundness(p.t.Context(), p.root); err != nil {
		p.t.Fatalf("%d, after %s: %v", number, point, err)
	}
}
