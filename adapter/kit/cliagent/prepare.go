package cliagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/toolserver"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/lookpath"
	"github.com/drawbar/drawbar/transport/process"
)

// CallerTools is the name of the MCP server with the request's tools.
const CallerTools = "drawbar"

// refusal is why nothing was started.
type refusal struct {
	err    *execution.Error
	broken bool  // the adapter's own code panicked
	spawn  error // for OnSpawnError; nil if the process was not the problem
}

func refuse(err *execution.Error) *refusal { return &refusal{err: err} }

// prepare does everything that needs no process: checks, tools, arguments, environment, program, files. The caller
// releases what it opens.
func (r *run) prepare(ctx context.Context) (process.Spec, *refusal) {
	if ctx.Err() != nil {
		return process.Spec{}, r.tooLate(ctx)
	}
	if err := checkFiles(r.req); err != nil {
		return process.Spec{}, refuse(err)
	}
	here := r.req.Run.Cwd
	target, err := r.req.Run.Invocation.Target()
	if err != nil {
		return process.Spec{}, refuse(execution.Errorf(execution.CodeValidation, "run.invocation: %w", err))
	}
	if r.req.Run.Invocation.Elsewhere() {
		if err := r.bring(here); err != nil {
			return process.Spec{}, refuse(err)
		}
	}
	r.req.Run.Cwd = target.WorkDir(here)
	if err := r.serveTools(); err != nil {
		return process.Spec{}, refuse(err)
	}
	if err := r.serveHooks(); err != nil {
		return process.Spec{}, refuse(err)
	}
	var inv Invocation
	if no := r.build(&inv); no != nil {
		return process.Spec{}, no
	}
	if err := checkArguments(inv.Args); err != nil {
		return process.Spec{}, refuse(err)
	}
	r.drive.terminal = inv.PTY
	if r.req.Run.Invocation.Elsewhere() {
		return r.elsewhere(target, here, inv)
	}
	env := r.spec.environment(r.opts.Environ(), inv, r.req.Run, "")
	if r.tools != nil {
		env.bypassProxy("127.0.0.1")
	}
	list := env.list()
	path, no := r.find(cmp.Or(inv.Command, r.spec.Command), list)
	if no != nil {
		return process.Spec{}, no
	}
	if r.spec.Locate != nil {
		path = r.spec.Locate(path)
	}
	if err := r.launch.write(); err != nil {
		return process.Spec{}, &refusal{err: execution.Errorf(execution.CodeSpawn, "start %s: %w", r.spec.Name, err), spawn: err}
	}
	return process.Spec{Path: path, Args: inv.Args, Dir: r.req.Run.Cwd, Env: list, Stdin: inv.Stdin, KeepStdin: inv.KeepStdin,
		Run: string(r.req.Run.RunID), Scratch: r.launch.scratch(), Pty: inv.PTY, Roomy: r.spec.Hasty, Grace: Grace(r.req.Run, r.spec.Grace), Drain: r.spec.Drain}, nil
}

// Grace is the time from TERM to KILL as the transport states it, otherwise if the run states none: a request that states 0 gets none.
func Grace(run execution.RunOptions, otherwise time.Duration) time.Duration {
	if run.GracePeriodMs == nil {
		return otherwise
	}
	if *run.GracePeriodMs == 0 {
		return -1
	}
	return time.Duration(*run.GracePeriodMs) * time.Millisecond
}

// serveTools opens the server of the request's tools and attaches it to the request that Spawn gets.
func (r *run) serveTools() *execution.Error {
	if len(r.req.Tools) == 0 {
		return nil
	}
	host, ok := r.in.(adapter.ToolHost)
	caps := r.spec.Capabilities().Agent
	switch {
	case !ok:
		return &execution.Error{Code: execution.CodeCapability, Agent: r.spec.Name, Capability: "tools",
			Message: "the request has tools, but its caller handles no tool calls"}
	case !caps.MCP || len(caps.MCPTransports) > 0 && !slices.Contains(caps.MCPTransports, execution.MCPStreamableHTTP):
		return &execution.Error{Code: execution.CodeCapability, Agent: r.spec.Name, Capability: "tools",
			Message: fmt.Sprintf("%s does not support tools of a request: it accepts no %s MCP server", r.spec.Name, execution.MCPStreamableHTTP)}
	case slices.ContainsFunc(r.req.Run.MCPServers, func(m execution.MCPServer) bool { return m.Name == CallerTools }):
		return &execution.Error{Code: execution.CodeValidation, Hint: "give the MCP server another name", Message: fmt.Sprintf(
			"run.mcpServers: the name %q is reserved for the tools of the request", CallerTools)}
	}
	server, err := toolserver.Open(r.req.Tools, func(ctx context.Context, call execution.ToolCall) (execution.ToolResult, error) {
		defer r.touch()
		return host.CallTool(ctx, call)
	})
	if err != nil {
		var typed *execution.Error
		if errors.As(err, &typed) {
			return typed
		}
		return execution.Errorf(execution.CodeToolBridge, "serve the tools of the request: %w", err)
	}
	r.tools = server
	r.req.Run.MCPServers = append(r.req.Run.MCPServers, server.MCPServer(CallerTools))
	return nil
}

