package govern

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/alias"
)

func tree(t *testing.T) *cobra.Command {
	t.Helper()
	return New(&cli.App{Getenv: func(string) string { return "" }})
}

// TestAliases finds every command and flag of the protocol's spelling in the tree, hidden, and every other one visible.
func TestAliases(t *testing.T) {
	cmd := tree(t)
	hidden := map[string]bool{}
	for _, a := range alias.Commands() {
		found, rest, err := cmd.Find(strings.Fields(a.Old))
		if err != nil || len(rest) > 0 {
			t.Errorf("%s: there is no such command: %v", a.Old, err)
			continue
		}
		if !found.Hidden {
			t.Errorf("%s is shown", a.Old)
		}
		if (a.Refused == "") != (a.Hint == "") || a.Refused == "" && a.New == "" && !a.Own {
			t.Errorf("%s: a command is another one, or is refused with a hint", a.Old)
		}
		hidden[found.CommandPath()] = true
	}
	for _, f := range alias.Flags() {
		at := cmd
		if f.Command != "" {
			at, _, _ = cmd.Find(strings.Fields(f.Command))
		}
		got := at.Flags().Lookup(f.Name)
		if f.Command == "" {
			got = cmd.PersistentFlags().Lookup(f.Name)
		}
		switch {
		case got == nil:
			t.Errorf("%s has no --%s", f.Command, f.Name)
		case !got.Hidden && f.Name != "dev-command" && f.Name != "resolution":
			t.Errorf("%s --%s is shown", f.Command, f.Name)
		}
		if (f.Refused == "") != (f.Hint == "") || f.Refused == "" && f.Means == "" && f.Same == "" {
			t.Errorf("%s --%s: a flag has a meaning, or is refused with a hint", f.Command, f.Name)
		}
	}
	for _, c := range below(cmd) {
		if c.Hidden && !hidden[c.CommandPath()] && !c.HasSubCommands() {
			t.Errorf("%s is hidden and in no table", c.CommandPath())
		}
	}
}

// TestHintsAreCommands parses what the tables tell people to type.
func TestHintsAreCommands(t *testing.T) {
	var hints []string
	for _, a := range alias.Commands() {
		hints = append(hints, a.Hint)
	}
	for _, f := range alias.Flags() {
		hints = append(hints, f.Hint)
	}
	for _, h := range hints {
		for _, part := range strings.FieldsFunc(strings.NewReplacer(" && ", "\n", ", ", "\n", "then: ", "").Replace(h), func(r rune) bool { return r == '\n' }) {
			words, ok := strings.CutPrefix(strings.TrimPrefix(part, "then "), "drawbar govern ")
			if !ok {
				continue
			}
			cmd := tree(t)
			found, rest, err := cmd.Find(strings.Fields(words))
			if err != nil || found == cmd && !strings.HasPrefix(words, "-") {
				t.Errorf("%q: %v", part, err)
				continue
			}
			for _, w := range rest {
				name, isFlag := strings.CutPrefix(w, "--")
				if isFlag && name != "help" && found.Flags().Lookup(name) == nil && cmd.PersistentFlags().Lookup(name) == nil {
					t.Errorf("%q: %s has no --%s", part, found.CommandPath(), name)
				}
			}
		}
	}
}
