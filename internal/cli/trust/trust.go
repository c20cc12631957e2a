// Package trust is "drawbar trust": it shows, grants and revokes trust in the programs of a project.
package trust

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/roadmap/plan"
	"github.com/drawbar/drawbar/internal/governed/coordinator"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/settings/customagent"
	"github.com/drawbar/drawbar/internal/settings/hook"
	"github.com/drawbar/drawbar/internal/settings/trust"
	"github.com/drawbar/drawbar/internal/settings/unasked"
	"github.com/drawbar/drawbar/settings"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var yes, list, revoke bool
	cmd := &cobra.Command{
		Use: "trust [DIR]", Args: cli.Args(cobra.MaximumNArgs(1)),
		Long: `Show what the project in DIR (default: here) would run on this machine, and ask whether to trust it.

A repository runs nothing until you trust it: commands of .drawbar/hooks.json; agents that .drawbar/config.json describes;
programs, agents, hooks and gate actions of agentxchain.json; and what agents run of it without asking, such as servers of
.mcp.json and hooks of .claude/settings.json. Trust applies to the content that was shown, including the files
in the project that a command names. You are asked again about anything that is added or changed later, and shown the
difference. What you write with drawbar hooks add, drawbar agents add, drawbar govern init, drawbar govern config set,
and in agents' files drawbar mcp add, drawbar config set and drawbar hooks install, is trusted immediately.

Trust does not cover what those programs read or start themselves, nor what agents read.`,
		Example: `  drawbar trust                # show, then ask
  drawbar trust --list         # show what is trusted; ask nothing
  drawbar trust --yes ../ci    # trust it as it is, without asking
  drawbar trust --revoke       # revoke all trust here`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if yes && list || yes && revoke || list && revoke {
				return cli.Usage("--yes, --list and --revoke contradict each other").WithHint("give one of them")
			}
			dir, err := app.ProjectDir()
			if err != nil {
				return err
			}
			if len(args) > 0 {
				if dir, err = filepath.Abs(args[0]); err != nil {
					return cli.Usage("%s: %v", args[0], err)
				}
			}
			places, err := find(app, dir)
			if err != nil {
				return err
			}
			switch {
			case revoke:
				return revokeAll(cmd.Context(), app, places)
			case list:
				return show(app, places)
			}
			return ask(cmd.Context(), app, dir, places, yes)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "trust everything as it is now, without asking")
	cmd.Flags().BoolVar(&list, "list", false, "show what would run and whether it is trusted; ask nothing")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "revoke the trust granted here")
	app.DirFlag(cmd)
	return cmd
}

// place is a folder whose files would run something.
type place struct {
	Root  string
	Items []trust.Item
}

// find returns the folders of .drawbar and agentxchain.json for a directory, which are usually the same.
func find(app *cli.App, dir string) ([]place, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, cli.Usage("%s is not a directory", dir).WithHint("drawbar trust DIR")
	}
	dirs, err := app.Dirs(dir)
	if err != nil {
		return nil, err
	}
	files := hook.FilesIn(dirs)
	hooks, err := files.ReadScope(settings.Project)
	if err != nil {
		return nil, err
	}
	cfg, err := app.Config(dir)
	if err != nil {
		return nil, err
	}
	places := []place{{dirs.Root, slices.Concat(files.Items(hooks), customagent.AllItems(cfg), cli.WorktreeItems(cfg))}}
	if at, items := unasked.Items(unasked.OfAll(), dir); len(items) > 0 {
		places = with(places, at, items)
	}
	if root, err := plan.Root(dir); err == nil {
		if items := plan.Items(root); len(items) > 0 {
			places = with(places, root, items)
		}
	}
	if root, err := coordinator.Find(dir); err == nil && repofile.Real(root) == repofile.Real(dir) {
		items, err := coordinator.Items(root)
		if err != nil {
			return nil, err
		}
		places = with(places, root, items)
	}
	root, err := project.Find(dir)
	if err != nil {
		return places, nil //nolint:nilerr // nothing is governed here
	}
	p, err := project.Load(root)
	if err != nil {
		return nil, err
	}
	return with(places, root, p.Items()), nil
}

