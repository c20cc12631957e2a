package external

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/deepcopy"
)

// describeLimit is how long Describe waits for a program to answer and to exit.
const describeLimit = 15 * time.Second

// Adapter runs one program. It is immutable and safe for concurrent use.
type Adapter struct {
	cliagent.Embedded
	command []string
	about   Introduction
	remote  *Remote // nil for a program of this machine
}

var (
	_ adapter.Prober    = (*Adapter)(nil)
	_ adapter.AuthGuide = (*Adapter)(nil)
)

// Describe starts a program, asks it what it is, and returns its descriptor. The program is a path, or a name on PATH,
// with its arguments. With strict, unknown members of its reply are an error.
func Describe(ctx context.Context, h adapter.Host, command []string, strict bool) (adapter.Descriptor, error) {
	in, err := introduce(ctx, h, command, nil, strict)
	if err != nil {
		return adapter.Descriptor{}, err
	}
	return describe(command, in), nil
}

// introduce starts a program, reads its reply to initialize, and waits until it has exited.
func introduce(ctx context.Context, h adapter.Host, command []string, remote *Remote, strict bool) (Introduction, error) {
	shown := strings.Join(command, " ")
	if remote != nil {
		shown = remote.label("")
	}
	refuse := func(code execution.ErrorCode, format string, args ...any) *execution.Error {
		return execution.Errorf(code, "%s: "+format, append([]any{shown}, args...)...)
	}
	limit := remote.limit(describeLimit)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := h.Spawn(limited, adapter.SpawnRequest{Command: command[0], Args: command[1:], Env: remote.environment(h.Getenv),
		Stdin: initialize(1, remote != nil)})
	switch {
	case ctx.Err() != nil:
		return Introduction{}, err
	case limited.Err() != nil:
		return Introduction{}, refuse(execution.CodeTimeout, "it did not answer initialize and exit at the end of its input within %v", limit).
			WithHint("the program must exit when its standard input ends")
	case err != nil:
		return Introduction{}, refuse(execution.CodeSpawn, "%w", err)
	}
	skipped := greeting{}
	for line := range strings.Lines(out.Stdout) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		m, ok := remote.read([]byte(line), false)
		switch {
		case !ok && remote != nil && skipped.more([]byte(line)):
		case !ok:
			return Introduction{}, refuse(execution.CodeInvalidOutput, "%s", noise([]byte(line))).WithHint("%s", noiseHint)
		case !m.replies() || string(m.ID) != "1":
		case m.Error != nil:
			return Introduction{}, refuse(m.Error.code(), "%s", cmp.Or(m.Error.Message, "it refused initialize"))
		default:
			in, err := readIntroduction(m.Result, strict)
			if err != nil {
				return in, refuse(execution.CodeInvalidOutput, "%w", err)
			}
			return in, nil
		}
	}
	if remote != nil {
		return Introduction{}, remote.broken(false, "", out.Code, cmp.Or(strings.TrimSpace(out.Stderr), out.Stdout))
	}
	why := strings.TrimSpace(out.Stderr)
	if why != "" {
		why = ": " + why[:min(len(why), 300)]
	}
	return Introduction{}, refuse(execution.CodeInvalidOutput, "it did not answer initialize (exit code %d)%s", out.Code, why)
}

func describe(command []string, in Introduction) adapter.Descriptor {
	return adapter.Descriptor{
		Name: in.Agent.Name, DisplayName: in.Agent.DisplayName, Command: command[0], DefaultModel: in.Agent.DefaultModel,
		Models: in.Agent.Models, Keys: in.Agent.Keys, Docs: in.Agent.Docs, Protocol: adapter.ProtocolExternal,
		New: func() adapter.Adapter { return newAdapter(command, in, nil, cliagent.Options{}) },
	}
}

func newAdapter(command []string, in Introduction, remote *Remote, opts cliagent.Options) *Adapter {
	spec := cliagent.Spec{
		Name: in.Agent.Name, Command: command[0], Keys: in.Agent.Keys,
		InstallHint:  "put " + Prefix + in.Agent.Name + " on PATH",
		Capabilities: func() execution.Capabilities { return deepcopy.Of(in.Capabilities) },
		Spawn: func(*cliagent.Launch) (cliagent.Invocation, error) {
			return cliagent.Invocation{Args: slices.Clone(command[1:]), KeepStdin: true}, nil
		},
		NewParser: func(req execution.Request) cliagent.Parser {
			return &parser{name: in.Agent.Name, says: in.Agent.Name, verbs: in.Capabilities.Agent, req: req}
		},
	}
	if remote != nil {
		remote.join(&spec, in)
	}
	return &Adapter{command: command, about: in, remote: remote, Embedded: cliagent.Embedded{Adapter: cliagent.New(spec, opts)}}
}

// Conformance returns the scenarios of the conformance suite that the program plays.
func (a *Adapter) Conformance() []string { return slices.Clone(a.about.Conformance) }

// Served returns the name that the other side gives the agent.
func (a *Adapter) Served() string { return a.about.Agent.Name }

// Elsewhere reports whether the agent works in another directory than that of its runs.
func (a *Adapter) Elsewhere() bool {
	r := a.remote
	return r != nil && (r.Host != "" || r.Directory != "") && !strings.Contains(r.Directory, slotDir)
}

// Probe finds the program; its version is the one it stated when it was described. Of an agent behind another Drawbar, it
// returns what that one found.
func (a *Adapter) Probe(_ context.Context, h adapter.Host) (adapter.Installation, error) {
	path, err := h.LookPath(a.command[0])
	if err != nil {
		return adapter.Installation{Notes: err.Error()}, nil //nolint:nilerr // a missing program is not an error
	}
	if f := a.about.Found; a.remote != nil && f != nil {
		return adapter.Installation{Installed: f.Installed, Path: path, Version: f.Version, Notes: f.Notes}, nil
	}
	return adapter.Installation{Installed: true, Path: path, Version: a.about.Agent.Version}, nil
}

// DetectAuth looks for the variables of the login. Of an agent behind another Drawbar, it returns what that one found.
func (a *Adapter) DetectAuth(_ context.Context, h adapter.Host) adapter.AuthState {
	if f := a.about.Found; a.remote != nil && f != nil {
		return f.Login
	}
	for _, key := range a.about.Agent.Keys {
		if h.Getenv(key) != "" {
			return adapter.AuthState{Status: adapter.Authenticated, Method: "api_key", Details: key + " is set"}
		}
	}
	return adapter.AuthState{Status: adapter.AuthUnknown, Details: "unknown until the agent runs"}
}

// AuthGuidance returns how to log in.
func (a *Adapter) AuthGuidance() adapter.AuthGuidance {
	if a.remote != nil {
		return a.remote.guidance(a.about)
	}
	g := adapter.AuthGuidance{Provider: cmp.Or(a.about.Agent.DisplayName, a.about.Agent.Name),
		Steps: []adapter.AuthStep{{Description: "log in as the agent's documentation says", URL: a.about.Agent.Docs}}}
	for _, key := range a.about.Agent.Keys {
		g.EnvVars = append(g.EnvVars, adapter.AuthVariable{Name: key, Description: "key of the agent"})
		g.Steps = append(g.Steps, adapter.AuthStep{Description: "or set " + key})
	}
	if g.Steps[0].URL != "" {
		g.Documentation = []string{g.Steps[0].URL}
	}
	return g
}
