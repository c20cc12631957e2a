package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	proc "github.com/drawbar/drawbar/internal/base/pid"
	"github.com/drawbar/drawbar/transport/process/internal/supervisor"
	"github.com/drawbar/drawbar/transport/process/role"
)

// hostMain is a program that uses this package: it starts the fake args[1] and waits to be killed. args[0] is the mark.
func hostMain(args []string) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	p, err := Start(context.Background(), Spec{Path: self, Args: append([]string{args[0]}, args[2:]...), Dir: args[0],
		Env: fakeEnviron(args[1]), KeepStdin: true, Scratch: []string{filepath.Join(args[0], "private")}, Run: args[0]})
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
				fmt.Printf("ready %d %d %d\n", p.PID(), p.child.(*kept).keeper.Pid, watcherPID())
			}
		}
	}
}

// watcherPID waits until the run has lasted, and has a watcher.
func watcherPID() int {
	for {
		hostWatcher.mu.Lock()
		proc := hostWatcher.proc
		hostWatcher.mu.Unlock()
		if proc != nil {
			return proc.Pid
		}
		time.Sleep(time.Millisecond)
	}
}

// TestHostKilled: when the program that uses this package is killed with -9, nothing of its runs is left.
func TestHostKilled(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"hang", "stubborn", "group-child", "detach", "forker"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			host, agent, keeper, _ := startHost(t, dir, name)
			_ = host.Process.Kill()
			_ = host.Wait()
			killed := time.Now()
			for time.Since(killed) < 2*time.Second && (len(living(dir)) > 0 || alive(keeper)) {
				time.Sleep(time.Millisecond)
			}
			noneLeft(t, dir)
			scratchGone(t, dir)
			if alive(agent) || alive(keeper) {
				t.Errorf("agent alive: %t, keeper alive: %t", alive(agent), alive(keeper))
			}
			t.Logf("gone after %s", time.Since(killed).Round(100*time.Microsecond))
		})
	}
}

// startHost starts a program that runs the named fake, with a private folder in dir.
func startHost(t *testing.T, dir, name string) (host *exec.Cmd, agent, keeper, watcher int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "private", "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	host = exec.Command(self, dir, name)
	host.Env = fakeEnviron("host")
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	// A signal to 0 or 1 would end this test, or more.
	if _, err := fmt.Sscanf(line, "ready %d %d %d", &agent, &keeper, &watcher); err != nil || min(agent, keeper, watcher) < 2 {
		_ = host.Process.Kill()
		t.Fatalf("the host says %q", line)
	}
	if len(living(dir)) == 0 {
		t.Error("nothing runs; the test proves nothing")
	}
	return host, agent, keeper, watcher
}

// scratchGone waits until the private folder is gone.
func scratchGone(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "private")
	for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
	t.Errorf("%s is left", path)
}

// TestHostAndKeeperKilled: when host and keeper are killed or stopped together, nothing of the run is left, and its private
// folder neither.
func TestHostAndKeeperKilled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		first, then syscall.Signal // to the keeper, before and after the end of the host
		watcher     syscall.Signal
		quit        bool // the host ends by SIGQUIT
	}{
		{name: "keeper first", first: syscall.SIGKILL},
		{name: "host first", then: syscall.SIGKILL},
		{name: "keeper stopped", first: syscall.SIGSTOP},
		{name: "watcher killed", watcher: syscall.SIGKILL},
		{name: "watcher stopped", watcher: syscall.SIGSTOP},
		{name: "both stopped", first: syscall.SIGSTOP, watcher: syscall.SIGSTOP},
		{name: "quit", quit: true},
	} {
		for _, name := range []string{"hang", "stubborn", "detach", "forker"} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				host, agent, keeper, watcher := startHost(t, dir, name)
				send := func(pid int, sig syscall.Signal) {
					if sig != 0 {
						_ = syscall.Kill(pid, sig)
					}
				}
				send(watcher, c.watcher)
				send(keeper, c.first)
				if c.quit {
					send(host.Process.Pid, syscall.SIGQUIT)
				} else {
					send(host.Process.Pid, syscall.SIGKILL)
				}
				send(keeper, c.then)
				_ = host.Wait()
				for begun := time.Now(); time.Since(begun) < 10*time.Second && (len(living(dir)) > 0 || alive(agent)); {
					time.Sleep(5 * time.Millisecond)
				}
				noneLeft(t, dir)
				if alive(agent) {
					t.Error("the agent lives")
				}
				scratchGone(t, dir)
				send(watcher, syscall.SIGKILL) // one that was stopped
			})
		}
	}
}

