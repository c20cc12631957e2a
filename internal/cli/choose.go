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
		case "backspace":
			if r := []rune(c.typed); len(r) > 0 {
				c.typed, c.at = string(r[:len(r)-1]), 0
			}
		case "ctrl+u":
			c.typed, c.at = "", 0
		default:
			if m.Text != "" {
				c.typed, c.at = c.typed+m.Text, 0
			}
		}
	}
	c.at = max(0, min(c.at, len(c.shown())-1))
	return c, nil
}

// shown returns the indices of the lines with all words that were typed.
func (c *chooser) shown() (list []int) {
	words := strings.Fields(strings.ToLower(c.typed))
next:
	for i, l := range c.lines {
		for _, w := range words {
			if !strings.Contains(strings.ToLower(l), w) {
				continue next
			}
		}
		list = append(list, i)
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
			mark, code = "▸ ", bold
		}
		out = append(out, mark+paint(c.color, code, Cut(c.lines[shown[i]], c.width-3)))
	}
	if len(shown) == 0 {
		out = append(out, "  none has these words")
	}
	v := tea.NewView(strings.Join(out, "\n"))
	v.Cursor = tea.NewCursor(2+Columns(Cut(Printable(c.typed), c.width-3)), 1)
	return v
}
