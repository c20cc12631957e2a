package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// role is the first argument of a process that stands for a program elsewhere.
const role = "remote-run"

// exitUnreached is the exit code of a proxy whose program did not run to its end. Why is the last line of its standard error; see Failure.
const exitUnreached = 96

// failed prints why, and returns the exit code.
func failed(errs io.Writer, code execution.ErrorCode, format string, args ...any) int {
	fmt.Fprintf(errs, "%s%s %s\n", markFailed, code, fmt.Sprintf(format, args...))
	return exitUnreached
}

// Failure returns why a program did not run elsewhere, or not to its end, and the rest of the standard error of the process that stands for it; nil if it did.
func Failure(stderr string) (err *execution.Error, rest string) {
	i := strings.LastIndex(stderr, markFailed)
	if i < 0 {
		return nil, stderr
	}
	code, message, _ := strings.Cut(strings.TrimSuffix(stderr[i+len(markFailed):], "\n"), " ")
	if strings.Contains(message, "\n") {
		return nil, stderr // the program's own
	}
	return &execution.Error{Code: execution.ErrorCode(code), Message: message}, stderr[:i]
}

var offered atomic.Bool

// Available reports whether this program called MaybeProxy. Without it, it would start itself instead of what stands for a program elsewhere.
func Available() bool { return offered.Load() }

// MaybeProxy must be called first in main of a program that runs programs elsewhere. In a process that stands for one it does so and exits.
func MaybeProxy() {
	if len(os.Args) == 3 && os.Args[1] == role {
		os.Exit(stand(os.Args[2], os.Stdin, os.Stdout, os.Stderr))
	}
	offered.Store(true)
}

// Command is the command line of a process that stands for the program of a plan, which is in a private file: same input, output, exit code; what stops it
// stops the program.
func Command(self, file string) []string { return []string{self, role, file} }

// Encode is the content of the file.
func (p Plan) Encode() ([]byte, error) { return json.Marshal(p) }

// stand runs a plan and returns the exit code.
func stand(file string, in io.Reader, out, errs io.Writer) int {
	b, err := os.ReadFile(file)
	var p Plan
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return failed(errs, execution.CodeInternal, "read the plan of a remote run: %v", err)
	}
	if err := os.Remove(file); err != nil { // it has secrets
		fmt.Fprintf(errs, "%v\n", err)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return p.run(signals, in, out, errs)
}

// run runs a plan.
func (p Plan) run(signals <-chan os.Signal, in io.Reader, out, errs io.Writer) int {
	cmd := exec.Command(p.Argv[0], p.Argv[1:]...)         //nolint:gosec // the command is the caller's
	cmd.Stdout, cmd.SysProcAttr = out, process.OwnGroup() // what stops us is for the program: it goes there as a line
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return failed(errs, execution.CodeSpawn, "%v", err)
	}
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return failed(errs, execution.CodeSpawn, "reach %s: %v", p.Where, err)
	}
	conn := &connection{w: stdin}
	script := p.script()
	conn.send(fmt.Sprintf("%d\n%s", len(script), script))
	over, end := context.WithCancel(context.Background())
	defer end()
	go conn.feed(in)
	go conn.obey(over, signals)
	up, why := p.watch(said, errs)
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case why != nil:
		return failed(errs, why.Code, "%s", why.Message)
	case !up:
		return failed(errs, execution.CodeSpawn, "%s cannot be reached", p.Where)
	case errors.As(err, &exit) && exit.ExitCode() == 255 && p.Argv[0] == "ssh":
		return failed(errs, execution.CodeAgentCrash, "the connection to %s was lost", p.Where)
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode()
	case err != nil:
		return failed(errs, execution.CodeAgentCrash, "the program that reaches %s ended in an unknown way: %v", p.Where, err)
	}
	return 0
}

// watch passes on the target's standard error but for our own lines, which it obeys. up says that the target was reached, why that the program could not be
// started there.
func (p Plan) watch(said io.Reader, errs io.Writer) (up bool, why *execution.Error) {
	r := bufio.NewReader(said)
	for {
		line, err := r.ReadBytes('\n')
		text, ours := strings.CutSuffix(string(line), "\n")
		switch ours = ours && strings.HasPrefix(text, mark); {
		case !ours:
			_, _ = errs.Write(line)
		case text == markUp:
			up = true
		case text == markGone:
			why = execution.Errorf(execution.CodeAgentNotInstalled, "%s is not installed on %s", p.Command, p.Where)
		case text == markNoDir:
			why = execution.Errorf(execution.CodeValidation, "%s has no directory %s", p.Where, p.Dir)
		case text == markNoTmp:
			why = execution.Errorf(execution.CodeSpawn, "%s cannot make the private files of the run", p.Where)
		case strings.HasPrefix(text, markOut):
			p.bring(strings.TrimPrefix(text, markOut), errs)
		}
		if err != nil {
			return up, why
		}
	}
}

// bring writes an output of the program where the caller expects it.
func (p Plan) bring(text string, errs io.Writer) {
	name, encoded, _ := strings.Cut(text, " ")
	content, err := base64.StdEncoding.DecodeString(encoded)
	if err == nil && !filepath.IsLocal(name) {
		err = fmt.Errorf("the name %q leads elsewhere", name)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(p.Here, name), content, 0o600)
	}
	if err != nil {
		fmt.Fprintf(errs, "bring %s from %s: %v\n", name, p.Where, err)
	}
}

// connection is the input of the target.
type connection struct {
	mu sync.Mutex
	w  io.WriteCloser
}

func (c *connection) send(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.w, text) // its end shows in the exit
}

// feed passes on the program's input, line by line.
func (c *connection) feed(in io.Reader) {
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes('\n')
		if rest, whole := bytes.CutSuffix(line, []byte("\n")); whole {
			c.send(string(frameLine) + string(rest) + "\n")
		} else if len(line) > 0 {
			c.send(string(framePart) + string(line) + "\n")
		}
		if err != nil {
			c.send(frameEnd + "\n")
			return
		}
	}
}

// stopPatience is how long a target may take to end its program before the connection is cut, which ends it there.
const stopPatience = 30 * time.Second

// obey passes on signals. Whoever stopped us kills us when it has waited long enough, and the end of the connection then ends the program.
func (c *connection) obey(over context.Context, signals <-chan os.Signal) {
	var cut <-chan time.Time
	for {
		select {
		case s := <-signals:
			if s == os.Interrupt {
				c.send(frameInt + "\n")
				continue
			}
			c.send(frameStop + "\n")
			if cut == nil {
				cut = time.After(stopPatience)
			}
		case <-cut:
			c.mu.Lock()
			_ = c.w.Close()
			c.mu.Unlock()
			return
		case <-over.Done():
			return
		}
	}
}
