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

// role is the first argument of a process that is a hook's command.
const role = "hook-relay"

// The codes the command exits with besides those of the run. Agents take 2 for a denial; another one is a failure that
// changes nothing, as it must be for hooks that are only told.
const (
	exitDeny   = 2
	exitFailed = 1
)

var offered atomic.Bool

// MaybeRelay must be called first thing in main of a program whose runs have hooks. In a process that an agent started as the
// command of a hook it does that work and exits; otherwise it notes that this program can do it, and returns.
func MaybeRelay() {
	if len(os.Args) == 4 && os.Args[1] == role {
		os.Exit(relay(os.Args[2], os.Args[3], os.Stdin, os.Stdout, os.Stderr))
	}
	offered.Store(true)
}

// Available reports whether this program offered itself with MaybeRelay. Without that an agent would start the program itself
// in place of the hook.
func Available() bool { return offered.Load() }

// Command is the command of a hook: the event's name is handed to the Handler, and blocking says that a failure on the way
// is a denial.
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

// Shell is a command as a line for the shell of the platform.
func Shell(platform string, argv []string) string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		if platform == "windows" {
			quoted[i] = `"` + a + `"` // paths hold no quotes there
			continue
		}
		quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

// Line is Command for the shell of this machine.
func Line(file, event string, blocking bool) (string, error) {
	argv, err := Command(file, event, blocking)
	if err != nil {
		return "", err
	}
	return Shell(runtime.GOOS, argv), nil
}

// relay is the work of the command. It returns the exit code.
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
		return exitDeny // the agent did not get to read an answer that may be one
	}
	return a.ExitCode
}

// ask gets the run's answer.
func ask(file, event string, in io.Reader) (Answer, error) {
	payload, err := io.ReadAll(io.LimitReader(in, maxPayload+1))
	switch {
	case err != nil:
		return Answer{}, fmt.Errorf("read what the agent says: %w", err)
	case len(payload) > maxPayload:
		return Answer{}, fmt.Errorf("the agent says more than %d bytes", maxPayload)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return Answer{}, errors.New("the run is over: its private file cannot be read")
	}
	var p place
	if err := json.Unmarshal(b, &p); err != nil || p.Address == "" {
		return Answer{}, errors.New("the run's private file says nothing")
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
		return Answer{}, fmt.Errorf("the run does not answer: %v", err)
	}
	return a, nil
}
