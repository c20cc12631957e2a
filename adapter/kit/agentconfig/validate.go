package agentconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/near"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/settings"
)

// The codes of findings, as in the agent-mux specification.
const (
	Required        = "required"
	TypeMismatch    = "type_mismatch"
	OutOfRange      = "out_of_range"
	InvalidEnum     = "invalid_enum"
	PatternMismatch = "pattern_mismatch"
	UnknownField    = "unknown_field"
	InvalidFormat   = "invalid_format"
	Deprecated      = "deprecated"
	NonStandard     = "non_standard"
)

// Validation is the result of checking a configuration.
type Validation struct {
	Valid    bool      `json:"valid"`
	Errors   []Finding `json:"errors"`
	Warnings []Finding `json:"warnings"`
}

// Finding is one fault. It never quotes a secret field.
type Finding struct {
	Field      string `json:"field"`
	Code       string `json:"code"`
	Message    string `json:"message"`
	Value      any    `json:"value,omitempty"`
	Expected   string `json:"expected,omitempty"`
	Suggestion string `json:"suggestion,omitempty"`
	File       string `json:"file,omitempty"`
}

// Validate checks each file against the schema.
func (c *Config) Validate() Validation {
	v := Validation{Errors: []Finding{}, Warnings: []Finding{}}
	seen := map[string]bool{}
	for _, f := range slices.Backward(c.Files) {
		if f.Err != nil {
			if !seen[f.Name] {
				v.Errors = append(v.Errors, Finding{Code: InvalidFormat, Message: message(f.Err), File: f.Name})
			}
			seen[f.Name] = true
			continue
		}
		for _, field := range c.Schema.Fields {
			t := c.target(field, nil)
			if t.File == f.ID {
				c.validateField(&v, f, t)
			}
		}
		if f.ID == settings.MainFile {
			c.misspelt(&v, f)
		}
	}
	v.Valid = len(v.Errors) == 0
	return v
}

func message(err error) string {
	if e, ok := errors.AsType[*execution.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

func (c *Config) validateField(v *Validation, f File, t Target) {
	field := *t.Field
	value, ok := f.get(t.Path)
	if !ok || value == nil {
		if field.Required && f.Exists {
			v.Errors = append(v.Errors, Finding{Field: field.Path, Code: Required, Message: t.Path.String() + " is required", File: f.Name})
		}
		return
	}
	if field.Deprecated != "" {
		v.Warnings = append(v.Warnings, Finding{Field: field.Path, Code: Deprecated, Message: t.Path.String() + " is deprecated", Suggestion: field.Deprecated, File: f.Name})
	}
	if field.Type == settings.TypeMCPServers {
		servers, object := value.(map[string]any)
		if !object {
			v.Errors = append(v.Errors, Finding{Field: field.Path, Code: TypeMismatch, Message: t.Path.String() + " is not an object of servers by name", Expected: "object", File: f.Name})
			return
		}
		for name, entry := range servers {
			if isOther(c.Schema.MCP, entry) {
				continue
			}
			if err := decode(c.Schema.MCP, entry, &MCPServer{}); err != nil {
				v.Errors = append(v.Errors, Finding{Field: (configfile.Path{field.Path, name}).String(), Code: TypeMismatch, Message: fmt.Sprintf("MCP server %s: %v", strconv.Quote(name), err), File: f.Name})
			}
		}
		return
	}
	_, faults := check(field, value)
	for _, fault := range faults {
		fault.File = f.Name
		v.Errors = append(v.Errors, fault)
	}
}

// misspelt warns about unknown top-level keys that resemble known ones.
func (c *Config) misspelt(v *Validation, f File) {
	root, _ := f.get(nil)
	m, _ := root.(map[string]any)
	var known []string
	for _, field := range c.Schema.Fields {
		if t := c.target(field, nil); t.File == settings.MainFile {
			known = append(known, t.Path[0])
		}
	}
	free := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return m[k] != nil })
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if slices.Contains(known, k) || strings.HasPrefix(k, "$") {
			continue
		}
		if meant := near.Word(k, free); meant != "" {
			v.Warnings = append(v.Warnings, Finding{Field: nativePrefix + (configfile.Path{k}).String(), Code: NonStandard,
				Message: fmt.Sprintf("%s is not a setting that drawbar knows", strconv.Quote(k)), Suggestion: meant, File: f.Name})
		}
	}
}

// validation is the error for a value that cannot be set.
func validation(agent string, faults []Finding) error {
	e := &execution.Error{Code: execution.CodeValidation, Agent: agent}
	for _, f := range faults {
		e.Fields = append(e.Fields, execution.FieldError{Field: f.Field, Message: f.Message, Expected: f.Expected})
	}
	e.Message = e.Fields.Error()
	return e
}

