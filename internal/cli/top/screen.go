package top

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/control"
)

// pollEvery is how often the records are read.
const pollEvery = 500 * time.Millisecond

// mode is what the keys mean.
type mode int

const (
	browsing mode = iota
	answering
	steering
	filtering
	reading // a difference
)

// screen is the program on the terminal. Bubble Tea calls it from one goroutine; what takes time is done by the commands that Update
// returns.
type screen struct {
	app  *cli.App
	ctx  context.Context
	poll func() polled
	do   func(ctx context.Context, path string, call control.Call) (control.Reply, error)
	diff func(ctx context.Context, dir string) (string, error)

	width, height int
	color         bool
	editor        bool // the person has one
	now           time.Time
	rows          []row
	chosen        execution.RunID
	filter        string
	mode          mode
	typed         string
	target        row             // of what is typed or read
	question      execution.Event // that is answered
	text          string          // above the line that is typed
	lines         []string        // that are read
	first         int             // of them that is on the screen
	sent          bool            // an answer is on its way
	note          string          // what became of the last key
	err           error           // why the program ended
}

// Messages of commands.
type (
	polled struct {
		rows   []row
		at     time.Time
		behind bool // there is more to read
		err    error
	}
	tick     struct{}
	noted    struct{ text string } // what became of a key
	answered struct {              // what became of an answer
		id   execution.QuestionID
		text string
	}
	again struct { // a reply that decides nothing
		id    execution.QuestionID
		reply cli.Reply
		line  string
	}
	difference struct {
		of   row
		text string
	}
)

// Init implements tea.Model.
func (s *screen) Init() tea.Cmd { return s.polling }

func (s *screen) polling() tea.Msg { return s.poll() }

// Update implements tea.Model.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = m.Width, m.Height
	case tick:
		return s, s.polling
	case polled:
		if m.err != nil {
			s.err = m.err
			return s, tea.Quit
		}
		s.rows, s.now = m.rows, m.at
		s.withdrawn()
		next := pollEvery
		if m.behind {
			next = readFor / 2 // keys come between
		}
		return s, tea.Tick(next, func(time.Time) tea.Msg { return tick{} })
	case noted:
		s.note = m.text
	case answered:
		if s.note = m.text; s.sent && cli.QuestionID(s.question.Body) == m.id {
			s.mode, s.sent = browsing, false
		}
	case again:
		if q, ok := s.question.Body.(execution.ApprovalRequired); ok && s.sent && q.ID == m.id {
			if _, can := q.Text(); can && m.reply == cli.ReplyEdit && s.editor {
				return s, s.inEditor(s.target, m.id)
			}
			s.sent = false
			s.text += "\n" + s.renderer().Again(cli.Permission{Question: q, Dir: s.target.run.Cwd, Run: s.target.run.ID}, m.reply, m.line)
		}
	case difference:
		s.mode, s.target, s.first = reading, m.of, 0
		s.lines = strings.Split(strings.TrimRight(m.text, "\n"), "\n")
	case tea.PasteMsg:
		if s.typing() {
			s.typed += strings.Join(strings.Fields(m.Content), " ")
		}
	case tea.KeyPressMsg:
		return s, s.key(m)
	}
	return s, nil
}

func (s *screen) typing() bool {
	return s.mode == answering || s.mode == steering || s.mode == filtering
}

// withdrawn ends an answer whose question does not wait any more.
func (s *screen) withdrawn() {
	if s.mode != answering || s.sent {
		return
	}
	for _, r := range s.rows {
		if r.run.ID == s.target.run.ID && slices.ContainsFunc(r.asked, func(q execution.Event) bool {
			return cli.QuestionID(q.Body) == cli.QuestionID(s.question.Body)
		}) {
			return
		}
	}
	s.mode, s.note = browsing, "the question was answered, or does not wait any more"
}

// shown returns the rows that the filter lets through, and the index of the chosen one; -1 if there are none.
func (s *screen) shown() (rows []row, at int) {
	for _, r := range s.rows {
		if s.filter == "" || r.matches(s.filter) {
			rows = append(rows, r)
		}
	}
	at = slices.IndexFunc(rows, func(r row) bool { return r.run.ID == s.chosen })
	if at < 0 && len(rows) > 0 {
		at = 0
	}
	return rows, at
}

func (s *screen) key(k tea.KeyPressMsg) tea.Cmd {
	switch name := k.String(); {
	case name == "ctrl+c":
		return tea.Quit
	case name == "ctrl+z":
		return tea.Suspend
	case s.mode == reading:
		s.read(name)
		return nil
	case s.typing():
		return s.edit(name, k.Text)
	default:
		return s.browse(name)
	}
}