// TestAllKilled: when host, keeper and watcher are killed together, the agent ends with its keeper, and what else lives can be
// found and ended by the name of the run.
func TestAllKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	host, agent, keeper, watcher := startHost(t, dir, "detach")
	_ = host.Process.Signal(syscall.SIGSTOP) // or it would notice, and do its work
	for s, _ := proc.ReadStat(host.Process.Pid); s.State != 'T'; s, _ = proc.ReadStat(host.Process.Pid) {
		time.Sleep(time.Millisecond)
	}
	for _, pid := range []int{watcher, keeper, host.Process.Pid} {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = host.Wait()
	for begun := time.Now(); time.Since(begun) < 10*time.Second && alive(agent); {
		time.Sleep(5 * time.Millisecond)
	}
	if alive(agent) {
		t.Error("the agent lives")
	}
	run := dir
	left := len(living(dir))
	if got := Survivors("other", run); left == 0 || got[run] < left || got["other"] != 0 {
		t.Errorf("got %v of %d", got, left)
	}
	if n, err := EndSurvivors(run, 10*time.Second); err != nil || n < left {
		t.Errorf("ended %d of %d: %v", n, left, err)
	}
	noneLeft(t, dir)
	if got := Survivors(run); got[run] != 0 {
		t.Errorf("got %v", got)
	}
	for _, g := range (supervisor.Tree{Mark: markOf(run), All: true}).Groups() {
		t.Errorf("the group %s is left", g.Path)
	}
}

// TestNextStartIsSpared: what ends the rest of one start of a run leaves the next start of the same run alone.
func TestNextStartIsSpared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begin := func() *Process {
		s := fake(t, "detach", dir)
		s.Dir, s.KeepStdin, s.Run = dir, true, dir
		p := start(t, s)
		first(t, p, "ready")
		return p
	}
	old, next := begin(), begin()
	supervisor.Watched{Mark: old.child.(*kept).tree.Mark}.End()
	if e := old.Wait(); !e.Killed && e.Err == nil {
		t.Errorf("the old start goes on: %+v", e)
	}
	select {
	case <-next.child.(*kept).gone:
		t.Error("the next start was ended as well")
	default:
	}
	if got := Survivors(dir); got[dir] == 0 {
		t.Error("the next start is not found by its run")
	}
	if n, err := EndSurvivors(dir, 10*time.Second); err != nil || n == 0 {
		t.Errorf("ended %d: %v", n, err)
	}
	noneLeft(t, dir)
}

