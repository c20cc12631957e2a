package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/drawbar/drawbar/internal/cli"
)

// column is one of a table whose width depends on the terminal's.
type column struct {
	title string
	width int
	right bool
	cell  func(r row, now time.Time) string
}

// minStep is how wide the column of the step is at least; columns that leave less are left out.
const minStep = 18

func stateCell(r row, now time.Time) string {
	state, since := r.state()
	return state + " " + cli.Age(max(0, now.Sub(since)))
}

var (
	always = []column{
		{title: "AGENT", width: 8, cell: func(r row, _ time.Time) string { return r.run.Agent }},
		{title: "STATE", width: 13, cell: stateCell},
	}
	// more are shown as far as there is room, the first ones first.
	more = []column{
		{title: "COST", width: 8, right: true, cell: func(r row, _ time.Time) string { return cost(r) }},
		{title: "CONTEXT", width: 7, right: true, cell: func(r row, _ time.Time) string { return fill(r) }},
		{title: "FILES", width: 5, right: true, cell: func(r row, _ time.Time) string { return orDash(r.files > 0, fmt.Sprint(r.files)) }},
		{title: "TOKENS", width: 7, right: true, cell: func(r row, _ time.Time) string { return orDash(r.progress.Tokens > 0, cli.Count(r.progress.Tokens)) }},
		{title: "MEMORY", width: 7, right: true, cell: func(r row, _ time.Time) string { return orDash(r.memory > 0, fmt.Sprintf("%d MB", r.memory>>20)) }},
		{title: "BRANCH", width: 14, cell: func(r row, _ time.Time) string { return orDash(r.branch != "", r.branch) }},
	}
)

func orDash(known bool, text string) string {
	if !known {
		return "-"
	}
	return text
}

func cost(r row) string { return orDash(r.progress.USD > 0, fmt.Sprintf("$%.4f", r.progress.USD)) }

func fill(r row) string {
	used := r.progress.Context()
	return orDash(used > 0 && r.window >= used, fmt.Sprintf("%d%%", used*100/max(1, r.window)))
}

// pad fits text into a column.
func pad(text string, width int, right bool) string {
	text = cli.Fit(text, width)
	space := strings.Repeat(" ", max(0, width-cli.Columns(text)))
	if right {
		return space + text
	}
	return text + space
}

// table returns the head and the lines of rows for a terminal of that width.
func table(rows []row, width int, now time.Time) (head string, lines []string) {
	id := 3
	for _, r := range rows {
		id = max(id, len(r.short))
	}
	left := append([]column{{title: "RUN", width: id, cell: func(r row, _ time.Time) string { return r.short }}}, always...)
	room := width - 3 // the mark of the chosen row, and no line reaches the last column
	for _, c := range left {
		room -= c.width + 1
	}
	var right []column
	for _, c := range more {
		if room-c.width-1 < minStep {
			break
		}
		right = append(right, c)
		room -= c.width + 1
	}
	step := column{title: "DOING", width: max(0, room), cell: func(r row, _ time.Time) string { return r.what() }}
	columns := append(append(left, step), right...)
	line := func(text func(column) string) string {
		var parts []string
		for _, c := range columns {
			parts = append(parts, pad(text(c), c.width, c.right))
		}
		return cli.Cut(strings.Join(parts, " "), width-3)
	}
	head = line(func(c column) string { return c.title })
	for _, r := range rows {
		lines = append(lines, line(func(c column) string { return c.cell(r, now) }))
	}
	return head, lines
}

// summary is the first line: how many runs there are, and what they cost together.
func summary(rows []row) string {
	live, waiting, usd := 0, 0, 0.0
	for _, r := range rows {
		usd += r.progress.USD
		if r.ended == "" {
			live++
		}
		if len(r.asked) > 0 {
			waiting++
		}
	}
	parts := []string{cli.Number(live, "run", "runs")}
	if waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting for you", waiting))
	}
	if usd > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", usd))
	}
	return strings.Join(parts, " · ")
}

// about describes the chosen row below the table.
func about(r row) []string {
	lines := []string{cli.OneLine(r.run.Prompt, 400)}
	var parts []string
	for _, p := range []string{r.model, r.run.Cwd, r.branch} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if used := r.progress.Context(); used > 0 && r.window >= used {
		parts = append(parts, fmt.Sprintf("context %s of %s", cli.Count(used), cli.Count(r.window)))
	}
	if r.progress.Tokens > 0 {
		parts = append(parts, cli.Count(r.progress.Tokens)+" tokens")
	}
	lines = append(lines, strings.Join(parts, " · "))
	if n := len(r.asked); n > 1 {
		lines = append(lines, fmt.Sprintf("%d questions; the first:", n))
	}
	return lines
}
