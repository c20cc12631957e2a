package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// lineEditor lets a person edit the messages of a conversation on a terminal: cursor keys, history, completion, and messages of many
// lines, which are pasted, or whose lines end with a backslash or Alt-Enter. Between two edits the terminal reads lines by itself, as
// without an editor, so that a running turn is interrupted and typed into as ever.
//
// The goroutine that reads the terminal gives it keys by feed, and any may write to its screen.
type lineEditor struct {
	app    *App
	in     *os.File
	screen *os.File
	past   *typedHistory
	leaves bool // Ctrl-C leaves when nothing is typed, without a warning

	mu       sync.Mutex
	raw      *term.State // nil between two edits
	draft    draft
	part     []byte    // of a key
	read     time.Time // when a part of a key or of what is pasted was read last
	pasted   bool      // the end of what is pasted has not come
	paste    []byte    // what is pasted, so far
	began    time.Time // of the first key of the edit; zero before it
	warned   bool      // that the next Ctrl-C leaves
	held     []byte    // output without the end of its line, which is shown above the message
	drawn    []string  // rows on the screen
	row, col int       // of the cursor in them
}

const (
	ctrlC, ctrlL, ctrlZ = 0x03, 0x0c, 0x1a
	escape              = 0x1b

	firstLine, nextLine = "> ", "… " // prompts

	pasteStart, pasteEnd = "\x1b[200~", "\x1b[201~"
	alone                = 100 * time.Millisecond // a key after such a pause starts anew: it does not continue a sequence or a paste
)

// Converse, before the first line is read, lets the person edit their lines if the app is on a terminal that can. words are completed by
// the tab key. With leaves, one Ctrl-C ends the input when nothing is typed, instead of two. Call end when the conversation is over: it
// gives the terminal back.
func (a *App) Converse(words []string, leaves bool) (end func()) {
	in, okIn := a.In.(*os.File)
	screen, okErr := a.Err.(*os.File)
	if t := a.Getenv("TERM"); !okIn || !okErr || !IsTerminal(in) || !IsTerminal(screen) || t == "dumb" || a.JSON {
		return func() {}
	}
	e := &lineEditor{app: a, in: in, screen: screen, past: openTypedHistory(), leaves: leaves, draft: draft{words: words}}
	if f, ok := a.Out.(*os.File); ok && IsTerminal(f) {
		a.Out = &editedScreen{f, e}
	}
	a.Err = &editedScreen{screen, e}
	a.editor.Store(e)
	return func() { e.withdraw(true) }
}

// Edits reports whether the person edits their lines, see Converse.
func (a *App) Edits() bool { return a.editor.Load() != nil }

// Prompt asks for the next message of a conversation, which ReadLine returns.
func (a *App) Prompt() {
	if e := a.editor.Load(); e == nil || !e.start() {
		_, _ = io.WriteString(a.Err, firstLine) // nowhere to report an error
	}
}

// Unprompt takes back a Prompt to which nobody has begun to type.
func (a *App) Unprompt() {
	if e := a.editor.Load(); e != nil {
		e.withdraw(false)
	}
}

// withdraw ends an edit without a message, one that somebody has begun only if typed is set.
func (e *lineEditor) withdraw(typed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.raw != nil && (typed || e.draft.text == "" && len(e.part) == 0 && !e.pasted) {
		e.say(e.erase())
		e.over()
	}
}

// start begins an edit unless one is under way. It reports whether the terminal allows it.
func (e *lineEditor) start() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.raw != nil {
		return true
	}
	state, err := term.MakeRaw(int(e.in.Fd()))
	if err != nil {
		return false
	}
	e.raw, e.part, e.pasted, e.paste, e.began, e.warned = state, nil, false, nil, time.Time{}, false
	e.draft.past = e.past.list
	e.draft.clear()
	e.say("\x1b[?2004h" + e.draw()) // a paste is marked
	return true
}

// over gives the terminal back at the end of an edit, with the cursor where the message was.
func (e *lineEditor) over() {
	e.say("\x1b[?2004l")
	_ = term.Restore(int(e.in.Fd()), e.raw) // it was a terminal a moment ago
	_, _ = e.screen.Write(e.held)           // nowhere to report an error
	e.raw, e.held = nil, nil
}

// say writes to the terminal.
func (e *lineEditor) say(text string) { _, _ = io.WriteString(e.screen, text) } // nowhere to report an error

// size is the terminal's, which may have changed.
func (e *lineEditor) size() (width, height int) {
	if w, h, err := term.GetSize(int(e.screen.Fd())); err == nil && w > 0 && h > 0 {
		return w, h
	}
	return 80, 24
}

// home returns what moves the cursor to the start of the rows on the screen, which a terminal breaks anew when it becomes narrower.
func (e *lineEditor) home() string {
	width, _ := e.size()
	up := e.col / width
	for _, row := range e.drawn[:min(e.row, len(e.drawn))] {
		up += 1 + max(0, ansi.StringWidth(row)-1)/width
	}
	if up == 0 {
		return "\r"
	}
	return fmt.Sprintf("\x1b[%dA\r", up)
}

// erase returns what removes the rows from the screen.
func (e *lineEditor) erase() string {
	text := e.home() + "\x1b[J"
	e.drawn, e.row, e.col = nil, 0, 0
	return text
}

