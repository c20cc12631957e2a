package declarative

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/internal/base/near"
	"github.com/drawbar/drawbar/internal/base/shape"
	"github.com/drawbar/drawbar/internal/base/version"
)

// checker finds what the table cannot express: relations between values.
type checker struct {
	root   *shape.Value
	prefix string
	faults Faults
}

func (c *checker) add(v *shape.Value, field, message, hint string) {
	c.faults = append(c.faults, Fault{Field: field, Message: message, Hint: hint, at: v.At})
}

// fault adds a fault at a path of keys and indices below the entry. If the value does not exist, the position is that of
// the nearest one around it.
func (c *checker) fault(path []any, hint, format string, args ...any) {
	v, field := c.root, c.prefix
	found := true
	for _, p := range path {
		next := (*shape.Value)(nil)
		switch p := p.(type) {
		case string:
			field = shape.Path(field, p)
			next = v.Get(p)
		case int:
			field = shape.Item(field, p)
			if items := v.List(); p < len(items) {
				next = items[p]
			}
		}
		if found = found && next != nil; found {
			v = next
		}
	}
	c.add(v, field, fmt.Sprintf(format, args...), hint)
}

func at(path ...any) []any { return path }

// sorted returns the faults in the order of the text.
func (c *checker) sorted() Faults {
	slices.SortStableFunc(c.faults, func(a, b Fault) int { return a.at - b.at })
	return c.faults
}

func (c *checker) check(e *Entry) {
	if e.IsAPI() {
		c.api(e)
		return
	}
	c.remote(e)
	if e.IsRemote() {
		c.program(e)
		return
	}
	c.command(e)
	c.prompt(e)
	c.options(e)
	c.output(e)
	c.capabilities(e)
	for i, r := range e.Errors {
		if len(r.Exits) == 0 && len(r.Phrases) == 0 && r.Pattern == "" {
			c.fault(at("errors", i), "add exits, phrases or a pattern", "matches nothing")
		}
		if _, err := regexp.Compile(r.Pattern); err != nil {
			c.fault(at("errors", i, "pattern"), "Go syntax: https://pkg.go.dev/regexp/syntax", "is not a regular expression: %v", err)
		}
	}
	if v := e.Version.Min; v != "" {
		c.version(v, "version", "min")
	}
	for i, v := range e.Version.Tested {
		c.version(v, "version", "tested", i)
	}
	for i, m := range e.Install {
		if m.Command == "" && (m.Type != "manual" || m.Notes == "") {
			c.fault(at("install", i), "add command; notes are enough for manual", "does not say what to type")
		}
		if m.Package == "" && m.Type != "script" && m.Type != "manual" {
			c.fault(at("install", i), "add package; the command is for people", "has no package for %s", m.Type)
		}
		if strings.ContainsAny(m.Command, "\r\n\x00") {
			c.fault(at("install", i, "command"), "", "has more than one line")
		}
	}
	for i, s := range e.HostSignals {
		if slices.ContainsFunc(e.Login.Variables, func(v Variable) bool { return v.Name == s }) {
			c.fault(at("hostSignals", i), "a signal is a variable that only the program sets", "is a variable of the login")
		}
	}
}

func (c *checker) version(v string, path ...any) {
	if _, err := version.Parse(v); err != nil {
		c.fault(path, "a version like 1.2.3", "cannot be %q", v)
	}
}

// command checks the program and the placeholders of its arguments.
func (c *checker) command(e *Entry) {
	c.program(e)
	count := 0
	for i, w := range e.Command {
		if i == 0 {
			continue
		}
		c.slots(w, at("command", i), slotPrompt, slotPromptFile, slotDir, slotOptions)
		if n := strings.Count(w, "{"+slotOptions+"}"); n > 0 {
			if count += n; w != "{"+slotOptions+"}" {
				c.fault(at("command", i), "make {options} an argument of its own", "has {options} within an argument")
			} else if count > 1 {
				c.fault(at("command", i), "", "is a second {options}")
			}
		}
	}
}