// with adds the items of a folder.
func with(places []place, root string, items []trust.Item) []place {
	if repofile.Real(root) == repofile.Real(places[0].Root) {
		places[0].Items = append(places[0].Items, items...)
		return places
	}
	return append(places, place{root, items})
}

// row is an item of the answer.
type row struct {
	Root string `json:"root"`
	trust.Item
	State string   `json:"state"`          // trusted, new or changed
	Diff  []string `json:"diff,omitempty"` // of a changed item
}

func rows(app *cli.App, places []place) ([]row, error) {
	store, err := app.TrustStore()
	if err != nil {
		return nil, err
	}
	list := []row{}
	for _, p := range places {
		pending, err := store.Pending(p.Root, p.Items)
		if err != nil {
			return nil, err
		}
		for _, i := range p.Items {
			r := row{Root: p.Root, Item: i, State: "trusted"}
			for _, c := range pending {
				if !trust.Same(c.Item, i) {
					continue
				}
				if r.State = "new"; c.Was != nil {
					r.State, r.Diff = "changed", store.Lines(p.Root, c)
				}
			}
			list = append(list, r)
		}
	}
	return list, nil
}

func show(app *cli.App, places []place) error {
	list, err := rows(app, places)
	if err != nil {
		return err
	}
	return app.Answer(list, func() {
		if len(list) == 0 {
			app.Notef("this project runs nothing of its own")
			return
		}
		w := app.Table("STATE", "FILE", "PLACE", "RUNS")
		for _, r := range list {
			runs, _, _ := strings.Cut(r.Runs, "\n")
			if runs == "{" || runs == "[" { // of an agent's settings
				runs = strings.Join(strings.Fields(r.Runs), " ")
			}
			w.Row(r.State, r.File, r.Place, runs)
		}
		w.Flush()
	})
}

func ask(ctx context.Context, app *cli.App, dir string, places []place, yes bool) error {
	list, err := rows(app, places)
	if err != nil {
		return err
	}
	total := 0
	for _, p := range places {
		total += len(p.Items)
		store, err := app.TrustStore()
		if err != nil {
			return err
		}
		pending, err := store.Pending(p.Root, p.Items)
		if err != nil {
			return err
		}
		terminal := cli.IsTerminal(app.In) && cli.IsTerminal(app.Err)
		if len(pending) > 0 && !app.JSON && (yes || !terminal) {
			app.ShowTrust(store, p.Root, pending)
		}
		if err := app.Trust(ctx, p.Root, p.Items, yes); err != nil {
			if e, ok := errors.AsType[*execution.Error](err); ok && !yes && !terminal {
				return e.WithHint("drawbar trust --yes %s", dir)
			}
			return err
		}
		// Trust in items that no longer exist is removed.
		if len(p.Items) > 0 && len(pending) > 0 {
			if err := store.Trust(ctx, p.Root, p.Items, true); err != nil {
				return err
			}
		}
	}
	return app.Answer(map[string]any{"dir": dir, "trusted": true, "items": list}, func() {
		if total == 0 {
			app.Notef("this project runs nothing of its own")
			return
		}
		app.Printf("trusted: %s\n", dir)
	})
}

func revokeAll(ctx context.Context, app *cli.App, places []place) error {
	store, err := app.TrustStore()
	if err != nil {
		return err
	}
	gone := []string{}
	for _, p := range places {
		had, err := store.Revoke(ctx, p.Root)
		if err != nil {
			return err
		}
		if had {
			gone = append(gone, p.Root)
		}
	}
	return app.Answer(map[string]any{"revoked": gone}, func() {
		if len(gone) == 0 {
			app.Notef("nothing was trusted in %s", places[0].Root)
		}
		for _, root := range gone {
			app.Printf("trust revoked: %s\n", root)
		}
	})
}
