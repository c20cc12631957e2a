package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// lineEditor lets a person edit the lines of a conversation on a terminal: cursor keys, history, completion, and messages of many
// lines, which are pasted, or whose lines end with a backslash or Alt-Enter. Between two edits the terminal reads lines by itself, as
// without an editor, so that a running turn is interrupted and typed into as ever.
//
// The goroutine that reads the terminal gives it keys by feed, one of its own runs each edit, and any may write to its screen.
type lineEditor struct {
	app     *App
	in      *os.File
	screen  *os.File
	term    *term.Terminal
	past    *typedHistory
	results chan bool // for each line that was entered: whether the edit is over

	mu      sync.Mutex
	more    *sync.Cond // of mu: input has grown, or the edit is over
	raw     *term.State
	input   []byte    // keys that term has not read yet
	began   time.Time // of the first key of the edit; zero before it
	warned  bool      // that the next Ctrl-C leaves
	pending []string  // lines of the message before the one that is edited
	held    []byte    // output that waits for the end of its line
}

const (
	ctrlC, ctrlD, ctrlE, ctrlU, ctrlZ = 0x03, 0x04, 0x05, 0x15, 0x1a
	escape                            = 0x1b

	firstLine, nextLine = "> ", "… " // prompts
)

// otherKeys are sequences of terminals that term does not know, as those that it knows: word to word, and home and end.
var otherKeys = map[string]string{
	"\x1bb": "\x1b[1;3D", "\x1bf": "\x1b[1;3C", "\x1b[1;5D": "\x1b[1;3D", "\x1b[1;5C": "\x1b[1;3C",
	"\x1b[1~": "\x01", "\x1b[7~": "\x01", "\x1bOH": "\x01", "\x1b[4~": "\x05", "\x1b[8~": "\x05", "\x1bOF": "\x05",
}

// Converse, before the first line is read, lets the person edit their lines if the app is on a terminal that can. words are completed by the tab key. Call end when
// the conversation is over: it gives the terminal back.
func (a *App) Converse(words []string) (end func()) {
	in, okIn := a.In.(*os.File)
	screen, okErr := a.Err.(*os.File)
	if t := a.Getenv("TERM"); !okIn || !okErr || !IsTerminal(in) || !IsTerminal(screen) || t == "dumb" || a.JSON {
		return func() {}
	}
	e := &lineEditor{app: a, in: in, screen: screen, past: openTypedHistory(), results: make(chan bool, 1)}
	e.more = sync.NewCond(&e.mu)
	e.term = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{e, screen}, "")
	e.term.History = e.past
	e.term.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) { return completeWord(words, line, pos, key) }
	if f, ok := a.Out.(*os.File); ok && IsTerminal(f) {
		a.Out = &editedScreen{f, e}
	}
	a.Err = &editedScreen{screen, e}
	a.editor.Store(e)
	return func() {
		if e.over() {
			_, _ = io.WriteString(screen, "\r\x1b[K") // nowhere to report an error
			e.report(true)
		}
	}
}

