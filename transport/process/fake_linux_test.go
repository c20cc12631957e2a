package process

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	proc "github.com/drawbar/drawbar/internal/base/pid"
	"golang.org/x/sys/unix"
)

// forever is how long a fake hangs. It sleeps: a blocked main goroutine would be reported as a deadlock and exit. Every
// fake ends by itself at last, and forks a bounded number of times: a test that fails must not take the machine along.
const forever = time.Minute

// fakes are the programs the tests start. Those that leave processes behind pass on a marker of their own in argv[0],
// by which survivors finds them.
var fakes = map[string]func(args []string){
	"true": func([]string) {},
	"exit": func(args []string) { os.Exit(atoi(args[0])) },
	"hang": func([]string) { say("ready"); time.Sleep(forever) },
	"eof": func([]string) {
		say("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		say("bye")
	},
	"on-interrupt": func([]string) { onSignal(syscall.SIGINT, 7) },
	"on-term":      func([]string) { onSignal(syscall.SIGTERM, 8) },
	"stubborn": func(args []string) {
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		if len(args) > 0 { // for those who do not read what it says
			_ = os.WriteFile(args[0], nil, 0o600)
		}
		say("ready")
		time.Sleep(forever)
	},
	"holder": func(args []string) { // a child keeps standard output
		spawn(args[0], "hang-silent", false, os.Stdout)
		say("ready")
	},
	"late-writer": func(args []string) { // a child keeps standard output and writes after the end of its parent
		spawn(args[0], "write-late", false, os.Stdout)
		say("ready")
	},
	"write-late":  func([]string) { time.Sleep(150 * time.Millisecond); say("late") },
	"hang-silent": func([]string) { time.Sleep(forever) },
	"closes": func([]string) {
		say("ready")
		_ = os.Stdout.Close()
		_ = os.Stderr.Close()
		time.Sleep(forever)
	},
	"flood": func([]string) {
		line := bytes.Repeat([]byte("x"), 999)
		line = append(line, '\n')
		block := bytes.Repeat(line, 64)
		for {
			if _, err := os.Stdout.Write(block); err != nil {
				os.Exit(3)
			}
		}
	},
	"die": func([]string) {
		say("ready")
		_ = syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -USR2 $$"}, nil)
	},
	"group-child": func(args []string) {
		spawn(args[0], "hang-silent", false, nil)
		say("ready")
		time.Sleep(forever)
	},
	// detach leaves grandchildren in sessions of their own, without environment, whose parents are gone.
	"detach": func(args []string) {
		for range 3 {
			spawn(args[0], "detach-again", true, nil)
		}
		waitFor(args[0], 3)
		say("ready")
		if len(args) > 1 {
			return
		}
		time.Sleep(forever)
	},
	"detach-again": func(args []string) { spawnBare(args[0], nil) },
	// detach-marked is the same with the environment passed on.
	"detach-marked": func(args []string) {
		for range 3 {
			spawn(args[0], "detach-marked-again", true, nil)
		}
		waitFor(args[0], 3)
		say("ready")
		time.Sleep(forever)
	},
	"detach-marked-again": func(args []string) { spawnBare(args[0], os.Environ()) },
	// forker starts processes on and on, as fast as a shell can, each in a session of its own and left by its parent.
	"forker": func(args []string) {
		c := exec.Command("/bin/sh", "-c", "i=0; while [ $i -lt 5000 ]; do (setsid sleep 20 &); i=$((i+1)); done", args[0])
		c.Env = []string{"PATH=/usr/bin:/bin"}
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			say("spawn: " + err.Error())
		}
		time.Sleep(50 * time.Millisecond)
		say("ready")
		time.Sleep(forever)
	},
	// headless ends its first thread and runs on with the others, which looks like a zombie.
	"headless": func([]string) {
		signal.Ignore(syscall.SIGTERM)
		go func() {
			for {
				if s, _ := proc.ReadStat(os.Getpid()); s.State == 'Z' {
					break
				}
				time.Sleep(time.Millisecond)
			}
			say("ready")
			time.Sleep(forever)
			os.Exit(0)
		}()
		time.Sleep(10 * time.Millisecond)
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
	},
	// headless-child leaves such a process behind, in its own session and without its streams.
	"headless-child": func(args []string) {
		r, w, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		spawn(args[0], "headless", true, w)
		_ = w.Close()
		_, _ = r.Read(make([]byte, 6))
		say("ready")
	},
	"lines": func(args []string) {
		n, to := atoi(args[0]), bufio.NewWriter(os.Stdout)
		for i := range n {
			fmt.Fprintf(to, "out %d\n", i)
			if i%10 == 0 {
				fmt.Fprintf(os.Stderr, "err %d\n", i)
			}
		}
		_ = to.Flush()
	},
	"long-line": func(args []string) {
		n := atoi(args[0])
		block := bytes.Repeat([]byte("y"), 1<<20)
		for n > 0 {
			m, err := os.Stdout.Write(block[:min(n, len(block))])
			if err != nil {
				os.Exit(3)
			}
			n -= m
		}
		say("")
		say("after")
	},
	"echo": func([]string) { _, _ = io.Copy(os.Stdout, os.Stdin) },
	"flood-first": func([]string) { // prints far more than a pipe holds before it looks at its input
		line := strings.Repeat("z", 1023) + "\n"
		for range 5 << 10 {
			_, _ = os.Stdout.WriteString(line)
		}
		n, _ := io.Copy(io.Discard, os.Stdin)
		fmt.Printf("read %d\n", n)
	},
	"no-read": func([]string) { say("done") },
	"raw":     func(args []string) { _, _ = os.Stdout.WriteString(args[0]) },
	"env": func([]string) {
		for _, v := range os.Environ() {
			say("env " + v)
		}
		wd, _ := os.Getwd()
		say("dir " + wd)
		for _, a := range os.Args {
			say("arg " + a)
		}
	},
	"state": func([]string) {
		say(fmt.Sprintf("sid %t", getsid() == os.Getpid()))
		say(fmt.Sprintf("pgid %t", syscall.Getpgrp() == os.Getpid()))
		for fd := range 3 {
			fl, _, _ := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
			say(fmt.Sprintf("fd %d blocking %t", fd, fl&syscall.O_NONBLOCK == 0))
		}
		for _, fd := range proc.Numbers("/proc/self/fd") {
			target, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
			// The runtime of the fake opens files of its own.
			own := target == "" || strings.Contains(target, "anon_inode") || strings.HasPrefix(target, "/proc/") ||
				strings.HasPrefix(target, "/sys/")
			if fd > 2 && !own {
				say(fmt.Sprintf("open %d %s", fd, target))
			}
		}
	},
	"stderr": func(args []string) {
		for i := range atoi(args[0]) {
			fmt.Fprintf(os.Stderr, "complaint %d\n", i)
		}
		os.Exit(2)
	},
	"merge": func([]string) {
		for i := range 50 {
			fmt.Fprintf(os.Stdout, "o%d\n", i)
			fmt.Fprintf(os.Stderr, "e%d\n", i)
		}
	},
	"tty": func([]string) {
		say("term " + os.Getenv("TERM"))
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		rows, cols := winsize()
		say(fmt.Sprintf("size %dx%d", cols, rows))
		in := bufio.NewScanner(os.Stdin)
		go func() {
			<-c
			say("interrupted")
		}()
		for in.Scan() {
			say("got " + in.Text())
		}
		say("eof")
	},
	"beat": func([]string) {
		for i := 0; ; i++ {
			say(fmt.Sprintf("beat %d", i))
			time.Sleep(10 * time.Millisecond)
		}
	},
	"host": hostMain,
}