// browse handles a key of the board.
func (s *screen) browse(name string) tea.Cmd {
	rows, at := s.shown()
	s.note = ""
	switch name {
	case "q":
		return tea.Quit
	case "esc":
		s.filter = ""
		return nil
	case "/":
		s.start(filtering, row{}, "show only runs with these words; an empty line shows all")
		s.typed = s.filter
		return nil
	}
	if at < 0 {
		return nil
	}
	r := rows[at]
	choose := func(i int) { s.chosen = rows[max(0, min(i, len(rows)-1))].run.ID }
	switch name {
	case "up", "k":
		choose(at - 1)
	case "down", "j":
		choose(at + 1)
	case "pgup":
		choose(at - 10)
	case "pgdown":
		choose(at + 10)
	case "home", "g":
		choose(0)
	case "end", "G":
		choose(len(rows) - 1)
	case "v":
		return s.changes(r)
	case "a", "enter", "s", "i":
		if r.ended != "" {
			s.note = "the run has ended: " + r.ended
			return nil
		}
		s.chosen = r.run.ID
		return s.act(name, r)
	}
	return nil
}

// act begins what a key does with a live run.
func (s *screen) act(name string, r row) tea.Cmd {
	switch name {
	case "s":
		s.start(steering, r, "message to the running turn of "+r.run.Agent)
	case "i":
		return s.call(r, control.Call{Verb: string(execution.VerbInterrupt)}, "interrupted "+r.short)
	default:
		if len(r.asked) == 0 {
			s.note = "the run asks nothing"
			return nil
		}
		s.question = r.asked[0]
		renderer := s.renderer()
		renderer.Dir = r.run.Cwd
		s.start(answering, r, renderer.QuestionText(s.question.Body, len(r.asked)))
	}
	return nil
}

func (s *screen) renderer() *cli.Renderer { return cli.NewRenderer(s.app, false, nil) }

func (s *screen) start(m mode, r row, text string) {
	s.mode, s.target, s.text, s.typed = m, r, text, ""
}

// edit handles a key while a line is typed.
func (s *screen) edit(name, text string) tea.Cmd {
	switch name {
	case "esc":
		s.mode, s.sent = browsing, false
	case "enter":
		return s.enter()
	default:
		s.typed = cli.TypeKey(s.typed, name, text)
	}
	if s.mode == filtering {
		s.filter = s.typed
	}
	return nil
}

// enter does what was typed.
func (s *screen) enter() tea.Cmd {
	line := strings.TrimSpace(s.typed)
	s.typed = ""
	switch {
	case s.mode == filtering:
		s.mode = browsing
	case line == "": // a key that was pressed too often decides nothing
	case s.mode == steering:
		s.mode = browsing
		return s.call(s.target, control.Call{Verb: string(execution.VerbSteer), Text: line}, "sent to the running turn: "+cli.OneLine(line, 40))
	case !s.sent:
		s.sent = true
		return s.answer(s.target, cli.QuestionID(s.question.Body), line)
	}
	return nil
}

// call makes a call to a run.
func (s *screen) call(r row, c control.Call, done string) tea.Cmd {
	return func() tea.Msg {
		if _, err := s.do(s.ctx, r.run.ControlPath(), c); err != nil {
			return noted{err.Error()}
		}
		return noted{done}
	}
}

// answer answers a question of a run by its id, so that what is answered is what was shown, whatever the run asks meanwhile.
func (s *screen) answer(r row, id execution.QuestionID, line string) tea.Cmd {
	return func() tea.Msg {
		status, err := s.do(s.ctx, r.run.ControlPath(), control.Call{Verb: "status"})
		if err != nil {
			return answered{id, err.Error()}
		}
		i := slices.IndexFunc(status.Pending, func(q control.PendingQuestion) bool { return q.ID == id })
		if i < 0 {
			return answered{id, "the question does not wait any more"}
		}
		q, d := status.Pending[i], execution.Decision{Approve: true, Text: line}
		if q.Approval {
			var reply cli.Reply
			if d, reply = cli.Decide(line, q.Always, q.Call().WithCommand); reply != cli.ReplyDecision {
				return again{id, reply, line}
			}
		}
		if _, err := s.do(s.ctx, r.run.ControlPath(), control.Call{Verb: "answer", Question: id, Decision: &d}); err != nil {
			return answered{id, err.Error()}
		}
		switch {
		case !q.Approval:
			return answered{id, "answered"}
		case !d.Approve:
			return answered{id, "denied: " + cli.OneLine(q.String(), 60)}
		case d.Always != "":
			return answered{id, "approved; from now on in this run: " + d.Always}
		}
		return answered{id, "approved: " + cli.OneLine(q.String(), 60)}
	}
}

// changes shows what a run has changed.
func (s *screen) changes(r row) tea.Cmd {
	return func() tea.Msg {
		text, err := s.diff(s.ctx, r.run.Cwd)
		switch {
		case err != nil:
			return noted{err.Error()}
		case text == "":
			return noted{"nothing has changed in " + r.run.Cwd}
		}
		return difference{r, text}
	}
}