// Prompt asks for the next message of a conversation, which ReadLine returns.
func (a *App) Prompt() {
	if e := a.editor.Load(); e == nil || !e.start() {
		_, _ = io.WriteString(a.Err, firstLine) // nowhere to report an error
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
	e.raw, e.input, e.began, e.warned, e.pending = state, nil, time.Time{}, false, nil
	select {
	case <-e.results: // of an edit that was ended
	default:
	}
	e.term.SetPrompt(firstLine)
	e.term.SetBracketedPasteMode(true)
	e.resize()
	go e.edit()
	return true
}

// resize tells the editor the terminal's width, which may have changed.
func (e *lineEditor) resize() {
	if w, h, err := term.GetSize(int(e.screen.Fd())); err == nil && w > 0 {
		_ = e.term.SetSize(w, h) // it draws the line again, which fails only with the terminal
	}
}

// edit reads the lines of one message.
func (e *lineEditor) edit() {
	for {
		line, err := e.term.ReadLine()
		pasted := errors.Is(err, term.ErrPasteIndicator)
		if err != nil && !pasted {
			if e.over() {
				_, _ = io.WriteString(e.screen, "\n") // nowhere to report an error
				e.app.stdin.lines <- typed{end: true}
				e.report(true)
			}
			return
		}
		line = unfolded(line)
		if pasted || strings.HasSuffix(line, `\`) {
			if !pasted {
				line = strings.TrimSuffix(line, `\`)
			}
			e.mu.Lock()
			e.pending = append(e.pending, line)
			e.mu.Unlock()
			e.term.SetPrompt(nextLine)
			e.report(false)
			continue
		}
		e.mu.Lock()
		message := typed{text: strings.Join(append(e.pending, line), "\n"), at: e.began}
		e.mu.Unlock()
		e.past.keep(message.text)
		e.over()
		e.app.stdin.lines <- message // before keys that follow it
		e.report(true)
		return
	}
}

func (e *lineEditor) report(over bool) {
	select {
	case e.results <- over:
	default: // nobody waits for it
	}
}

// over gives the terminal back at the end of an edit. It reports whether one was under way.
func (e *lineEditor) over() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.raw == nil {
		return false
	}
	e.term.SetBracketedPasteMode(false)
	_ = term.Restore(int(e.in.Fd()), e.raw) // it was a terminal a moment ago
	_, _ = e.screen.Write(e.held)           // nowhere to report an error
	e.raw, e.held = nil, nil
	e.more.Broadcast()
	return true
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

// Read gives the editor the keys of feed. At the end of the edit it returns io.EOF.
func (e *lineEditor) Read(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.input) == 0 && e.raw != nil {
		e.more.Wait()
	}
	if e.raw == nil {
		return 0, io.EOF
	}
	n := copy(p, e.input)
	e.input = e.input[n:]
	return n, nil
}

// feed takes keys, until a line is entered that ends the edit, and returns the others as the terminal's own lines have them.
func (e *lineEditor) feed(keys []byte) (rest []byte) {
	e.resize()
	for from, to := range otherKeys {
		keys = bytes.ReplaceAll(keys, []byte(from), []byte(to))
	}
	for len(keys) > 0 && e.editing() {
		key, size := keys[0], 1
		next := byte(0)
		if len(keys) > 1 {
			next = keys[1]
		}
		isEnter := func(k byte) bool { return k == '\r' || k == '\n' }
		switch {
		case key == ctrlC:
			e.interrupt()
		case key == ctrlZ:
			e.suspend()
		case key == escape && isEnter(next):
			size = 2
			e.enter([]byte(`\` + "\r"))
		case isEnter(key):
			if key == '\r' && next == '\n' {
				size = 2
			}
			e.enter([]byte{'\r'})
		default:
			for size < len(keys) && !bytes.ContainsAny(keys[size:size+1], "\r\n\x03\x1a\x1b") {
				size++
			}
			e.give(keys[:size])
		}
		keys = keys[size:]
	}
	return bytes.ReplaceAll(keys, []byte{'\r'}, []byte{'\n'})
}

func (e *lineEditor) give(keys []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.began.IsZero() {
		e.began = time.Now()
	}
	e.warned = false
	e.input = append(e.input, keys...)
	e.more.Broadcast()
}

// enter gives keys that end a line, and waits until it is taken: what follows may be for the terminal's own lines.
func (e *lineEditor) enter(keys []byte) {
	e.give(keys)
	<-e.results
}

// interrupt clears the message; a second time, it leaves the conversation.
func (e *lineEditor) interrupt() {
	e.mu.Lock()
	leave := e.warned
	e.mu.Unlock()
	e.give([]byte{ctrlE, ctrlU})
	if leave {
		e.enter([]byte{ctrlD})
		return
	}
	e.mu.Lock()
	e.pending, e.warned, e.began = nil, true, time.Time{}
	e.mu.Unlock()
	e.term.SetPrompt(firstLine)
	e.app.Notef("press Ctrl-C again to quit")
}

// suspend stops this program as Ctrl-Z does in a terminal's own lines, and draws the line when it goes on.
func (e *lineEditor) suspend() {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = term.Restore(int(e.in.Fd()), e.raw) // it was a terminal a moment ago
	stopProcess()
	if state, err := term.MakeRaw(int(e.in.Fd())); err == nil {
		e.raw = state
	}
	_, _ = e.term.Write(nil) // nowhere to report an error
}

// editedScreen is a stream that leaves the line that is edited below everything else.
type editedScreen struct {
	file   *os.File
	editor *lineEditor
}

// Write writes whole lines at once while a line is edited, and the rest when that has ended.
func (s *editedScreen) Write(p []byte) (int, error) {
	e := s.editor
	e.mu.Lock()
	if e.raw == nil {
		defer e.mu.Unlock()
		return s.file.Write(p)
	}
	e.held = append(e.held, p...)
	n := bytes.LastIndexByte(e.held, '\n') + 1
	lines := bytes.Clone(e.held[:n])
	e.held = e.held[n:]
	e.mu.Unlock()
	if n > 0 {
		if _, err := e.term.Write(lines); err != nil {
			return 0, err
		}
	}
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

// completeWord completes the first word of a line, with the tab key, as far as it is certain.
func completeWord(words []string, line string, pos int, key rune) (string, int, bool) {
	word := line[:pos]
	if key != '\t' || strings.Contains(word, " ") || word == "" {
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
