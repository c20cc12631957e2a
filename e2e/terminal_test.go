//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/transport/pty"
)

// screen is a run on a terminal of its own.
type screen struct {
	l    *lab
	term *pty.Terminal
	cmd  *exec.Cmd
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lab) onTerminal(args ...string) *screen {
	l.t.Helper()
	term, err := pty.Open(120, 30)
	if err != nil {
		l.t.Fatal(err)
	}
	s := &screen{l: l, term: term, cmd: exec.Command(binary, append([]string{"run", l.kit.name, "--cwd", l.work}, args...)...)}
	s.cmd.Env, s.cmd.Dir = append(l.environ(), "TERM=xterm"), l.work
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = term.Slave, term.Slave, term.Slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	_ = term.Slave.Close() // the child has its own
	go func() {
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
	}()
	l.t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it may have ended
		_ = s.cmd.Wait()
		_ = term.Keys.Close()
		_ = term.Master.Close()
	})
	return s
}

func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until the screen shows a text after what it showed first, and returns where that text ends.
func (s *screen) await(after int, want string) int {
	s.l.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if i := strings.Index(s.shown()[after:], want); i >= 0 {
			return after + i + len(want)
		}
		if time.Now().After(deadline) {
			s.l.t.Fatalf("the screen does not show %q:\n%q", want, s.shown()[after:])
		}
	}
}

func (s *screen) keys(keys string) {
	s.l.t.Helper()
	if _, err := s.term.Keys.WriteString(keys); err != nil {
		s.l.t.Fatal(err)
	}
}

// TestQuestionsOnATerminal: a question stands below what it asks about, in one piece and untouched; what was typed before answers
// nothing; one answer is the answer to one question; a refusal has its reason.
func TestQuestionsOnATerminal(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"x"}]}`)
		dir := l.outside()
		one, two := filepath.Join(dir, "one.txt"), filepath.Join(dir, "two.txt")
		l = relab(t, l, fmt.Sprintf(`{"onExhausted":"text:more","turns":[{"text":"I will.","tools":[%s]},{"text":"And.","tools":[%s]},{"text":"so be it"}]}`, escalated(k, one), escalated(k, two)))
		s := l.onTerminal("write it")
		s.keys("y\r") // nothing is asked yet
		const asks = "allow it? [y]es, [n]o, or a reason to refuse: "
		at := s.await(0, asks)
		before := s.shown()[:at]
		tool, question := strings.LastIndex(before, "● "), strings.LastIndex(before, "? ")
		if said := strings.Index(before, "I will."); said < 0 || tool < said || question < tool {
			t.Errorf("the order is wrong: %q", before)
		}
		time.Sleep(700 * time.Millisecond)
		if rest := s.shown()[at:]; rest != "" {
			t.Errorf("something is written over the open question: %q", rest)
		}
		if _, err := os.Stat(one); err == nil {
			t.Error("what was typed before the question answered it")
		}
		s.keys("y\r")
		at = s.await(at, asks)
		time.Sleep(300 * time.Millisecond)
		if rest := s.shown()[at:]; rest != "" {
			t.Errorf("something is written over the second question: %q", rest)
		}
		s.keys("not on my watch\r")
		s.await(at, "session "+k.name+":")
		t.Logf("%s", s.shown())
		if _, err := os.Stat(one); err != nil {
			t.Errorf("allowed: %v", err)
		}
		if _, err := os.Stat(two); err == nil {
			t.Error("refused, and written")
		}
		if !strings.Contains(s.shown()[at:], "denied: not on my watch") {
			t.Errorf("the refusal does not show its reason: %q", s.shown()[at:])
		}
	})
}
