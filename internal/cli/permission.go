package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/drawbar/drawbar/agent/toolrule"
	"github.com/drawbar/drawbar/execution"
)

const (
	shownHead = 12 // lines of a change that a question shows, and of its end
	shownTail = 4
	maxShown  = 1 << 20 // size in bytes of a file that is compared
)

// Permission is a permission question for a person.
type Permission struct {
	Question execution.ApprovalRequired
	Dir      string          // working directory of the run
	Run      execution.RunID // empty if it cannot be reached from elsewhere
}

// Always returns the rule that the answer "always" stands for, empty if there is none.
func (p Permission) Always() string {
	if r, ok := toolrule.Suggest(toolrule.Use{ToolUse: p.Question.Use, Name: p.Question.ToolName, Dir: p.Dir}); ok {
		return r.String()
	}
	return ""
}

// keys is the line with the answers; viewed says that all of the change is on the screen.
func (p Permission) keys(viewed bool) string {
	always := ""
	if rule := p.Always(); rule != "" {
		always = "  [a]lways " + OneLine(rule, 60)
	}
	view := ""
	if _, cut := p.subject(false); cut && !viewed {
		view = "  [v]iew all"
	}
	edit := ""
	if _, ok := p.Question.Text(); ok {
		edit = "  [e]dit"
	}
	return "  Allow? [y]es" + always + "  [n]o" + edit + view + "  [?] "
}

// edit says how to allow a call with another command or text.
func (p Permission) edit() string {
	_, text := p.Question.Text()
	_, command := p.Question.WithCommand("")
	editor := ""
	if p.Run != "" {
		editor = "in another terminal, to change it in your editor: drawbar approve " + string(p.Run) + " --edit"
	}
	switch {
	case command:
		return joined("type e and the command to allow instead: e "+OneLine(p.Question.Use.Command, 200), editor)
	case text && editor != "":
		return editor
	}
	return "this call cannot be changed; y allows it as it is"
}

// joined is a text with another one, on a line of its own if there is one.
func joined(text, more string) string {
	if more == "" {
		return text
	}
	return text + "\n  " + more
}

// title names the tool and what it is for.
func (p Permission) title() string {
	q := p.Question
	if q.ToolName == "" || strings.EqualFold(q.ToolName, q.Action) {
		return q.Action
	}
	return q.ToolName + ": " + q.Action
}

// subject returns the lines that show what would be done: a command in full, a change as a diff, else the question's detail. cut says
// that there is more.
func (p Permission) subject(all bool) (lines []string, cut bool) {
	q := p.Question
	switch q.Use.Kind {
	case execution.ToolShell:
		if q.Use.Command != "" {
			return strings.Split(strings.TrimRight(q.Use.Command, "\n"), "\n"), false
		}
	case execution.ToolEdit:
		var text []string
		for _, path := range q.Use.Paths {
			text = append(text, Relative(p.Dir, path))
		}
		return headAndTail(text, p.change(), all)
	}
	return []string{OneLine(q.Detail, 400)}, false
}

// headAndTail returns the lines of a change below those of what it changes, without its middle unless all of it is wanted.
func headAndTail(lines, change []string, all bool) ([]string, bool) {
	hidden := len(change) - shownHead - shownTail
	if all || hidden < 2 {
		return append(lines, change...), false
	}
	lines = append(lines, change[:shownHead]...)
	lines = append(lines, fmt.Sprintf("… %d more lines", hidden))
	return append(lines, change[len(change)-shownTail:]...), true
}

// change returns what the input of a call would change, as lines of a diff; none if it does not say.
func (p Permission) change() []string {
	var in map[string]any
	if json.Unmarshal(p.Question.Input, &in) != nil {
		return nil
	}
	text := func(names ...string) (string, bool) {
		for _, n := range names {
			if s, ok := in[n].(string); ok {
				return s, true
			}
		}
		return "", false
	}
	if patch, ok := text("patch", "diff"); ok {
		return diffLines(patch)
	}
	if old, ok := text("old_string", "old", "oldText", "old_str"); ok {
		replacement, _, _ := execution.NewText(p.Question.Input)
		return append(marked("-", old), marked("+", replacement)...)
	}
	content, whole, _ := execution.NewText(p.Question.Input)
	if !whole || len(p.Question.Use.Paths) != 1 {
		return nil
	}
	path := p.Question.Use.Paths[0]
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Dir, path)
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxShown || len(content) > maxShown {
		return marked("+", content)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		return marked("+", content)
	}
	_, hunks, _ := bytes.Cut(diff.Diff("old", before, "new", []byte(content)), []byte("+++ new\n"))
	return diffLines(string(hunks))
}

