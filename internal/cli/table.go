package cli

import (
	"bytes"
	"io"
	"os"
	"text/tabwriter"
	"unicode/utf8"

	"golang.org/x/term"
)

// Table writes columns to standard output, without what foreign text could do to a terminal. Rows are as long as they are:
// see ShortTable.
func (a *App) Table() *tabwriter.Writer {
	return tabwriter.NewWriter(&lines{to: a.Out}, 0, 0, 2, ' ', 0)
}

// NumberTable is Table with its columns set to the right.
func (a *App) NumberTable() *tabwriter.Writer {
	return tabwriter.NewWriter(&lines{to: a.Out}, 0, 0, 2, ' ', tabwriter.AlignRight)
}

// ShortTable is Table for rows of which another command shows the rest: on a terminal each is cut to one line.
func (a *App) ShortTable() *tabwriter.Writer {
	return tabwriter.NewWriter(&lines{to: a.Out, width: a.Width()}, 0, 0, 2, ' ', 0)
}

// Width is how many columns standard output has, 0 where it is no terminal.
func (a *App) Width() int { return WidthOf(a.Out) }

// WidthOf is how many columns a stream has, 0 where it is no terminal.
func WidthOf(stream any) int {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// Harmless lets text through without what would move a terminal's cursor.
func Harmless(w io.Writer) io.Writer { return harmless{w} }

type harmless struct{ to io.Writer }

func (h harmless) Write(b []byte) (int, error) {
	_, err := io.WriteString(h.to, printable(string(b)))
	return len(b), err
}

// lines writes whole lines, printable, and not longer than width when that is not 0.
type lines struct {
	to    io.Writer
	width int
	rest  []byte
}

func (l *lines) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		l.rest = rest
		text := string(bytes.TrimRight([]byte(printable(string(line))), " "))
		if l.width > 0 && utf8.RuneCountInString(text) > l.width {
			text = string([]rune(text)[:l.width-1]) + "…"
		}
		if _, err := io.WriteString(l.to, text+"\n"); err != nil {
			return 0, err
		}
	}
}
