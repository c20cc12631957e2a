package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
)

// markdown lays out Markdown for a terminal line by line, as it arrives: headings, lists, quotes, code, tables and emphasis. What it does not
// know stays as it is. Parsers of all of Markdown need a whole message and cost every start of the program two milliseconds.
type markdown struct {
	color   bool
	columns func() int // of the terminal, 0 if unknown

	line  string   // that is not complete yet
	fence string   // that ends the code block, empty outside one
	table []string // rows that wait for the widths of the others
}

// MarkdownFlag adds --markdown to a command that prints what agents write.
func MarkdownFlag(cmd *cobra.Command, app *App) {
	cmd.Flags().BoolVar(&app.Markdown, "markdown", false, "lay out the agent's Markdown on a terminal")
}

// maxMeasure is the longest line of prose in columns.
const maxMeasure = 100

// take adds text without control characters and returns what can be written.
func (m *markdown) take(text string) string {
	var out strings.Builder
	for {
		line, rest, ok := strings.Cut(text, "\n")
		if m.line += line; !ok {
			return out.String()
		}
		out.WriteString(m.block(m.line))
		m.line, text = "", rest
	}
}

// rest returns what is left at the end of a message.
func (m *markdown) rest() string {
	out := ""
	if m.line != "" {
		out = m.block(m.line)
	}
	out += m.rows()
	m.line, m.fence = "", ""
	return out
}

// block returns a complete line, or nothing for one that waits.
func (m *markdown) block(line string) string {
	body := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(body)]
	if m.fence != "" {
		if strings.HasPrefix(body, m.fence) && strings.Trim(body, m.fence[:1]+" ") == "" {
			m.fence = ""
			return ""
		}
		return "    " + m.style("36", "39", line) + "\n"
	}
	if strings.HasPrefix(body, "|") && strings.Count(body, "|") > 1 {
		m.table = append(m.table, body)
		return ""
	}
	before := m.rows()
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(body, mark) && !strings.Contains(strings.TrimLeft(body, mark[:1]), mark[:1]) {
			m.fence = body[:len(body)-len(strings.TrimLeft(body, mark[:1]))]
			return before
		}
	}
	if text, level := heading(body); level > 0 {
		if !m.color {
			text = body[:level] + " " + text // the marks say what bold would
		}
		return before + m.fill(m.style("1", "22", m.inline(text)), "", "")
	}
	if rule := strings.ReplaceAll(body, " ", ""); len(rule) > 2 && (strings.Trim(rule, "-") == "" || strings.Trim(rule, "*") == "") {
		return before + m.style("2", "22", strings.Repeat("─", m.measure())) + "\n"
	}
	if text, ok := strings.CutPrefix(body, ">"); ok {
		bar := indent + m.style("2", "22", "│ ")
		return before + m.fill(m.inline(strings.TrimPrefix(text, " ")), bar, bar)
	}
	mark, text := item(body)
	first := indent + mark
	return before + m.fill(m.inline(text), first, strings.Repeat(" ", Columns(first)))
}

// heading returns the text of a heading and its level, 0 if it is none.
func heading(body string) (string, int) {
	text := strings.TrimLeft(body, "#")
	if level := len(body) - len(text); level > 0 && level < 7 && strings.HasPrefix(text, " ") {
		return strings.TrimRight(strings.TrimSpace(text), "# "), level
	}
	return "", 0
}

// item splits an item of a list into its mark and its text.
func item(body string) (mark, text string) {
	for _, m := range []string{"- ", "* ", "+ "} {
		if text, ok := strings.CutPrefix(body, m); ok {
			for _, box := range [][2]string{{"[ ] ", "☐ "}, {"[x] ", "☑ "}, {"[X] ", "☑ "}} {
				if done, ok := strings.CutPrefix(text, box[0]); ok {
					return box[1], done
				}
			}
			return "• ", text
		}
	}
	digits := strings.TrimLeft(body, "0123456789")
	if n := len(body) - len(digits); n > 0 && n < 10 && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") ")) {
		return body[:n+2], body[n+2:]
	}
	return "", body
}

func (m *markdown) measure() int {
	if n := m.columns(); n > 0 {
		return min(n-1, maxMeasure)
	}
	return maxMeasure
}

// fill breaks a text between words. Its first line begins with first, the others with next, which is as wide.
func (m *markdown) fill(text, first, next string) string {
	width := max(m.measure()-ansi.StringWidth(first), 20)
	return first + strings.ReplaceAll(ansi.Wordwrap(text, width, ""), "\n", "\n"+next) + "\n"
}

func (m *markdown) style(on, off, text string) string {
	if !m.color || text == "" {
		return text
	}
	return "\x1b[" + on + "m" + text + "\x1b[" + off + "m"
}

// maxSpan is the length in bytes in which a mark must end: the search begins anew at every mark.
const maxSpan = 1000