// check checks a value against a field and converts it to the agent's names.
func check(field settings.Field, value any) (any, []Finding) {
	fault := func(code, expected, format string, args ...any) (any, []Finding) {
		f := Finding{Field: field.Path, Code: code, Message: fmt.Sprintf(format, args...), Expected: expected}
		if !field.Secret && !secret.Setting(field.Path) {
			f.Value = value
		}
		return nil, []Finding{f}
	}
	switch field.Type {
	case settings.TypeString, settings.TypeEnum:
		s, ok := value.(string)
		if !ok {
			return fault(TypeMismatch, field.Type, "is %s", kind(value))
		}
		return checkText(field, s, fault)
	case settings.TypeNumber, settings.TypeInteger:
		n, ok := number(value)
		if !ok || field.Type == settings.TypeInteger && n != float64(int64(n)) {
			return fault(TypeMismatch, field.Type, "is %s", kind(value))
		}
		if field.Min != nil && n < *field.Min || field.Max != nil && n > *field.Max {
			return fault(OutOfRange, limits(field), "is %v", n)
		}
		return value, nil
	case settings.TypeBoolean:
		if _, ok := value.(bool); !ok {
			return fault(TypeMismatch, "true or false", "is %s", kind(value))
		}
	case settings.TypeStringList:
		switch v := value.(type) {
		case string:
			return []any{v}, nil
		case []string:
			return value, nil
		case []any:
			for _, item := range v {
				if _, ok := item.(string); !ok {
					return fault(TypeMismatch, "a list of texts", "has %s in it", kind(item))
				}
			}
		default:
			return fault(TypeMismatch, "a list of texts", "is %s", kind(value))
		}
	case settings.TypeObject:
		switch value.(type) {
		case map[string]any, map[string]string, configfile.Pairs:
		default:
			return fault(TypeMismatch, "object", "is %s", kind(value))
		}
	}
	return value, nil
}

func checkText(field settings.Field, s string, fault func(code, expected, format string, args ...any) (any, []Finding)) (any, []Finding) {
	if field.Normalized && strings.TrimSpace(s) == "" {
		return fault(InvalidFormat, "a text, or config unset", "is empty, which agents treat as a value")
	}
	for _, w := range field.Values {
		if w.Value == s {
			s = w.Native
		}
	}
	if len(field.Enum) > 0 && !slices.Contains(field.Enum, s) {
		var words []string
		for _, w := range field.Values {
			words = append(words, w.Value)
		}
		for _, e := range field.Enum {
			if !slices.Contains(words, e) {
				words = append(words, e)
			}
		}
		return fault(InvalidEnum, strings.Join(words, ", "), "is not one of its values")
	}
	if field.Pattern != "" {
		if re, err := regexp.Compile(field.Pattern); err == nil && !re.MatchString(s) {
			return fault(PatternMismatch, field.Pattern, "does not match its pattern")
		}
	}
	return s, nil
}

func limits(f settings.Field) string {
	switch {
	case f.Max == nil:
		return fmt.Sprintf("%v or more", *f.Min)
	case f.Min == nil:
		return fmt.Sprintf("%v or less", *f.Max)
	}
	return fmt.Sprintf("%v to %v", *f.Min, *f.Max)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	case float64:
		return v, true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case bool:
		return "true or false"
	case []any, []string:
		return "a list"
	case map[string]any, map[string]string:
		return "an object"
	}
	if _, ok := number(v); ok {
		return "a number"
	}
	return fmt.Sprintf("a %T", v)
}

// Read converts a command line argument to a value for a target: by the type of its field, else as JSON if it is
// valid JSON, else as text.
func (c *Config) Read(t Target, text string) (any, error) {
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	isJSON := d.Decode(&v) == nil && !d.More()
	if t.whole() {
		switch t.Field.Type {
		case settings.TypeString, settings.TypeEnum:
			if s, ok := v.(string); ok && isJSON {
				return s, nil
			}
			return text, nil
		case settings.TypeStringList:
			if !isJSON {
				return []any{text}, nil
			}
		case settings.TypeObject:
			if _, ok := v.(map[string]any); !ok || !isJSON {
				return nil, validation(c.Schema.Agent, []Finding{{Field: t.Name, Code: TypeMismatch, Message: "is not a JSON object", Expected: `{"NAME": "VALUE"}`}})
			}
		}
	} else if t.Field != nil && t.Field.Secret {
		// Environment variables are always text.
		return text, nil
	}
	if !isJSON {
		return text, nil
	}
	return v, nil
}
