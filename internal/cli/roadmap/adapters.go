package roadmap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/roadmap/plan"
	"github.com/drawbar/drawbar/internal/cli/script"
	"github.com/drawbar/drawbar/internal/settings/trust"
)

func adapters(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "adapters", Short: "Install adapter scripts that run agents of Drawbar",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(install(app))
	return cmd
}

// installed is an adapter script that was written.
type installed struct {
	Name  string `json:"name"`
	Agent string `json:"agent"`
	Path  string `json:"path"`
	Wrote bool   `json:"written"` // false: it was there already
}

func install(app *cli.App) *cobra.Command {
	var cwd string
	var force bool
	cmd := &cobra.Command{
		Use: "install AGENT... [-- FLAGS...]", Short: "Write an adapter script for each agent",
		Long: `Write an executable script .claude/agents/adapters/NAME.sh for each agent, which runs "drawbar script AGENT". Any orchestrator that follows
the contract of these scripts can then use the agent. Flags after -- are passed on to drawbar script. A script of that name with another
content is kept, unless --force is given. What is written is trusted.`,
		Example: "  drawbar roadmap adapters install claude codex\n  drawbar roadmap adapters install gemini -- --approve yolo --timeout 20m",
		RunE: func(cmd *cobra.Command, args []string) error {
			flags := []string{}
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				args, flags = args[:at], args[at:]
			}
			if len(args) == 0 {
				return cli.Usage("no agent is named").WithHint("%s claude codex", cmd.CommandPath())
			}
			app.SetDir(cwd)
			dir, err := app.ProjectDir()
			if err != nil {
				return err
			}
			if dir, err = plan.Root(dir); err != nil {
				return err
			}
			list, err := write(cmd.Context(), app, dir, args, flags, force)
			if err != nil {
				return err
			}
			return app.Answer(list, func() {
				for _, one := range list {
					what := "written"
					if !one.Wrote {
						what = "unchanged"
					}
					app.Printf("%-9s  %s\n", what, one.Path)
				}
			})
		},
	}
	cmd.Flags().StringVar(&cwd, "cwd", "", "directory in the project (default the current one)")
	cmd.Flags().BoolVar(&force, "force", false, "replace scripts with another content")
	return cmd
}

// write writes the scripts: all of them, or none if one is refused.
func write(ctx context.Context, app *cli.App, dir string, agents, flags []string, force bool) (list []installed, err error) {
	var texts [][]byte
	for _, name := range agents {
		entry, err := app.Agent(name)
		if err != nil {
			return nil, err
		}
		if entry.Capabilities().Agent.TakesCommand {
			return nil, cli.Usage("%s runs a program that each run names, so it cannot be an adapter script", entry.Descriptor.Name)
		}
		one := installed{Name: script.NameOf(entry.Descriptor), Agent: entry.Descriptor.Name, Wrote: true}
		if slices.ContainsFunc(list, func(o installed) bool { return o.Name == one.Name }) {
			continue
		}
		one.Path = filepath.Join(dir, filepath.FromSlash(plan.AdaptersDir), one.Name+".sh")
		quoted := ""
		for _, f := range flags {
			quoted += " '" + strings.ReplaceAll(f, "'", `'\''`) + "'"
		}
		text := []byte(fmt.Sprintf("#!/bin/sh\n# The adapter %s: drawbar roadmap adapters install wrote it.\nexec drawbar script %s%s \"$@\"\n", one.Name, one.Agent, quoted))
		old, err := os.ReadFile(one.Path)
		switch {
		case err == nil && bytes.Equal(old, text):
			one.Wrote = false
		case err == nil && !force:
			return nil, cli.Usage("%s has another content", one.Path).WithHint("--force replaces it")
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		list, texts = append(list, one), append(texts, text)
	}
	var items []trust.Item
	for i, one := range list {
		err := os.MkdirAll(filepath.Dir(one.Path), 0o755)
		if err == nil {
			err = atomicfile.Write(one.Path, texts[i], 0o755, true)
		}
		if err == nil {
			err = os.Chmod(one.Path, 0o755) //nolint:gosec // a program, as the contract asks
		}
		if err != nil {
			return nil, err
		}
		items = append(items, plan.Item(dir, one.Path))
	}
	store, err := app.TrustStore()
	if err == nil {
		err = store.Trust(ctx, dir, items, false)
	}
	return list, err
}