// program checks the program of the command.
func (c *checker) program(e *Entry) {
	if len(e.Command) == 0 {
		if !c.root.Get("command").Is() {
			c.add(c.root, shape.Path(c.prefix, "command"), "is missing", `as in ["my-agent", "--print"]`)
		}
		return
	}
	program := e.Command[0]
	switch {
	case strings.TrimSpace(program) == "":
		c.fault(at("command", 0), "a program", "is blank")
	case strings.ContainsAny(program, "\x00\r\n\t"):
		c.fault(at("command", 0), "a program", "has a control character")
	case len(slotsOf(program)) > 0:
		c.fault(at("command", 0), "placeholders are for arguments", "cannot be %q", program)
	case strings.Contains(program, " ") && !strings.ContainsAny(program, `/\`):
		c.fault(at("command", 0), "one word per list element: no shell splits it", "is a command line: %q", program)
	}
}

// slots refuses placeholders that are not known in a place.
func (c *checker) slots(word string, path []any, known ...string) {
	for _, s := range slotsOf(word) {
		if slices.Contains(known, s) {
			continue
		}
		hint := "known here are {" + strings.Join(known, "}, {") + "}"
		if meant := near.Word(s, known); meant != "" {
			hint = "did you mean {" + meant + "}?"
		}
		c.fault(path, hint, "has an unknown placeholder {%s}", s)
	}
}

// prompt requires exactly one way to pass the prompt.
func (c *checker) prompt(e *Entry) {
	count := func(slot string) (n int) {
		for _, w := range e.Command {
			n += strings.Count(w, "{"+slot+"}")
		}
		return n
	}
	asArgument, asFile := count(slotPrompt), count(slotPromptFile)
	stated := c.root.Get("prompt").Is()
	switch {
	case e.Output.Format == formatACP && stated:
		c.fault(at("prompt"), "remove it", "does not apply to acp: the protocol carries the prompt")
	case e.Output.Format == formatACP && asArgument+asFile > 0:
		c.fault(at("command"), "remove {prompt} and {prompt_file}", "has a prompt, but acp carries it")
	case e.Output.Format == formatACP:
	case asArgument > 0 && asFile > 0:
		c.fault(at("command"), "remove one of them", "passes the prompt twice: as {prompt} and as {prompt_file}")
	case asArgument+asFile > 1:
		c.fault(at("command"), "keep one of them", "passes the prompt more than once")
	case e.Prompt == promptStdin && asArgument+asFile > 0:
		way := promptArgument
		if asFile > 0 {
			way = promptFile
		}
		c.fault(at("prompt"), fmt.Sprintf("write \"prompt\": %q, or remove the placeholder", way), "is stdin, but the command also passes the prompt")
	case e.Prompt == promptArgument && asArgument == 0:
		c.fault(at("command"), "add an argument with {prompt}, or write \"prompt\": \"stdin\"", "does not pass the prompt")
	case e.Prompt == promptFile && asFile == 0:
		c.fault(at("command"), "add an argument with {prompt_file}, or write \"prompt\": \"stdin\"", "does not pass the prompt")
	}
}

// options checks the arguments of options: each list needs its placeholder.
func (c *checker) options(e *Entry) {
	o := e.Options
	for _, l := range []struct {
		key   string
		words []string
		needs []string // one of these
	}{
		{"model", o.Model, []string{slotModel}}, {"effort", o.Effort, []string{slotEffort}},
		{"systemPrompt", o.SystemPrompt, []string{slotSystem, slotSystemFile}},
		{"replaceSystemPrompt", o.ReplaceSystemPrompt, []string{slotSystem, slotSystemFile}},
		{"mcp", o.MCP, []string{slotMCPFile}}, {"newSession", o.NewSession, []string{slotSession}},
		{"resume", o.Resume, []string{slotSession}}, {"fork", o.Fork, []string{slotSession}}, {"ephemeral", o.Ephemeral, nil},
	} {
		if l.words == nil {
			continue
		}
		for i, w := range l.words {
			c.slots(w, at("options", l.key, i), append(slices.Clone(l.needs), slotDir)...)
		}
		if len(l.needs) > 0 && !slices.ContainsFunc(l.needs, func(s string) bool { return has(l.words, s) }) {
			c.fault(at("options", l.key), "add {"+strings.Join(l.needs, "} or {")+"}", "does not pass the value")
		}
		if len(l.words) == 0 && len(l.needs) == 0 {
			c.fault(at("options", l.key), "remove it, or name the arguments", "is empty")
		}
	}
	for _, mode := range slices.Sorted(maps.Keys(o.Approval)) {
		for i, w := range o.Approval[mode] {
			c.slots(w, at("options", "approval", mode, i), slotDir)
		}
	}
	switch {
	case o.Effort != nil && len(o.Efforts) == 0:
		c.fault(at("options", "effort"), `add "efforts": {"low": "low", "high": "high"}`, "has no efforts")
	case o.Effort == nil && len(o.Efforts) > 0:
		c.fault(at("options", "efforts"), `add "effort": ["--effort", "{effort}"]`, "has no arguments")
	}
	if o.MCP == nil && o.MCPTransports != nil {
		c.fault(at("options", "mcpTransports"), `add "mcp": ["--mcp-config", "{mcp_file}"]`, "has no arguments")
	}
	c.forFormat(e)
}

// forFormat refuses options that the output format cannot honour.
func (c *checker) forFormat(e *Entry) {
	o := e.Options
	if e.Output.Format == formatACP {
		for _, l := range []struct {
			key   string
			words []string
		}{{"mcp", o.MCP}, {"newSession", o.NewSession}, {"resume", o.Resume}, {"fork", o.Fork}, {"ephemeral", o.Ephemeral}} {
			if l.words != nil {
				c.fault(at("options", l.key), "remove it", "does not apply to acp: the protocol has sessions and servers of its own")
			}
		}
		return
	}
	if _, asks := o.Approval["prompt"]; asks {
		c.fault(at("options", "approval", "prompt"), "remove it; only acp can ask", "cannot be honoured: a program with this output asks nobody")
	}
	if o.Fork != nil && e.Output.Format != formatStream && !e.tells(eventSession) {
		c.fault(at("options", "fork"), "add a rule for session, or remove fork", "cannot be honoured: nothing states the id of the new session")
	}
}

// output checks the rules of JSON lines.
func (c *checker) output(e *Entry) {
	rules := e.Output.Events
	if e.Output.Format != formatLines {
		if rules != nil {
			c.fault(at("output", "events"), `write "format": "json-lines", or remove the rules`, "applies to json-lines only")
		}
		return
	}
	answers := false
	for i, r := range rules {
		if len(r.When) == 0 {
			c.fault(at("output", "events", i, "when"), `name a path and its value, as in {"type": "message"}`, "matches nothing")
		}
		missing, unused := r.lacks()
		for _, f := range missing {
			c.fault(at("output", "events", i, f), fmt.Sprintf("add %q: the path in the line", f), "is missing: an event %s needs it", r.Event)
		}
		for _, f := range unused {
			c.fault(at("output", "events", i, f), "remove it", "is not part of an event %s", r.Event)
		}
		answers = answers || r.Text != "" && r.Event != eventThinking
	}
	if !answers {
		c.fault(at("output", "events"), "add a rule for text, message or result with the path of the text", "has no rule for the answer")
	}
	if e.tells(eventToolStart) != e.tells(eventToolEnd) {
		c.fault(at("output", "events"), "add the other rule", "has a rule for the start or the end of tool calls, but not for both")
	}
}

// capabilities refuses claims that the entry cannot deliver.
func (c *checker) capabilities(e *Entry) {
	for _, cl := range claims() {
		if e.Capabilities[cl.name] && !cl.can(e) {
			c.fault(at("capabilities", cl.name), "needs "+cl.need, "is claimed, but the output cannot deliver it")
		}
	}
}
