// Package config is "drawbar config" for an agent: it reads and changes the agent's configuration files.
package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter/kit/agentconfig"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/cli/ownconfig"
	"github.com/drawbar/drawbar/settings"
)

type command struct {
	app    *cli.App
	scope  string
	cwd    string
	origin bool
	reveal bool
}

const long = `Read and change the agents' own configuration files or, when no agent is named, Drawbar's own configuration.

Without an agent, a FIELD is one of Drawbar's (drawbar config schema): defaultAgent, timeout, agents.claude.model. Values come from
the command line, then a profile, the environment (DRAWBAR_MODEL ...), the project's .drawbar/config.json, the user's file, and
the defaults.

A FIELD of an agent is one of Drawbar's names (model, approvalMode, env.NAME ...: "drawbar config schema AGENT"), or one of the
agent's own keys after "native.": native.permissions.ask. Quote a key that contains a dot: 'env."A.B"'.

VALUE is parsed as JSON where the field is a list, an object, a number or a boolean; "-" reads it from standard input. A change keeps comments, order and unknown keys. Objects are merged; lists and scalars are replaced.`

// New returns the command.
func New(app *cli.App) *cobra.Command {
	c := &command{app: app}
	cmd := &cobra.Command{Use: "config", Long: long, Args: cli.Args(cobra.NoArgs),
		Example: "  drawbar config show claude --origin\n  drawbar config set codex model gpt-6.1-sol\n  drawbar config set claude deniedCommands '[\"Bash(rm:*)\"]' --scope project",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.PersistentFlags().StringVar(&c.scope, "scope", "", "global, project or local (default: all to read, global to write)")
	cmd.PersistentFlags().StringVarP(&c.cwd, "cwd", "C", "", "directory of the project (default: here)")
	get := c.add(cmd, "get [AGENT] [FIELD]", "Print one value, or all values of an agent", 2, c.get, func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return ownconfig.Show(app, c.cwd, false)
		}
		return ownconfig.Get(app, c.cwd, args[0])
	})
	c.add(cmd, "set [AGENT] FIELD VALUE", "Set a value in one scope", 3, c.set, func(cmd *cobra.Command, args []string) error {
		if len(args) < 2 {
			return usage(cmd)
		}
		return ownconfig.Set(cmd.Context(), app, c.cwd, c.scope, args[0], args[1])
	})
	c.add(cmd, "unset [AGENT] FIELD", "Remove a value from one scope", 2, c.unset, func(cmd *cobra.Command, args []string) error {
		if len(args) < 1 {
			return usage(cmd)
		}
		return ownconfig.Unset(cmd.Context(), app, c.cwd, c.scope, args[0])
	})
	show := c.add(cmd, "show [AGENT]", "List the values that are set", 1, c.show, func(*cobra.Command, []string) error { return ownconfig.Show(app, c.cwd, c.origin) })
	c.add(cmd, "validate [AGENT]", "Validate the files against the schema", 1, c.validate, func(*cobra.Command, []string) error { return ownconfig.Validate(app, c.cwd) })
	c.add(cmd, "schema [AGENT]", "List the available fields", 1, c.schema, func(*cobra.Command, []string) error { return ownconfig.Schema(app) })
	show.Flags().BoolVar(&c.origin, "origin", false, "show the file each value comes from and what it overrides")
	for _, s := range []*cobra.Command{get, show} {
		s.Flags().BoolVar(&c.reveal, "reveal", false, "show secrets: values of environments, headers and keys")
	}
	return cmd
}

// add adds a subcommand. If the first argument is an agent's name, it is about that agent's configuration, otherwise about
// Drawbar's. most is the number of arguments with an agent; get also accepts one less.
func (c *command) add(parent *cobra.Command, use, short string, most int, agent, own func(*cobra.Command, []string) error) *cobra.Command {
	sub := &cobra.Command{Use: use, Short: short, Args: cli.Args(cobra.MaximumNArgs(most))}
	sub.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := c.app.Client()
		if err != nil {
			return err
		}
		if len(args) > 0 {
			_, err = client.Adapters().Get(args[0])
			if err == nil && (len(args) == most || cmd.Name() == "get") {
				return agent(cmd, args)
			} else if err == nil {
				return usage(cmd)
			}
			if len(args) == most {
				return err // unknown agent
			}
		}
		return own(cmd, args)
	}
	parent.AddCommand(sub)
	return sub
}

func usage(cmd *cobra.Command) error {
	return cli.Usage("%s: missing argument", cmd.CommandPath()).WithHint("%s", cmd.UseLine())
}

func (c *command) place() drawbar.ConfigPlace {
	return drawbar.ConfigPlace{Project: c.cwd, Scope: settings.Scope(c.scope)}
}

// load reads an agent's files.
func (c *command) load(agent string) (drawbar.ConfigManager, *agentconfig.Config, error) {
	client, err := c.app.Client()
	if err != nil {
		return drawbar.ConfigManager{}, nil, err
	}
	files, err := client.Config().Load(agent, c.place())
	return client.Config(), files, err
}

