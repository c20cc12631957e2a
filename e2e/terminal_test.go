//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/transport/pty/ptytest"
)

// onTerminal is a run on a terminal of its own.
func (l *lab) onTerminal(args ...string) *ptytest.Screen {
	l.t.Helper()
	cmd := exec.Command(binary, append([]string{"run", l.kit.name, "--cwd", l.work}, args...)...)
	cmd.Env, cmd.Dir = append(l.environ(), "TERM=xterm"), l.work
	s := ptytest.Start(l.t, cmd, 120, "")
	s.Patience = max(s.Patience, patience)
	return s
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
		s.Type("y\r") // nothing is asked yet
		const asks = "  [?] "
		at := s.Await(0, asks)
		before := s.Shown()[:at]
		if said, question := strings.Index(before, "I will."), strings.LastIndex(before, "? "); said < 0 || question < said {
			t.Errorf("the order is wrong: %q", before)
		}
		time.Sleep(700 * time.Millisecond)
		if rest := s.Shown()[at:]; rest != "" {
			t.Errorf("something is written over the open question: %q", rest)
		}
		if _, err := os.Stat(one); err == nil {
			t.Error("what was typed before the question answered it")
		}
		s.Type("y\r")
		at = s.Await(at, asks)
		time.Sleep(300 * time.Millisecond)
		if rest := s.Shown()[at:]; rest != "" {
			t.Errorf("something is written over the second question: %q", rest)
		}
		s.Type("n not on my watch\r")
		s.Await(at, "session "+k.name+":")
		t.Logf("%s", s.Shown())
		if _, err := os.Stat(one); err != nil {
			t.Errorf("allowed: %v", err)
		}
		if _, err := os.Stat(two); err == nil {
			t.Error("refused, and written")
		}
		if !strings.Contains(s.Shown()[at:], "denied: not on my watch") {
			t.Errorf("the refusal does not show its reason: %q", s.Shown()[at:])
		}
	})
}
