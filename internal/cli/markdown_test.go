package cli

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func laidOut(color bool, columns int, pieces ...string) string {
	m := &markdown{color: color, columns: func() int { return columns }}
	var out strings.Builder
	for _, p := range pieces {
		out.WriteString(m.take(p))
	}
	return out.String() + m.rest()
}

// Markdown is laid out line by line, however it is cut into pieces.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"plain text", "plain text\n"},
		{"## A *heading* ##\nx", "\x1b[1mA \x1b[3mheading\x1b[23m\x1b[22m\nx\n"},
		{"#tag and # no", "#tag and # no\n"},
		{"a **bold** b", "a \x1b[1mbold\x1b[22m b\n"},
		{"**bold with *both***", "\x1b[1mbold with \x1b[3mboth\x1b[23m\x1b[22m\n"},
		{"2 * 3 * 4, snake_case_name, __init__.py", "2 * 3 * 4, snake_case_name, \x1b[1minit\x1b[22m.py\n"},
		{"run `go test ./...` or ``a`b``", "run \x1b[36mgo test ./...\x1b[39m or \x1b[36ma`b\x1b[39m\n"},
		{"`open", "`open\n"},
		{`\*no\* ~~old~~`, "*no* \x1b[9mold\x1b[29m\n"},
		{"see [the docs](https://x.y) [x](x)", "see \x1b[4mthe docs\x1b[24m\x1b[2m (https://x.y)\x1b[22m \x1b[4mx\x1b[24m\n"},
		{"list[0](x y) a]b", "list[0](x y) a]b\n"},
		{"- one\n  * two\n- [ ] open\n- [x] done\n12. twelve", "• one\n  • two\n☐ open\n☑ done\n12. twelve\n"},
		{"-dash\n--\n", "-dash\n--\n"},
		{"> quoted", "\x1b[2m│ \x1b[22mquoted\n"},
		{"---", "\x1b[2m" + strings.Repeat("─", 39) + "\x1b[22m\n"},
		{"```go\nfunc  *f*() {\n\n```\nafter", "    \x1b[36mfunc  *f*() {\x1b[39m\n    \nafter\n"},
		{"````\n```\n````", "    \x1b[36m```\x1b[39m\n"},
		{"```inline``` code", "\x1b[36minline\x1b[39m code\n"},
		{"| a | **b** |\n|---|:-:|\n| one | 2 |\n| x |\nend", "\x1b[1ma  \x1b[22m  \x1b[1m\x1b[1mb\x1b[22m\x1b[22m\n\x1b[2m───\x1b[22m  \x1b[2m─\x1b[22m\none  2\nx\nend\n"},
		{"|a|n|\n|-|--:|\n|x|100|\n|y|7|", "\x1b[1ma\x1b[22m    \x1b[1mn\x1b[22m\n\x1b[2m─\x1b[22m  \x1b[2m───\x1b[22m\nx  100\ny    7\n"},
		{"é **ü**", "é \x1b[1mü\x1b[22m\n"},
	} {
		want := c.want
		if strings.HasPrefix(c.in, "| a") {
			want = strings.ReplaceAll(want, "\x1b[1ma  \x1b[22m", "\x1b[1ma\x1b[22m  ")
		}
		if got := laidOut(true, 40, c.in); got != want {
			t.Errorf("%q:\n%q, want\n%q", c.in, got, want)
		}
		if got := laidOut(true, 40, strings.SplitAfter(c.in, "")...); got != want {
			t.Errorf("%q in pieces: %q", c.in, got)
		}
	}
}

// Lines fit the terminal, with the indentation of their item; without colour the marks stay.
func TestMarkdownWidth(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word **bold** ", 20)
	text := "- " + long + "\n> " + long + "\n" + long + "\n| " + long + "| b |\n|-|-|\n| " + long + " | 宽宽宽 |\n"
	for _, columns := range []int{30, 80, 300} {
		for _, color := range []bool{true, false} {
			for line := range strings.SplitSeq(strings.TrimSuffix(laidOut(color, columns, text), "\n"), "\n") {
				if n := ansi.StringWidth(line); n >= columns || n > maxMeasure {
					t.Errorf("%d columns on %d: %q", n, columns, line)
				}
			}
		}
	}
	if got := laidOut(false, 30, "# Title\n- a **b** `c` and more words than fit\n"); got != "# Title\n• a **b** `c` and more words\n  than fit\n" {
		t.Errorf("%q", got)
	}
	if got := laidOut(true, 30, "- one two three four five six seven eight nine"); got != "• one two three four five six\n  seven eight nine\n" {
		t.Errorf("%q", got)
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("# a\n- **b** `c`\n```\nx\n```\n| a | b |\n|-|-|\n", 10)
	f.Fuzz(func(t *testing.T, text string, columns int) {
		text = Printable(text)
		whole := laidOut(true, columns, text)
		if pieces := laidOut(true, columns, strings.SplitAfter(text, "")...); pieces != whole {
			t.Errorf("in pieces: %q, whole: %q", pieces, whole)
		}
	})
}
