package cli

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// typeInto gives keys to a draft, and returns what the last that ended the edit meant.
func typeInto(d *draft, keys string) (v verdict) {
	in := []byte(keys)
	for n := keyLength(in); n > 0 && v == goesOn; n = keyLength(in) {
		v = d.key(string(in[:n]))
		in = in[n:]
	}
	return v
}

// TestDraftKeys: what the keys make of a message; | is the cursor.
func TestDraftKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ keys, want string }{
		{"helo\x1b[Dl", "hell|o"},
		{"ain\x01ag", "ag|ain"},
		{"one two\x17", "one |"},
		{"one two \x17", "one |"},
		{"one two\x1b\x7f", "one |"},
		{"one two\x15", "|"},
		{"one two\x01\x1bd", "| two"},
		{"one two\x1bb\x0b", "one |"},
		{"one two\x17\x19\x19", "one twotwo|"},
		{"one two\x1b[1;5D\x1b[1;5D\x1b[1;3Cx", "onex| two"},
		{"ab\x02\x02\x06c\x04", "ac|"},
		{"ab\x1bOD\x1b[3~", "a|"},
		{"ab\x7f\x08\x08", "|"},
		{"\x1b[C\x1b[D", "|"},
		{"你好\x1b[D世", "你世|好"},
		{"你好\x7f", "你|"},
		{"e\u0301x\x1b[D\x7f", "|x"},                            // a letter and its accent are one character
		{"\U0001F468\u200d\U0001F469\u200d\U0001F467\x7f", "|"}, // and so is a family
		{"one\x1b\rtwo\x1b[Ax", "onex|\ntwo"},
		{"one\x1b\rtwo\x1b[A\x1b[B\x01y", "one\ny|two"},
		{"你好\x1b\rabcdef\x1b[Ax", "你好x|\nabcdef"},
		{"one\x1b\rtwo\x01\x7f", "one|two"},
		{"one\x1b\rtwo\x1b[A\x05\x0b", "one|two"},
		{"one\\\rtwo", "one\ntwo|"},
		{"\x1b[A", "last\nof two|"},
		{"typed\x1b[A\x1b[A", "first|"},
		{"typed\x1b[A\x1b[A\x1b[A\x1b[B\x1b[B", "typed|"},
		{"\x1b[Ax\x1b[A", "last|\nof twox"}, // a recalled message that was changed is edited
		{"/co\t", "/cost |"},
		{"a\tb", "ab|"},
		{"a\x1b[15~\x1b[200;3~\x1bz\x00\x1b[<0;1;1Mb", "ab|"}, // keys that mean nothing
	} {
		d := draft{words: []string{"/cost", "/help"}, past: []string{"first", "last\nof two"}}
		d.clear()
		if v := typeInto(&d, tt.keys); v != goesOn {
			t.Errorf("%q ends the edit", tt.keys)
		}
		if got := d.text[:d.cursor] + "|" + d.text[d.cursor:]; got != tt.want {
			t.Errorf("%q: %q, want %q", tt.keys, got, tt.want)
		}
	}
	for keys, want := range map[string]verdict{"x\r": entered, "x\n": entered, "\r": entered, "\x04": left, "x\x04": goesOn, "x\\\r": goesOn, "x\x15\x04": left} {
		d := draft{}
		if got := typeInto(&d, keys); got != want {
			t.Errorf("%q: %d, want %d", keys, got, want)
		}
	}
}

// TestDraftRows: rows are narrower than the terminal, also those of wide characters, and the cursor is where it is in the text.
func TestDraftRows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text        string
		cursor      int
		want        string
		row, column int
	}{
		{"", 0, "> ", 0, 2},
		{"abcdef", 3, "> abcdef", 0, 5},
		{"abcdefghijkl", 12, "> abcdefg|hijkl", 1, 5},
		{"abcdefg", 7, "> abcdefg", 0, 9}, // the last column stays free
		{"你好世界", 6, "> 你好世|界", 0, 6},
		{"a\nb", 2, "> a|… b", 1, 2},
		{"a\tb", 2, "> a    b", 0, 7},
	} {
		d := draft{text: tt.text, cursor: tt.cursor}
		rows, row, column := d.rows(10)
		if got := strings.Join(rows, "|"); got != tt.want || row != tt.row || column != tt.column {
			t.Errorf("%q: %q %d %d, want %q %d %d", tt.text, got, row, column, tt.want, tt.row, tt.column)
		}
	}
}

// TestDrawnCursor: the cursor is where the next character goes, also before the first one of a row that goes on.
func TestDrawnCursor(t *testing.T) {
	t.Parallel()
	none, err := os.Open(os.DevNull) // no terminal: 80 columns
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = none.Close() }()
	text := strings.Repeat("a", 77) + "bc"
	for cursor, want := range map[int]string{1: "bc\x1b[1A\r\x1b[3C", 77: "bc\r", 78: "bc\r\x1b[1C", 79: "bc"} {
		e := &lineEditor{screen: none, draft: draft{text: text, cursor: cursor}}
		if got := e.draw(); !strings.HasSuffix(got, want) || cursor == 79 && strings.HasSuffix(got, "C") {
			t.Errorf("cursor %d: %q, want ...%q", cursor, got, want)
		}
	}
}

// TestKeyLength: a key that is not complete waits for the rest.
func TestKeyLength(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{"": 0, "a": 1, "ab": 1, "\xe4\xbd": 0, "你x": 3, "\xff": 1, "\x1b": 0, "\x1b[": 0, "\x1b[1;": 0, "\x1b[1;5Dx": 6, "\x1bO": 0, "\x1bOHx": 3,
		"\x1bbx": 2, "\x1b\x1b[D": 4, "\x1b\r": 2, "\x1b[" + strings.Repeat("1;", 40): 82} {
		if got := keyLength([]byte(in)); got != want {
			t.Errorf("%q: %d, want %d", in, got, want)
		}
	}
}

func FuzzDraft(f *testing.F) {
	f.Add("helo\x1b[Dl\x1b[A\x17你好\x1b\r\x02", uint8(10))
	f.Add("\x1b[A\x1b[A\x0b\x19\tx", uint8(80))
	f.Fuzz(func(t *testing.T, keys string, width uint8) {
		d := draft{words: []string{"/cost"}, past: []string{"first", "a\nb"}}
		d.clear()
		in := []byte(keys)
		for n := keyLength(in); n > 0; n = keyLength(in) {
			d.key(string(in[:n]))
			in = in[n:]
			if d.cursor < 0 || d.cursor > len(d.text) || !utf8.ValidString(d.text[:d.cursor]) || !utf8.ValidString(d.text) {
				t.Fatalf("%q: the cursor is at %d of %q", keys, d.cursor, d.text)
			}
		}
		rows, row, _ := d.rows(int(width))
		for _, r := range rows {
			if w := ansi.StringWidth(r); w >= max(8, int(width)) {
				t.Fatalf("%q: a row of %d columns of %d: %q", d.text, w, width, r)
			}
		}
		if row < 0 || row >= len(rows) {
			t.Fatalf("%q: the cursor is in row %d of %d", d.text, row, len(rows))
		}
	})
}
