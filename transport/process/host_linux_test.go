package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostMain is a program that uses this package: it starts the fake args[1] and waits to be killed. args[0] is the mark.
func hostMain(args []string) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	p, err := Start(context.Background(), Spec{Path: self, Args: append([]string{args[0]}, args[2:]...), Dir: args[0],
		Env: fakeEnviron(args[1]), KeepStdin: true})
	if err != nil {
		say(err.Error())
		os.Exit(1)
	}
	for {
		lines, err := p.Next(context.Background())
		if err != nil {
			say(err.Error())
			os.Exit(1)
		}
		for _, l := range lines {
			if string(l.Data) == "ready" {
				fmt.Printf("ready %d %d\n", p.PID(), p.child.(*kept).keeper.Pid)
			}
		}
	}
}

// TestHostKilled: when the program that uses this package is killed with -9, nothing of its runs is left.
func TestHostKilled(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"hang", "stubborn", "group-child", "detach", "forker"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			host := exec.Command(self, dir, name)
			host.Env = fakeEnviron("host")
			out, err := host.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			line, _ := bufio.NewReader(out).ReadString('\n')
			var agent, keeper int
			if _, err := fmt.Sscanf(line, "ready %d %d", &agent, &keeper); err != nil {
				_ = host.Process.Kill()
				t.Fatalf("the host says %q", line)
			}
			if len(living(dir)) == 0 {
				t.Error("nothing runs; the test proves nothing")
			}
			_ = host.Process.Kill()
			_ = host.Wait()
			killed := time.Now()
			for time.Since(killed) < 2*time.Second && (len(living(dir)) > 0 || alive(keeper)) {
				time.Sleep(time.Millisecond)
			}
			noneLeft(t, dir)
			if alive(agent) || alive(keeper) {
				t.Errorf("agent alive: %t, keeper alive: %t", alive(agent), alive(keeper))
			}
			t.Logf("gone after %s", time.Since(killed).Round(100*time.Microsecond))
		})
	}
}

func alive(pid int) bool {
	s, ok := readStat(pid)
	return ok && !s.dead()
}

// TestKeeperKilled: the host notices at once and kills what the keeper held.
func TestKeeperKilled(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"hang", "stubborn", "group-child", "detach", "forker"} {
		for _, m := range modes[:2] {
			t.Run(name+"/"+m.name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				s := fake(t, name, dir)
				s.Dir, s.KeepStdin, s.withoutGroup = dir, true, m.alone
				p := start(t, s)
				first(t, p, "ready")
				k := p.child.(*kept)
				if err := k.keeper.Kill(); err != nil {
					t.Fatal(err)
				}
				all(t, p)
				e := p.Wait()
				if !errors.Is(e.Err, ErrKeeperLost) || e.Code != -1 || e.Duration > 10*time.Second {
					t.Errorf("got %+v", e)
				}
				noneLeft(t, dir)
				if alive(k.agent) {
					t.Error("the agent lives")
				}
				if k.group.path != "" {
					if _, err := os.Stat(k.group.path); err == nil {
						t.Errorf("the group %s is left", k.group.path)
					}
				}
			})
		}
	}
}

// TestKeeperTermIgnored: a signal that was meant for the host and all around it does not end the keeper.
func TestKeeperTermIgnored(t *testing.T) {
	t.Parallel()
	s := fake(t, "eof")
	s.KeepStdin = true
	p := start(t, s)
	first(t, p, "ready")
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGTSTP} {
		if err := p.child.(*kept).keeper.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	p.CloseInput()
	out, _ := all(t, p)
	if e := p.Wait(); e.Err != nil || e.Code != 0 || strings.Join(out, " ") != "bye" {
		t.Errorf("got %+v and %q", e, out)
	}
}

// TestKeeperStopped: a keeper that does not answer is given up, and the run ends all the same.
func TestKeeperStopped(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"hang", "detach"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := fake(t, name, dir)
			s.Dir, s.KeepStdin, s.killLimit = dir, true, 200*time.Millisecond
			p := start(t, s)
			first(t, p, "ready")
			if err := p.child.(*kept).keeper.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			p.Stop(50 * time.Millisecond)
			all(t, p)
			if e := p.Wait(); !errors.Is(e.Err, ErrKeeperLost) || !e.Killed || e.Duration > 10*time.Second {
				t.Errorf("got %+v", e)
			}
			noneLeft(t, dir)
		})
	}
}

// TestKeeperIsReaped: a run leaves neither a zombie nor a control group.
func TestKeeperIsReaped(t *testing.T) {
	t.Parallel()
	p := start(t, fake(t, "true"))
	k := p.child.(*kept)
	all(t, p)
	p.Wait()
	if s, ok := readStat(k.keeper.Pid); ok && s.ppid == os.Getpid() {
		t.Errorf("the keeper is left: %+v", s)
	}
	if k.group.path == "" {
		t.Log("no control group here; the rest is not tested")
		return
	}
	if _, err := os.Stat(k.group.path); err == nil {
		t.Errorf("the group %s is left", k.group.path)
	}
}

// TestGroupIsUsed: where the own control group may be divided, the agent is in a leaf of it and the keeper is not.
func TestGroupIsUsed(t *testing.T) {
	t.Parallel()
	if ownGroupDir() == "" {
		t.Skip("the own control group may not be divided here")
	}
	s := fake(t, "hang")
	p := start(t, s)
	first(t, p, "ready")
	k := p.child.(*kept)
	group := func(pid int) string {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		return string(b)
	}
	leaf := k.group.path[strings.LastIndexByte(k.group.path, '/'):]
	if !strings.Contains(group(p.PID()), leaf) {
		t.Errorf("the agent is in %q, want %s", group(p.PID()), leaf)
	}
	if strings.Contains(group(k.keeper.Pid), leaf) {
		t.Errorf("the keeper is in the group it has to kill")
	}
}
