//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// keeps runs what one program does with what the other has left, and wants every line of the record of before to be there still.
func (c *chain) keeps(do func()) {
	c.t.Helper()
	before := map[string]string{}
	for _, path := range c.records() {
		before[path] = c.read(path)
	}
	do()
	for path, was := range before {
		if now := c.read(path); !strings.HasPrefix(now, was) {
			c.t.Errorf("%s lost lines; it was\n%s\nand is\n%s", path, was, now)
		}
	}
}

func (c *chain) records() (paths []string) {
	all, err := filepath.Glob(filepath.Join(c.dir, ".agentxchain", "*.jsonl"))
	if err != nil || len(all) == 0 {
		c.t.Fatalf("no records: %v", err)
	}
	for _, p := range all {
		paths = append(paths, ".agentxchain/"+filepath.Base(p))
	}
	return paths
}

// fails wants a command to be refused, with a text.
func (c *chain) fails(want, name string, args ...string) {
	c.t.Helper()
	if out, err := c.run(name, args...); err == nil || !strings.Contains(out, want) {
		c.t.Errorf("%s %v: %v; it does not say %q:\n%s", filepath.Base(name), args, err, want, out)
	}
}

// edit changes a JSON file of the project.
func (c *chain) edit(name string, change func(map[string]any)) {
	c.t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(c.read(name)), &v); err != nil {
		c.t.Fatal(err)
	}
	change(v)
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(name, string(b)+"\n")
}

// configure changes agentxchain.json as its user does: committed, and trusted.
func (c *chain) configure(change func(map[string]any)) {
	c.t.Helper()
	c.edit("agentxchain.json", change)
	c.must("git", "commit", "-qam", "configure")
	c.must(binary, "trust", "--yes", ".")
}

