package cli

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/internal/settings/customagent"
	"github.com/drawbar/drawbar/internal/settings/trust"
	"github.com/drawbar/drawbar/internal/settings/unasked"
	"github.com/drawbar/drawbar/settings"
	"github.com/spf13/cobra"
)

// TrustFlag adds --trust to a command that can run programs of a project.
func TrustFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVar(yes, "trust", false, "trust what this project would run, as it is now, without asking")
}

// TrustStore returns the store of this user's trust in projects.
func (a *App) TrustStore() (trust.Store, error) {
	dir, err := config.UserDir(a.Getenv)
	if err != nil {
		return trust.Store{}, err
	}
	s := trust.Store{File: trust.FileIn(dir)}
	if state, err := runstore.DefaultDir(); err == nil {
		s.Copies = filepath.Join(state, "trusted")
	}
	return s, nil
}

// Trust returns nil if everything that a project would run is trusted: already, through yes, or by the answer of a person at the
// terminal. Trust cannot be granted from within a turn.
func (a *App) Trust(ctx context.Context, root string, items []trust.Item, yes bool) error {
	store, err := a.TrustStore()
	if err != nil {
		return err
	}
	pending, err := store.Pending(root, items)
	if err != nil || len(pending) == 0 {
		return err
	}
	refusal := trust.Refusal(root, pending)
	if id := a.Getenv(protocol.TurnVariable); id != "" {
		return execution.Errorf(execution.CodeUntrusted, "%w; trust cannot be granted from within turn %s", refusal, id).WithHint("run it yourself in a shell of your own")
	}
	if !yes {
		if !IsTerminal(a.In) || !IsTerminal(a.Err) || a.JSON {
			return refusal
		}
		a.Notef("The project %s would run:", root)
		a.ShowTrust(store, root, pending)
		line, err := a.Ask(ctx, "It runs as you, with all your permissions. Trust it? [y/n] ")
		if err != nil || !Yes(line) {
			return refusal
		}
	}
	list := make([]trust.Item, len(pending))
	for i, c := range pending {
		list[i] = c.Item
	}
	return store.Trust(ctx, root, list, false)
}

// TrustAgent is Trust for a custom agent. Any other agent needs none.
func (a *App) TrustAgent(ctx context.Context, name string, yes bool) error {
	cfg, err := a.Config(a.Dir())
	if err != nil {
		return nil //nolint:nilerr // whoever names the agent gets this error
	}
	for _, c := range cfg.CustomAgents() {
		if c.Name != name {
			continue
		}
		root, items := customagent.Items(cfg, c)
		return a.Trust(ctx, root, items, yes)
	}
	return nil
}

// TrustFiles is Trust for what agents, by their names or programs, run of the project that they work in without asking.
func (a *App) TrustFiles(ctx context.Context, dir string, yes bool, agents ...string) error {
	var files []settings.Unasked
	for _, name := range agents {
		files = append(files, unasked.Of(name)...)
	}
	root, items := unasked.Items(files, dir)
	return unasked.Hinted(a.Trust(ctx, root, items, yes), dir)
}

// TrustWritten trusts what a change by a user's command added to the files of a project that an agent runs something of, at once. It does
// not extend trust to what was there and not trusted. A change within a turn is not the user's.
func (a *App) TrustWritten(ctx context.Context, agent, dir string, change func() error) error {
	root, before := unasked.Items(unasked.Of(agent), dir)
	store, err := a.TrustStore()
	if err != nil {
		return err
	}
	pending, err := store.Pending(root, before)
	if err != nil {
		return err
	}
	if err := change(); err != nil || a.Getenv(protocol.TurnVariable) != "" {
		return err
	}
	_, items := unasked.Items(unasked.Of(agent), dir)
	items = slices.DeleteFunc(items, func(i trust.Item) bool {
		return slices.ContainsFunc(pending, func(c trust.Change) bool { return c.File == i.File && c.Place == i.Place }) ||
			slices.ContainsFunc(before, func(o trust.Item) bool { return trust.Same(i, o) })
	})
	if len(items) == 0 {
		return nil
	}
	return store.Trust(ctx, root, items, false)
}

// ShowTrust prints untrusted items: new ones in full, changed ones as a difference.
func (a *App) ShowTrust(store trust.Store, root string, pending []trust.Change) {
	for _, c := range pending {
		what := "new"
		if c.Was != nil {
			what = "changed"
		}
		a.Notef("  %s, %s (%s)", c.File, c.Place, what)
		for _, line := range store.Lines(root, c) {
			a.Notef("    %s", line)
		}
	}
}
