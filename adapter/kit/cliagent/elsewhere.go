package cliagent

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
	"github.com/drawbar/drawbar/transport/remote"
)

// planFile is the private file with what runs elsewhere.
const planFile = "remote.json"

// notThere are the hints of failures elsewhere.
var notThere = map[execution.ErrorCode]string{
	execution.CodeSpawn:             "see that ssh, docker or kubectl reaches it from this shell, and asks for nothing",
	execution.CodeAgentNotInstalled: "install it there, or state the PATH there: --env PATH=...",
	execution.CodeValidation:        "name a directory that is there, after the place: --on ssh:HOST:DIR",
}

// bring makes what the request names on this machine, in the directory here, part of what goes to the target.
func (r *run) bring(here string) *execution.Error {
	r.req.Run.Skills = slices.Clone(r.req.Run.Skills)
	for i, s := range r.req.Run.Skills {
		if !filepath.IsAbs(s) {
			r.req.Run.Skills[i] = filepath.Join(here, s)
		}
	}
	list, err := InlineAttachments(r.spec.Name, r.req.Message.Attachments)
	var typed *execution.Error
	if errors.As(err, &typed) {
		return typed
	}
	r.req.Message.Attachments = list
	return nil
}

// elsewhere is prepare for a program on another machine, in a container or a pod: a process of this program stands for it. Its environment is the one there,
// with the variables of the adapter and the request; nothing is passed on from here.
func (r *run) elsewhere(target execution.Target, here string, inv Invocation) (process.Spec, *refusal) {
	unsupported := func(what string) *refusal {
		return refuse(&execution.Error{Code: execution.CodeCapability, Agent: r.spec.Name, Capability: "invocation", Message: r.spec.Name + " cannot run on " + target.String() + ": " + what})
	}
	switch {
	case !remote.Available():
		return process.Spec{}, unsupported("this program did not call drawbar.Supervise first in main")
	case inv.PTY:
		return process.Spec{}, unsupported("it needs a terminal")
	case r.hook != nil || r.tools != nil:
		return process.Spec{}, unsupported("its hooks and tools are on this machine")
	}
	env := r.spec.environment(nil, inv, r.req.Run, "linux").list()
	for _, e := range env {
		if name, _, _ := strings.Cut(e, "="); strings.ContainsFunc(name, func(c rune) bool {
			return c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9')
		}) || name[0] >= '0' && name[0] <= '9' {
			return process.Spec{}, refuse(execution.Errorf(execution.CodeValidation, "run.env: a shell on %s has no variable %q", target, name))
		}
	}
	plan := remote.Plan{Argv: remote.Argv(target, here), Where: target.String(), Dir: r.req.Run.Cwd, Env: env, Command: cmp.Or(inv.Command, r.spec.Command), Args: inv.Args,
		Login: target.Kind == execution.TargetSSH, Outputs: r.launch.outputs, Here: r.launch.local(), Grace: Grace(r.req.Run, cmp.Or(r.spec.Grace, process.DefaultGrace))}
	if r.launch.used() {
		plan.Private = r.launch.Dir
	}
	for _, f := range r.launch.files {
		plan.Files = append(plan.Files, remote.File{Path: r.launch.path(f.name), Content: f.content, Mode: f.mode})
	}
	content, err := plan.Encode()
	if err != nil {
		return process.Spec{}, refuse(execution.Errorf(execution.CodeInternal, "start %s on %s: %w", r.spec.Name, target, err))
	}
	self, err := os.Executable()
	if err != nil {
		return process.Spec{}, refuse(execution.Errorf(execution.CodeSpawn, "find this program: %w", err))
	}
	r.launch.files = []privateFile{{name: planFile, content: content, mode: 0o600}} // the others are part of it, and are made there
	if err := r.launch.write(); err != nil {
		return process.Spec{}, &refusal{err: execution.Errorf(execution.CodeSpawn, "start %s on %s: %w", r.spec.Name, target, err), spawn: err}
	}
	argv := remote.Command(self, filepath.Join(r.launch.local(), planFile))
	return process.Spec{Path: argv[0], Args: argv[1:], Dir: here, Env: r.opts.Environ(), Stdin: inv.Stdin, KeepStdin: inv.KeepStdin, Run: string(r.req.Run.RunID),
		Scratch: r.launch.scratch(), Roomy: r.spec.Hasty, Grace: Grace(r.req.Run, r.spec.Grace), Drain: r.spec.Drain}, nil
}