// draw returns what shows the message, as much of it as there is room for.
func (e *lineEditor) draw() string {
	var b strings.Builder
	width, height := e.size()
	if e.drawn != nil {
		b.WriteString(e.home())
	}
	rows, row, col := e.draft.rows(width)
	if len(e.held) > 0 {
		above := strings.Split(ansi.Hardwrap(strings.ReplaceAll(string(e.held), "\r", ""), max(1, width-1), true), "\n")
		rows, row = append(above, rows...), row+len(above)
	}
	if room := max(1, height-1); len(rows) > room {
		top := min(max(0, row-room/2), len(rows)-room)
		rows, row = rows[top:top+room], row-top
	}
	for i, r := range rows {
		b.WriteString(r)
		switch {
		case e.drawn == nil && i == len(rows)-1:
		case i < len(rows)-1:
			b.WriteString("\x1b[K\r\n")
		default:
			b.WriteString("\x1b[J")
		}
	}
	last := len(rows) - 1
	if row < last {
		fmt.Fprintf(&b, "\x1b[%dA", last-row)
	}
	if row < last || col < ansi.StringWidth(rows[last]) {
		b.WriteString("\r")
		if col > 0 { // a terminal takes 0 for 1
			fmt.Fprintf(&b, "\x1b[%dC", col)
		}
	}
	e.drawn, e.row, e.col = rows, row, col
	return b.String()
}

// above writes lines above the message.
func (e *lineEditor) above(lines []byte) {
	text := strings.ReplaceAll(strings.ReplaceAll(string(lines), "\r\n", "\n"), "\n", "\r\n")
	e.say(e.erase() + text + e.draw())
}

// editing reports whether keys are for the editor.
func (e *lineEditor) editing() bool {
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.raw != nil
}

// feed takes keys, until one ends the edit, and returns the others as the terminal's own lines have them.
func (e *lineEditor) feed(keys []byte) (rest []byte) {
	e.mu.Lock()
	pause := time.Since(e.read) > alone
	if pause && len(e.part) == 1 && e.part[0] == escape {
		e.part = nil
	}
	keys = slices.Concat(e.part, keys)
	if pause && e.pasted && len(keys) == 1 && keys[0] == ctrlC { // the end of the paste was lost
		keys = []byte(pasteEnd)
	}
	e.part, e.read = nil, time.Now()
	for e.raw != nil {
		if e.pasted {
			from := max(0, len(e.paste)-len(pasteEnd)+1)
			e.paste = append(e.paste, keys...)
			end := bytes.Index(e.paste[from:], []byte(pasteEnd))
			if keys = nil; end < 0 {
				break
			}
			e.draft.insert(string(e.paste[:from+end]))
			keys = e.paste[from+end+len(pasteEnd):]
			e.pasted, e.paste = false, nil
		}
		n := keyLength(keys)
		if n == 0 {
			break
		}
		key := string(keys[:n])
		keys = keys[n:]
		if message := e.key(key); message != nil {
			e.mu.Unlock()
			e.app.stdin.lines <- *message // before keys that follow it
			return bytes.ReplaceAll(keys, []byte{'\r'}, []byte{'\n'})
		}
	}
	defer e.mu.Unlock()
	if e.part = keys; e.raw == nil { // it was ended meanwhile
		e.part = nil
		return bytes.ReplaceAll(keys, []byte{'\r'}, []byte{'\n'})
	}
	if !e.pasted {
		e.say(e.draw())
	}
	return nil
}

// key edits the message by a key, and returns it when that ends the edit.
func (e *lineEditor) key(key string) *typed {
	warned := e.warned
	if e.warned = false; e.began.IsZero() {
		e.began = time.Now()
	}
	switch {
	case key == pasteStart:
		e.pasted = true
	case key[0] == ctrlC && !warned && (e.draft.text != "" || !e.leaves):
		e.draft.clear()
		e.warned, e.began = true, time.Time{}
		e.above([]byte("press Ctrl-C again to quit\n"))
	case key[0] == ctrlC:
		return e.end(&typed{end: true})
	case key[0] == ctrlZ:
		e.suspend()
	case key[0] == ctrlL:
		e.say("\x1b[2J\x1b[H")
		e.drawn, e.row, e.col = nil, 0, 0
	default:
		switch e.draft.key(key) {
		case left:
			return e.end(&typed{end: true})
		case entered:
			e.past.keep(e.draft.text)
			return e.end(&typed{text: e.draft.text, at: e.began})
		case goesOn:
		}
	}
	return nil
}

// end leaves the message on the screen and ends the edit.
func (e *lineEditor) end(t *typed) *typed {
	e.draft.cursor = len(e.draft.text)
	e.say(e.draw() + "\r\n")
	e.drawn, e.held = nil, nil
	e.over()
	return t
}

// suspend stops this program as Ctrl-Z does in a terminal's own lines, and draws the line when it goes on.
func (e *lineEditor) suspend() {
	_ = term.Restore(int(e.in.Fd()), e.raw) // it was a terminal a moment ago
	stopProcess()
	if state, err := term.MakeRaw(int(e.in.Fd())); err == nil {
		e.raw = state
	}
	e.drawn, e.row, e.col = nil, 0, 0
	e.say("\r")
}

// editedScreen is a stream that leaves the message that is edited below everything else.
type editedScreen struct {
	file   *os.File
	editor *lineEditor
}

func (s *editedScreen) Write(p []byte) (int, error) {
	e := s.editor
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.raw == nil {
		return s.file.Write(p)
	}
	text := slices.Concat(e.held, p)
	n := bytes.LastIndexByte(text, '\n') + 1
	e.held = text[n:]
	e.above(text[:n])
	return len(p), nil
}

// fileOf is the file of a stream, if it has one.
func fileOf(stream any) (*os.File, bool) {
	if s, ok := stream.(*editedScreen); ok {
		return s.file, true
	}
	f, ok := stream.(*os.File)
	return f, ok
}
