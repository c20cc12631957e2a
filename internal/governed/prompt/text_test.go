package prompt

import (
	"strings"
	"testing"
)

func TestCell(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":         "plain",
		"a|b":           `a\|b`,
		`a\|b`:          `a\\\|b`,
		`c:\dir`:        `c:\dir`,
		"two\nlines":    "two lines",
		"cr\r\nlf":      "cr lf",
		" trimmed \t x": "trimmed x",
		"bell\a":        "bell",
		"bidi\u202eabc": "bidiabc",
		"bad\xffutf":    "bad\ufffdutf",
	} {
		if got := cell(in); got != want {
			t.Errorf("cell(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCode(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a.go": "`a.go`", "a`b": "`` a`b ``", "``": "``` `` ```", "": "—", "two\nlines": "`two lines`",
	} {
		if got := code(in); got != want {
			t.Errorf("code(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCutAndHead(t *testing.T) {
	t.Parallel()
	if got := cut("äöü", 2); got != "äö …" {
		t.Errorf("cut: %q", got)
	}
	if got := cut("äöü", 3); got != "äöü" {
		t.Errorf("cut of what fits: %q", got)
	}
	if text, cutOff := head("1\r\n2\n3\n\n", 3); text != "1\n2\n3" || cutOff {
		t.Errorf("head: %q %v", text, cutOff)
	}
	if text, cutOff := head("1\n2\n3\n4", 3); text != "1\n2\n3" || !cutOff {
		t.Errorf("head: %q %v", text, cutOff)
	}
	if text, _ := head(strings.Repeat("x", 3*maxLineRunes), 1); len(text) > maxLineRunes+10 {
		t.Errorf("a long line is shown with %d bytes", len(text))
	}
}

func TestOpenFence(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                        "",
		"```\nx\n```":             "",
		"```\nx":                  "```",
		"````\n```\nx":            "````",
		"~~~ sh\nx\n```":          "~~~",
		"```\n~~~\n```":           "",
		"    ```\nindented code":  "",
		"``` not a `fence` ```":   "",
		"```\nx\n``` not an end":  "```",
		"```\nx\n`````\nmore":     "",
		"text ``` in the middle":  "",
		"  ```go\nx\n  ```\n\n~~": "",
	} {
		if got := openFence(in); got != want {
			t.Errorf("openFence(%q) = %q, want %q", in, got, want)
		}
	}
}

// cellsOf splits a row of a table as GitHub's Markdown does: a backslash takes the next character with it.
func cellsOf(line string) []string {
	var out []string
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && (line[i+1] == '|' || line[i+1] == '\\'):
			if line[i+1] == '\\' && !pipeFollows(line[i+1:]) { // only before a pipe is it an escape that we wrote
				b.WriteByte(c)
				continue
			}
			i++
			b.WriteByte(line[i])
		case c == '|':
			out = append(out, strings.TrimSpace(b.String()))
			b.Reset()
		default:
			b.WriteByte(c)
		}
	}
	return append(out, strings.TrimSpace(b.String()))
}

func pipeFollows(s string) bool { return strings.HasPrefix(strings.TrimLeft(s, `\`), "|") }

func FuzzTable(f *testing.F) {
	for _, s := range []string{"a|b", `\|`, `\\|`, "x\\", "|", "\n|---|\n", "`|`", "\r", "\u2028| x"} {
		f.Add(s, "b")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		line := row([]string{a, b})
		if strings.ContainsAny(line, "\n\r\v\f\u2028\u2029\u0085") {
			t.Fatalf("the row has more than one line: %q", line)
		}
		got := cellsOf(line)
		want := []string{"", inline(a), inline(b), ""}
		if len(got) != len(want) {
			t.Fatalf("%q has %d cells, want %d: %q", line, len(got), len(want), got)
		}
		for i := range want {
			if got[i] != strings.TrimSpace(want[i]) {
				t.Errorf("cell %d of %q is %q, want %q", i, line, got[i], want[i])
			}
		}
	})
}

func FuzzFence(f *testing.F) {
	for _, s := range []string{"```", "````\n```", "~~~", "\n``` \nx", " ```", "`", "## Escalation", "a\r```\rb", "\u2028```"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d := &doc{}
		text, _ := head(s, MaxPreviewLines)
		d.fenced("", text)
		d.line("## After")
		lines := strings.Split(d.b.String(), "\n")
		closed := 0
		for i, l := range lines[1:] {
			mark := strings.TrimSpace(l)
			if strings.Trim(mark, "`") == "" && len(mark) >= len(lines[0]) {
				closed = i + 1
				break
			}
		}
		if closed == 0 || lines[closed+1] != "## After" {
			t.Fatalf("the text ends its fence:\n%s", d.b.String())
		}
	})
}

func FuzzLine(f *testing.F) {
	for _, s := range []string{"x\n# y", "`", "``a`", "- \n- ", "> \r## z", "\t```\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, got := range map[string]string{"inline": inline(s), "code": code(s)} {
			if strings.ContainsAny(got, "\n\r\u2028\u2029\u0085\v\f") {
				t.Errorf("%s has more than one line: %q", name, got)
			}
		}
		if c := code(s); c != "—" {
			n := len(c) - len(strings.TrimLeft(c, "`"))
			if n == 0 || longest(strings.Trim(c, "`"), '`') >= n && n > 1 {
				t.Errorf("the text ends its code: %q", c)
			}
		}
		for l := range strings.SplitSeq(quote(s), "\n") {
			if l != "" && !strings.HasPrefix(l, ">") {
				t.Errorf("a line leaves the quotation: %q", quote(s))
			}
		}
	})
}
