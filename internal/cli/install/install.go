// Package install is "drawbar agents install", "update" and "uninstall".
package install

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/spf13/cobra"
)

type change = func(context.Context, string, adapter.InstallOptions) (adapter.InstallResult, error)

// New returns "install AGENT...".
func New(app *cli.App) *cobra.Command {
	return command(app, "install", "Install agents from their vendors' packages, in the tested version", true,
		func(r *catalog.Registry) change { return r.Install })
}

// NewUpdate returns "update AGENT...".
func NewUpdate(app *cli.App) *cobra.Command {
	return command(app, "update", "Update agents to the tested version, or to another one", true,
		func(r *catalog.Registry) change { return r.Update })
}

// NewUninstall returns "uninstall AGENT...".
func NewUninstall(app *cli.App) *cobra.Command {
	return command(app, "uninstall", "Uninstall agents; their settings and sessions stay", false,
		func(r *catalog.Registry) change { return r.Uninstall })
}

func command(app *cli.App, verb, short string, versions bool, do func(*catalog.Registry) change) *cobra.Command {
	var o adapter.InstallOptions
	var all bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: verb + " AGENT...", Short: short,
		Long: short + ".\n\nThe command is printed before it runs; --dry-run prints it only.",
		RunE: func(cmd *cobra.Command, names []string) error {
			if timeout <= 0 {
				return cli.Usage("--timeout %s is out of range", timeout)
			}
			c, err := app.Client()
			if err != nil {
				return err
			}
			switch {
			case all && len(names) > 0:
				return cli.Usage("--all and agent names contradict each other")
			case all:
				if names, err = installable(cmd.Context(), c.Adapters(), verb); err != nil {
					return err
				}
			case len(names) == 0:
				return cli.Usage("%s: no agent is given", cmd.CommandPath()).WithHint("%s, or drawbar agents list", cmd.UseLine())
			case len(names) > 1 && o.Version != "":
				return cli.Usage("--version applies to one agent, and %d are named", len(names)).WithHint("%s %s --version %s", cmd.CommandPath(), names[0], o.Version)
			}
			if _, err := app.Agents(names...); err != nil {
				return err // before anything is installed
			}
			o.Announce = func(command string) { app.Notef("running: %s", command) }
			results := []adapter.InstallResult{}
			var failed []error
			for _, name := range names {
				res, err := one(cmd.Context(), do(c.Adapters()), name, o, timeout)
				results = append(results, res)
				if err != nil {
					failed = append(failed, err)
				}
			}
			if len(failed) > 0 && (app.JSON || len(names) == 1) {
				printResults(app, results)
				return errors.Join(failed...)
			}
			err = app.Answer(results, func() { printResults(app, results) })
			return errors.Join(append(failed, err)...)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "all supported agents (update, uninstall: all installed agents)")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the command without running it")
	f.StringVar(&o.Method, "method", "", "npm, brew, winget, pip or script (default: the first that works here)")
	f.DurationVar(&timeout, "timeout", 10*time.Minute, "time limit for the installer")
	if versions {
		f.StringVar(&o.Version, "version", "", "version to install, such as 1.2.3 or latest (default: the tested one)")
		f.BoolVar(&o.Force, "force", false, "install even if present, or if a requirement is not met")
	}
	return cmd
}

func one(ctx context.Context, do change, name string, o adapter.InstallOptions, timeout time.Duration) (adapter.InstallResult, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return do(ctx, name, o)
}

// installable returns the agents that --all means.
func installable(ctx context.Context, r *catalog.Registry, verb string) ([]string, error) {
	var names []string
	for _, i := range r.Installed(ctx) {
		// Agents without a program or an install method, such as acp, are skipped.
		if e, err := r.Get(i.Agent); err == nil && e.Descriptor.Command == "" {
			continue
		}
		methods, err := r.InstallInstructions(i.Agent, "")
		if err != nil {
			return nil, err
		}
		if len(methods) > 0 && (verb == "install" || i.Installed) {
			names = append(names, i.Agent)
		}
	}
	if len(names) == 0 {
		return nil, execution.Errorf(execution.CodeAgentNotInstalled, "no agent is installed").WithHint("drawbar agents list")
	}
	return names, nil
}

func printResults(app *cli.App, results []adapter.InstallResult) {
	if app.JSON {
		return
	}
	for _, r := range results {
		switch {
		case r.DryRun && r.Command != "":
			app.Printf("%s: would run: %s\n", r.Agent, r.Command)
		case r.OK && r.Command == "":
			app.Printf("%s: %s\n", r.Agent, r.Message)
			continue
		case r.OK:
			parts := []string{r.Action + " done"}
			if r.InstalledVersion != "" {
				parts = append(parts, "version "+r.InstalledVersion)
			}
			if r.Path != "" {
				parts = append(parts, r.Path)
			}
			app.Printf("%s: %s\n", r.Agent, strings.Join(parts, ", "))
		case r.Stderr != "" || r.Stdout != "":
			app.Notef("%s", strings.TrimSpace(r.Stdout+"\n"+r.Stderr))
		}
		if r.Message != "" {
			app.Warnf("%s: %s", r.Agent, r.Message)
		}
	}
}
