//go:build unix

package ptytest

import (
	"bytes"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/transport/pty"
)

// Screen is a program on its own terminal.
type Screen struct {
	Patience time.Duration // how long it waits for expected text; a minute unless it is set

	t      *testing.T
	term   *pty.Terminal
	cmd    *exec.Cmd
	exited chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
}

// Start starts cmd on a terminal with the given columns and typed-ahead input. The test is skipped on platforms
// without terminals. The program is killed with the test.
func Start(t *testing.T, cmd *exec.Cmd, columns uint16, typed string) *Screen {
	t.Helper()
	term, err := pty.Open(columns, 30)
	if err != nil {
		t.Skip("SKIPPED: this machine gives no pseudo-terminal:", err)
	}
	s := &Screen{Patience: time.Minute, t: t, term: term, cmd: cmd, exited: make(chan struct{})}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.Slave, term.Slave, term.Slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s.Type(typed)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = term.Slave.Close() // the child has its own
	var read sync.WaitGroup
	read.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := term.Master.Read(buf)
			s.mu.Lock()
			s.text.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	go func() {
		defer close(s.exited)
		_ = cmd.Wait() // Exit returns the code
		read.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = term.Keys.Close()
		_ = term.Master.Close() // ends the reading if a remaining process keeps the terminal open
		<-s.exited
	})
	return s
}

// Shown returns everything that the program has written.
func (s *Screen) Shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Type types keys.
func (s *Screen) Type(keys string) {
	s.t.Helper()
	if _, err := s.term.Keys.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// Await waits until the screen shows a text after an offset, and returns the offset after that text.
func (s *Screen) Await(after int, want string) int {
	s.t.Helper()
	for deadline := time.Now().Add(s.Patience); ; time.Sleep(5 * time.Millisecond) {
		text := s.Shown()
		if i := strings.Index(text[min(after, len(text)):], want); i >= 0 {
			return after + i + len(want)
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the screen does not show %q:\n%q", want, text[min(after, len(text)):])
		}
	}
}

// Exit waits for the end of the program and its output, and returns its exit code.
func (s *Screen) Exit() int {
	s.t.Helper()
	select {
	case <-s.exited:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(s.Patience):
		s.t.Fatalf("the program goes on:\n%q", s.Shown())
		return 0
	}
}
