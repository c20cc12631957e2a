package config

import (
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/declarative"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// CustomAgents is the key of the agents that a configuration file describes.
const CustomAgents = "customAgents"

// CustomAgent is an agent that a configuration file describes.
type CustomAgent struct {
	Name  string            `json:"name"`
	Scope Scope             `json:"scope"`
	File  string            `json:"file"` // the configuration file
	Root  string            `json:"-"`    // the project, for one of the project's
	Entry declarative.Entry `json:"-"`
	Text  []byte            `json:"-"` // the entry as written, without comments
}

// CustomAgents returns the agents that the configuration describes, in the order of the files: the user's, then the
// project's. A name that both describe is returned twice.
func (c *Config) CustomAgents() []CustomAgent {
	var list []CustomAgent
	for _, scope := range []Scope{ScopeUser, ScopeProject} {
		for _, l := range c.layers {
			if l.scope == scope {
				list = append(list, l.agents...)
			}
		}
	}
	for i := range list {
		if list[i].Scope == ScopeProject {
			list[i].Root = c.dirs.Root
		}
	}
	return list
}

// IsAgentName reports whether a name may be given to a custom agent.
func IsAgentName(name string) bool { return shape.Matches(declarative.NamePattern, name) }

// readAgents reads the custom agents of a file. text is the file without comments.
func (l *layer) readAgents(text []byte) error {
	if l.file.CustomAgents == nil {
		return nil
	}
	var fields execution.FieldErrors
	add := func(v *shape.Value, field, message string) {
		line, _ := shape.Position(text, v.At)
		fields = append(fields, execution.FieldError{Field: field, Message: fmt.Sprintf("%s (line %d)", message, line)})
	}
	for _, m := range shape.Parse(text).Get(CustomAgents).Members {
		field := shape.Path(CustomAgents, m.Key)
		if !IsAgentName(m.Key) {
			add(m.Value, field, "is not a valid agent name: a lower-case letter, then at most 63 lower-case letters, digits or -")
			continue
		}
		e, faults := declarative.Inspect(text, m.Value, field)
		for _, f := range faults {
			fields = append(fields, execution.FieldError{Field: f.Field, Message: fmt.Sprintf("%s (line %d)", strings.TrimPrefix(f.String(), f.Field+" "), f.Line)})
		}
		l.agents = append(l.agents, CustomAgent{Name: m.Key, Scope: l.scope, File: l.path, Entry: e, Text: m.Value.Raw()})
	}
	if len(fields) == 0 {
		return nil
	}
	list := make([]string, len(fields))
	for i, f := range fields {
		list[i] = f.Field + " " + f.Message
	}
	e := fileError(l.path, "%s", strings.Join(list, "; "))
	e.Fields = fields
	return e.WithHint("drawbar agents schema lists the keys")
}