// value is the answer of "config get".
type value struct {
	Agent string `json:"agent"`
	Field string `json:"field"`
	Set   bool   `json:"set"`
	Value any    `json:"value"`
}

func (c *command) get(_ *cobra.Command, args []string) error {
	config, files, err := c.load(args[0])
	if err != nil {
		return err
	}
	if len(args) == 1 {
		all, err := files.Agent()
		if err != nil {
			return err
		}
		if !c.reveal {
			all = all.Masked(files.Schema)
		}
		return c.app.Answer(all, func() { c.app.Printf("%s\n", indented(all)) })
	}
	t, err := config.Resolve(files, args[1])
	if err != nil {
		return err
	}
	v, ok, err := files.Get(t, c.place().Scope)
	if err != nil {
		return err
	}
	if ok && !c.reveal {
		v = files.MaskedValue(t, v)
	}
	err = c.app.Answer(value{files.Schema.Agent, t.Name, ok, v}, func() {
		if ok {
			c.app.Printf("%s\n", text(v))
		} else {
			c.app.Notef("%s is not set", t.Name)
		}
		c.noteOverrides(c.overrides(files.Schema), t.Name)
	})
	return exitcode.If(!ok, execution.ExitGeneral, err)
}

// text formats a value: a string as it is, anything else as JSON.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func indented(v any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// changed is the answer of set and unset.
type changed struct {
	Agent string   `json:"agent"`
	Field string   `json:"field,omitempty"`
	Files []string `json:"changed"`
}

func (c *command) set(cmd *cobra.Command, args []string) error {
	config, files, err := c.load(args[0])
	if err != nil {
		return err
	}
	t, err := config.Resolve(files, args[1])
	if err != nil {
		return err
	}
	word := args[2]
	if word == "-" {
		b, err := io.ReadAll(io.LimitReader(c.app.In, 1<<20))
		if err != nil {
			return cli.Usage("read the value from standard input: %v", err)
		}
		word = strings.TrimRight(string(b), "\r\n")
	}
	v, err := files.Read(t, word)
	if err != nil {
		return err
	}
	var done []string
	err = c.app.TrustWritten(cmd.Context(), args[0], c.cwd, func() (err error) {
		done, err = config.SetField(cmd.Context(), args[0], args[1], v, c.place())
		return err
	})
	if err != nil {
		return err
	}
	if err := c.answer(files.Schema.Agent, t.Name, done); err != nil {
		return err
	}
	c.remarks(files, t)
	return nil
}

func (c *command) answer(agent, field string, done []string) error {
	return c.app.Answer(changed{agent, field, done}, func() {
		if len(done) == 0 {
			c.app.Notef("%s is unchanged", field)
		}
		for _, f := range done {
			c.app.Notef("changed %s", f)
		}
	})
}

// remarks prints the note of the changed file, and warns about a file that overrides it.
func (c *command) remarks(files *agentconfig.Config, t agentconfig.Target) {
	scope := c.place().Scope
	if scope == "" {
		scope = settings.Global
	}
	for _, f := range files.Files {
		if f.ID != t.File {
			continue
		}
		if f.Scope == scope && f.Note != "" {
			c.app.Notef("note: %s", f.Note)
			return
		}
		if v, ok, err := files.Get(t, f.Scope); err == nil && ok && v != nil && wider(scope, f.Scope) {
			c.app.Warnf("%s in %s overrides it here", t.Name, f.Name)
		}
	}
}

func wider(a, b settings.Scope) bool {
	return slices.Index(settings.Scopes, a) < slices.Index(settings.Scopes, b)
}

func (c *command) unset(cmd *cobra.Command, args []string) error {
	config, files, err := c.load(args[0])
	if err != nil {
		return err
	}
	t, err := config.Resolve(files, args[1])
	if err != nil {
		return err
	}
	var done []string
	err = c.app.TrustWritten(cmd.Context(), args[0], c.cwd, func() (err error) {
		done, err = config.Unset(cmd.Context(), args[0], args[1], c.place())
		return err
	})
	if err != nil {
		return err
	}
	return c.answer(files.Schema.Agent, t.Name, done)
}

// shown is the answer of "config show".
type shown struct {
	Agent      string                  `json:"agent"`
	Files      []file                  `json:"files"`
	Settings   []agentconfig.Setting   `json:"settings"`
	MCPServers []agentconfig.MCPServer `json:"mcpServers"`
	Overrides  []override              `json:"overrides,omitempty"`
}

// override is an environment variable that takes precedence over the files.
type override struct {
	Name     string `json:"name"`
	Variable string `json:"variable"`
	Value    string `json:"value"`
}

func (c *command) overrides(s settings.Schema) (found []override) {
	for _, f := range s.Fields {
		if value := c.app.Getenv(f.Variable); f.Variable != "" && value != "" && !f.Secret {
			found = append(found, override{f.Path, f.Variable, value})
		}
	}
	return found
}

// noteOverrides prints the overrides of a field, or of all fields if name is empty.
func (c *command) noteOverrides(list []override, name string) {
	for _, o := range list {
		if name != "" && name != o.Name {
			continue
		}
		c.app.Notef("%s is %s: the variable %s overrides the files", o.Name, o.Value, o.Variable)
	}
}

