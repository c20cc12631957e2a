package cli

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// draft is a message that a person edits. It knows keys and columns, and no terminal.
type draft struct {
	text   string
	cursor int // in bytes, before a character
	killed string
	words  []string // the tab key completes these
	past   []string // earlier messages, the oldest first
	at     int      // the message of past that is shown; len(past): none
	typed  string   // the text before past was shown
}

// verdict is what a key means for the edit.
type verdict int

const (
	goesOn  verdict = iota
	entered         // the message is complete
	left            // the person leaves the conversation
)

func (d *draft) clear() { d.text, d.cursor, d.at, d.typed = "", 0, len(d.past), "" }

// insert puts what a person typed or pasted before the cursor, without control characters.
func (d *draft) insert(text string) {
	text = Printable(strings.ToValidUTF8(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), ""))
	d.text = d.text[:d.cursor] + text + d.text[d.cursor:]
	d.cursor += len(text)
}

// remove deletes the text between two places, and remembers it if a key for more than one character did it.
func (d *draft) remove(from, to int, keep bool) {
	if keep && from < to {
		d.killed = d.text[from:to]
	}
	d.text, d.cursor = d.text[:from]+d.text[to:], from
}

// next is the place behind the character at a place.
func (d *draft) next(at int) int {
	c, _ := ansi.FirstGraphemeCluster(d.text[at:], ansi.GraphemeWidth)
	return at + len(c)
}

// previous is the place of the character before a place.
func (d *draft) previous(at int) int {
	before := max(0, d.lineStart(at)-1)
	for p := before; p < at; p = d.next(p) {
		before = p
	}
	return before
}

func (d *draft) lineStart(at int) int { return strings.LastIndexByte(d.text[:at], '\n') + 1 }

