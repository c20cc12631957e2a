package declarative

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// form is an entry with its name. It is immutable.
type form struct {
	Entry
	name  string
	rules []failureRule
}

// Describe returns the descriptor of an entry that has no faults.
func Describe(name string, e Entry) adapter.Descriptor {
	e.complete()
	f := &form{Entry: e, name: name}
	f.DisplayName = cmp.Or(f.DisplayName, name)
	for _, r := range e.Errors {
		rule := failureRule{code: execution.ErrorCode(r.Code), exits: r.Exits}
		if r.Pattern != "" {
			rule.pattern = regexp.MustCompile(r.Pattern)
		}
		phrase := cliagent.Phrase{Code: rule.code}
		for _, p := range r.Phrases {
			phrase.Parts = append(phrase.Parts, strings.ToLower(p))
		}
		rule.phrases = cliagent.Phrases{phrase}
		f.rules = append(f.rules, rule)
	}
	d := adapter.Descriptor{Name: name, DisplayName: f.DisplayName, Command: e.Command[0], MinVersion: e.Version.Min,
		TestedVersions: e.Version.Tested, DefaultModel: e.DefaultModel, HostSignals: e.HostSignals, Keys: f.variables(), Docs: e.Docs, Described: true,
		Documented: e.Documented,
		New:        func() adapter.Adapter { return f.adapter(cliagent.Options{}) }}
	for _, i := range e.Install {
		d.Install = append(d.Install, i.method())
	}
	return d
}

// described is the adapter of an entry. It is stateless and safe for concurrent use.
type described struct {
	cliagent.Embedded
	form *form
}

var (
	_ adapter.Prober    = described{}
	_ adapter.AuthGuide = described{}
)

func (f *form) adapter(opts cliagent.Options) adapter.Adapter {
	spec := cliagent.Spec{Name: f.name, Command: f.Command[0], InstallHint: f.installHint(), Capabilities: f.capabilities, Spawn: f.spawn,
		NewParser: f.parser, Negotiate: f.negotiate, HostSignals: f.HostSignals, Keys: f.variables()}
	if f.Output.Format == formatACP {
		spec.Linger = time.Second // some agents never exit by themselves
		spec = acpagent.Join(spec, acpagent.Spec{Name: f.name, Spawn: f.spawn, LoginHint: f.loginHint(), ModelInArgs: f.Options.Model != nil,
			EffortInArgs: f.Options.Effort != nil, InstructionsInArgs: f.Options.SystemPrompt != nil,
			Classify: func(_ int64, message string) execution.ErrorCode { return f.failures().code(message) }}, nil)
	}
	return described{cliagent.Embedded{Adapter: cliagent.New(spec, opts)}, f}
}

// installHint is what to type if the program is missing.
func (f *form) installHint() string {
	for _, i := range f.Install {
		if i.Command != "" {
			return "install it with: " + i.Command
		}
	}
	if f.Docs != "" {
		return "install it as described at " + f.Docs
	}
	return "install it, or correct its command: drawbar agents edit " + f.name
}

func (f *form) failures() failures { return failures{rules: f.rules, login: f.loginHint()} }

// parser returns the parser of the output format.
func (f *form) parser(req execution.Request) cliagent.Parser {
	one, n := cliagent.OneShot(f.name), session{req: req}
	switch f.Output.Format {
	case formatLines:
		return newLines(f, one, n)
	case formatStream:
		return newStream(f, one, n)
	}
	return &textParser{OneShot: one, session: n, failures: f.failures()}
}

// negotiate refuses a model that the program cannot be given.
func (f *form) negotiate(req execution.Request) []execution.Reason {
	r := cliagent.NewReasons(req)
	if f.Output.Format != formatACP && f.Options.Model == nil {
		RefuseModel(&r, f.name, req)
	}
	return r
}

// RefuseModel adds that an agent cannot be given a model.
func RefuseModel(r *cliagent.Reasons, name string, req execution.Request) {
	if req.Run.Model != "" {
		r.Add(execution.SeverityBlocking, "model", "%s cannot be given a model; run it without %s", name, req.Run.Model)
	}
}

// maxWithin is how many runs of an agent may be within each other: one that calls Drawbar may use itself as a helper.
const maxWithin = 4