// TestSurvivorsOfTheGroup: what has dropped every mark and its parents is found and ended by its control group.
func TestSurvivorsOfTheGroup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := supervisor.OwnGroup(markOf(dir))
	if g.Path == "" {
		t.Skip("SKIPPED: needs a control group of its own that may be divided")
	}
	if err := os.Mkdir(g.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	group, err := os.Open(g.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer group.Close()
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if got := Memory(dir, "other"); got[dir] < 100<<10 || got["other"] != 0 {
		t.Errorf("memory: %v", got)
	}
	if got := Survivors(dir, "other"); got[dir] != 1 || got["other"] != 0 {
		t.Errorf("got %v", got)
	}
	if n, err := EndSurvivors(dir, 10*time.Second); n != 1 || err != nil {
		t.Errorf("ended %d: %v", n, err)
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait() // killed
	if _, err := os.Stat(g.Path); err == nil {
		t.Errorf("the group %s is left", g.Path)
		_ = os.Remove(g.Path)
	}
}

// TestRemoveGroups: empty groups of runs that are long gone are removed, and no others.
func TestRemoveGroups(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	old := func(name string) string {
		p := filepath.Join(dir, name)
		if err := os.Mkdir(p, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, now.Add(-time.Hour), now.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	mark := markOf("a run")
	gone := old("drawbar-" + mark)
	old("drawbar-" + mark + "/drawbar-" + mark) // of a run within it
	if err := os.Chtimes(gone, now.Add(-time.Hour), now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	stay := []string{old("drawbar-x"), old("other"), old("drawbar-" + strings.Repeat("z", 32))}
	fresh := filepath.Join(dir, "drawbar-"+markOf("another"))
	starting := filepath.Join(old("drawbar-"+markOf("its parent")), "drawbar-"+markOf("another"))
	for _, p := range []string{fresh, starting} {
		if err := os.Mkdir(p, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	removeGroups(dir, now)
	if _, err := os.Stat(gone); err == nil {
		t.Error("the group is left")
	}
	for _, p := range append(stay, fresh, starting) {
		if _, err := os.Stat(p); err != nil {
			t.Error(err)
		}
	}
}

func alive(pid int) bool {
	s, ok := proc.ReadStat(pid)
	return ok && !s.Dead()
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
				if k.group.Path != "" {
					if _, err := os.Stat(k.group.Path); err == nil {
						t.Errorf("the group %s is left", k.group.Path)
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

// reaped waits until a keeper is no child of ours any more. Wait does not wait for that.
func reaped(t *testing.T, k *kept) {
	t.Helper()
	var s proc.Stat
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		var ok bool
		if s, ok = proc.ReadStat(k.keeper.Pid); !ok || s.Parent != os.Getpid() {
			return
		}
	}
	t.Errorf("the keeper is left: %+v", s)
}

// TestStartAhead: the first process gets the keeper that was started ahead, the next one its own, and one that nobody needs ends.
func TestStartAhead(t *testing.T) {
	keepers := func() map[int]bool { // and no watcher, which a program starts when it likes
		pids := map[int]bool{}
		for _, s := range supervisor.Descendants(os.Getpid()) {
			argv, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.PID))
			pids[s.PID] = s.Parent == os.Getpid() && strings.HasPrefix(string(argv), role.Keeper+"\x00")
		}
		return pids
	}
	before := keepers()
	role.StartAhead()
	first := start(t, fake(t, "true")).child.(*kept)
	for pid, ours := range keepers() {
		if ours && !before[pid] && pid != first.keeper.Pid {
			t.Errorf("keeper %d was started ahead, and the first process has keeper %d", pid, first.keeper.Pid)
		}
	}
	role.StartAhead()
	unused, err := startKeeper()
	if err != nil {
		t.Fatal(err)
	}
	if next := start(t, fake(t, "true")).child.(*kept); next.keeper.Pid == unused.keeper.Pid || next.keeper.Pid == first.keeper.Pid {
		t.Errorf("keeper %d keeps two", next.keeper.Pid)
	}
	_ = unused.ctl.Close() // as the end of this program does
	if state, err := unused.keeper.Wait(); err != nil || !state.Success() {
		t.Errorf("an unused keeper: %v, %v", state, err)
	}
}

// TestKeeperIsReaped: a run leaves neither a zombie nor a control group.
func TestKeeperIsReaped(t *testing.T) {
	t.Parallel()
	p := start(t, fake(t, "true"))
	k := p.child.(*kept)
	all(t, p)
	p.Wait()
	reaped(t, k)
	if k.group.Path == "" {
		t.Log("no control group here; the rest is not tested")
		return
	}
	if _, err := os.Stat(k.group.Path); err == nil {
		t.Errorf("the group %s is left", k.group.Path)
	}
}

// TestGroupIsUsed: where the own control group may be divided, the agent is in a leaf of it and the keeper is not.
func TestGroupIsUsed(t *testing.T) {
	t.Parallel()
	if supervisor.OwnGroupDir() == "" {
		t.Skip("SKIPPED: needs a control group of its own that may be divided")
	}
	s := fake(t, "hang")
	p := start(t, s)
	first(t, p, "ready")
	k := p.child.(*kept)
	group := func(pid int) string {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		return string(b)
	}
	leaf := k.group.Path[strings.LastIndexByte(k.group.Path, '/'):]
	if !strings.Contains(group(p.PID()), leaf) {
		t.Errorf("the agent is in %q, want %s", group(p.PID()), leaf)
	}
	if strings.Contains(group(k.keeper.Pid), leaf) {
		t.Errorf("the keeper is in the group it has to kill")
	}
}
