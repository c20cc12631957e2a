package root

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
)

// TestEntries: every command is found by its name and aliases, alone, and is in one group or another spelling of one that is.
func TestEntries(t *testing.T) {
	t.Parallel()
	app := &cli.App{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }}
	listed := 0
	for _, e := range entries {
		c := e.make(app)
		var aliases []string
		if e.alias != "" {
			aliases = []string{e.alias}
		}
		if c.Name() != e.name || !slices.Equal(c.Aliases, aliases) {
			t.Errorf("%s (%s): the command is %s %v", e.name, e.alias, c.Name(), c.Aliases)
		}
		for _, name := range append(aliases, e.name) {
			alone := tree(app, named([]string{"--json", name, "x"}))
			if subs := alone.Commands(); len(subs) != 1 || subs[0].Name() != e.name || subs[0].Hidden != (c.Hidden || e.other) {
				t.Errorf("%s: found %v", name, subs)
			}
		}
		if e.group != "" && !slices.ContainsFunc(groups, func(g *cobra.Group) bool { return g.ID == e.group }) {
			t.Errorf("%s is in the group %s, which is none", e.name, e.group)
		}
		if !c.Hidden && !e.other && e.name != "exit-codes" { // which is a topic of help
			listed++
		}
	}
	if listed >= 25 {
		t.Errorf("%d commands at the top", listed)
	}
	for _, args := range [][]string{nil, {"--help"}, {"help", "run"}, {"no-such"}, {"--no-color"}, {"__complete", "ru"}} {
		if n := len(tree(app, named(args)).Commands()); n != len(entries) {
			t.Errorf("%v: %d of %d commands", args, n, len(entries))
		}
	}
}

func TestMistypedCommand(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"instal": "drawbar agents install", "rnu": "drawbar run", "sesions": "drawbar sessions", "xyzzy": "drawbar --help"} {
		app := &cli.App{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }}
		cmd := tree(app, "")
		cmd.SetArgs([]string{typed})
		cmd.SetErr(io.Discard)
		e, ok := errors.AsType[*execution.Error](cmd.Execute())
		if !ok || e.Hint != want {
			t.Errorf("%s: %+v, want the hint %q", typed, e, want)
		}
	}
}
