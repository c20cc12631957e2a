package declarative

import (
	"slices"
	"strings"
)

// The events of rules.
const (
	eventSession   = "session"
	eventStep      = "step"
	eventText      = "text"
	eventMessage   = "message"
	eventThinking  = "thinking"
	eventToolStart = "tool-start"
	eventToolEnd   = "tool-end"
	eventUsage     = "usage"
	eventError     = "error"
	eventResult    = "result"
	eventIgnore    = "ignore"
)

// eventFields are the fields of each event: those it needs, and those it may have.
var eventFields = []struct{ name, needs, may string }{
	{eventSession, "session", "model"},
	{eventStep, "", ""},
	{eventText, "text", ""},
	{eventMessage, "text", ""},
	{eventThinking, "text", ""},
	{eventToolStart, "id name", "input"},
	{eventToolEnd, "id", "output failed error"},
	{eventUsage, "usage", ""},
	{eventError, "error", ""},
	{eventResult, "", "text usage"},
	{eventIgnore, "", ""},
}

func ruleNames() []string {
	var list []string
	for _, e := range eventFields {
		list = append(list, e.name)
	}
	return list
}

// fields returns the paths of a rule by the name of their field, in the order of the table.
func (r *Rule) fields() []field {
	return []field{{"text", r.Text}, {"id", r.ID}, {"name", r.Name}, {"input", r.Input}, {"output", r.Output}, {"failed", r.Failed},
		{"error", r.Error}, {"usage", r.Usage}, {"session", r.Session}, {"model", r.Model}}
}

type field struct{ name, path string }

// tells reports whether the output has lines for an event.
func (e *Entry) tells(event string) bool {
	return e.Output.Format == formatLines && slices.ContainsFunc(e.Output.Events, func(r Rule) bool { return r.Event == event })
}

// lacks returns the fields that a rule needs and does not have, and those that it has and its event does not use.
func (r *Rule) lacks() (missing, unused []string) {
	for _, e := range eventFields {
		if e.name != r.Event {
			continue
		}
		for _, f := range r.fields() {
			needs := slices.Contains(strings.Fields(e.needs), f.name)
			switch {
			case needs && f.path == "":
				missing = append(missing, f.name)
			case !needs && f.path != "" && !slices.Contains(strings.Fields(e.may), f.name):
				unused = append(unused, f.name)
			}
		}
	}
	return missing, unused
}
