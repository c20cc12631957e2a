package hookrelay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// role is the first argument of a process that serves as a hook's command.
const role = "hook-relay"

// Exit codes of the command besides those of the run. Agents take 2 as a denial and ignore any other failure, which
// is right for hooks that only report.
const (
	exitDeny   = 2
	exitFailed = 1
)

var offered atomic.Bool

// MaybeRelay must be called first in main of a program whose runs have hooks. In a process that an agent started as a
// hook's command it relays the call and exits; otherwise it records that this program can do so, and returns.
func MaybeRelay() {
	if len(os.Args) == 4 && os.Args[1] == role {
		os.Exit(relay(os.Args[2], os.Args[3], os.Stdin, os.Stdout, os.Stderr))
	}
	offered.Store(true)
}

// Available reports whether this program called MaybeRelay. Without it, an agent would start the program itself
// instead of the hook.
func Available() bool { return offered.Load() }

// Command returns the command of a hook. The event's name is passed to the Handler; if blocking is set, a failure to
// reach the run is a denial.
func Command(file, event string, blocking bool) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	if blocking {
		event = "!" + event
	}
	return []string{self, role, file, event}, nil
}

// Shell formats a command for the platform's shell.
func Shell(platform string, argv []string) string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		if platform == "windows" {
			quoted[i] = `"` + a + `"` // Windows paths cannot contain quotes
			continue
		}
		quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

// Line formats Command for this machine's shell.
func Line(file, event string, blocking bool) (string, error) {
	argv, err := Command(file, event, blocking)
	if err != nil {
		return "", err
	}
	return Shell(runtime.GOOS, argv), nil
}

// relay does the work of the command and returns its exit code.
func relay(file, event string, in io.Reader, out, errs io.Writer) int {
	event, blocking := strings.CutPrefix(event, "!")
	a, err := ask(file, event, in)
	if err != nil {
		a = denial(err.Error())
		if !blocking {
			a.ExitCode = exitFailed
		}
	}
	_, errOut := io.WriteString(out, a.Stdout)
	if a.Stderr != "" {
		_, _ = io.WriteString(errs, strings.TrimRight(a.Stderr, "\n")+"\n")
	}
	if errOut != nil && blocking {
		return exitDeny // the agent may not have received the answer
	}
	return a.ExitCode
}

// ask gets the run's answer.
func ask(file, event string, in io.Reader) (Answer, error) {
	payload, err := io.ReadAll(io.LimitReader(in, maxPayload+1))
	switch {
	case err != nil:
		return Answer{}, fmt.Errorf("read the agent's input: %w", err)
	case len(payload) > maxPayload:
		return Answer{}, fmt.Errorf("the agent's input is longer than %d bytes", maxPayload)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return Answer{}, errors.New("the run has ended: its private file cannot be read")
	}
	var p place
	if err := json.Unmarshal(b, &p); err != nil || p.Address == "" {
		return Answer{}, errors.New("the run's private file is empty or invalid")
	}
	patience := time.Duration(p.PatienceMs) * time.Millisecond
	c, err := net.DialTimeout("tcp", p.Address, patience)
	if err != nil {
		return Answer{}, fmt.Errorf("the run cannot be reached: %v", err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return Answer{}, err
	}
	err = writeFrame(c, hello{p.Token})
	if err == nil {
		err = writeFrame(c, question{event, payload})
	}
	if err != nil {
		return Answer{}, fmt.Errorf("the run cannot be asked: %v", err)
	}
	var a Answer
	if err := readFrame(c, &a, 2*maxPayload); err != nil {
		return Answer{}, fmt.Errorf("the run did not answer: %v", err)
	}
	return a, nil
}