// build gets the parser and the command line from the adapter.
func (r *run) build(inv *Invocation) *refusal {
	launch, err := newLaunch(r.req)
	if err != nil {
		return refuse(execution.Errorf(execution.CodeSpawn, "start %s: %w", r.spec.Name, err))
	}
	r.launch = launch
	if !r.req.Run.Invocation.Elsewhere() {
		launch.environ = r.opts.Environ
	}
	if r.hook != nil {
		if launch.Hook, err = r.hook.lines(launch); err != nil {
			return refuse(execution.Errorf(execution.CodeSpawn, "start %s: %w", r.spec.Name, err))
		}
	}
	var parser Parser
	if err := guard("NewParser", func() { parser = r.spec.NewParser(r.req) }); err != nil {
		return &refusal{err: err, broken: true}
	}
	if parser == nil {
		return &refusal{err: execution.Errorf(execution.CodeInternal, "NewParser of %s returned nil", r.spec.Name), broken: true}
	}
	launch.Parser = parser
	r.drive = drive{name: r.spec.Name, parser: parser, sink: NewSink(r.req.Run.Debug), hooks: r.spec.Hooks}
	r.drive.sink.intercept = r.hook != nil && r.hook.server == nil
	var spawnErr error
	if err := guard("Spawn", func() { *inv, spawnErr = r.spec.Spawn(launch) }); err != nil {
		return &refusal{err: err, broken: true}
	}
	var typed *execution.Error
	switch {
	case errors.As(spawnErr, &typed):
		return refuse(typed)
	case spawnErr != nil:
		return refuse(execution.Errorf(execution.CodeSpawn, "build the command line of %s: %w", r.spec.Name, spawnErr))
	case launch.err != nil:
		return &refusal{err: execution.Errorf(execution.CodeInternal, "build the command line of %s: %w", r.spec.Name, launch.err), broken: true}
	}
	return nil
}

// find looks up the program on the PATH of the run.
func (r *run) find(command string, env []string) (string, *refusal) {
	path, err := r.opts.LookPath(command, env, r.req.Run.Cwd)
	if command == r.spec.Command && r.spec.Other != "" && lookpath.IsNotExist(err) {
		if other, e := r.opts.LookPath(r.spec.Other, env, r.req.Run.Cwd); e == nil {
			return other, nil
		}
	}
	switch {
	case err == nil:
		return path, nil
	case lookpath.IsNotExist(err):
		return "", &refusal{spawn: err, err: &execution.Error{Code: execution.CodeAgentNotInstalled, Agent: r.spec.Name, Cause: err,
			Message: fmt.Sprintf("%s is not installed: command %q not found on PATH", r.spec.Name, command), Hint: r.spec.InstallHint}}
	case errors.Is(err, fs.ErrPermission):
		return "", &refusal{spawn: err, err: &execution.Error{Code: execution.CodeSpawn, Agent: r.spec.Name, Cause: err,
			Message: fmt.Sprintf("start %s: %v", r.spec.Name, err), Hint: "make it executable, or put another one before it on PATH"}}
	}
	return "", &refusal{spawn: err, err: execution.Errorf(execution.CodeSpawn, "find %s: %w", r.spec.Name, err)}
}

// tooLate is the error of a run that was over before it started.
func (r *run) tooLate(ctx context.Context) *refusal {
	code := execution.CodeAborted
	if contextReason(ctx) == stopDeadline {
		code = execution.CodeTimeout
	}
	return refuse(execution.Errorf(code, "the run ended before %s was started: %w", r.spec.Name, context.Cause(ctx)))
}

// startRefusal converts the error of a runner.
func (r *run) startRefusal(ctx context.Context, err error) *refusal {
	code := execution.CodeSpawn
	switch {
	case ctx.Err() != nil:
		return r.tooLate(ctx)
	case errors.Is(err, process.ErrBadDir):
		code = execution.CodeValidation
	case errors.Is(err, process.ErrUnsupported):
		code = execution.CodePTYNotAvailable
	}
	return &refusal{spawn: err, err: execution.Errorf(code, "start %s: %w", r.spec.Name, err)}
}
