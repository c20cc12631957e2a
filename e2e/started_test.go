//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// started is a run of the binary that goes on while the test acts.
type started struct {
	l   *lab
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	err bytes.Buffer

	pipe io.Closer // what out reads
}

func (s *started) lab() *lab { return s.l }

func (l *lab) start(args ...string) *started {
	l.t.Helper()
	return l.startWith(false, args...)
}

// startWith is start, with a standard input or without one.
func (l *lab) startWith(in bool, args ...string) *started {
	l.t.Helper()
	s := &started{l: l, cmd: exec.Command(binary, append([]string{"run", l.kit.name, "--json", "--cwd", l.work}, args...)...)}
	s.cmd.Env, s.cmd.Dir, s.cmd.Stderr = l.environ(), l.work, &s.err
	if in {
		var err error
		if s.in, err = s.cmd.StdinPipe(); err != nil {
			l.t.Fatal(err)
		}
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	s.out, s.pipe = bufio.NewScanner(out), out
	s.cmd.WaitDelay = 5 * time.Second // what it started may keep its standard error open
	s.out.Buffer(nil, 64<<20)
	if err := s.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { // of a test that failed before the end
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
	return s
}

// patience is how long a test waits for an event of a run, or for the end of a program. DRAWBAR_E2E_PATIENCE is for a busy machine.
var patience = func() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("DRAWBAR_E2E_PATIENCE")); err == nil {
		return d
	}
	return 2 * time.Minute
}()

// within ends the run unless the returned function is called in time, which otherwise says what did not come.
func (s *started) within(what string) (late func() string) {
	said := make(chan string, 1)
	timer := time.AfterFunc(patience, func() {
		said <- fmt.Sprintf("%s did not come within %s; running: %s", what, patience, strings.Join(s.l.processes(), "; "))
		_ = s.cmd.Process.Kill() // it may have ended by now
		_ = s.pipe.Close()       // somebody else may hold its other end
	})
	return func() string {
		if timer.Stop() {
			return ""
		}
		return <-said
	}
}

// until reads events up to the first one that f accepts.
func (s *started) until(what string, f func(execution.Event) bool) execution.Event {
	s.l.t.Helper()
	late := s.within(what)
	var last string
	for s.out.Scan() {
		last = s.out.Text()
		var e execution.Event
		if err := json.Unmarshal(s.out.Bytes(), &e); err != nil {
			s.l.t.Fatalf("%v: %s", err, last)
		}
		if f(e) {
			late()
			return e
		}
	}
	why := cmp.Or(late(), "the run ended before "+what)
	_ = s.cmd.Wait() // the message says it
	s.l.t.Fatalf("%s; last event: %.500s; stderr: %s", why, last, s.err.String())
	return execution.Event{}
}

// end reads to the end.
func (s *started) end() outcome {
	s.l.t.Helper()
	e := s.until("finished", func(e execution.Event) bool { return e.Terminal() })
	late := s.within("the end of the process after finished")
	for s.out.Scan() {
		s.l.t.Errorf("a line behind finished: %s", s.out.Text())
	}
	_ = s.cmd.Wait() // the exit code says it
	if why := late(); why != "" {
		s.l.t.Fatal(why)
	}
	return outcome{result: e.Body.(execution.Finished).Result, code: s.cmd.ProcessState.ExitCode(), stderr: s.err.String()}
}
