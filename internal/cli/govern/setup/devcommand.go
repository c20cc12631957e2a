package setup

import (
	"slices"
	"strings"
	"unicode"

	"github.com/drawbar/drawbar/internal/cli"
)

// devCommand is the value of --dev-command: one quoted line, or in the protocol's spelling its first word, followed by
// the others as arguments (--dev-command my-agent run {prompt} -y).
type devCommand struct {
	line   string
	behind int        // the arguments before it
	before func() int // counts the arguments read so far
	words  int        // how many of the following arguments belong to it
}

func (d *devCommand) String() string { return d.line }
func (d *devCommand) Type() string   { return "string" }

// Set records the first word and its position.
func (d *devCommand) Set(line string) error {
	d.line, d.behind = line, d.before()
	return nil
}

// take joins the words of the command to one line, and returns the other arguments.
func (d *devCommand) take(args []string, dir string) ([]string, error) {
	if d.line == "" || strings.ContainsFunc(d.line, unicode.IsSpace) || len(args) <= d.behind {
		return args, nil
	}
	words := args[d.behind:]
	if len(words) == 1 && d.behind == 0 && dir == "" && !strings.Contains(words[0], "{prompt}") {
		return nil, cli.Usage("%q is ambiguous: a word of --dev-command, or the project's folder?", words[0]).
			WithHint("--dev-command %q for a word, --dir %s for the folder", d.line+" "+words[0], words[0])
	}
	line := []string{quote(d.line)}
	for _, w := range words {
		line = append(line, quote(w))
	}
	d.line, d.words = strings.Join(line, " "), len(words)
	return d.own(args), nil
}

// own are the arguments without the command's words.
func (d *devCommand) own(args []string) []string { return slices.Clone(args[:len(args)-d.words]) }

// quote keeps a word together when the line is split again.
func quote(word string) string {
	if word != "" && !strings.ContainsAny(word, "'\"\\") && !strings.ContainsFunc(word, unicode.IsSpace) {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}
