package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"golang.org/x/term"
)

// Table writes columns to standard output; Flush ends it.
type Table struct{ *tabwriter.Writer }

// Row writes a row of values; see Cell.
func (t Table) Row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = Cell(c)
	}
	_, _ = io.WriteString(t, strings.Join(texts, "\t")+"\n") // nowhere to report an error
}

// Cell is a value in a table: a dash for an empty text, yes or no for a bool.
func Cell(value any) string {
	switch value {
	case true:
		return "yes"
	case false:
		return "no"
	}
	return cmp.Or(fmt.Sprint(value), "-")
}

func (a *App) table(width int, flags uint, head []any) Table {
	t := Table{tabwriter.NewWriter(&lines{to: a.Out, width: width}, 0, 0, 2, ' ', flags)}
	if len(head) > 0 {
		t.Row(head...)
	}
	return t
}

// Table begins a table with these column titles. Text of agents and files cannot control the terminal. A row may be longer than
// the terminal is wide; see ShortTable.
func (a *App) Table(head ...any) Table { return a.table(0, 0, head) }

// NumberTable is Table with right-aligned columns.
func (a *App) NumberTable(head ...any) Table { return a.table(0, tabwriter.AlignRight, head) }

// ShortTable is Table with rows cut to the width of the terminal, for rows that another command shows in full.
func (a *App) ShortTable(head ...any) Table { return a.table(a.Width(), 0, head) }

// Width is the number of columns of standard output, 0 if it is not a terminal.
func (a *App) Width() int { return WidthOf(a.Out) }

// WidthOf is the number of columns of a stream, 0 if it is not a terminal.
func WidthOf(stream any) int {
	width, _ := sizeOf(stream)
	return width
}

// sizeOf is the number of columns and rows of a stream, 0 if it is not a terminal.
func sizeOf(stream any) (columns, rows int) {
	f, ok := fileOf(stream)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// Harmless returns a writer that removes control characters.
func Harmless(w io.Writer) io.Writer { return harmless{w} }

type harmless struct{ to io.Writer }

func (h harmless) Write(b []byte) (int, error) {
	_, err := io.WriteString(h.to, Printable(string(b)))
	return len(b), err
}

// lines writes whole lines without control characters, cut to width unless that is 0.
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
		text := string(bytes.TrimRight([]byte(Printable(string(line))), " "))
		if l.width > 0 && utf8.RuneCountInString(text) > l.width {
			text = string([]rune(text)[:l.width-1]) + "…"
		}
		if _, err := io.WriteString(l.to, text+"\n"); err != nil {
			return 0, err
		}
	}
}
