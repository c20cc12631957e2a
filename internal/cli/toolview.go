package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

const (
	outputLines = 3       // of a command's output that are shown
	outputBytes = 4 << 10 // kept of it
	namedReads  = 3       // files of a group of reads that are named
)

// toolCall is a running call of a tool.
type toolCall struct {
	id, name, what string
	indent         string
	begun          bool // its first line was written
	files          []changedFile
	added, removed int // lines
	whole          int // lines of a whole file that the call writes
	read           string
	fault          string
	output         string // the end of a command's output
	exit           int
}

type changedFile struct{ mark, path string }

// tools turns the events of calls into lines: one for a call that is over, one for several reads in a row. Without folding the first
// line is written when the call begins, for readers who see nothing else meanwhile.
type tools struct {
	fold  bool
	calls []*toolCall
	done  []*toolCall // over, and not yet written: what they changed may follow
}

func (t *tools) find(id string) *toolCall {
	for _, list := range [][]*toolCall{t.calls, t.done} {
		if i := slices.IndexFunc(list, func(c *toolCall) bool { return c.id == id }); i >= 0 && id != "" {
			return list[i]
		}
	}
	return nil
}

// onlyReads reports whether nothing but reads is to be written, which others may follow.
func (t *tools) onlyReads() bool {
	return !slices.ContainsFunc(t.done, func(c *toolCall) bool { return !c.reads() })
}

// reads reports whether a call only read a file, and succeeded.
func (c *toolCall) reads() bool {
	return !c.begun && c.read != "" && c.fault == "" && len(c.files) == 0 && c.indent == ""
}

func (t *tools) take(id string) *toolCall {
	c := t.find(id)
	t.calls = slices.DeleteFunc(t.calls, func(o *toolCall) bool { return o == c })
	return c
}

// begin starts a call.
func (r *Renderer) begin(id, name string, input json.RawMessage, indent string) {
	c := &toolCall{id: id, name: name, what: Relative(r.Dir, Summarize(input)), indent: indent}
	c.added, c.removed = changedLines(Permission{Question: execution.ApprovalRequired{Input: input}}.change())
	var in struct{ Content string }
	if json.Unmarshal(input, &in) == nil {
		c.whole = len(diffLines(in.Content))
	}
	r.tools.calls = append(r.tools.calls, c)
	if !r.tools.fold {
		c.begun = true
		r.note("%s%s", indent, r.title("● "+name, c.what))
	}
}

func (r *Renderer) title(name, what string) string {
	if what == "" {
		return r.paint(Bold, name)
	}
	return r.paint(Bold, name) + " " + r.paint(Dim, what)
}

// changedLines counts the lines of a diff.
func changedLines(diff []string) (added, removed int) {
	for _, l := range diff {
		switch {
		case strings.HasPrefix(l, "+++"), strings.HasPrefix(l, "---"):
		case strings.HasPrefix(l, "+"):
			added++
		case strings.HasPrefix(l, "-"):
			removed++
		}
	}
	return added, removed
}

func counts(added, removed int) string {
	var s string
	if added > 0 {
		s += fmt.Sprintf(" +%d", added)
	}
	if removed > 0 {
		s += fmt.Sprintf(" -%d", removed)
	}
	return s
}

// changed records a file that a call changed, or writes it if no call is known.
func (r *Renderer) changed(id, mark, path, diff, indent string) {
	path = shorten(Relative(r.Dir, path))
	c := r.tools.find(id)
	if c == nil {
		added, removed := changedLines(diffLines(diff))
		r.note("%s%s%s", indent, r.paint(Green, "  "+mark+" "+path), counts(added, removed))
		return
	}
	if diff != "" && len(c.files) == 0 {
		c.added, c.removed = 0, 0 // what was done, rather than what was asked for
	}
	if diff != "" {
		added, removed := changedLines(diffLines(diff))
		c.added, c.removed = c.added+added, c.removed+removed
	}
	if mark == "+" && diff == "" {
		c.added = c.whole
	}
	c.files = append(c.files, changedFile{mark, path})
	if c.begun {
		r.note("%s%s", indent, r.paint(Green, "  "+mark+" "+path)+counts(c.added, c.removed))
	}
}

