package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
)

// markdown writes a session for people. Errors of w are returned by its Flush.
type markdown struct{ w *bufio.Writer }

func (m markdown) printf(format string, args ...any) { fmt.Fprintf(m.w, format, args...) }

func (m markdown) session(s history.Session) {
	title := s.Title
	if title == "" {
		title = s.UnifiedID
	}
	m.printf("# %s\n\n", escapeLine(title))
	field := func(name, value string) {
		if value != "" {
			m.printf("- %s: %s\n", name, code(value))
		}
	}
	field("session", s.UnifiedID)
	field("forked from", s.ForkedFrom)
	field("sub-agent of", s.Parent)
	field("model", s.Model)
	field("directory", s.Cwd)
	field("created", stamp(s.CreatedAt))
	field("updated", stamp(s.UpdatedAt))
	field("tags", strings.Join(s.Tags, ", "))
	m.printf("\n")
	for _, message := range s.Messages {
		m.message("##", message)
	}
	for _, a := range s.Subagents {
		m.printf("## Sub-agent %s\n\n", escapeLine(strings.TrimSpace(a.Name+" "+a.ID)))
		if a.Description != "" {
			m.printf("%s\n\n", escapeLine(a.Description))
		}
		for _, message := range a.Messages {
			m.message("###", message)
		}
	}
	m.totals(s)
}

var headings = map[history.Role]string{history.RoleUser: "User", history.RoleAssistant: "Assistant", history.RoleSystem: "System", history.RoleTool: "Tool"}

func (m markdown) message(level string, message history.Message) {
	m.printf("%s %s", level, headings[message.Role])
	if r := message.ToolResult; r != nil {
		m.printf(": %s", code(r.ToolName))
		if r.IsError {
			m.printf(" (failed)")
		}
	}
	if message.Inactive {
		m.printf(" (taken back)")
	}
	m.printf("\n\n")
	if t := message.Thinking; t != "" {
		m.printf("<details>\n<summary>Thinking</summary>\n\n")
		m.fence("text", t) // thinking must not close the details element
		m.printf("</details>\n\n")
	}
	if message.Content != "" {
		m.printf("%s\n\n", strings.TrimRight(message.Content, "\n"))
	}
	for _, c := range message.ToolCalls {
		m.printf("Calls %s:\n\n", code(c.ToolName))
		var text string
		var pretty bytes.Buffer
		switch {
		case len(c.Input) == 0:
			continue
		case json.Unmarshal(c.Input, &text) == nil:
			m.fence("text", text)
		case json.Indent(&pretty, c.Input, "", "  ") == nil:
			m.fence("json", pretty.String())
		default:
			m.fence("text", string(c.Input))
		}
	}
	if r := message.ToolResult; r != nil && r.Output != "" {
		m.fence("text", r.Output)
	}
}

// fence writes a code block with a fence longer than any row of backticks in it.
func (m markdown) fence(language, text string) {
	longest, run := 2, 0
	for i := range len(text) {
		if text[i] == '`' {
			if run++; run > longest {
				longest = run
			}
		} else {
			run = 0
		}
	}
	marks := strings.Repeat("`", longest+1)
	m.printf("%s%s\n%s\n%s\n\n", marks, language, strings.TrimRight(text, "\n"), marks)
}

// totals ends the document with the session's usage.
func (m markdown) totals(s history.Session) {
	m.printf("---\n\n")
	if u := s.Usage; u != nil {
		m.printf("- tokens: %d in, %d out, %d from the cache, %d to the cache\n", u.Input, u.Output, u.Cached, u.CacheWrite)
	}
	switch {
	case s.Cost != nil && s.Cost.TotalUSD != nil:
		m.printf("- cost: %.4f USD, %s\n", *s.Cost.TotalUSD, costSource(s))
	default:
		m.printf("- cost: not stated by %s\n", s.Agent)
	}
	for _, p := range s.Problems {
		m.printf("- not read: %s\n", escapeLine(p.String()))
	}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// code formats a word as code, whatever backticks it contains.
func code(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "-"
	}
	marks := "`"
	for strings.Contains(s, marks) {
		marks += "`"
	}
	if len(marks) > 1 || strings.HasPrefix(s, "`") {
		return marks + " " + s + " " + marks
	}
	return marks + s + marks
}

func escapeLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "<", `\<`, "#", `\#`).Replace(s)
}

// costSource describes the source of a cost.
func costSource(s history.Session) string {
	text := "as " + s.Agent + " states it"
	if s.Cost.Source == execution.CostFromTable {
		text = "estimated by the price table"
	}
	if s.Cost.Unpriced {
		text += ", too low: some calls have no known price"
	}
	return text
}
