// Package mcp is "drawbar mcp": the MCP servers in the agents' configuration files.
package mcp

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter/kit/agentconfig"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/settings"
)

type command struct {
	app       *cli.App
	scope     string
	cwd       string
	reveal    bool
	env       []string
	headers   []string
	url       string
	transport string
	file      string
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	c := &command{app: app}
	cmd := &cobra.Command{Use: "mcp", Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.PersistentFlags().StringVar(&c.scope, "scope", "", "global, project or local (default: all for list, global for add and remove)")
	cmd.PersistentFlags().StringVarP(&c.cwd, "cwd", "C", "", "directory of the project (default: here)")
	list := &cobra.Command{Use: "list [AGENT]", Short: "List the MCP servers of one agent, or of all", Args: cli.Args(cobra.MaximumNArgs(1)), RunE: c.list}
	list.Flags().BoolVar(&c.reveal, "reveal", false, "show secrets: values of environments and headers")
	add := &cobra.Command{Use: "add AGENT NAME [--url URL | -- COMMAND [ARG...]]", Short: "Add an MCP server to an agent's configuration",
		Example: "  drawbar mcp add claude files --env ROOT=/srv -- npx -y server-files\n  drawbar mcp add codex docs --url https://example.com/mcp --header \"Authorization: Bearer ...\"\n  drawbar mcp add gemini --file servers.json",
		Args:    cli.Args(cobra.MinimumNArgs(1)), RunE: c.add}
	add.Flags().StringArrayVar(&c.env, "env", nil, "NAME=VALUE for the server; NAME copies the current value (repeatable)")
	add.Flags().StringArrayVar(&c.headers, "header", nil, "HTTP header \"Name: value\", for a server with an address (repeatable)")
	add.Flags().StringVar(&c.url, "url", "", "URL of the server")
	add.Flags().StringVar(&c.transport, "transport", "", "stdio, http or sse (default: stdio for a command, http for an address)")
	add.Flags().StringVar(&c.file, "file", "", "add every server in a file; same form as run --mcp")
	remove := &cobra.Command{Use: "remove AGENT NAME", Short: "Remove an MCP server from an agent's configuration", Args: cli.Args(cobra.ExactArgs(2)), RunE: c.remove}
	cmd.AddCommand(list, add, remove)
	return cmd
}

func (c *command) config() (drawbar.ConfigManager, drawbar.ConfigPlace, error) {
	client, err := c.app.Client()
	if err != nil {
		return drawbar.ConfigManager{}, drawbar.ConfigPlace{}, err
	}
	return client.Config(), drawbar.ConfigPlace{Project: c.cwd, Scope: settings.Scope(c.scope)}, nil
}

func (c *command) list(_ *cobra.Command, args []string) error {
	config, at, err := c.config()
	if err != nil {
		return err
	}
	names, err := c.agents(config, args)
	if err != nil {
		return err
	}
	rows := []row{}
	var failed []error
	for _, name := range names {
		servers, err := config.MCPServers(name, at)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for _, m := range servers {
			if !c.reveal {
				m = m.Masked()
			}
			rows = append(rows, row{name, m})
		}
	}
	// Agents whose files cannot be read do not hide the others.
	if len(failed) == len(names) {
		return failed[0]
	}
	for _, err := range failed {
		c.app.Warnf("%v", err)
	}
	return exitcode.If(len(failed) > 0, execution.ExitConfig, c.app.Answer(rows, func() { c.table(rows) }))
}

// row is a server of an agent.
type row struct {
	Agent string `json:"agent"`
	agentconfig.MCPServer
}

// agents returns the named agent, or all agents that can be configured with servers.
func (c *command) agents(config drawbar.ConfigManager, args []string) ([]string, error) {
	client, err := c.app.Client()
	if err != nil {
		return nil, err
	}
	if len(args) > 0 {
		e, err := client.Adapters().Get(args[0])
		return []string{e.Descriptor.Name}, err
	}
	var names []string
	for _, i := range client.Adapters().List() {
		if s, err := config.Schema(i.Agent); err == nil && s.MCP != nil {
			names = append(names, i.Agent)
		}
	}
	return names, nil
}

func (c *command) table(servers []row) {
	if len(servers) == 0 {
		c.app.Notef("no MCP servers")
		return
	}
	w := c.app.Table("AGENT", "NAME", "TRANSPORT", "SERVER", "SCOPE", "FILE")
	for _, m := range servers {
		what := m.URL
		if m.Transport == execution.MCPStdio {
			what = strings.Join(append([]string{m.Command}, m.Args...), " ")
		}
		transport := string(m.Transport)
		if m.Error != "" {
			what, transport = m.Error, ""
		}
		w.Row(m.Agent, m.Name, transport, what, m.Scope, m.File)
	}
	w.Flush()
}

// changed is the answer of add and remove.
type changed struct {
	Agent   string   `json:"agent"`
	Servers []string `json:"servers"`
	Files   []string `json:"changed"`
}

func (c *command) add(cmd *cobra.Command, args []string) error {
	servers, err := c.servers(cmd, args)
	if err != nil {
		return err
	}
	config, at, err := c.config()
	if err != nil {
		return err
	}
	answer := changed{Agent: args[0], Files: []string{}}
	err = c.app.TrustWritten(cmd.Context(), args[0], at.Project, func() error {
		for _, m := range servers {
			files, err := config.AddMCPServer(cmd.Context(), args[0], m, at)
			if err != nil {
				if len(answer.Servers) > 0 {
					c.app.Warnf("added before that: %s", strings.Join(answer.Servers, ", "))
				}
				return err
			}
			answer.Servers, answer.Files = append(answer.Servers, m.Name), append(answer.Files, files...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.answer("added", answer); err != nil {
		return err
	}
	if schema, err := config.Schema(args[0]); err == nil {
		for _, f := range schema.Files {
			for _, done := range answer.Files {
				if f.Note != "" && string(f.Scope) == c.scope && strings.HasSuffix(done, strings.TrimPrefix(f.Path, "~/")) {
					c.app.Notef("note: %s", f.Note)
				}
			}
		}
	}
	return nil
}

func (c *command) answer(verb string, v changed) error {
	return c.app.Answer(v, func() {
		for i, name := range v.Servers {
			c.app.Notef("%s %s in %s", verb, name, v.Files[min(i, len(v.Files)-1)])
		}
	})
}

// servers returns the servers to add.
func (c *command) servers(cmd *cobra.Command, args []string) ([]execution.MCPServer, error) {
	if c.file != "" {
		if len(args) > 1 || c.url != "" || len(c.env)+len(c.headers) > 0 || c.transport != "" {
			return nil, cli.Usage("--file takes the server names from the file").WithHint("%s AGENT --file FILE", cmd.CommandPath())
		}
		return cli.ReadMCP("--file", c.file)
	}
	if len(args) < 2 {
		return nil, cli.Usage("%s: the server has no name", cmd.CommandPath()).WithHint("%s", cmd.UseLine())
	}
	m := execution.MCPServer{Name: args[1], URL: c.url}
	switch {
	case c.url != "" && len(args) > 2:
		return nil, cli.Usage("use a command or --url, not both")
	case c.url == "" && len(args) < 3:
		return nil, cli.Usage("the server %s needs a command or an address", args[1]).WithHint("-- COMMAND [ARG...], or --url URL")
	case c.url == "":
		m.Transport, m.Command, m.Args = execution.MCPStdio, args[2], args[3:]
	default:
		m.Transport = execution.MCPStreamableHTTP
	}
	switch c.transport {
	case "":
	case "http":
		m.Transport = execution.MCPStreamableHTTP
	case "stdio", "sse", "streamable-http":
		m.Transport = execution.MCPTransport(c.transport)
	default:
		return nil, cli.Usage("--transport %q is not supported", c.transport).WithHint("stdio, http or sse")
	}
	if len(c.env) > 0 {
		var err error
		if m.Env, err = cli.Environment(c.app, c.env); err != nil {
			return nil, err
		}
	}
	for _, h := range c.headers {
		name, value, ok := strings.Cut(h, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsAny(h, "\r\n") {
			return nil, cli.Usage("--header %s is not a valid header", name).WithHint(`--header "Name: value"`)
		}
		if m.Headers == nil {
			m.Headers = map[string]string{}
		}
		m.Headers[name] = value
	}
	return []execution.MCPServer{m}, nil
}

func (c *command) remove(cmd *cobra.Command, args []string) error {
	config, at, err := c.config()
	if err != nil {
		return err
	}
	var files []string
	err = c.app.TrustWritten(cmd.Context(), args[0], at.Project, func() (err error) {
		files, err = config.RemoveMCPServer(cmd.Context(), args[0], args[1], at)
		return err
	})
	if err != nil {
		return err
	}
	return c.answer("removed", changed{args[0], []string{args[1]}, files})
}
