package sessions

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/spf13/cobra"
)

// shownLines is the number of lines of a tool's output that are shown without --full.
const shownLines = 12

func show(app *cli.App) *cobra.Command {
	var full bool
	var last int
	cmd := &cobra.Command{
		Use: "show SESSION", Short: "Show the messages of a session, with tools, thinking and usage",
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if last < 0 {
				return cli.Usage("--last %d is out of range", last).WithHint("0 or more")
			}
			s, err := open(app, args)
			if err != nil {
				return err
			}
			one, err := s.Get(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if n := len(one.Messages); last > 0 && n > last {
				one.Messages = one.Messages[n-last:]
			}
			return app.Answer(one, func() { (&printer{app: app, full: full}).session(one) })
		},
	}
	cmd.Flags().BoolVar(&full, "full", false, "show tool outputs and thinking in full")
	cmd.Flags().IntVar(&last, "last", 0, "only the last N messages")
	return cmd
}

type printer struct {
	app  *cli.App
	full bool
}

func (p *printer) session(s history.Session) {
	field := func(name, value string) {
		if value != "" {
			p.app.Printf("%-12s%s\n", name, cli.Printable(value))
		}
	}
	field("session", s.UnifiedID)
	field("name", s.Name)
	field("title", s.Title)
	field("model", s.Model)
	field("directory", s.Cwd)
	field("created", s.CreatedAt.Local().Format("2006-01-02 15:04:05"))
	field("updated", s.UpdatedAt.Local().Format("2006-01-02 15:04:05"))
	if s.ForkedFrom != "" {
		field("forked from", s.Agent+":"+s.ForkedFrom)
	}
	if s.Parent != "" {
		field("part of", s.Agent+":"+s.Parent)
	}
	field("tags", strings.Join(s.Tags, ", "))
	field("file", s.Path)
	for _, m := range s.Messages {
		p.message("", m)
	}
	for _, a := range s.Subagents {
		p.app.Printf("\n── sub-agent %s ──\n", cli.Printable(strings.TrimSpace(a.Name+" "+a.Description)))
		for _, m := range a.Messages {
			p.message("  ", m)
		}
	}
	p.app.Printf("\n")
	if u := s.Usage; u != nil {
		p.app.Printf("%s turns; tokens: %s in, %s out, %s from the cache, %s to the cache; cost %s%s\n", turns(s.Summary), cli.Count(u.Input), cli.Count(u.Output),
			cli.Count(u.Cached), cli.Count(u.CacheWrite), money(s.Summary), source(s.Summary))
	}
	problems(p.app, s.Problems)
	for _, kind := range slices.Sorted(maps.Keys(s.UnknownRecords)) {
		p.app.Notef("%d records of the unknown type %q are not shown", s.UnknownRecords[kind], cli.Printable(kind))
	}
}

func (p *printer) message(indent string, m history.Message) {
	head := string(m.Role)
	if r := m.ToolResult; r != nil {
		head = "result of " + cli.Cell(r.ToolName)
		if r.IsError {
			head += " (failed)"
		}
	}
	if !m.Timestamp.IsZero() {
		head += "  " + m.Timestamp.Local().Format("15:04:05")
	}
	if m.Model != "" {
		head += "  " + m.Model
	}
	if m.Inactive {
		head += "  (taken back)"
	}
	p.app.Printf("\n%s%s\n", indent, cli.Printable(head))
	p.block(indent, "~ ", m.Thinking, !p.full)
	p.block(indent, "  ", m.Content, false)
	for _, c := range m.ToolCalls {
		p.app.Printf("%s  ● %s %s\n", indent, cli.Printable(c.ToolName), cli.Printable(p.input(c.Input)))
	}
	if m.ToolResult != nil {
		p.block(indent, "  ", m.ToolResult.Output, !p.full)
	}
	if u := m.TokenUsage; u != nil && p.full {
		p.app.Printf("%s  %s in, %s out, %s from the cache, %s to the cache\n", indent, cli.Count(u.Input), cli.Count(u.Output), cli.Count(u.Cached), cli.Count(u.CacheWrite))
	}
}

func (p *printer) input(input json.RawMessage) string {
	if p.full {
		return string(input)
	}
	return cli.Summarize(input)
}

// block writes a text with a mark before each line.
func (p *printer) block(indent, mark, text string, cut bool) {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return
	}
	lines := strings.Split(cli.Printable(text), "\n")
	left := 0
	if cut && len(lines) > shownLines {
		lines, left = lines[:shownLines], len(lines)-shownLines
	}
	for _, l := range lines {
		p.app.Printf("%s%s%s\n", indent, mark, l)
	}
	if left > 0 {
		p.app.Printf("%s%s… %d more lines; --full shows them\n", indent, mark, left)
	}
}
