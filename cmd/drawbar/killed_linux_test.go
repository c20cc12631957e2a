package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// lingerEnv makes this binary an agent that hangs, with a process that has left it.
const lingerEnv = "DRAWBAR_TEST_LINGER"

func playLinger() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("2.1.329 (Claude Code)")
		os.Exit(0)
	}
	if len(os.Args) == 2 && os.Args[1] == "left" {
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	self, _ := os.Executable()
	left := exec.Command(self, "left")
	left.Args[0] = "claude"
	left.Env = []string{lingerEnv + "=" + os.Getenv(lingerEnv)}
	left.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := left.Start(); err != nil {
		panic(err)
	}
	_, _ = fmt.Printf(`{"type":"system","subtype":"init","cwd":".","session_id":"11111111-2222-4333-8444-555555555555","mcp_servers":[],"model":"m","permissionMode":"default"}` + "\n")
	if err := os.WriteFile(os.Getenv(lingerEnv), nil, 0o600); err != nil {
		panic(err)
	}
	time.Sleep(time.Minute)
	os.Exit(0)
}

// lingering is a run that hangs, with a private folder.
type lingering struct {
	h       leakHome
	cmd     *exec.Cmd
	mark    string
	helpers []int // keeper and watcher
}

func startLingering(t *testing.T) lingering {
	t.Helper()
	l := lingering{h: newLeakHome(t)}
	l.mark = filepath.Join(l.h.dir, "mark")
	l.h.env = append(slices.DeleteFunc(l.h.env, func(v string) bool { return strings.HasPrefix(v, leakEnv) }), lingerEnv+"="+l.mark)
	servers, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"web": map[string]any{"type": "http", "url": "https://mcp.example/", "headers": map[string]string{"Authorization": "Bearer supersecret"}}}})
	config := filepath.Join(l.h.dir, "mcp.json")
	if err := os.WriteFile(config, servers, 0o600); err != nil {
		t.Fatal(err)
	}
	l.cmd = exec.Command(filepath.Join(l.h.dir, "bin", "drawbar"), "run", "claude", "--approve", "yolo", "--json", "--mcp", config, "-p", "hang")
	l.cmd.Dir, l.cmd.Env = filepath.Join(l.h.dir, "repo"), l.h.env
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.cmd.Process.Kill()
		_ = l.cmd.Wait()
		for _, pid := range l.alive() {
			send(pid, syscall.SIGKILL)
		}
	})
	await(t, "the agent", func() bool { _, err := os.Stat(l.mark); return err == nil })
	// The system's list of children is not complete while one of them is made.
	// A watcher that is not executed yet is a copy of drawbar, sockets included; it is given to a run that has lasted.
	await(t, "keeper and watcher", func() bool { l.helpers = l.children(); return len(l.helpers) == 2 && l.watcher() != 0 })
	if len(l.helpers) != 2 || len(l.folders()) != 1 || len(l.alive()) != 2 {
		t.Fatalf("helpers %v, private folders %v, processes %v", l.helpers, l.folders(), l.alive())
	}
	return l
}

// send signals a process that may be gone. 0 and below would be the group of this test.
func send(pid int, sig syscall.Signal) {
	if pid > 1 {
		_ = syscall.Kill(pid, sig)
	}
}

// children are the processes that drawbar itself started.
func (l lingering) children() (pids []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", l.cmd.Process.Pid))
	for _, task := range tasks {
		list, _ := os.ReadFile(task)
		for f := range strings.FieldsSeq(string(list)) {
			pid, _ := strconv.Atoi(f)
			pids = append(pids, pid)
		}
	}
	return pids
}

// watcher is the helper that watches drawbar and the keeper, 0 for none.
func (l lingering) watcher() int {
	for _, pid := range l.children() {
		if comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); string(comm) == "agent-watcher\n" {
			return pid
		}
	}
	return 0
}