// killedInATurn leaves a turn of the original whose program was killed while its worker goes on, and gives the worker's process.
func (c *chain) killedInATurn() (worker int) {
	c.t.Helper()
	c.write("wait", "")
	ax := c.command(context.Background(), c.original, "step")
	ax.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := ax.Start(); err != nil {
		c.t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for worker == 0 && time.Now().Before(deadline) {
		worker, _ = strconv.Atoi(c.read("waiting")) // not there yet
		time.Sleep(20 * time.Millisecond)
	}
	_ = ax.Process.Kill()
	_ = ax.Wait() // it was killed
	if worker < 2 {
		c.t.Fatal("no worker started")
	}
	c.t.Cleanup(func() { _ = syscall.Kill(worker, syscall.SIGKILL) })
	return worker
}

// TestAgentXchainKilledInATurn: its worker outlives it. No second one starts beside it; what it hands in is taken; and a number that another
// program has by now blocks nothing.
func TestAgentXchainKilledInATurn(t *testing.T) {
	t.Parallel()
	t.Run("the worker lives", func(t *testing.T) {
		t.Parallel()
		c := newChain(t)
		c.ax("step")
		worker := c.killedInATurn()
		c.keeps(func() {
			c.fails(fmt.Sprintf("process %d) still runs", worker), binary, "govern", "step")
			if pid, _ := strconv.Atoi(c.read("waiting")); pid != worker {
				t.Errorf("a second worker, %d, runs beside %d", pid, worker)
			}
			c.must("rm", "wait")
			for deadline := time.Now().Add(time.Minute); syscall.Kill(worker, 0) == nil && time.Now().Before(deadline); {
				time.Sleep(20 * time.Millisecond)
			}
			c.db("step")
		})
		c.sound(2)
		c.keeps(func() { c.ax("step") })
		c.keeps(func() { c.db("step") })
		c.sound(4)
	})
	t.Run("another program has its number", func(t *testing.T) {
		t.Parallel()
		c := newChain(t)
		worker := c.killedInATurn()
		_ = syscall.Kill(worker, syscall.SIGKILL)
		c.must("rm", "wait")
		other := exec.Command("sleep", "600")
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
		c.edit(".agentxchain/state.json", func(st map[string]any) {
			for _, turn := range st["active_turns"].(map[string]any) {
				turn.(map[string]any)["worker_pid"] = other.Process.Pid
				turn.(map[string]any)["worker_attached_at"] = time.Now().Add(-time.Hour).UTC().Format("2006-01-02T15:04:05.000Z")
			}
		})
		c.keeps(func() { c.db("step") })
		c.sound(1)
		c.keeps(func() { c.ax("step") })
	})
}

// startsNothing makes the worker's program one that is not there, and back.
func startsNothing(program string) func(map[string]any) {
	return func(v map[string]any) {
		v["runtimes"].(map[string]any)["cli"].(map[string]any)["command"] = []string{"env", chainWorker + "=1", program}
	}
}

func budget(usd float64) func(map[string]any) {
	return func(v map[string]any) { v["budget"].(map[string]any)["per_run_max_usd"] = usd }
}

// TestBlockedRunsGoOnAtTheOtherProgram: what stopped under one program is dealt with, and goes on under the other.
func TestBlockedRunsGoOnAtTheOtherProgram(t *testing.T) {
	t.Parallel()
	const costly = `{"cost":{"input_tokens":1,"output_tokens":1,"usd":60}}`
	for name, f := range map[string]func(*chain){
		"a start that failed there": func(c *chain) {
			c.ax("step")
			c.configure(startsNothing("/no/such/agent"))
			if out, err := c.run(c.original, "step"); err == nil {
				c.t.Fatalf("it started:\n%s", out)
			}
			c.configure(startsNothing(mustSelf(c.t)))
			c.keeps(func() { c.db("step", "--resume") })
			c.sound(2)
			c.keeps(func() { c.ax("step") })
		},
		"a start that failed here": func(c *chain) {
			c.db("step")
			c.configure(startsNothing("/no/such/agent"))
			if out, err := c.run(binary, "govern", "step"); err == nil {
				c.t.Fatalf("it started:\n%s", out)
			}
			c.configure(startsNothing(mustSelf(c.t)))
			c.keeps(func() { // its baseline is of before the configuration was mended
				c.ax("reissue-turn", "--reason", "the agent was not there")
				c.ax("step", "--resume")
			})
			c.keeps(func() {
				c.db("restart", "--adopt-state")
				c.db("step")
			})
			c.sound(3)
		},
		"a budget used up there": func(c *chain) {
			c.plan(costly)
			_, _ = c.run(c.original, "step") // it says so by its exit code
			c.plan(`{}`)
			if s := c.state(); s.Status != "blocked" {
				c.t.Fatalf("the run is %s", s.Status)
			}
			c.keeps(func() {
				c.fails("budget", binary, "govern", "step", "--resume")
				c.configure(budget(200))
				c.db("step", "--resume")
			})
			c.sound(2)
			c.keeps(func() { c.ax("step") })
		},
		"a budget used up here": func(c *chain) {
			c.plan(costly)
			_, _ = c.run(binary, "govern", "step")
			c.plan(`{}`)
			if s := c.state(); s.Status != "blocked" {
				c.t.Fatalf("the run is %s", s.Status)
			}
			c.configure(budget(200))
			c.keeps(func() { c.ax("resume") })
			c.keeps(func() {
				c.db("restart", "--adopt-state")
				c.db("step")
			})
			c.sound(2)
		},
		"one of two turns at a time, begun there": func(c *chain) {
			c.configure(atOnce(2))
			c.ax("resume")
			c.keeps(func() { c.db("step") })
			c.sound(1)
			c.keeps(func() { c.ax("step") })
		},
		"one of two turns at a time, begun here": func(c *chain) {
			c.configure(atOnce(2))
			c.db("resume")
			c.keeps(func() { c.ax("step", "--resume") })
			c.keeps(func() {
				c.db("restart", "--adopt-state") // a turn that drawbar had made ready, accepted elsewhere
				c.db("step")
			})
			c.sound(2)
		},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); f(newChain(t)) })
	}
}

func atOnce(n int) func(map[string]any) {
	return func(v map[string]any) {
		for _, phase := range v["routing"].(map[string]any) {
			phase.(map[string]any)["max_concurrent_turns"] = n
		}
	}
}