func say(s string) { _, _ = os.Stdout.WriteString(s + "\n") }

func getsid() int {
	sid, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	return int(sid)
}

func winsize() (rows, cols uint16) {
	ws, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return ws.Row, ws.Col
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func onSignal(sig os.Signal, code int) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
	c := make(chan os.Signal, 1)
	signal.Notify(c, sig)
	say("ready")
	<-c
	say("bye")
	os.Exit(code)
}

// spawn starts a fake whose argv[0] carries the mark. It does not wait for it.
func spawn(mark, name string, setsid bool, stdout *os.File) {
	c := exec.Command("/proc/self/exe", mark)
	c.Args[0] = mark
	c.Env = append(os.Environ(), fakeEnv+"="+name)
	if stdout != nil {
		c.Stdout = stdout
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
	if err := c.Start(); err != nil {
		say("spawn: " + err.Error())
	}
}

// spawnBare starts a shell in its own session with the given environment and no more.
func spawnBare(mark string, env []string) {
	c := exec.Command("/bin/sh")
	c.Args = []string{mark, "-c", "for i in 1 2 3 4; do sleep 15; done", mark}
	c.Env = append([]string{}, env...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		say("spawn: " + err.Error())
	}
}

// waitFor waits until at least n shells with the mark run, so that the tree is complete.
func waitFor(mark string, n int) {
	for range 2000 {
		shells := 0
		for _, c := range living(mark) {
			if strings.Contains(c, "for i in 1 2") {
				shells++
			}
		}
		if shells >= n {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// living lists the command lines of all living processes that have mark as an argument or as their directory.
func living(mark string) (found []string) {
	for _, pid := range proc.Numbers("/proc") {
		s, ok := proc.ReadStat(pid)
		if !ok || s.Dead() || pid == os.Getpid() {
			continue
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if dir, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); dir == mark {
			line = append(append(line, 0), mark...)
		}
		for arg := range bytes.SplitSeq(line, []byte{0}) {
			if string(arg) == mark {
				found = append(found, fmt.Sprintf("%d %c %s", pid, s.State, bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
				break
			}
		}
	}
	return found
}