// alive lists the agent's processes.
func (l lingering) alive() []int {
	var found []int
	list, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range list {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !bytes.Contains(env, []byte(lingerEnv+"="+l.mark+"\x00")) {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		name, _, _ := strings.Cut(string(args), "\x00")
		if filepath.Base(name) == "claude" && !bytes.Contains(stat, []byte(") Z ")) {
			found = append(found, pid)
		}
	}
	return found
}

func (l lingering) folders() []string {
	list, _ := filepath.Glob(filepath.Join(l.h.dir, "tmp", "drawbar-*-*"))
	return list
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Errorf("%s: waited in vain", what)
}

// TestKilledRunLeavesNothing: however drawbar ends, its agent's processes and private files go.
func TestKilledRunLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(l lingering){
		"kill":            func(l lingering) { _ = l.cmd.Process.Kill() },
		"quit":            func(l lingering) { _ = l.cmd.Process.Signal(syscall.SIGQUIT) },
		"stop --force":    func(l lingering) { l.h.run(t, nil, "drawbar", "stop", "--force", l.id(t)) },
		"one helper dies": func(l lingering) { send(l.helpers[0], syscall.SIGKILL); _ = l.cmd.Process.Kill() },
		"the other dies":  func(l lingering) { send(l.helpers[1], syscall.SIGKILL); _ = l.cmd.Process.Kill() },
		"one after another": func(l lingering) {
			first := 0 // it has its name a moment after it was started
			await(t, "the watcher", func() bool { first = l.watcher(); return first != 0 })
			send(first, syscall.SIGKILL)
			await(t, "another watcher", func() bool { w := l.watcher(); return w != 0 && w != first })
			for _, pid := range l.helpers {
				send(pid, syscall.SIGKILL)
			}
			_ = l.cmd.Process.Kill()
		},
		"all of its name": func(l lingering) {
			await(t, "the names", func() bool { return l.watcher() != 0 })
			for _, pid := range append(l.helpers, l.cmd.Process.Pid) {
				if comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); strings.Contains(string(comm), "drawbar") {
					send(pid, syscall.SIGKILL)
				}
			}
		},
		"both stop": func(l lingering) {
			for _, pid := range l.helpers {
				send(pid, syscall.SIGSTOP)
			}
			_ = l.cmd.Process.Kill()
		},
		"one stops":       func(l lingering) { send(l.helpers[0], syscall.SIGSTOP); _ = l.cmd.Process.Kill() },
		"the other stops": func(l lingering) { send(l.helpers[1], syscall.SIGSTOP); _ = l.cmd.Process.Kill() },
	} {
		for i := range 2 {
			t.Run(fmt.Sprintf("%s %d", name, i), func(t *testing.T) {
				t.Parallel()
				l := startLingering(t)
				end(l)
				_ = l.cmd.Wait()
				await(t, "the end of the agent's processes", func() bool { return len(l.alive()) == 0 })
				await(t, "the end of the private folder", func() bool { return len(l.folders()) == 0 })
				for _, pid := range l.helpers { // one that was stopped
					send(pid, syscall.SIGCONT)
				}
			})
		}
	}
}

func (l lingering) id(t *testing.T) string {
	t.Helper()
	return strings.Fields(l.h.run(t, nil, "drawbar", "ps", "--all", "--quiet"))[0]
}

// TestLostRunIsSwept: what is left when everything that watched is killed at once is ended by the next run, and by doctor.
func TestLostRunIsSwept(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"doctor": {"doctor"}, "run": {"run", "claude", "--approve", "yolo", "--timeout", "2s", "-p", "again"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLingering(t)
			id := l.id(t)
			l.killAll(t)
			out := l.h.run(t, []string{"X=1"}, "drawbar", args...)
			if name == "doctor" && !strings.Contains(out, id+" was lost; ended 1 of its processes") {
				t.Errorf("doctor: %s", out)
			}
			if left := l.alive(); len(left) > 0 || len(l.folders()) > 0 {
				t.Errorf("%v live, %v are left", left, l.folders())
			}
		})
	}
}

// killAll kills drawbar, keeper and watcher at once: of the agent's processes one remains.
func (l lingering) killAll(t *testing.T) {
	t.Helper()
	_ = l.cmd.Process.Signal(syscall.SIGSTOP) // or it would do its work
	await(t, "the stop of drawbar", func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", l.cmd.Process.Pid))
		return bytes.Contains(stat, []byte(") T "))
	})
	for _, pid := range append(l.helpers, l.cmd.Process.Pid) {
		send(pid, syscall.SIGKILL)
	}
	_ = l.cmd.Wait()
	await(t, "the end of the agent itself", func() bool { return len(l.alive()) == 1 })
}

// TestLostRunWithProcesses: ps says what still runs of a lost run, stop ends it, and doctor removes the private folder.
func TestLostRunWithProcesses(t *testing.T) {
	t.Parallel()
	l := startLingering(t)
	id := l.id(t)
	l.killAll(t)
	for _, args := range [][]string{{"logs", id}, {"logs", "-f", id}, {"logs", "--json", id}, {"logs", "-f", "--json", id}, {"attach", id}, {"wait", id}, {"wait", "--json", id}} {
		cmd := exec.Command(filepath.Join(l.h.dir, "bin", "drawbar"), args...)
		cmd.Dir, cmd.Env = filepath.Join(l.h.dir, "repo"), l.h.env
		out, err := cmd.Output()
		if slices.Contains(args, "--json") != strings.Contains(string(out), `"ok":false`) || cmd.ProcessState.ExitCode() != execution.ExitCrashed || bytes.Contains(out, []byte(`"finished"`)) {
			t.Errorf("drawbar %v: %v\n%s", args, err, out)
		}
	}
	if out := l.h.run(t, nil, "drawbar", "ps"); !strings.Contains(out, "lost, 1 process still running") {
		t.Errorf("ps: %s", out)
	}
	if out := l.h.run(t, nil, "drawbar", "stop", id); !strings.Contains(out, "lost; ended 1 process that was still running") {
		t.Errorf("stop: %s", out)
	}
	if left := l.alive(); len(left) > 0 {
		t.Errorf("%v live", left)
	}
	if out := l.h.run(t, nil, "drawbar", "stop", id); !strings.Contains(out, "had already ended: lost") {
		t.Errorf("stop again: %s", out)
	}
	if out := l.h.run(t, nil, "drawbar", "ps", "--quiet"); strings.Contains(out, id) {
		t.Errorf("ps again: %s", out)
	}
	if len(l.folders()) != 1 {
		t.Errorf("the private folder is gone too early: %v", l.folders())
	}
	if out := l.h.run(t, []string{"X=1"}, "drawbar", "doctor"); !strings.Contains(out, "removed 1 that killed runs left") || len(l.folders()) != 0 {
		t.Errorf("doctor: %s", out)
	}
}