// spawn returns the command line.
func (f *form) spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	req := l.Request
	for _, v := range f.Login.Variables {
		if v.Required && l.Variable(v.Name) == "" && f.Environment[v.Name] == "" {
			e := execution.Errorf(execution.CodeAuth, "%s needs the variable %s, which is not set", f.DisplayName, v.Name)
			e.Agent = f.name
			return cliagent.Invocation{}, e.WithHint("%s", f.loginHint())
		}
	}
	times, env := cliagent.Within(l.Variable, f.name)
	if times >= maxWithin {
		return cliagent.Invocation{}, execution.Errorf(execution.CodeConfig, "%s runs itself: its command started a Drawbar that runs %s, %d times in a row",
			f.name, f.name, times).WithHint("name the agent's own program: drawbar agents edit %s", f.name)
	}
	maps.Copy(env, f.Environment)
	values := map[string]string{slotDir: req.Run.Cwd, slotModel: req.Run.Model, slotEffort: f.Options.Efforts[string(req.Run.ThinkingEffort)]}
	options := slices.Concat(f.sessionArguments(l, values), f.optionArguments(l, values))
	inv := cliagent.Invocation{Command: f.Command[0], Env: env}
	words := f.Command[1:]
	head, tail := words, []string(nil)
	if i := slices.Index(words, "{"+slotOptions+"}"); i >= 0 {
		head, tail = words[:i], words[i+1:]
	}
	if f.Output.Format == formatACP {
		inv.Args = slices.Concat(fill(head, values), options, fill(tail, values))
		return inv, nil
	}
	prompt := f.message(req)
	before, stdin := Arguments(l, fillDir(head, values), prompt)
	after, more := Arguments(l, fillDir(tail, values), prompt)
	inv.Args = slices.Concat(before, options, after)
	if stdin != nil && more != nil {
		inv.Stdin = stdin
	}
	return inv, nil
}

// fillDir fills in the directory, before the prompt, which may contain braces.
func fillDir(words []string, values map[string]string) []string {
	return fill(words, map[string]string{slotDir: values[slotDir]})
}

// message is the prompt without the instructions that have arguments of their own.
func (f *form) message(req execution.Request) string {
	replace, added := cliagent.Instructions(req)
	if f.Options.ReplaceSystemPrompt != nil {
		replace = ""
	}
	if f.Options.SystemPrompt != nil {
		added = ""
	}
	return joined(replace, added, string(req.Message.Text))
}

// sessionArguments returns the arguments that start, resume or fork a session, and tells the parser the known id.
func (f *form) sessionArguments(l *cliagent.Launch, values map[string]string) []string {
	o, known := f.Options, ""
	id, fork := cliagent.SessionOf(l.Request)
	var words []string
	switch {
	case f.Output.Format == formatACP:
	case fork:
		words, values[slotSession] = o.Fork, id
	case id != "":
		words, values[slotSession], known = o.Resume, id, id
	case l.Request.Run.NoSession:
		words = o.Ephemeral
	case o.NewSession != nil:
		known = cliagent.NewUUID()
		words, values[slotSession] = o.NewSession, known
	}
	if p, ok := l.Parser.(interface{ give(id string) }); ok {
		p.give(known)
	}
	return fill(words, values)
}

// optionArguments returns the arguments of the other options.
func (f *form) optionArguments(l *cliagent.Launch, values map[string]string) (args []string) {
	o, run := f.Options, l.Request.Run
	if run.Model != "" {
		args = append(args, fill(o.Model, values)...)
	}
	if run.ThinkingEffort != "" {
		args = append(args, fill(o.Effort, values)...)
	}
	replace, added := cliagent.Instructions(l.Request)
	for _, part := range []struct {
		words      []string
		text, name string
	}{{o.ReplaceSystemPrompt, replace, "system-prompt.txt"}, {o.SystemPrompt, added, "append-system-prompt.txt"}} {
		if part.text == "" || part.words == nil {
			continue
		}
		own := map[string]string{slotSystem: part.text, slotDir: run.Cwd}
		if has(part.words, slotSystemFile) {
			own[slotSystemFile] = l.File(part.name, []byte(part.text))
		}
		args = append(args, fill(part.words, own)...)
	}
	args = append(args, fill(o.Approval[string(run.ApprovalMode)], values)...)
	if len(run.MCPServers) > 0 && o.MCP != nil {
		values[slotMCPFile] = l.File("mcp.json", cliagent.MCPFile(run.MCPServers, nil))
		args = append(args, fill(o.MCP, values)...)
	}
	return args
}

// Probe finds the program and asks it for its version, if the entry says how.
func (d described) Probe(ctx context.Context, h adapter.Host) (adapter.Installation, error) {
	program := d.form.Command[0]
	if args := d.form.Version.Args; len(args) > 0 {
		return cliagent.DetectVersion(ctx, h, program, args...)
	}
	path, err := h.LookPath(program)
	if err != nil {
		return adapter.Installation{Notes: "command " + program + " not found: " + err.Error()}, ctx.Err()
	}
	return adapter.Installation{Installed: true, Path: path, Notes: "its configuration names no command for the version"}, ctx.Err()
}