// printed keeps the end of a command's output.
func (r *Renderer) printed(id, text string) {
	if c := r.tools.find(id); c != nil && (!c.begun || WidthOf(r.err) > 0) {
		if c.output += text; len(c.output) > outputBytes {
			c.output = strings.ToValidUTF8(c.output[len(c.output)-outputBytes:], "")
		}
	}
}

// exited records the exit code of a command.
func (r *Renderer) exited(id string, code int, indent string) {
	c := r.tools.find(id)
	if c != nil && c.begun {
		r.tail(c)
	}
	switch {
	case code == 0:
	case c != nil && !c.begun:
		c.exit = code
	default:
		r.note("%s%s", indent, r.paint(Yellow, fmt.Sprintf("  exit code %d", code)))
	}
}

// over ends a call; fault is empty if it succeeded. Its line follows at the next event, with what it changed.
func (r *Renderer) over(id, name, fault, indent string) {
	c := r.tools.take(id)
	if c == nil {
		c = &toolCall{name: name, begun: true}
	}
	if c.begun && fault != "" {
		r.note("%s%s", indent, r.paint(Red, "  ✗ "+cmp.Or(name, c.name)+": "+OneLine(fault, 300)))
	}
	c.fault = fault
	r.tools.done = append(r.tools.done, c)
}

// leastColumns are left of a text however narrow the terminal is.
const leastColumns = 12

// fit cuts a text to what a line of the terminal has left besides the columns that are used. Elsewhere it is whole.
func (r *Renderer) fit(text string, used int) string {
	if w := WidthOf(r.err); w > 0 {
		return Fit(text, max(w-1-used, leastColumns))
	}
	return text
}

// line writes the line of a call, and the end of its output.
func (r *Renderer) line(c *toolCall) {
	sign, what := r.paint(Green, "✓"), c.what
	if len(c.files) == 1 {
		what = c.files[0].path
	}
	end, color := "", Green
	if len(c.files) > 0 {
		end = counts(c.added, c.removed)
	}
	switch {
	case c.exit != 0:
		sign, end, color = r.paint(Red, "✗"), end+fmt.Sprintf("  exit code %d", c.exit), Yellow
	case c.fault != "":
		sign, color = r.paint(Red, "✗"), Red
		end += ": " + r.fit(OneLine(c.fault, 300), Columns(c.indent+c.name)+5+min(Columns(what), 20))
	}
	what = r.fit(what, Columns(c.indent+c.name+end)+3)
	r.note("%s%s %s%s", c.indent, sign, r.title(c.name, what), r.paint(color, end))
	if len(c.files) > 1 {
		for _, f := range c.files {
			r.note("%s%s", c.indent, r.paint(Green, "  "+f.mark+" "+f.path))
		}
	}
	r.tail(c)
}

// tail writes the end of a command's output.
func (r *Renderer) tail(c *toolCall) {
	lines := diffLines(strings.TrimSpace(Printable(c.output)))
	for _, l := range lines[max(0, len(lines)-outputLines):] {
		r.note("%s%s", c.indent, r.paint(Dim, "  │ "+r.fit(OneLine(l, 200), Columns(c.indent)+4)))
	}
}

// flush writes the calls that are over, before anything else.
func (r *Renderer) flush() {
	done := r.tools.done
	r.tools.done = nil
	for len(done) > 0 {
		n := slices.IndexFunc(done, func(c *toolCall) bool { return !c.reads() })
		if n < 0 {
			n = len(done)
		}
		r.group(done[:n])
		if done = done[n:]; len(done) > 0 {
			if !done[0].begun {
				r.line(done[0])
			}
			done = done[1:]
		}
	}
}

// group writes reads in one line.
func (r *Renderer) group(reads []*toolCall) {
	if len(reads) == 0 {
		return
	}
	title := "read"
	if len(reads) > 1 {
		title = fmt.Sprintf("read %d files", len(reads))
	}
	var names []string
	for _, c := range reads[:min(len(reads), namedReads)] {
		names = append(names, c.read)
	}
	if len(reads) > namedReads {
		names = append(names, "…")
	}
	r.note("%s %s", r.paint(Green, "✓"), r.title(title, r.fit(strings.Join(names, ", "), Columns(title)+3)))
}

// unfinished writes the calls that did not end.
func (r *Renderer) unfinished() {
	for _, c := range r.tools.calls {
		if !c.begun {
			r.note("%s%s", c.indent, r.title("● "+c.name, c.what))
		}
	}
	r.tools.calls = nil
}
