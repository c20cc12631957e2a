package root

//go:generate go test . -run TestCommandReference -update

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/alias"
)

var update = flag.Bool("update", false, "write docs/COMMANDS.md")

const commandsHead = `# Commands

Generated from the commands themselves by ` + "`go generate ./...`" + `. Commands take ` + "`--json`" + ` and answer with one object, or one line
for each event; those that print a script, a document or what a server says do not. Every error says where it happened and what to type next.

`

// TestCommandReference holds docs/COMMANDS.md against the tree of commands.
func TestCommandReference(t *testing.T) {
	app := &cli.App{In: &bytes.Buffer{}, Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Getenv: func(string) string { return "" }, Version: "test"}
	all := tree(app, "", false)
	all.InitDefaultHelpCmd()
	want := commandsHead + contents(all) + reference(all) + spellings()
	path := filepath.Join("..", "..", "..", "docs", "COMMANDS.md")
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/COMMANDS.md is out of date: go generate ./... (-want +got)\n%s", diff)
	}
	for _, c := range alias.Commands() {
		if !strings.Contains(want, "`"+c.Old+"`") {
			t.Errorf("the spelling %q is not in it", c.Old)
		}
	}
}

// TestHelpWidth: no line of any command's help is wider than a terminal of 120 columns.
func TestHelpWidth(t *testing.T) {
	app := &cli.App{In: &bytes.Buffer{}, Err: &bytes.Buffer{}, Getenv: func(string) string { return "" }, Version: "test"}
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		var out bytes.Buffer
		app.Out = &out
		c.SetOut(&out)
		if err := c.Help(); err != nil {
			t.Errorf("%s: %v", c.CommandPath(), err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 120 {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), n, line)
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(tree(app, "", false))
}

// shown reports whether a command is one that people see, in the list or in the help of a neighbour in its group.
func shown(c *cobra.Command) bool {
	return (!c.Hidden || c.GroupID != "") && c.Name() != "help" && c.Name() != "completion"
}

func walk(c *cobra.Command, visit func(*cobra.Command)) {
	for _, sub := range c.Commands() {
		if shown(sub) {
			visit(sub)
			walk(sub, visit)
		}
	}
}

func anchor(path string) string { return strings.ReplaceAll(path, " ", "-") }

// contents lists the commands with what they are for.
func contents(tree *cobra.Command) string {
	var b strings.Builder
	b.WriteString("| command | what it does |\n|---|---|\n")
	walk(tree, func(c *cobra.Command) {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", strings.TrimPrefix(c.CommandPath(), "drawbar "), anchor(c.CommandPath()), cell(c.Short))
	})
	return b.String() + "\n"
}

func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

func reference(tree *cobra.Command) string {
	var b strings.Builder
	b.WriteString("Flags of all commands:\n\n" + flags(tree.PersistentFlags().FlagUsages()))
	walk(tree, func(c *cobra.Command) {
		text := c.Long
		if short := strings.TrimSuffix(c.Short, "."); !strings.HasPrefix(text, short) {
			text = short + ".\n\n" + text
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", c.CommandPath(), escape(cli.Wrap(text)))
		if c.Runnable() {
			fmt.Fprintf(&b, "```console\n%s\n```\n\n", c.UseLine())
		}
		if len(c.Aliases) > 0 {
			fmt.Fprintf(&b, "Also: `%s`\n\n", strings.Join(c.Aliases, "`, `"))
		}
		if c.Example != "" {
			fmt.Fprintf(&b, "```console\n%s\n```\n\n", strings.TrimRight(unindent(c.Example), "\n"))
		}
		var subs []string
		for _, s := range c.Commands() {
			if shown(s) {
				subs = append(subs, fmt.Sprintf("[`%s`](#%s)", s.Name(), anchor(s.CommandPath())))
			}
		}
		if len(subs) > 0 {
			fmt.Fprintf(&b, "Commands: %s\n\n", strings.Join(subs, ", "))
		}
		b.WriteString(flags(cli.Wrap(c.LocalFlags().FlagUsages())))
	})
	return b.String()
}

// escape keeps a text for a terminal as it is: what begins with two blanks is a block, the rest are paragraphs.
func escape(long string) string {
	var parts []string
	for p := range strings.SplitSeq(strings.TrimSpace(long), "\n\n") {
		lines := strings.Split(p, "\n")
		first := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "  ") })
		if first < 0 {
			first = len(lines)
		}
		if text := strings.Join(lines[:first], "\n"); text != "" {
			parts = append(parts, strings.NewReplacer("<", "&lt;", "*", `\*`).Replace(text))
		}
		if first < len(lines) {
			parts = append(parts, "```console\n"+unindent(strings.Join(lines[first:], "\n"))+"\n```")
		}
	}
	return strings.Join(parts, "\n\n")
}

func unindent(s string) string {
	var out []string
	for l := range strings.SplitSeq(s, "\n") {
		out = append(out, strings.TrimPrefix(l, "  "))
	}
	return strings.Join(out, "\n")
}

// flags is what help says of them, but for --help itself.
func flags(usages string) string {
	var lines []string
	for line := range strings.Lines(usages) {
		if !strings.Contains(line, "--help ") {
			lines = append(lines, strings.TrimPrefix(strings.TrimRight(line, " \n"), "  "))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "```console\n" + strings.Join(lines, "\n") + "\n```\n\n"
}

// spellings are the commands and flags of governed runs that help does not show.
func spellings() string {
	var same, refused strings.Builder
	for _, c := range alias.Commands() {
		switch {
		case c.Refused != "":
			fmt.Fprintf(&refused, "| `%s` | %s | `%s` |\n", c.Old, cell(c.Refused), cell(c.Hint))
		case c.Own:
			fmt.Fprintf(&same, "| `%s` | a command of its own |\n", c.Old)
		default:
			fmt.Fprintf(&same, "| `%s` | `govern %s` |\n", c.Old, strings.ReplaceAll(c.New, "%", "ID"))
		}
	}
	for _, f := range alias.Flags() {
		name := strings.TrimSpace(f.Command + " --" + f.Name)
		if f.Value {
			name += " VALUE"
		}
		switch {
		case f.Refused != "":
			fmt.Fprintf(&refused, "| `%s` | %s | `%s` |\n", name, cell(f.Refused), cell(f.Hint))
		case f.Same != "":
			fmt.Fprintf(&same, "| `%s` | `--%s` |\n", name, f.Same)
		default:
			fmt.Fprintf(&same, "| `%s` | %s |\n", name, cell(f.Means))
		}
	}
	return "## Spellings of the protocol's own program\n\nBelow `drawbar govern`, for users and scripts that know the original. Help and completion do not show them.\n\n" +
		"| typed | what it does |\n|---|---|\n" + same.String() +
		"\nThese are refused, with what to type instead:\n\n| typed | why | instead |\n|---|---|---|\n" + refused.String()
}