// read handles a key while a difference is read.
func (s *screen) read(name string) {
	page := max(1, s.height-3)
	switch name {
	case "q", "esc", "v", "enter":
		s.mode = browsing
	case "up", "k":
		s.first--
	case "down", "j":
		s.first++
	case "pgup", "b":
		s.first -= page
	case "pgdown", "space", "f":
		s.first += page
	case "home", "g":
		s.first = 0
	case "end", "G":
		s.first = len(s.lines)
	}
	s.first = max(0, min(s.first, len(s.lines)-page))
}

// View implements tea.Model.
func (s *screen) View() tea.View {
	v := tea.View{AltScreen: true, WindowTitle: "drawbar top"}
	if s.width < 20 || s.height < 10 {
		v.Content = "too small"
		return v
	}
	if s.mode == reading {
		v.Content = strings.Join(s.page(), "\n")
		return v
	}
	below := s.below()
	rows, at := s.shown()
	room := max(1, s.height-3-len(below)) // summary, head, and keys
	from := max(0, min(at-room/2, len(rows)-room))
	head, lines := table(rows[from:min(len(rows), from+room)], s.width, s.now)
	out := []string{s.paint(cli.Bold, cli.Fit("drawbar top · "+summary(s.rows)+s.filtered(), s.width-1)), s.paint(cli.Dim, "  "+head)}
	for i, line := range lines {
		out = append(out, s.line(rows[from+i], line, from+i == at))
	}
	if len(rows) == 0 {
		out = append(out, "  no run; start one with: drawbar run AGENT \"what to do\"")
	}
	for len(out) < s.height-1-len(below) {
		out = append(out, "")
	}
	out = append(out, below...)
	if s.typing() {
		typed := ansi.TruncateLeft(cli.Printable(s.typed), max(0, cli.Columns(s.typed)-s.width+4), "")
		v.Cursor = tea.NewCursor(2+cli.Columns(typed), len(out)-1)
		out[len(out)-1] = "> " + typed
	}
	v.Content = strings.Join(append(out, s.paint(cli.Dim, cli.Cut(s.keys(), s.width-1))), "\n")
	return v
}

func (s *screen) filtered() string {
	if s.filter == "" {
		return ""
	}
	return " · with " + s.filter
}

// line marks and colours a row.
func (s *screen) line(r row, text string, chosen bool) string {
	code, mark := "", "  "
	switch {
	case r.ended != "":
		code = cli.Dim
	case len(r.asked) > 0:
		code = cli.Yellow
	}
	if chosen {
		code, mark = strings.Trim(code+";"+cli.Bold, ";"), "> "
	}
	return s.paint(code, mark+text)
}

func (s *screen) paint(code, text string) string { return cli.Paint(s.color, code, text) }

// below are the lines between the table and the keys: what is known of the chosen run, or what is answered, and the last note. While a
// line is typed, the last one is its place.
func (s *screen) below() []string {
	lines := []string{s.paint(cli.Dim, strings.Repeat("─", s.width-1))}
	most := max(3, s.height-8)
	switch rows, at := s.shown(); {
	case s.typing():
		text := strings.Split(strings.TrimRight(ansi.Hardwrap(s.text, s.width-1, true), "\n"), "\n")
		if over := len(text) - most; over > 0 { // the keys are at the end
			text = append([]string{fmt.Sprintf("… %d lines above", over+1)}, text[over+1:]...)
		}
		return append(append(lines, text...), "")
	case at >= 0:
		r := rows[at]
		for _, l := range about(r) {
			lines = append(lines, cli.Fit(l, s.width-1))
		}
		if len(r.asked) > 0 {
			lines = append(lines, s.paint(cli.Yellow, cli.Fit("? "+question(r.asked[0].Body, r.run.Cwd), s.width-1)))
		}
	}
	if s.note != "" {
		lines = append(lines, cli.Fit(cli.OneLine(s.note, 400), s.width-1))
	}
	return lines
}

func (s *screen) keys() string {
	switch s.mode {
	case answering, steering, filtering:
		return "Enter does it  Esc leaves it"
	}
	return "a answer  s steer  i interrupt  v diff  / filter  q leave"
}

// page is the part of a difference that is on the screen.
func (s *screen) page() []string {
	room := max(1, s.height-2)
	out := []string{s.paint(cli.Bold, cli.Fit("what has changed in "+s.target.run.Cwd, s.width-1))}
	for _, l := range s.lines[min(s.first, len(s.lines)):min(s.first+room, len(s.lines))] {
		out = append(out, cli.DiffLine(l, s.width-1, s.color))
	}
	for len(out) < room+1 {
		out = append(out, "")
	}
	return append(out, s.paint(cli.Dim, cli.Fit(fmt.Sprintf("line %d of %d · ↑ ↓ PgUp PgDn · q back", min(s.first+1, len(s.lines)), len(s.lines)), s.width-1)))
}
