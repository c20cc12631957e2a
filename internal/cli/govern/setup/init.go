package setup

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/spf13/cobra"
)

func initialize(app *cli.App) *cobra.Command {
	var o project.ScaffoldOptions
	var dir string
	var yes bool
	var dev devCommand
	cmd := &cobra.Command{
		Use: "init [DIR]", Short: "Set up a governed project here",
		Example: "  drawbar govern init --template cli-tool --goal \"a calculator\" --agent claude\n" +
			"  drawbar govern init --dev-command \"my-agent run {prompt}\" -y\n" +
			"  drawbar govern init --dev-command ./agent.sh --dev-prompt-transport dispatch_bundle_only -y",
		Args: func(cmd *cobra.Command, args []string) error {
			args, err := dev.take(args, dir)
			if err != nil {
				return err
			}
			return cli.Args(cobra.MaximumNArgs(1))(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			args, o.DevCommand = dev.own(args), dev.line
			base, err := app.ProjectDir()
			if err != nil {
				return err
			}
			if dir = cmp.Or(view.First(args), dir); !filepath.IsAbs(dir) {
				dir = filepath.Join(base, dir)
			}
			if err := agentOptions(app, o); err != nil {
				return err
			}
			if !yes && cli.IsTerminal(app.In) && !app.JSON && o.Goal == "" {
				app.Notef("What is the goal of the project? (one line, or Enter)")
				line, err := app.ReadLine(cmd.Context())
				if err != nil {
					return cli.Usage("cannot read the goal: %v", err).WithHint("drawbar govern init --goal \"...\" -y")
				}
				o.Goal = line
			}
			return scaffold(cmd.Context(), app, dir, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Template, "template", "generic", "template: "+strings.Join(templateNames(), ", "))
	f.StringVar(&o.Name, "name", "", "project name (default: the folder's name)")
	f.StringVar(&o.ID, "id", "", "project id (default: derived from its name)")
	f.StringVar(&o.Goal, "goal", "", "goal of the project, at most 500 characters")
	f.StringVar(&o.Agent, "agent", "", "agent for development and review, such as claude")
	f.StringVar(&o.Approve, "approve", "", "answer to the agent's permission questions: prompt, yolo or deny (default prompt)")
	dev.before = f.NArg
	f.Var(&dev, "dev-command", "the developer's program, with {prompt} for the prompt")
	f.StringVar(&o.DevPromptTransport, "dev-prompt-transport", "", "transport of the prompt: argv, stdin or dispatch_bundle_only")
	f.StringVar(&dir, "dir", "", "folder of the project, created if missing (default: here)")
	f.BoolVar(&o.Force, "force", false, "replace an existing configuration; a copy of the old one is kept")
	f.BoolVarP(&yes, "yes", "y", false, "ask no questions")
	return cmd
}

func agentOptions(app *cli.App, o project.ScaffoldOptions) error {
	switch {
	case o.Approve != "" && o.Agent == "":
		return cli.Usage("--approve needs --agent").WithHint("drawbar govern init --agent claude --approve %s", o.Approve)
	case o.Approve != "" && !slices.Contains([]string{protocol.ApprovePrompt, protocol.ApproveYolo, protocol.ApproveDeny}, o.Approve):
		return cli.Usage("--approve %q is not supported", o.Approve).WithHint("use prompt, yolo or deny")
	case o.Agent == "":
		return nil
	}
	c, err := app.Client()
	if err != nil {
		return err
	}
	_, err = c.Adapters().Get(o.Agent)
	return err
}

func templateNames() []string {
	var names []string
	for _, t := range project.Templates() {
		names = append(names, t.ID)
	}
	return names
}

// made is the answer of init.
type made struct {
	Root    string   `json:"root"`
	Created []string `json:"created"`
	Next    []string `json:"next"`
	// Permissions say how an agent's permission requests are handled, by role.
	Permissions protocol.Ordered[string] `json:"permissions,omitzero"`
}

func scaffold(ctx context.Context, app *cli.App, dir string, o project.ScaffoldOptions) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cli.Usage("make the folder %s: %v", dir, err).WithHint("choose a writable folder")
	}
	files, err := project.Scaffold(dir, o)
	if err != nil {
		return err
	}
	// The user wrote this configuration with this command.
	p, err := project.Load(dir)
	if err != nil {
		return err
	}
	store, err := app.TrustStore()
	if err != nil {
		return err
	}
	if err := store.Trust(ctx, p.Root, p.Items(), true); err != nil {
		return err
	}
	m := made{Root: dir, Created: files, Permissions: p.Config.Permissions()}
	if here, err := os.Getwd(); err == nil && here != dir {
		m.Next = append(m.Next, "cd "+dir)
	}
	if !inRepository(dir) {
		m.Next = append(m.Next, "git init")
	}
	m.Next = append(m.Next, "git add -A && git commit -m \"govern this project\"", "drawbar govern doctor", "drawbar govern step")
	return app.Answer(m, func() {
		for _, f := range m.Created {
			app.Printf("  %s\n", f)
		}
		fmt.Fprintln(app.Out)
		if m.Permissions.Len() > 0 {
			app.Printf("permissions:\n")
			view.Permissions(m.Permissions, func(line string) { app.Printf("  %s\n", line) })
		}
		app.Printf("next:\n")
		for _, n := range m.Next {
			app.Printf("  %s\n", n)
		}
	})
}

// inRepository reports whether a folder is in a git work tree.
func inRepository(dir string) bool {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, ".git")); err == nil {
			return true
		}
		if d == filepath.Dir(d) {
			return false
		}
	}
}