func diffLines(text string) []string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func marked(mark, text string) []string {
	lines := diffLines(text)
	for i, l := range lines {
		lines[i] = mark + " " + l
	}
	return lines
}

// Relative returns a path as it is seen from the working directory: relative if it is inside.
func Relative(dir, path string) string {
	if dir == "" || !filepath.IsAbs(path) {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		if rel, err := filepath.Rel(real, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return path
}

// Reply is what a person typed at a permission question.
type Reply int

// The replies.
const (
	ReplyUnclear  Reply = iota // ask again
	ReplyDecision              // the decision is made
	ReplyView                  // show the whole change
	ReplyHelp                  // explain the keys
	ReplyEdit                  // another command or text, in their editor
)

// Decide reads a reply to a permission question: y, a, n, n with a reason, e with a command, v or ?. always is the rule that a stands
// for; edit returns the input with another command, if the call can have one.
func Decide(line, always string, edit func(command string) (json.RawMessage, bool)) (execution.Decision, Reply) {
	word, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
	reason = strings.TrimSpace(reason)
	switch word = strings.ToLower(strings.TrimRight(word, ",:")); {
	case (word == "n" || word == "no") && reason == "":
		return execution.Decision{Reason: DeniedByUser}, ReplyDecision
	case word == "n" || word == "no":
		return execution.Decision{Reason: reason}, ReplyDecision
	case word == "e" || word == "edit":
		if reason == "" {
			return execution.Decision{}, ReplyEdit
		}
		input, ok := edit(reason)
		if !ok {
			return execution.Decision{}, ReplyUnclear
		}
		return execution.Decision{Approve: true, Input: input}, ReplyDecision
	case reason != "": // it is not certain what is meant
	case word == "y" || word == "yes":
		return execution.Decision{Approve: true}, ReplyDecision
	case word == "a" || word == "always":
		if always != "" {
			return execution.Decision{Approve: true, Always: always}, ReplyDecision
		}
	case word == "v" || word == "view":
		return execution.Decision{}, ReplyView
	case word == "?" || word == "help" || word == "h":
		return execution.Decision{}, ReplyHelp
	}
	return execution.Decision{}, ReplyUnclear
}

// help explains the keys.
func (p Permission) help() string {
	var b strings.Builder
	b.WriteString("  y          allow this call\n")
	if rule := p.Always(); rule != "" {
		fmt.Fprintf(&b, "  a          allow this call, and from now on in this run those that the rule %s allows\n", rule)
	}
	b.WriteString("  n          deny it\n  n REASON   deny it and tell the agent why\n")
	if _, ok := p.Question.WithCommand(""); ok {
		b.WriteString("  e COMMAND  allow this command instead\n")
	}
	if _, ok := p.Question.Text(); ok {
		b.WriteString("  e          change it in your editor: $VISUAL, else $EDITOR\n")
	}
	b.WriteString("  v          show the whole change\n")
	return b.String()
}

// Again returns what a person reads after a reply that decides nothing.
func (r *Renderer) Again(p Permission, reply Reply, line string) string {
	switch reply {
	case ReplyView:
		return r.block(p, true, "")
	case ReplyHelp:
		return p.help() + p.keys(false)
	case ReplyEdit:
		return "  " + p.edit() + "\n" + p.keys(false)
	}
	return "  " + r.paint(Yellow, fmt.Sprintf("%q is not an answer", OneLine(line, 40))) + "; to deny it with a reason: n REASON\n" + p.keys(false)
}

// block returns a permission question: what would be done, and the keys. which says which one of several it is.
func (r *Renderer) block(p Permission, all bool, which string) string {
	var b strings.Builder
	b.WriteString(r.paint(Yellow, "? "+p.title()) + which + "\n")
	lines, _ := p.subject(all)
	for _, l := range lines {
		code := Dim
		switch {
		case p.Question.Use.Kind == execution.ToolShell:
			code = Bold
		case strings.HasPrefix(l, "+"):
			code = Green
		case strings.HasPrefix(l, "-"):
			code = Red
		}
		b.WriteString("    " + r.paint(code, l) + "\n")
	}
	b.WriteString(p.keys(all))
	return b.String()
}
