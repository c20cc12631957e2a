// Package customagent is the part of "drawbar agents" that stores and checks agents that are described without code.
package customagent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/adapter/kit/declarative"
	"github.com/drawbar/drawbar/adapter/kit/declarative/agents"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/schema"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/internal/settings/customagent"
)

// Commands returns the commands.
func Commands(app *cli.App) []*cobra.Command {
	return []*cobra.Command{newAdd(app), newEdit(app), newRemove(app), newTest(app), newExport(app), newValidate(app), newSchema(app)}
}

func scopeFlag(app *cli.App, cmd *cobra.Command, scope *string) {
	cmd.Flags().StringVar(scope, "scope", "", "global or project (default: global)")
	app.DirFlag(cmd)
}

// maxFile limits the file of an entry.
const maxFile = 1 << 20

// adding are the flags of "agents add".
type adding struct {
	file, scope, prompt, output string
	ssh, agent, directory       string
	api, url, key, model        string
	set                         []string
	replace                     bool
}

func newAdd(app *cli.App) *cobra.Command {
	var o adding
	cmd := &cobra.Command{
		Use: "add [NAME] [--file FILE | FLAGS] [-- COMMAND ARGS...]", Short: "Add an agent that is described without code",
		Long: `Add an agent to your configuration, or to the project's. A file describes it, or its command and flags.

In COMMAND, {prompt} and {prompt_file} are replaced by the prompt and by a file with it; without them the prompt is standard input.
--set states any other key; drawbar agents schema lists the keys. Every fault is reported before anything is stored. Without NAME,
the agent has the name of the file. With --ssh, the Drawbar of another machine runs the agent. With --api, it is a service: of
models, or an agent of the Agent2Agent protocol.`,
		Example: `  drawbar agents add mine -- my-agent --print
  drawbar agents add mine --set 'options.model=["--model","{model}"]' -- my-agent -p {prompt}
  drawbar agents add --file vendor.json
  drawbar agents add box --ssh user@host --agent claude --directory /srv/repo
  drawbar agents add studio --api chat --url http://127.0.0.1:1234/v1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			before, command := args, []string(nil)
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				before, command = args[:at], args[at:]
			}
			if len(before) > 1 {
				return cli.Usage("agents add takes one name, not %d", len(before)).WithHint("%s", cmd.UseLine())
			}
			return o.add(cmd.Context(), app, before, command)
		},
	}
	cmd.Flags().StringVar(&o.file, "file", "", "file with the entry in JSON, - for standard input")
	cmd.Flags().StringVar(&o.prompt, "prompt", "", "way of the prompt: stdin, file or argument (default: as the command's placeholders say)")
	cmd.Flags().StringVar(&o.output, "output", "", "output format: text, json-lines, stream-json, acp or drawbar (default: text)")
	cmd.Flags().StringVar(&o.ssh, "ssh", "", "`HOST` or user@host whose Drawbar runs the agent, instead of COMMAND")
	cmd.Flags().StringVar(&o.agent, "agent", "", "agent on that host")
	cmd.Flags().StringVar(&o.directory, "directory", "", "working directory on that host (default: the home directory there)")
	cmd.Flags().StringVar(&o.api, "api", "", "format of a service, instead of COMMAND: chat, responses, messages, generate-content or a2a")
	cmd.Flags().StringVar(&o.url, "url", "", "address of the service")
	cmd.Flags().StringVar(&o.key, "key", "", "`VARIABLE` with the key of the service")
	cmd.Flags().StringVar(&o.model, "model", "", "model of runs that name none")
	cmd.Flags().StringArrayVar(&o.set, "set", nil, "`KEY=VALUE` of the entry; VALUE is JSON, or else text (repeatable)")
	cmd.Flags().BoolVar(&o.replace, "replace", false, "replace an agent of this name")
	scopeFlag(app, cmd, &o.scope)
	return cmd
}

// entry returns the text of the entry that the flags describe, and where it comes from.
func (o *adding) entry(app *cli.App, command []string) (text []byte, where string, err error) {
	text, where = []byte("{}"), "command line"
	switch {
	case o.file == "" && len(command) == 0 && o.ssh == "" && o.api == "":
		return nil, "", cli.Usage("agents add: no command is given").WithHint("drawbar agents add NAME -- COMMAND ARGS..., or drawbar agents add NAME --file FILE")
	case o.file != "":
		if text, where, err = readEntry(app, o.file); err != nil {
			return nil, "", err
		}
	}
	d, err := configfile.Parse(configfile.JSONC, where, text)
	if err != nil {
		return text, where, nil //nolint:nilerr // the check that follows names the fault and its line
	}
	if len(command) > 0 {
		err = d.Set(configfile.Path{"command"}, command)
		if way := transport(command); o.prompt == "" && way != "" {
			o.prompt = way
		}
	}
	for key, value := range map[string]string{"prompt": o.prompt, "output.format": o.output, "ssh.host": o.ssh, "agent": o.agent, "directory": o.directory,
		"api.format": o.api, "api.url": o.url, "api.key": o.key, "defaultModel": o.model} {
		if path, perr := configfile.ParsePath(key); value != "" && err == nil {
			err = errors.Join(perr, d.Set(path, value))
		}
	}
	for _, s := range o.set {
		if err == nil {
			err = setKey(d, s)
		}
	}
	if err != nil {
		return nil, "", cli.Usage("agents add: %v", err).WithHint("--set 'options.model=[\"--model\",\"{model}\"]'")
	}
	return d.Bytes(), where, nil
}

func (o *adding) add(ctx context.Context, app *cli.App, names, command []string) error {
	text, where, err := o.entry(app, command)
	if err != nil {
		return err
	}
	var name string
	switch {
	case len(names) > 0:
		name = names[0]
	case o.file == "" || o.file == "-":
		return cli.Usage("agents add: no name is given").WithHint("drawbar agents add NAME ...")
	default:
		name = base(o.file)
	}
	e, faults := declarative.Read(text)
	if len(faults) > 0 {
		return refusal(where, faults)
	}
	p, err := openPlace(app, o.scope)
	if err != nil {
		return err
	}
	if err := p.check(name, e); err != nil {
		return err
	}
	v, err := parse(text)
	if err != nil {
		return err
	}
	path := configfile.Path{config.CustomAgents, name}
	if _, err := p.edit(ctx, func(d *configfile.Document) (bool, error) {
		if _, have := d.Get(path); have {
			if !o.replace {
				return false, execution.Errorf(execution.CodeConfig, "%s already has an agent %s", p.path, name).WithHint("add --replace, or: drawbar agents edit %s", name)
			}
			if _, err := d.Unset(path); err != nil {
				return false, err
			}
		}
		return true, d.Set(path, ordered(v))
	}); err != nil {
		return err
	}
	if err := p.trust(ctx, name); err != nil {
		return err
	}
	if !e.IsAPI() {
		program := customagent.Resolved(p.agent(name, e)).Command[0]
		if _, err := oshost.New(nil).LookPath(program); err != nil {
			app.Warnf("the program of %s cannot be used yet: %v", name, err)
		}
	}
	return app.Answer(map[string]any{"agent": name, "scope": p.scope, "file": p.path}, func() {
		app.Notef("wrote agent %s to %s; try it: drawbar agents test %s", name, p.path, name)
	})
}

func newEdit(app *cli.App) *cobra.Command {
	var scope string
	cmd := &cobra.Command{Use: "edit NAME", Short: "Edit an agent's entry in $VISUAL or $EDITOR", Args: cli.Args(cobra.ExactArgs(1)),
		Long: "Edit the entry of an agent that is described without code. It is stored only if it has no faults; otherwise your text " +
			"is kept in a file.",
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := openPlace(app, scope)
			if err != nil {
				return err
			}
			return edit(cmd.Context(), app, p, args[0])
		}}
	scopeFlag(app, cmd, &scope)
	return cmd
}

func edit(ctx context.Context, app *cli.App, p place, name string) error {
	old, err := p.text(name)
	if err != nil {
		return err
	}
	if len(old) == 0 {
		return missing(p, name)
	}
	typed := "drawbar agents edit " + name
	file, err := app.Edit(ctx, cli.Editing{What: "agents edit", Typed: typed, Pattern: "drawbar-" + name + "-*.json", Text: string(old) + "\n",
		Instead: "drawbar agents export " + name + " > FILE, then drawbar agents add " + name + " --replace --file FILE"})
	if err != nil {
		return err
	}
	keep := func(err *execution.Error) error {
		err.Message += "\nnothing was stored; your text is in " + file
		return err.WithHint("correct it, then: drawbar agents add %s --replace --file %s", name, file)
	}
	text, err := repofile.Own(file, maxFile)
	if err != nil {
		return keep(execution.Errorf(execution.CodeConfig, "read the edited entry: %w", err))
	}
	text = bytes.TrimSpace(text)
	if bytes.Equal(text, bytes.TrimSpace(old)) {
		_ = os.Remove(file) // a temporary file without anything new
		return app.Answer(map[string]any{"agent": name, "file": p.path, "changed": false}, func() { app.Notef("agent %s is unchanged", name) })
	}
	e, faults := declarative.Read(text)
	if len(faults) > 0 {
		return keep(refusal(file, faults))
	}
	if err := p.check(name, e); err != nil {
		return keep(asError(err))
	}
	_, err = p.edit(ctx, func(d *configfile.Document) (bool, error) {
		data := d.Bytes()
		from, to := locate(data, name)
		if !bytes.Equal(data[from:to], old) {
			return false, execution.Errorf(execution.CodeConfig, "the entry of %s in %s changed while you edited it", name, p.path)
		}
		changed, err := configfile.Parse(configfile.JSONC, p.path, bytes.Join([][]byte{data[:from], text, data[to:]}, nil))
		if err != nil {
			return false, err
		}
		*d = *changed
		return true, nil
	})
	if err == nil {
		err = p.trust(ctx, name)
	}
	if err != nil {
		return keep(asError(err))
	}
	_ = os.Remove(file) // its text is stored
	return app.Answer(map[string]any{"agent": name, "file": p.path, "changed": true}, func() { app.Notef("wrote agent %s to %s", name, p.path) })
}

func asError(err error) *execution.Error {
	if e, ok := errors.AsType[*execution.Error](err); ok {
		return e
	}
	return execution.Errorf(execution.CodeConfig, "%w", err)
}

// missing is the error about an agent that the file does not describe.
func missing(p place, name string) *execution.Error {
	e := execution.Errorf(execution.CodeConfig, "%s describes no agent %s", p.path, name)
	if _, shipped := agents.Text(name); shipped {
		return e.WithHint("it is built in; describe one like it: drawbar agents export %s > mine.json, then drawbar agents add --file mine.json", name)
	}
	other := "project"
	if p.scope == config.ScopeProject {
		other = "global"
	}
	return e.WithHint("drawbar agents list shows the agents; --scope %s selects the other file", other)
}

func newRemove(app *cli.App) *cobra.Command {
	var scope string
	cmd := &cobra.Command{Use: "remove NAME", Short: "Remove an agent from the configuration", Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := openPlace(app, scope)
			if err != nil {
				return err
			}
			removed, err := p.edit(cmd.Context(), func(d *configfile.Document) (bool, error) {
				return d.Unset(configfile.Path{config.CustomAgents, args[0]})
			})
			if err != nil {
				return err
			}
			if !removed {
				return missing(p, args[0])
			}
			return app.Answer(map[string]any{"agent": args[0], "file": p.path}, func() { app.Notef("removed agent %s from %s", args[0], p.path) })
		}}
	scopeFlag(app, cmd, &scope)
	return cmd
}

func newExport(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "export AGENT", Short: "Print an agent's entry as a file to share", Args: cli.Args(cobra.ExactArgs(1)),
		Long: "Print the entry of an agent that is described without code: one of the configuration, or a built-in one. The file is for " +
			"drawbar agents add --file.",
		Example: "  drawbar agents export mine > mine.json",
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := entryText(app, args[0])
			if err != nil {
				return err
			}
			return app.Answer(json.RawMessage(text), func() { app.Printf("%s\n", bytes.TrimSpace(text)) })
		}}
	app.DirFlag(cmd)
	return cmd
}

// entryText returns the entry of an agent, formatted.
func entryText(app *cli.App, name string) ([]byte, error) {
	cfg, err := app.Config(app.Dir())
	if err != nil {
		return nil, err
	}
	text, found := agents.Text(name)
	for _, a := range cfg.CustomAgents() {
		if a.Name == name && !found {
			text, found = a.Text, true
		}
	}
	if !found {
		e, err := app.Agent(name)
		if err != nil {
			return nil, err
		}
		return nil, execution.Errorf(execution.CodeCapability, "%s is an adapter in Go: it has no entry", e.Descriptor.Name).
			WithHint("an entry to start from: drawbar agents export aider")
	}
	v, err := parse(text)
	if err != nil {
		return nil, err
	}
	var compact, out bytes.Buffer
	v.Render(&compact)
	if err := json.Indent(&out, compact.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func newValidate(app *cli.App) *cobra.Command {
	return &cobra.Command{Use: "validate FILE", Short: "List every fault of an agent's entry", Args: cli.Args(cobra.ExactArgs(1)),
		Long: "List every fault of the entry in a file, with its line and its key. - reads standard input.",
		RunE: func(_ *cobra.Command, args []string) error {
			text, where, err := readEntry(app, args[0])
			if err != nil {
				return err
			}
			_, faults := declarative.Read(text)
			if len(faults) == 0 {
				return app.Answer(map[string]any{"valid": true, "file": where}, func() { app.Printf("valid: %s\n", where) })
			}
			why := refusal(where, faults)
			err = app.AnswerNot(map[string]any{"valid": false, "file": where, "faults": faults}, why, func() {
				for _, f := range faults {
					app.Printf("%s:%d:%d: %s\n", where, f.Line, f.Column, f)
				}
				app.Notef("drawbar agents schema lists the keys")
			})
			return exitcode.If(true, execution.ExitUsage, err)
		}}
}

func newSchema(app *cli.App) *cobra.Command {
	return &cobra.Command{Use: "schema", Short: "Print the JSON Schema of an agent's entry", Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			raw, err := schema.Agent()
			if err != nil {
				return err
			}
			return app.Answer(json.RawMessage(raw), func() { app.Printf("%s", raw) })
		}}
}
