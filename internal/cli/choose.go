package cli

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/drawbar/drawbar/execution"
)

// Choose lets a person choose one of several lines on the terminal and returns its index. what says what they are: "a session". Keys
// that are typed show only lines with these words. Without a terminal it fails with a hint of what to type instead.
func (a *App) Choose(ctx context.Context, what string, lines []string, instead string) (int, error) {
	if a.JSON || !IsTerminal(a.In) || !IsTerminal(a.Err) || a.Getenv("TERM") == "dumb" {
		return 0, Usage("a terminal is needed to choose %s", what).WithHint("%s", instead)
	}
	c := &chooser{what: what, lines: lines, chosen: -1, width: 80, color: a.Color(a.Err)}
	_, err := tea.NewProgram(c, tea.WithContext(ctx), tea.WithInput(a.In), tea.WithOutput(a.Err)).Run()
	if err == nil && c.chosen < 0 {
		err = execution.Errorf(execution.CodeAborted, "nobody chose %s", what).WithHint("%s", instead)
	}
	return c.chosen, err
}

// chooser is the program on the terminal.
type chooser struct {
	what   string
	lines  []string
	width  int
	color  bool
	typed  string
	at     int // of the lines that are shown
	chosen int // of all lines, -1 until one is
	over   bool
}

// chooserRows is how many lines are on the screen at once.
const chooserRows = 10

// Init implements tea.Model.
func (c *chooser) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (c *chooser) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		c.width = m.Width
	case tea.PasteMsg:
		c.typed += OneLine(m.Content, 200)
	case tea.KeyPressMsg:
		shown := c.shown()
		switch name := m.String(); name {
		case "esc", "ctrl+c", "ctrl+d":
			c.over = true
			return c, tea.Quit
		case "enter":
			if len(shown) > 0 {
				c.chosen, c.over = shown[c.at], true
				return c, tea.Quit
			}
		case "up":
			c.at--
		case "down", "tab":
			c.at++
		case "pgup":
			c.at -= chooserRows
		case "pgdown":
			c.at += chooserRows
		default:
			if typed := TypeKey(c.typed, name, m.Text); typed != c.typed {
				c.typed, c.at = typed, 0
			}
		}
	}
	c.at = max(0, min(c.at, len(c.shown())-1))
	return c, nil
}

// TypeKey returns a line after a key of Bubble Tea, which has that name and types that text.
func TypeKey(line, name, text string) string {
	switch name {
	case "backspace":
		r := []rune(line)
		return string(r[:max(0, len(r)-1)])
	case "ctrl+u":
		return ""
	case "ctrl+w":
		kept := strings.TrimRight(line, " ")
		return kept[:strings.LastIndex(kept, " ")+1]
	}
	return line + text
}

// HasWords reports whether a text has every word of a search, in any case.
func HasWords(text, search string) bool {
	text = strings.ToLower(text)
	for _, w := range strings.Fields(strings.ToLower(search)) {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// shown returns the indices of the lines with all words that were typed.
func (c *chooser) shown() (list []int) {
	for i, l := range c.lines {
		if HasWords(l, c.typed) {
			list = append(list, i)
		}
	}
	return list
}

// View implements tea.Model.
func (c *chooser) View() tea.View {
	if c.over {
		return tea.NewView("")
	}
	shown := c.shown()
	from := max(0, min(c.at-chooserRows/2, len(shown)-chooserRows))
	out := []string{Fit("choose "+c.what+": ↑ ↓ Enter, words to search, Esc leaves", c.width-1), "> " + Cut(Printable(c.typed), c.width-3)}
	for i := from; i < min(len(shown), from+chooserRows); i++ {
		mark, code := "  ", ""
		if i == c.at {
			mark, code = "▸ ", Bold
		}
		out = append(out, mark+Paint(c.color, code, Cut(c.lines[shown[i]], c.width-3)))
	}
	if len(shown) == 0 {
		out = append(out, "  none has these words")
	}
	v := tea.NewView(strings.Join(out, "\n"))
	v.Cursor = tea.NewCursor(2+Columns(Cut(Printable(c.typed), c.width-3)), 1)
	return v
}
