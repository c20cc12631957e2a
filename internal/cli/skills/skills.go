// Package skills is "drawbar skills" and "drawbar subagents", which manage the folders where agents find them.
package skills

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/settings/skill"
	"github.com/drawbar/drawbar/settings"
)

// command is one of the two commands, which differ only in their texts.
type command struct {
	app    *cli.App
	kind   skill.Kind
	agents []string
	scope  string
}

// New returns the command for skills.
func New(app *cli.App) *cobra.Command {
	return (&command{app: app, kind: skill.Skill}).make("skills", "skills: folders with a SKILL.md", "DIRECTORY",
		"  drawbar skills add ./review --agent claude --agent codex\n  drawbar skills list --agent gemini --scope project\n  drawbar run claude --skill ./review \"look at the last commit\"   # for one run only")
}

// NewSubagents returns the command for sub-agents.
func NewSubagents(app *cli.App) *cobra.Command {
	return (&command{app: app, kind: skill.Subagent}).make("subagents", "sub-agents: files with instructions for a helper", "FILE",
		"  drawbar subagents add ./reviewer.md --agent claude --agent codex")
}

func (c *command) make(use, what, source, example string) *cobra.Command {
	cmd := &cobra.Command{Use: use, Example: example, Args: cli.Args(cobra.NoArgs),
		Long: "List, add and remove agents' " + what + `.

They are copied to the folder where each agent finds them, globally or in the project. Nothing in them is run.`,
		RunE: func(*cobra.Command, []string) error { return c.list() }}
	cmd.PersistentFlags().StringArrayVar(&c.agents, "agent", nil, "agent (repeatable; default for list and where: all that support them)")
	cmd.PersistentFlags().StringVar(&c.scope, "scope", "", "global or project (default: global for add and remove, both for list)")
	c.app.DirFlag(cmd)
	one := string(c.kind)
	var o skill.Options
	add := &cobra.Command{Use: "add " + source, Short: "Copy a " + one + " into the agents' folders", Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return c.add(args[0], o) }}
	add.Flags().StringVar(&o.Name, "name", "", "name to use instead of its own")
	add.Flags().BoolVar(&o.Force, "force", false, "replace an existing one with that name")
	cmd.AddCommand(add,
		&cobra.Command{Use: "list", Short: "List the " + one + "s that agents find", Args: cli.Args(cobra.NoArgs), RunE: func(*cobra.Command, []string) error { return c.list() }},
		&cobra.Command{Use: "remove NAME", Aliases: []string{"rm"}, Short: "Remove a " + one, Args: cli.Args(cobra.ExactArgs(1)),
			RunE: func(_ *cobra.Command, args []string) error { return c.remove(args[0]) }},
		&cobra.Command{Use: "where", Short: "Show the folders that agents read", Args: cli.Args(cobra.NoArgs), RunE: func(*cobra.Command, []string) error { return c.where() }})
	return cmd
}

// spot is a folder of an agent.
type spot struct {
	Agent string         `json:"agent"`
	Scope settings.Scope `json:"scope"`
	settings.Folder
}

func (c *command) capability() string {
	if c.kind == skill.Skill {
		return "skills"
	}
	return "subagents"
}

