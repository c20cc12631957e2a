package declarative

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/drawbar/drawbar/internal/base/shape"
)

// Fault is something wrong in an entry.
type Fault struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Field   string `json:"field,omitempty"` // dotted; empty for the text as a whole
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	at      int
}

// String returns the fault as one line without its position.
func (f Fault) String() string {
	text := f.Message
	if f.Field != "" {
		text = f.Field + " " + text
	}
	if f.Hint != "" {
		text += " (" + f.Hint + ")"
	}
	return text
}

// Faults are all that is wrong in an entry, in the order of the text.
type Faults []Fault

// Error returns one line per fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, x := range f {
		lines[i] = fmt.Sprintf("line %d: %s", x.Line, x)
	}
	return strings.Join(lines, "\n")
}

// maxEntry limits the text of an entry.
const maxEntry = 1 << 20

// Read reads an entry from JSON with comments.
func Read(data []byte) (Entry, Faults) {
	none := func(format string, args ...any) (Entry, Faults) {
		return Entry{}, Faults{{Line: 1, Column: 1, Message: fmt.Sprintf(format, args...)}}
	}
	if len(data) > maxEntry {
		return none("is larger than %d KiB", maxEntry>>10)
	}
	// A byte order mark is replaced by spaces, so that positions stay.
	data = append(bytes.Clone(data), '\n')
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		copy(data, "   ")
	}
	plain, err := hujson.Standardize(data)
	if err != nil {
		return none("is not JSON: %v", err)
	}
	var whole json.RawMessage
	if err := json.Unmarshal(plain, &whole); err != nil {
		return none("is not JSON: %v", err)
	}
	return Inspect(plain, shape.Parse(plain), "")
}

// Inspect reads an entry that is part of a larger text. field is its place there, the prefix of the fields of faults.
func Inspect(text []byte, v *shape.Value, field string) (Entry, Faults) {
	c := &checker{root: v, prefix: field}
	if v.Kind == "null" {
		c.add(v, field, "is null, not an object", "")
	}
	for _, x := range Keys().Check(v, field) {
		message, hint := x.Describe()
		c.faults = append(c.faults, Fault{Field: x.Field, Message: message, Hint: hint, at: x.At})
	}
	var e Entry
	var plain bytes.Buffer
	if v.Kind == "object" {
		if v.Render(&plain); json.Unmarshal(plain.Bytes(), &e) != nil && len(c.faults) == 0 {
			c.add(v, field, "cannot be decoded", "")
		}
		e.complete()
		c.check(&e)
	}
	for i := range c.faults {
		c.faults[i].Line, c.faults[i].Column = shape.Position(text, c.faults[i].at)
	}
	return e, c.sorted()
}

// complete fills in the defaults.
func (e *Entry) complete() {
	switch {
	case e.Output.Format != "":
	case e.SSH != nil:
		e.Output.Format = formatDrawbar
	default:
		e.Output.Format = formatText
	}
	if e.SSH != nil {
		e.SSH.Program = cmp.Or(e.SSH.Program, "drawbar")
		if len(e.Command) == 0 {
			e.Command = e.sshCommand()
		}
	}
	if e.Prompt == "" && e.Output.Format != formatACP && e.Output.Format != formatDrawbar {
		e.Prompt = promptStdin
	}
}
