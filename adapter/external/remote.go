package external

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonrpc"
)

// Remote is an agent behind another Drawbar, which speaks the protocol with "drawbar agents serve AGENT". The command
// reaches it, as ssh does for another machine.
type Remote struct {
	Name        string
	DisplayName string // empty: that of the agent
	Docs        string
	Command     []string
	Host        string            // the machine that ssh reaches; empty for another command
	Port        int               // of ssh; 0 for its default
	Directory   string            // of the other side, with {cwd} for that of the run; empty: the one in which the command starts there
	Env         map[string]string // of the agent, besides that of a run
	Notes       []string
}

// Token is the variable of the secret that both sides of a connection over the network have.
const Token = "DRAWBAR_TOKEN"

const (
	// remoteLimit is how long the other side may take to answer: a connection, a login and a look at the agent.
	remoteLimit = 45 * time.Second
	// slotDir stands for the directory of the run in Remote.Directory.
	slotDir = "{cwd}"
)

// Listed returns what is known of the agent without a connection.
func (r Remote) Listed() adapter.Descriptor {
	return adapter.Descriptor{Name: r.Name, DisplayName: cmp.Or(r.DisplayName, r.Name), Command: r.Command[0], Docs: r.Docs, Protocol: adapter.ProtocolDrawbar}
}

// Find connects to the other side and describes the agent.
func (r Remote) Find(ctx context.Context, h adapter.Host) (adapter.Descriptor, error) {
	if times, _ := cliagent.Within(h.Getenv, r.Name); times > 0 {
		return adapter.Descriptor{}, execution.Errorf(execution.CodeConfig, "%s runs itself: its command starts a Drawbar that runs %s", r.Name, r.Name).
			WithHint("name an agent of the other Drawbar: drawbar agents edit %s", r.Name)
	}
	in, err := introduce(ctx, h, r.Command, &r, false)
	if err != nil {
		return adapter.Descriptor{}, err
	}
	return r.describe(in), nil
}

func (r Remote) describe(in Introduction) adapter.Descriptor {
	in.Capabilities = r.narrow(in.Capabilities, in.Agent.Name)
	d := r.Listed()
	d.DisplayName = cmp.Or(r.DisplayName, fmt.Sprintf("%s (%s)", cmp.Or(in.Agent.DisplayName, in.Agent.Name), cmp.Or(r.Host, "behind "+r.Name)))
	d.DefaultModel, d.Models, d.Docs = in.Agent.DefaultModel, in.Agent.Models, cmp.Or(r.Docs, in.Agent.Docs)
	d.New = func() adapter.Adapter { return newAdapter(r.Command, in, &r, cliagent.Options{}) }
	return d
}

// narrow removes what cannot reach the other side: servers, tools and files of this one.
func (r Remote) narrow(caps execution.Capabilities, agent string) execution.Capabilities {
	a := &caps.Agent
	caps.StructuredToolCalls = false // those of the caller
	a.MCP, a.MCPTransports, a.Skills, a.SkillsFormat = false, nil, false, ""
	caps.Notes = slices.Concat(caps.Notes, []string{"runs " + agent + " behind another Drawbar" + r.at() + ", with the files, settings and login there"}, r.Notes)
	return caps
}

func (r *Remote) at() string {
	if r == nil || r.Host == "" {
		return ""
	}
	return " on " + r.Host
}

// join makes a spec that of the agent behind the other Drawbar.
func (r *Remote) join(spec *cliagent.Spec, in Introduction) {
	agent := in.Agent.Name
	spec.Name, spec.Keys = r.Name, []string{"SSH_AUTH_SOCK", Token}
	spec.InstallHint = "install it, or correct the command: " + r.correct()
	spec.Spawn = func(l *cliagent.Launch) (cliagent.Invocation, error) {
		req, err := r.request(l.Request, agent)
		if p, ok := l.Parser.(*parser); ok {
			p.req = req
		}
		return cliagent.Invocation{Args: slices.Clone(r.Command[1:]), KeepStdin: true, Env: r.environment(l.Variable)}, err
	}
	spec.NewParser = func(req execution.Request) cliagent.Parser {
		return &parser{name: r.Name, says: agent, remote: r, verbs: in.Capabilities.Agent, req: req}
	}
}

// guidance returns how to log in: on the other side.
func (r *Remote) guidance(in Introduction) adapter.AuthGuidance {
	g := adapter.AuthGuidance{Provider: cmp.Or(in.Agent.DisplayName, in.Agent.Name),
		Steps: []adapter.AuthStep{{Description: "log in on the other side" + r.at() + ": drawbar auth setup " + in.Agent.Name, URL: in.Agent.Docs}}}
	if in.Agent.Docs != "" {
		g.Documentation = []string{in.Agent.Docs}
	}
	return g
}

// request returns what the other side gets of a request: its own agent and directory, and the content of attached files.
// Nothing of this process's environment is in it.
func (r *Remote) request(req execution.Request, agent string) (execution.Request, error) {
	req = req.Clone()
	run := &req.Run
	req.Continuation, run.Profile, run.Agent = nil, "", agent
	run.Cwd = strings.ReplaceAll(r.Directory, slotDir, run.Cwd)
	env := maps.Clone(r.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, run.Env)
	run.Env = env
	var err error
	req.Message.Attachments, err = cliagent.InlineAttachments(r.Name, req.Message.Attachments)
	return req, err
}

// environment marks the processes of the command as those of the agent.
func (r *Remote) environment(getenv func(string) string) map[string]string {
	if r == nil {
		return nil
	}
	_, env := cliagent.Within(getenv, r.Name)
	return env
}

// limit returns how long an answer may take.
func (r *Remote) limit(local time.Duration) time.Duration {
	if r == nil {
		return local
	}
	return remoteLimit
}

// label names the program in errors.
func (r *Remote) label(name string) string {
	switch {
	case r == nil:
		return Prefix + name
	case r.Host != "":
		return r.Name + " (" + r.Host + ")"
	}
	return r.Name
}

// correct is what to type about a request that the other side refuses.
func (r *Remote) correct() string {
	if r == nil {
		return ""
	}
	return "drawbar agents edit " + r.Name
}

// mark adds to a result where it comes from.
func (r *Remote) mark(res *execution.Result, agent string) {
	if r == nil {
		return
	}
	from := map[string]any{"agent": agent}
	if r.Host != "" {
		from["host"] = r.Host
	}
	res.Metadata = maps.Clone(res.Metadata)
	if res.Metadata == nil {
		res.Metadata = map[string]any{}
	}
	res.Metadata["remote"] = from
}

// read reads a line of the program. A login shell may greet before the first message, also on its line.
func (r *Remote) read(line []byte, known bool) (m message, ok bool) {
	m, ok = read(line)
	if at := bytes.Index(line, []byte(`{"jsonrpc":"`+jsonrpc.Version+`"`)); !ok && r != nil && !known && at > 0 {
		return read(line[at:])
	}
	return m, ok
}

// greeting counts what a login shell prints before the first message.
type greeting struct{ lines, size int }

// The bounds of a greeting.
const (
	maxGreetingLines = 1000
	maxGreeting      = 256 << 10
)

// more adds a line and reports whether it can still be part of a greeting.
func (g *greeting) more(line []byte) bool {
	g.lines++
	g.size += len(line)
	return g.lines <= maxGreetingLines && g.size <= maxGreeting
}