type file struct {
	Scope  settings.Scope `json:"scope"`
	Path   string         `json:"path"`
	Exists bool           `json:"exists"`
	Error  string         `json:"error,omitempty"`
}

func (c *command) show(_ *cobra.Command, args []string) error {
	_, files, err := c.load(args[0])
	if err != nil {
		return err
	}
	scope := c.place().Scope
	v := shown{Agent: files.Schema.Agent, Settings: []agentconfig.Setting{}, MCPServers: []agentconfig.MCPServer{},
		Overrides: c.overrides(files.Schema)}
	for _, f := range files.Files {
		if scope != "" && f.Scope != scope {
			continue
		}
		view := file{Scope: f.Scope, Path: f.Name, Exists: f.Exists}
		if f.Err != nil {
			view.Error = f.Err.Error()
		}
		v.Files = append(v.Files, view)
	}
	for _, s := range files.Settings() {
		s.Origins = slices.DeleteFunc(s.Origins, func(o agentconfig.Origin) bool { return scope != "" && o.Scope != scope })
		if len(s.Origins) == 0 {
			continue
		}
		if !c.reveal {
			s = s.Masked()
		}
		v.Settings = append(v.Settings, s)
	}
	if files.Schema.MCP != nil && files.Err() == nil {
		servers, err := files.MCPServers(scope)
		if err != nil {
			return err
		}
		for _, m := range servers {
			if !c.reveal {
				m = m.Masked()
			}
			v.MCPServers = append(v.MCPServers, m)
		}
	}
	if err := c.app.Answer(v, func() { c.table(v) }); err != nil {
		return err
	}
	if err := files.Err(); err != nil {
		return &exitcode.Error{Code: execution.ExitConfig, Err: err, Silent: c.app.JSON} // the answer contains it
	}
	return nil
}

func (c *command) table(v shown) {
	w := c.app.Table()
	for _, s := range v.Settings {
		if !c.origin {
			fmt.Fprintf(w, "%s\t%s\n", s.Name, text(s.Value))
			continue
		}
		for i, o := range s.Origins {
			state := ""
			if i > 0 && !s.Joined {
				state = "\toverridden"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s%s\n", s.Name, text(o.Value), o.Scope, o.File, o.Key, state)
		}
	}
	for _, m := range v.MCPServers {
		what := m.URL
		if m.Transport == execution.MCPStdio {
			what = strings.Join(append([]string{m.Command}, m.Args...), " ")
		}
		if m.Error != "" {
			what = m.Error
		}
		if c.origin {
			fmt.Fprintf(w, "mcpServers.%s\t%s\t%s\t%s\n", m.Name, what, m.Scope, m.File)
		} else {
			fmt.Fprintf(w, "mcpServers.%s\t%s\n", m.Name, what)
		}
	}
	w.Flush()
	if len(v.Settings)+len(v.MCPServers) == 0 {
		c.app.Notef("nothing is set")
	}
	c.noteOverrides(v.Overrides, "")
}

func (c *command) validate(_ *cobra.Command, args []string) error {
	_, files, err := c.load(args[0])
	if err != nil {
		return err
	}
	v := files.Validate()
	err = c.app.Answer(v, func() {
		for _, f := range v.Errors {
			c.app.Printf("%s\n", line("error", f))
		}
		for _, f := range v.Warnings {
			c.app.Printf("%s\n", line("warning", f))
		}
		if v.Valid {
			c.app.Notef("%s: valid", files.Schema.Agent)
		}
	})
	return exitcode.If(!v.Valid, execution.ExitConfig, err)
}

func line(level string, f agentconfig.Finding) string {
	parts := []string{level + ":"}
	if f.Field != "" {
		parts = append(parts, f.Field)
	}
	parts = append(parts, f.Message)
	if f.Expected != "" {
		parts = append(parts, "(want "+f.Expected+")")
	}
	if f.Suggestion != "" {
		parts = append(parts, "(use "+f.Suggestion+")")
	}
	if f.Code != agentconfig.InvalidFormat {
		parts = append(parts, "in "+f.File)
	}
	return strings.Join(parts, " ")
}

func (c *command) schema(_ *cobra.Command, args []string) error {
	client, err := c.app.Client()
	if err != nil {
		return err
	}
	s, err := client.Config().Schema(args[0])
	if err != nil {
		return err
	}
	return c.app.Answer(s, func() {
		w := c.app.Table("FIELD", "TYPE", "NATIVE", "DESCRIPTION")
		for _, f := range s.Fields {
			what := f.Description
			if len(f.Enum) > 0 {
				what += ": " + strings.Join(f.Enum, ", ")
			}
			w.Row(f.Path, f.Type, f.Native, what)
		}
		w.Flush()
		paths := map[string]bool{}
		for _, f := range s.Files {
			paths[string(f.Scope)+" "+f.Path] = true
		}
		for _, p := range slices.Sorted(maps.Keys(paths)) {
			c.app.Notef("%s", p)
		}
	})
}