func (d *draft) lineEnd(at int) int {
	if n := strings.IndexByte(d.text[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(d.text)
}

// word is the place of the start of the word before a place, or of the end of the one behind it.
func (d *draft) word(at int, back bool) int {
	if back {
		start := strings.TrimRightFunc(d.text[:at], unicode.IsSpace)
		return strings.LastIndexFunc(start, unicode.IsSpace) + 1
	}
	rest := strings.TrimLeftFunc(d.text[at:], unicode.IsSpace)
	if n := strings.IndexFunc(rest, unicode.IsSpace); n >= 0 {
		return len(d.text) - len(rest) + n
	}
	return len(d.text)
}

// vertical moves the cursor to the line above or below, or shows an earlier or later message.
func (d *draft) vertical(up bool) {
	recalled := d.at < len(d.past) && d.text == d.past[d.at] && d.cursor == len(d.text)
	start, end := d.lineStart(d.cursor), d.lineEnd(d.cursor)
	switch {
	case up && start > 0 && !recalled:
		d.column(d.lineStart(start-1), ansi.StringWidth(d.text[start:d.cursor]))
	case !up && end < len(d.text):
		d.column(end+1, ansi.StringWidth(d.text[start:d.cursor]))
	case up && d.at > 0:
		d.recall(d.at - 1)
	case !up && d.at < len(d.past):
		d.recall(d.at + 1)
	}
}

// column sets the cursor near a column of the line that starts at a place.
func (d *draft) column(start, column int) {
	d.cursor = start
	for d.cursor < d.lineEnd(start) && ansi.StringWidth(d.text[start:d.cursor]) < column {
		d.cursor = d.next(d.cursor)
	}
}

func (d *draft) recall(at int) {
	if d.at == len(d.past) {
		d.typed = d.text
	}
	if d.at = at; at == len(d.past) {
		d.text = d.typed
	} else {
		d.text = d.past[at]
	}
	d.cursor = len(d.text)
}

// keyLength is the length of the first key of input: a character or an escape sequence. It is 0 if the key is not complete.
func keyLength(input []byte) int {
	const longest = 64 // of a sequence
	switch {
	case len(input) == 0 || input[0] != escape && !utf8.FullRune(input):
		return 0
	case input[0] != escape:
		_, n := utf8.DecodeRune(input)
		return n
	case len(input) == 1:
		return 0
	case input[1] == '[':
		switch n := slices.IndexFunc(input[2:], func(c byte) bool { return c < 0x20 || c > 0x3f }); {
		case n >= 0:
			return n + 3
		case len(input) > longest:
			return len(input)
		}
		return 0
	case input[1] == 'O' && len(input) == 2:
		return 0
	case input[1] == 'O':
		return 3
	}
	if n := keyLength(input[1:]); n > 0 {
		return 1 + n
	}
	return 0
}

// The keys that a draft knows, by what terminals send for them.
const (
	toLeft        = "\x02 \x1b[D \x1bOD"
	toRight       = "\x06 \x1b[C \x1bOC"
	toOlder       = "\x10 \x1b[A \x1bOA"
	toNewer       = "\x0e \x1b[B \x1bOB"
	toStart       = "\x01 \x1b[H \x1bOH \x1b[1~ \x1b[7~"
	toEnd         = "\x05 \x1b[F \x1bOF \x1b[4~ \x1b[8~"
	toWordBefore  = "\x1bb \x1b[1;3D \x1b[1;5D \x1b\x1b[D"
	toWordBehind  = "\x1bf \x1b[1;3C \x1b[1;5C \x1b\x1b[C"
	deletesBefore = "\x7f \x08"
	deletesBehind = "\x1b[3~"
)

// key edits the message by a key.
func (d *draft) key(key string) verdict {
	is := func(keys string) bool { return slices.Contains(strings.Split(keys, " "), key) }
	switch {
	case key == "\r" || key == "\n":
		if !strings.HasSuffix(d.text, `\`) {
			return entered
		}
		d.text = strings.TrimSuffix(d.text, `\`) + "\n"
		d.cursor = len(d.text)
	case key == "\x1b\r" || key == "\x1b\n":
		d.insert("\n")
	case key == "\x04" && d.text == "":
		return left
	case key == "\t":
		if text, pos, ok := completeWord(d.words, d.text, d.cursor); ok {
			d.text, d.cursor = text, pos
		}
	case is(toLeft):
		d.cursor = d.previous(d.cursor)
	case is(toRight):
		d.cursor = d.next(d.cursor)
	case is(toOlder), is(toNewer):
		d.vertical(is(toOlder))
	case is(toStart):
		d.cursor = d.lineStart(d.cursor)
	case is(toEnd):
		d.cursor = d.lineEnd(d.cursor)
	case is(toWordBefore), is(toWordBehind):
		d.cursor = d.word(d.cursor, is(toWordBefore))
	case is(deletesBefore):
		d.remove(d.previous(d.cursor), d.cursor, false)
	case is(deletesBehind), key == "\x04":
		d.remove(d.cursor, d.next(d.cursor), false)
	case key == "\x0b" && d.cursor == d.lineEnd(d.cursor): // the line break
		d.remove(d.cursor, d.next(d.cursor), true)
	case key == "\x0b":
		d.remove(d.cursor, d.lineEnd(d.cursor), true)
	case key == "\x15":
		d.remove(d.lineStart(d.cursor), d.cursor, true)
	case key == "\x17" || key == "\x1b\x7f":
		d.remove(d.word(d.cursor, true), d.cursor, true)
	case key == "\x1bd":
		d.remove(d.cursor, d.word(d.cursor, false), true)
	case key == "\x19":
		d.insert(d.killed)
	case key[0] >= ' ':
		d.insert(key)
	}
	return goesOn
}

// rows lays the message out in rows of less than width columns, and returns where the cursor is.
func (d *draft) rows(width int) (rows []string, row, column int) {
	width = max(width, 8)
	line, used := firstLine, ansi.StringWidth(firstLine)
	next := func(start string) {
		rows, line, used = append(rows, line), start, ansi.StringWidth(start)
	}
	for at := 0; ; {
		c, wide := ansi.FirstGraphemeCluster(d.text[at:], ansi.GraphemeWidth)
		if c == "\t" {
			c, wide = "    ", 4
		}
		if c != "\n" && used+wide >= width {
			next("")
		}
		if at <= d.cursor {
			row, column = len(rows), used
		}
		if at == len(d.text) {
			return append(rows, line), row, column
		}
		if at = d.next(at); c == "\n" {
			next(nextLine)
			continue
		}
		line, used = line+c, used+wide
	}
}

// completeWord completes the first word of a line as far as it is certain.
func completeWord(words []string, line string, pos int) (text string, cursor int, ok bool) {
	word := line[:pos]
	if strings.ContainsFunc(word, unicode.IsSpace) || word == "" {
		return "", 0, false
	}
	common, found := "", 0
	for _, w := range words {
		if !strings.HasPrefix(w, word) {
			continue
		}
		if found++; found == 1 {
			common = w
			continue
		}
		for !strings.HasPrefix(w, common) {
			common = common[:len(common)-1]
		}
	}
	if found == 1 {
		common += " "
	}
	if len(common) < len(word) {
		return "", 0, false
	}
	return common + line[pos:], len(common), true
}