// spans are the marks around a part of a line, longest first.
var spans = []struct{ mark, on, off string }{{"**", "1", "22"}, {"__", "1", "22"}, {"~~", "9", "29"}, {"*", "3", "23"}, {"_", "3", "23"}}

// inline returns a line with its emphasis, code and links. Without colour the marks stay.
func (m *markdown) inline(text string) string {
	if !m.color {
		return text
	}
	var out strings.Builder
	for before := rune(0); text != ""; {
		styled, n := m.span(text, before)
		out.WriteString(styled)
		before, _ = utf8.DecodeLastRuneInString(text[:n])
		text = text[n:]
	}
	return out.String()
}

// span returns the beginning of a text, laid out, and its length in the text.
func (m *markdown) span(text string, before rune) (string, int) {
	switch {
	case text[0] == '\\' && len(text) > 1 && text[1] < utf8.RuneSelf && unicode.IsPunct(rune(text[1])):
		return text[1:2], 2
	case text[0] == '`':
		ticks := text[:len(text)-len(strings.TrimLeft(text, "`"))]
		if code, _, ok := strings.Cut(text[len(ticks):], ticks); ok {
			return m.style("36", "39", strings.TrimSpace(code)), len(code) + 2*len(ticks)
		}
		return ticks, len(ticks)
	case text[0] == '[' || strings.HasPrefix(text, "!["):
		open := strings.IndexByte(text, '[') + 1
		if name, rest, ok := strings.Cut(text[open:], "]("); ok && !strings.ContainsAny(name, "[]") {
			if url, _, ok := strings.Cut(rest, ")"); ok && !strings.Contains(url, " ") {
				shown := m.style("4", "24", m.inline(name))
				if url != name {
					shown += m.style("2", "22", " ("+url+")")
				}
				return shown, open + len(name) + 2 + len(url) + 1
			}
		}
	}
	for _, s := range spans {
		inner, ok := strings.CutPrefix(text, s.mark)
		if !ok || inner == "" || inner[0] == ' ' || s.mark[0] == '_' && (unicode.IsLetter(before) || unicode.IsDigit(before)) {
			continue
		}
		for at := 0; ; {
			i := strings.Index(inner[at:max(at, min(len(inner), maxSpan))], s.mark)
			if i < 0 {
				break
			}
			end := at + i
			for len(s.mark) == 2 && strings.HasPrefix(inner[end+2:], s.mark[:1]) { // the end of another mark comes first
				end++
			}
			after, _ := utf8.DecodeRuneInString(inner[end+len(s.mark):])
			word := s.mark[0] == '_' && (unicode.IsLetter(after) || unicode.IsDigit(after)) // snake_case
			longer := len(s.mark) == 1 && strings.HasPrefix(inner[end+1:], s.mark)          // the end of a longer mark
			if end > 0 && inner[end-1] != ' ' && !word && !longer {
				return m.style(s.on, s.off, m.inline(inner[:end])), end + 2*len(s.mark)
			}
			if at = end + len(s.mark); longer {
				at++
			}
		}
	}
	_, n := utf8.DecodeRuneInString(text)
	return text[:n], n
}

// rows returns the rows of a table that has ended.
func (m *markdown) rows() string {
	if len(m.table) == 0 {
		return ""
	}
	var rows [][]string
	var widths []int
	var right []bool // columns whose cells end at the same place
	rule := -1
	for _, line := range m.table {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if strings.Trim(line, "|-: ") == "" {
			rule, right = len(rows), nil
			for _, c := range cells {
				right = append(right, strings.HasSuffix(strings.TrimSpace(c), ":") && !strings.HasPrefix(strings.TrimSpace(c), ":"))
			}
			continue
		}
		for i, c := range cells {
			cells[i] = m.inline(strings.TrimSpace(c))
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cells[i]))
		}
		rows = append(rows, cells)
	}
	m.table = nil
	columns := m.measure()
	for sum := 3 * len(widths); len(widths) > 0; { // the widest columns give way
		total := sum
		for _, w := range widths {
			total += w
		}
		widest := slices.Index(widths, slices.Max(widths))
		if total <= columns || widths[widest] <= 8 {
			break
		}
		widths[widest]--
	}
	var out strings.Builder
	for n, row := range rows {
		if n == rule && n > 0 {
			for i, w := range widths {
				fmt.Fprintf(&out, "%s%s", map[bool]string{true: "  "}[i > 0], m.style("2", "22", strings.Repeat("─", w)))
			}
			out.WriteString("\n")
		}
		line := ""
		for i, w := range widths {
			cell := ""
			if i < len(row) {
				cell = ansi.Truncate(row[i], w, "…")
			}
			if n < rule {
				cell = m.style("1", "22", cell)
			}
			gap := strings.Repeat(" ", w-ansi.StringWidth(cell))
			if i < len(right) && right[i] {
				cell, gap = gap+cell, ""
			}
			line += cell + gap + "  "
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return out.String()
}
