package root

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
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
			alone := tree(app, named([]string{"--json", name, "x"}), false)
			if subs := alone.Commands(); len(subs) != 1 || subs[0].Name() != e.name || subs[0].Hidden != (c.Hidden || e.other || e.short == "") {
				t.Errorf("%s: found %v", name, subs)
			}
		}
		if e.group != "" && !slices.ContainsFunc(groups, func(g *cobra.Group) bool { return g.ID == e.group }) {
			t.Errorf("%s is in the group %s, which is none", e.name, e.group)
		}
		if e.short != "" && e.name != "exit-codes" { // which is a topic of help
			listed++
		}
	}
	if listed >= 25 {
		t.Errorf("%d commands at the top", listed)
	}
	for _, args := range [][]string{nil, {"--help"}, {"help", "run"}, {"no-such"}, {"--no-color"}, {"__complete", "ru"}} {
		commands := slices.DeleteFunc(tree(app, named(args), asksForHelp(args)).Commands(), func(c *cobra.Command) bool { return c.Name() == "help" })
		if n := len(commands); n != len(entries) {
			t.Errorf("%v: %d of %d commands", args, n, len(entries))
		}
	}
}

// TestListOfCommands: the list that is printed without building the commands is that of the commands.
func TestListOfCommands(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--help"}, {"-h"}, {"--json"}, {"--no-color", "--help"}} {
		if !asksForHelp(args) {
			t.Errorf("%v asks for the list", args)
		}
		var texts [2]bytes.Buffer
		for i := range texts {
			app := &cli.App{Out: &texts[i], Err: io.Discard, Getenv: func(string) string { return "" }}
			cmd := tree(app, named(args), i == 1)
			cmd.SetOut(&texts[i])
			cmd.SetArgs(args)
			if err := cmd.Execute(); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(texts[0].String(), texts[1].String()); diff != "" || texts[0].Len() == 0 {
			t.Errorf("%v: (-built +list)\n%s", args, diff)
		}
	}
	for _, args := range [][]string{{"--help", "run"}, {"help"}, {"--version"}, {"run"}} {
		if asksForHelp(args) {
			t.Errorf("%v asks for more than the list", args)
		}
	}
}

func TestMistypedCommand(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"instal": "drawbar agents install", "rnu": "drawbar run", "sesions": "drawbar sessions", "xyzzy": "drawbar --help"} {
		app := &cli.App{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }}
		cmd := tree(app, "", false)
		cmd.SetArgs([]string{typed})
		cmd.SetErr(io.Discard)
		e, ok := errors.AsType[*execution.Error](cmd.Execute())
		if !ok || e.Hint != want {
			t.Errorf("%s: %+v, want the hint %q", typed, e, want)
		}
	}
}