// spots returns the folders that the flags select. For a named agent without folders, the error lists the agents that have some.
func (c *command) spots(change bool) ([]spot, error) {
	scopes := []settings.Scope{settings.Global, settings.Project}
	switch s, err := cli.Scope(c.scope); {
	case err != nil:
		return nil, err
	case s != "":
		scopes = []settings.Scope{s}
	case change:
		scopes = scopes[:1]
	}
	able, err := cli.Able[adapter.SkillKeeper](c.app)
	if err != nil {
		return nil, err
	}
	names := c.agents
	if len(names) == 0 {
		if change {
			return nil, cli.Usage("no agent is given").WithHint("--agent NAME; supported by: %s", strings.Join(able, ", "))
		}
		names = able
	}
	dir, err := c.app.ProjectDir()
	if err != nil {
		return nil, err
	}
	entries, err := c.app.Agents(names...)
	if err != nil {
		return nil, err
	}
	host := oshost.New(cliagent.Spawn)
	var list []spot
	for _, e := range entries {
		keeper, ok := adapter.As[adapter.SkillKeeper](e.Adapter)
		found := false
		for _, s := range scopes {
			if !ok {
				break
			}
			folder, has := keeper.SkillFolder(host, s, dir)
			if c.kind == skill.Subagent {
				folder, has = keeper.SubagentFolder(host, s, dir)
			}
			if has {
				found = true
				list = append(list, spot{e.Descriptor.Name, s, folder})
			}
		}
		if !found {
			return nil, cli.Incapable[adapter.SkillKeeper](c.app, e, c.capability(), c.capability())
		}
	}
	return list, nil
}

// item is a skill or sub-agent with its agent and scope.
type item struct {
	Agent string         `json:"agent"`
	Scope settings.Scope `json:"scope"`
	skill.Item
	Note string `json:"note,omitempty"`
}

func (c *command) list() error {
	spots, err := c.spots(false)
	if err != nil {
		return err
	}
	items := []item{}
	for _, s := range spots {
		found, err := skill.List(c.kind, s.Folder)
		if err != nil {
			return err
		}
		for _, f := range found {
			items = append(items, item{s.Agent, s.Scope, f, s.Note})
		}
	}
	return c.app.Answer(items, func() {
		if len(items) == 0 {
			c.app.Notef("no %ss found", c.kind)
			return
		}
		w := c.app.Table("AGENT", "SCOPE", "NAME", "DESCRIPTION", "PATH")
		for _, i := range items {
			text := i.Description
			if i.Fault != "" {
				text = "FAULTY: " + i.Fault
			}
			w.Row(i.Agent, i.Scope, i.Name, cli.OneLine(text, 60), i.Path)
		}
		w.Flush()
	})
}

func (c *command) add(src string, o skill.Options) error {
	spots, err := c.spots(true)
	if err != nil {
		return err
	}
	items := []item{}
	for _, s := range spots {
		added, err := skill.Add(c.kind, src, s.Folder, o)
		if err != nil {
			return err
		}
		items = append(items, item{s.Agent, s.Scope, added, s.Note})
	}
	return c.app.Answer(items, func() {
		for _, i := range items {
			c.app.Printf("%s: %s\n", i.Agent, i.Path)
			if i.Note != "" {
				c.app.Notef("%s", i.Note)
			}
		}
	})
}

func (c *command) remove(name string) error {
	spots, err := c.spots(true)
	if err != nil {
		return err
	}
	paths := []string{}
	for _, s := range spots {
		path, err := skill.Remove(c.kind, name, s.Folder)
		if err != nil {
			return err
		}
		paths = append(paths, path)
	}
	return c.app.Answer(map[string]any{"removed": paths}, func() {
		for _, p := range paths {
			c.app.Printf("removed %s\n", p)
		}
	})
}

func (c *command) where() error {
	spots, err := c.spots(false)
	if err != nil {
		return err
	}
	type place struct {
		Agent string         `json:"agent"`
		Scope settings.Scope `json:"scope"`
		Dir   string         `json:"directory"`
		Also  []string       `json:"also,omitempty"`
		Note  string         `json:"note,omitempty"`
	}
	places := []place{}
	for _, s := range spots {
		places = append(places, place{s.Agent, s.Scope, s.Dir, s.Also, s.Note})
	}
	return c.app.Answer(places, func() {
		w := c.app.Table()
		for _, p := range places {
			w.Row(p.Agent, p.Scope, p.Dir)
			for _, a := range p.Also {
				fmt.Fprintf(w, "\t\t%s (read too)\n", a)
			}
		}
		w.Flush()
	})
}
