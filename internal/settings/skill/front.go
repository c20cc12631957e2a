package skill

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/pelletier/go-toml/v2"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/lazy"
)

// maxText limits the size of a SKILL.md and of a sub-agent's file.
const maxText = 1 << 20

// Front is the front matter of a skill or a sub-agent.
type Front struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Body        string `json:"-"` // the instructions
}

// nameForm is compiled on first use, not at every start of the program.
var nameForm = lazy.Regexp(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`)

// CheckName refuses names that are not valid for folders and files on every system: separators, spaces, quotes,
// a leading dot.
func CheckName(name string) error {
	if !nameForm().MatchString(name) || strings.Contains(name, "..") || strings.HasSuffix(name, ".") {
		return execution.Errorf(execution.CodeValidation, "%q is not a valid name: want 1 to 64 letters, digits, dashes, underscores and single dots, starting with a letter or a digit", name)
	}
	return nil
}

// ParseMarkdown parses the front matter of a file: YAML between two lines of three dashes, with a name and a
// description.
func ParseMarkdown(file string, data []byte) (Front, error) {
	fault := func(format string, args ...any) (Front, error) {
		return Front{}, execution.Errorf(execution.CodeValidation, "%s: %s", file, fmt.Sprintf(format, args...)).
			WithHint("begin the file with a line ---, name: NAME, description: TEXT, and a line ---")
	}
	if len(data) > maxText {
		return fault("it has %d bytes, the limit is %d", len(data), maxText)
	}
	head, body, ok := Split(data)
	if !ok {
		return fault("it has no front matter")
	}
	var members map[string]any
	if err := contain(func() error { return yaml.Unmarshal(head, &members) }); err != nil {
		return fault("its front matter is not valid YAML: %s", firstLine(err.Error()))
	}
	return check(fault, members, "name", "description", string(body))
}

// ParseTOML parses a sub-agent in TOML, as Codex uses it.
func ParseTOML(file string, data []byte) (Front, error) {
	fault := func(format string, args ...any) (Front, error) {
		return Front{}, execution.Errorf(execution.CodeValidation, "%s: %s", file, fmt.Sprintf(format, args...)).
			WithHint(`state name, description and developer_instructions`)
	}
	if len(data) > maxText {
		return fault("it has %d bytes, the limit is %d", len(data), maxText)
	}
	var members map[string]any
	if err := contain(func() error { return toml.Unmarshal(data, &members) }); err != nil {
		return fault("it is not valid TOML: %s", firstLine(err.Error()))
	}
	body, ok := members["developer_instructions"].(string)
	if !ok || strings.TrimSpace(body) == "" {
		return fault("its developer_instructions are missing")
	}
	return check(fault, members, "name", "description", body)
}

func check(fault func(string, ...any) (Front, error), members map[string]any, nameKey, descriptionKey, body string) (Front, error) {
	name, ok := members[nameKey].(string)
	if !ok || name == "" {
		return fault("its name is missing or not a string")
	}
	description, ok := members[descriptionKey].(string)
	if !ok || strings.TrimSpace(description) == "" {
		return fault("its description is missing or not a string")
	}
	if err := CheckName(name); err != nil {
		return fault("its name is %q: %v", name, err)
	}
	return Front{Name: name, Description: description, Body: body}, nil
}

// contain turns a parser's panic into an error.
func contain(parse func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be read: %v", p)
		}
	}()
	return parse()
}

// Split separates the front matter from a file.
func Split(data []byte) (head, body []byte, ok bool) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	line, rest, ok := cutLine(data)
	if !ok || string(line) != "---" {
		return nil, nil, false
	}
	for at := rest; len(at) > 0; {
		line, next, _ := cutLine(at)
		if string(line) == "---" {
			return rest[:len(rest)-len(at)], next, true
		}
		at = next
	}
	return nil, nil, false
}

// cutLine removes the first line and returns it without its end.
func cutLine(b []byte) (line, rest []byte, ok bool) {
	line, rest, ok = bytes.Cut(b, []byte{'\n'})
	return bytes.TrimRight(line, " \t\r"), rest, ok
}

var nameLine = lazy.Regexp(`(?m)^name[ \t]*:.*$`)

// rename replaces the name in the front matter.
func rename(data []byte, name string) ([]byte, error) {
	head, _, ok := Split(data)
	if !ok {
		return nil, fmt.Errorf("it has no front matter")
	}
	at := bytes.Index(data, head)
	loc := nameLine().FindIndex(head)
	if loc == nil {
		return nil, fmt.Errorf("its name is not on a line of its own")
	}
	out := append([]byte{}, data[:at+loc[0]]...)
	out = append(out, "name: "+name...)
	out = append(out, data[at+loc[1]:]...)
	front, err := ParseMarkdown("the renamed file", out)
	if err != nil || front.Name != name {
		return nil, fmt.Errorf("its name cannot be replaced: write the front matter on plain lines")
	}
	return out, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
