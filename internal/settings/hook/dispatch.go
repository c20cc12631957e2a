package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/lookpath"
)

// BuiltinNames are the names of built-in handlers.
var BuiltinNames = []string{"log", "trace"}

// Dispatcher runs registrations. It is safe for concurrent use if its writer is.
type Dispatcher struct {
	Spawn adapter.Spawner
	// LogFile receives a line of JSON for each call of the built-in log.
	LogFile string
	// Trace receives a line for people for each call of the built-in trace.
	Trace io.Writer
	// Warn receives the decision of a hook that cannot block; nil discards it.
	Warn func(format string, args ...any)
	// Timeout is the time limit for a command; 0 is agent.DefaultHookTimeout.
	Timeout time.Duration
}

// Dispatch calls registrations in order and combines their answers. A denial ends it, a modification wins over
// a permission, modified inputs are merged by member, standard output is concatenated, and the first non-zero
// exit code is kept. A hook that fails counts as a denial.
func (d *Dispatcher) Dispatch(ctx context.Context, list []Registration, call execution.HookCall) execution.HookResult {
	all := execution.HookResult{Decision: execution.HookAllow}
	input := map[string]json.RawMessage{}
	users := map[string]bool{} // members set by one of the user's hooks; a project's hooks do not change them
	for _, r := range list {
		res := d.one(ctx, r, call)
		all.Stdout += res.Stdout
		all.ExitCode = cmp.Or(all.ExitCode, res.ExitCode)
		if res.Message != "" {
			all.Message = res.Message
		}
		switch res.Decision {
		case execution.HookModify:
			all.Decision = execution.HookModify
			var members map[string]json.RawMessage
			_ = json.Unmarshal(res.ModifiedInput, &members) // already validated
			for name, value := range members {
				if r.origin != nil && users[name] {
					continue
				}
				input[name], users[name] = value, users[name] || r.origin == nil
			}
		case execution.HookAllow:
		default:
			all.Decision = execution.HookDeny
			all.Message = cmp.Or(res.Message, "denied by the hook "+r.ID)
			return all
		}
	}
	if all.Decision == execution.HookModify {
		all.ModifiedInput = merged(call.Data.ToolInput, input)
	}
	return all
}

// merged returns an input with some members replaced.
func merged(input json.RawMessage, over map[string]json.RawMessage) json.RawMessage {
	members := map[string]json.RawMessage{}
	_ = json.Unmarshal(input, &members) // an input that is not an object is replaced
	if members == nil {
		members = map[string]json.RawMessage{}
	}
	maps.Copy(members, over)
	b, err := json.Marshal(members)
	if err != nil {
		return input
	}
	return b
}

func (d *Dispatcher) one(ctx context.Context, r Registration, call execution.HookCall) execution.HookResult {
	if err := r.origin.unchanged(r); err != nil {
		return execution.HookResult{Decision: execution.HookDeny, Message: err.Error()}
	}
	switch r.Handler {
	case Builtin:
		return d.builtin(r, call)
	case Command:
		return d.command(ctx, r.dir(call), lookpath.Shell(r.Target), call)
	case Script:
		program := r.Target
		if r.origin != nil && !filepath.IsAbs(program) && filepath.Base(program) != program {
			program = filepath.Join(r.origin.root, program)
		}
		return d.command(ctx, r.dir(call), []string{program}, call)
	}
	return execution.HookResult{Decision: execution.HookDeny, Message: fmt.Sprintf("the hook %s has no handler", r.ID)}
}

// dir returns the directory of the registration's command: the agent's, or the project, whose files it names.
func (r Registration) dir(call execution.HookCall) string {
	if r.origin != nil {
		return r.origin.root
	}
	return call.Data.Cwd
}

// limit returns the time limit for n commands.
func (d *Dispatcher) limit(n int) time.Duration {
	return cmp.Or(d.Timeout, agent.DefaultHookTimeout) * time.Duration(max(n, 1))
}

// command runs an external handler in a directory, with the call as JSON on standard input. Exit code 0 is a
// permission unless the last line of standard output is a JSON object with another decision; any other exit
// code is a denial.
func (d *Dispatcher) command(ctx context.Context, dir string, argv []string, call execution.HookCall) execution.HookResult {
	deny := func(format string, args ...any) execution.HookResult {
		return execution.HookResult{Decision: execution.HookDeny, Message: fmt.Sprintf(format, args...)}
	}
	payload, err := json.Marshal(call)
	if err != nil {
		return deny("write the hook's input: %v", err)
	}
	limit := d.limit(1)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = ""
	}
	out, err := d.Spawn(ctx, adapter.SpawnRequest{Command: argv[0], Args: argv[1:], Cwd: dir, Stdin: append(payload, '\n')})
	if err != nil {
		return deny("the hook %s failed: %v", argv[len(argv)-1], err)
	}
	if out.Code != 0 {
		res := deny("%s", cmp.Or(strings.TrimSpace(out.Stderr), fmt.Sprintf("the hook %s exited with code %d", argv[len(argv)-1], out.Code)))
		res.Stdout, res.ExitCode = out.Stdout, out.Code
		return res
	}
	return answer(out.Stdout)
}

// answer parses a command's output. Only an object with a decision is an answer; anything else is output.
func answer(stdout string) execution.HookResult {
	text := strings.TrimSpace(stdout)
	head, last := "", text
	if i := strings.LastIndexByte(text, '\n'); i >= 0 && json.Valid([]byte(text[i+1:])) {
		head, last = text[:i+1], text[i+1:]
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(last), &members) != nil || members["decision"] == nil {
		return execution.HookResult{Decision: execution.HookAllow, Stdout: stdout}
	}
	var res execution.HookResult
	err := json.Unmarshal([]byte(last), &res)
	if err == nil {
		err = res.Validate()
	}
	if err != nil {
		return execution.HookResult{Decision: execution.HookDeny, Message: fmt.Sprintf("parse the hook's answer: %v", err)}
	}
	res.Stdout = head + res.Stdout
	return res
}

func (d *Dispatcher) builtin(r Registration, call execution.HookCall) execution.HookResult {
	allow := execution.HookResult{Decision: execution.HookAllow}
	switch r.Target {
	case "log":
		if err := d.log(call); err != nil && d.Trace != nil {
			fmt.Fprintf(d.Trace, "drawbar: hook %s: %v\n", r.ID, err) // a full disk must not stop work
		}
	case "trace":
		if d.Trace != nil {
			fmt.Fprintf(d.Trace, "drawbar: %s %s %s\n", call.Agent, call.HookType, clip(cmp.Or(call.Data.ToolName, call.Data.Prompt, call.Data.Message)))
		}
	}
	return allow
}

// log records an event without the tools' input, which may contain secrets.
func (d *Dispatcher) log(call execution.HookCall) error {
	line, err := json.Marshal(map[string]any{"time": time.Now().UTC().Format(time.RFC3339Nano), "agent": call.Agent, "hookType": call.HookType,
		"sessionId": call.SessionID, "runId": call.RunID, "tool": call.Data.ToolName, "cwd": call.Data.Cwd})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(d.LogFile), 0o700); err != nil {
		return fmt.Errorf("write the hook log: %w", err)
	}
	f, err := os.OpenFile(d.LogFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the hook log: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return cmp.Or(err, f.Close())
}

// clip returns the beginning of a text on one line.
func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 80 {
		return string(r[:77]) + "..."
	}
	return s
}
