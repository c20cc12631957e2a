package prompt

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// doc is a Markdown document under construction.
type doc struct{ b strings.Builder }

func (d *doc) line(s string) {
	d.b.WriteString(s)
	d.b.WriteByte('\n')
}

func (d *doc) linef(format string, a ...any) { d.line(fmt.Sprintf(format, a...)) }

func (d *doc) gap() { d.line("") }

// para writes a line and an empty one.
func (d *doc) para(format string, a ...any) {
	d.linef(format, a...)
	d.gap()
}

// field writes a line of a list, "- **Name:** value"; nothing for an empty value.
func (d *doc) field(name, value string) {
	if value = inline(value); value != "" {
		d.linef("- **%s:** %s", name, value)
	}
}

// fenced writes text in a fence that the text cannot close.
func (d *doc) fenced(lang, text string) {
	f := fence(text)
	d.line(f + lang)
	if text != "" {
		d.line(strings.TrimSuffix(text, "\n"))
	}
	d.line(f)
}

// table writes a table; every row has as many cells as the header.
func (d *doc) table(header []string, rows [][]string) {
	d.line(row(header))
	d.line("|" + strings.Repeat(" --- |", len(header)))
	for _, r := range rows {
		d.line(row(r))
	}
}

func row(cells []string) string {
	var b strings.Builder
	b.WriteByte('|')
	for _, c := range cells {
		b.WriteByte(' ')
		b.WriteString(cell(c))
		b.WriteString(" |")
	}
	return b.String()
}

// clean removes control characters except tab and newline, characters that change the direction of writing, and bytes
// that are not UTF-8. Line ends become newlines.
func clean(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029' || r == '\v' || r == '\f':
			return '\n'
		case unicode.IsControl(r), r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return s
}

// inline turns a text into one bounded line, so that it cannot begin a heading, a list or a fence.
func inline(s string) string {
	return cut(strings.Join(strings.Fields(clean(s)), " "), maxInlineRunes)
}

// cut bounds a text by runes and marks the cut.
func cut(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i] + " …"
		}
		n++
	}
	return s
}

// cell escapes a text for a cell of a table: one line, without an unescaped pipe. A backslash before a pipe would undo
// its escape, so it is doubled there.
func cell(s string) string {
	s = inline(s)
	if !strings.Contains(s, "|") {
		return s
	}
	var b strings.Builder
	slashes := 0
	for _, r := range s {
		if r == '|' {
			b.WriteString(strings.Repeat(`\`, slashes))
			b.WriteString(`\|`)
		} else {
			b.WriteRune(r)
		}
		if r == '\\' {
			slashes++
		} else {
			slashes = 0
		}
	}
	return b.String()
}

// code formats a text as inline code; its own backticks do not end it.
func code(s string) string {
	s = inline(s)
	if s == "" {
		return "—"
	}
	ticks := strings.Repeat("`", longest(s, '`')+1)
	if len(ticks) == 1 {
		return ticks + s + ticks
	}
	return ticks + " " + s + " " + ticks
}

// codes formats several texts as code, separated by commas.
func codes(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = code(s)
	}
	return strings.Join(out, ", ")
}

// quote formats a block quotation: every line is marked, so that the text's headings and fences stay inside it.
func quote(s string) string {
	s = strings.TrimSpace(clean(s))
	if s == "" {
		return ""
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight("> "+cut(l, maxLineRunes), " ")
	}
	return strings.Join(lines, "\n")
}

// fence is a fence of backticks that the text does not contain.
func fence(text string) string { return strings.Repeat("`", max(3, longest(text, '`')+1)) }

// longest is the length of the longest run of c in s.
func longest(s string, c byte) int {
	best, n := 0, 0
	for i := range len(s) {
		if s[i] != c {
			n = 0
			continue
		}
		n++
		best = max(best, n)
	}
	return best
}

// head bounds a text to its first lines, each of bounded length.
func head(s string, lines int) (text string, cutOff bool) {
	all := strings.Split(strings.TrimRight(clean(s), "\n"), "\n")
	if len(all) > lines {
		all, cutOff = all[:lines], true
	}
	for i, l := range all {
		all[i] = cut(l, maxLineRunes)
	}
	return strings.TrimRight(strings.Join(all, "\n"), " \t\n"), cutOff
}

// openFence returns the fence that a text leaves open, or "".
func openFence(s string) string {
	open := ""
	for l := range strings.SplitSeq(s, "\n") {
		t := strings.TrimLeft(l, " ")
		if len(l)-len(t) > 3 {
			continue
		}
		mark := t[:len(t)-len(strings.TrimLeft(t, "`"))]
		if mark == "" {
			mark = t[:len(t)-len(strings.TrimLeft(t, "~"))]
		}
		if len(mark) < 3 {
			continue
		}
		rest := strings.TrimSpace(t[len(mark):])
		switch {
		case open == "" && (mark[0] == '~' || !strings.Contains(rest, "`")):
			open = mark
		case open != "" && mark[0] == open[0] && len(mark) >= len(open) && rest == "":
			open = ""
		}
	}
	return open
}
