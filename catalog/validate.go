package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/version"
)

var (
	installPlatforms = []string{"darwin", "linux", "windows", "all"}
)

const nameRule = "a lower-case letter, then at most 63 lower-case letters, digits or -"

// faults collects all problems of a descriptor.
type faults struct{ list execution.FieldErrors }

func (f *faults) add(field, message, received, expected string) {
	f.list = append(f.list, execution.FieldError{Field: field, Message: message, Received: received, Expected: expected})
}

// err is nil without problems, otherwise a VALIDATION_ERROR with all of them.
func (f *faults) err(name string) error {
	if len(f.list) == 0 {
		return nil
	}
	return &execution.Error{Code: execution.CodeValidation, Agent: name, Fields: f.list,
		Message: fmt.Sprintf("register agent %q: %v", clip(name), f.list)}
}

// validate reports every problem of a descriptor and creates its adapter, nil if that fails. It calls New and
// Capabilities and performs no I/O.
func (f *faults) validate(d adapter.Descriptor) adapter.Adapter {
	if !isName(d.Name, 64) {
		f.add("agent", "is not a valid agent name", strconv.Quote(clip(d.Name)), nameRule)
	}
	if strings.TrimSpace(d.DisplayName) == "" {
		f.add("displayName", "is required", strconv.Quote(clip(d.DisplayName)), "a name for people")
	}
	f.aliases(d)
	if d.MinVersion != "" {
		f.version("minVersion", d.MinVersion)
	}
	for i, v := range d.TestedVersions {
		f.version(fmt.Sprintf("testedVersions[%d]", i), v)
	}
	f.models(d)
	f.config(d)
	for i, m := range d.Install {
		f.install(fmt.Sprintf("installMethods[%d]", i), m)
	}
	f.variables("hostEnvSignals", d.HostSignals)
	f.variables("keys", d.Keys)
	f.variables("hostTraces", d.HostTraces)
	f.variables("hostCopies", d.HostCopies)
	for field, names := range map[string][]string{"hostEnvSignals": d.HostSignals, "hostTraces": d.HostTraces} {
		for i, s := range names {
			if slices.Contains(d.Keys, s) {
				f.add(fmt.Sprintf("%s[%d]", field, i), "is a login or a setting", strconv.Quote(s), "a variable that only the agent sets, in its child processes")
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(d.HostMetadata)) {
		if !isVariable(d.HostMetadata[key]) {
			f.add("hostMetadata."+clip(key), "is not a valid variable name", strconv.Quote(clip(d.HostMetadata[key])), "letters, digits and _")
		}
	}
	f.address("docs", d.Docs)
	f.address("documented", d.Documented)
	if protocols := []string{adapter.ProtocolACP, adapter.ProtocolExternal, adapter.ProtocolDrawbar, adapter.ProtocolAPI, adapter.ProtocolA2A}; d.Protocol != "" && !slices.Contains(protocols, d.Protocol) {
		f.add("protocol", "is not one of the allowed values", strconv.Quote(clip(d.Protocol)), strings.Join(protocols, ", "))
	}
	a := f.adapter(d.New)
	if d.Command != "" || !d.Programless() && !takesCommand(a) {
		f.command(d.Command)
	}
	return a
}

// takesCommand reports an adapter without a program of its own. Whether it panics was already checked.
func takesCommand(a adapter.Adapter) bool {
	if a == nil {
		return false
	}
	caps, err := call(a.Capabilities)
	return err == nil && caps.Agent.TakesCommand
}

func (f *faults) command(command string) {
	switch {
	case strings.TrimSpace(command) == "":
		f.add("cliCommand", "is required", strconv.Quote(clip(command)), "the name of a program")
	case strings.ContainsAny(command, "\x00\r\n\t"):
		f.add("cliCommand", "has a control character", strconv.Quote(clip(command)), "the name of a program")
	case strings.Contains(command, " ") && !strings.ContainsAny(command, `/\`):
		// Looking up "gh copilot" on PATH never finds anything.
		f.add("cliCommand", "is a command line", strconv.Quote(clip(command)), "only the program, without arguments")
	}
}

func (f *faults) aliases(d adapter.Descriptor) {
	for i, a := range d.Aliases {
		field := fmt.Sprintf("aliases[%d]", i)
		switch {
		case !isName(a, 64):
			f.add(field, "is not a valid agent name", strconv.Quote(clip(a)), nameRule)
		case a == d.Name:
			f.add(field, "is the agent's own name", strconv.Quote(a), "another name")
		case slices.Contains(d.Aliases[:i], a):
			f.add(field, "is repeated", strconv.Quote(a), "each alias once")
		}
	}
}

func (f *faults) address(field, url string) {
	if url != "" && !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") {
		f.add(field, "is not a valid address", strconv.Quote(clip(url)), "an http or https URL")
	}
}

func (f *faults) version(field, v string) {
	if _, err := version.Parse(v); err != nil {
		f.add(field, "is not a valid version", strconv.Quote(clip(v)), "a version like 1.2.3")
	}
}

func (f *faults) models(d adapter.Descriptor) {
	ids := map[string]bool{}
	for i, m := range d.Models {
		at := fmt.Sprintf("models[%d]", i)
		switch {
		case strings.TrimSpace(m.ID) == "":
			f.add(at+".modelId", "is required", strconv.Quote(clip(m.ID)), "a model id")
		case ids[m.ID]:
			f.add(at+".modelId", "is used twice", strconv.Quote(clip(m.ID)), "each model once")
		}
		ids[m.ID] = true
		for _, n := range []struct {
			field string
			value int64
		}{{".contextWindow", m.ContextWindow}, {".maxOutputTokens", m.MaxOutputTokens}} {
			if n.value < 0 {
				f.add(at+n.field, "is negative", strconv.FormatInt(n.value, 10), "0 for unknown, or more")
			}
		}
		if m.Price != nil {
			for _, name := range m.Price.Faults() {
				f.add(at+".price."+name, "is not valid", "", "US dollars per million tokens, 0 or more, and long.above in tokens")
			}
		}
	}
	if d.DefaultModel != "" && len(d.Models) > 0 && !ids[d.DefaultModel] {
		f.add("defaultModelId", "is not one of the models", strconv.Quote(clip(d.DefaultModel)), "the modelId of one of them, or empty")
	}
}

func (f *faults) install(at string, m adapter.InstallMethod) {
	if !slices.Contains(installPlatforms, m.Platform) {
		f.add(at+".platform", "is not one of the allowed values", strconv.Quote(clip(m.Platform)), strings.Join(installPlatforms, ", "))
	}
	if !isName(m.Type, 32) {
		f.add(at+".type", "is not a valid installation type", strconv.Quote(clip(m.Type)), "a word like npm, brew, curl or manual")
	}
	switch {
	case strings.TrimSpace(m.Command) == "" && (m.Type != "manual" || strings.TrimSpace(m.Notes) == ""):
		f.add(at+".command", "is required", strconv.Quote(clip(m.Command)), "what to type; notes are enough for manual")
	case strings.ContainsAny(m.Command, "\x00\r\n"):
		f.add(at+".command", "has more than one line", strconv.Quote(clip(m.Command)), "one line")
	}
}

func (f *faults) variables(field string, names []string) {
	for i, n := range names {
		if !isVariable(n) {
			f.add(fmt.Sprintf("%s[%d]", field, i), "is not a valid variable name", strconv.Quote(clip(n)), "letters, digits and _")
		}
	}
}

// adapter creates the adapter and checks its declarations. A panic in either is a problem.
func (f *faults) adapter(build func() adapter.Adapter) adapter.Adapter {
	if build == nil {
		f.add("new", "is required", "nil", "a function that returns the adapter")
		return nil
	}
	a, err := call(build)
	switch {
	case err != nil:
		f.add("new", err.Error(), "", "an adapter")
		return nil
	case a == nil:
		f.add("new", "returns nothing", "nil", "an adapter")
		return nil
	}
	invalid, err := call(func() error { return a.Capabilities().Validate() })
	if err != nil {
		f.add("capabilities", err.Error(), "", "valid capabilities")
	} else if invalid != nil {
		var e *execution.Error
		if !errors.As(invalid, &e) || len(e.Fields) == 0 {
			f.add("capabilities", invalid.Error(), "", "valid capabilities")
			return a
		}
		fields := slices.Clone(e.Fields)
		slices.SortStableFunc(fields, func(x, y execution.FieldError) int { return cmp.Compare(x.Field, y.Field) })
		for _, fe := range fields {
			f.add("capabilities."+fe.Field, fe.Message, fe.Received, fe.Expected)
		}
	}
	return a
}

// call turns a panic of fn into an error.
func call[T any](fn func() T) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panics: %s", clip(fmt.Sprint(p)))
		}
	}()
	return fn(), nil
}

// collisions reports names of d that would refer to another agent or take a name from one. owners maps names and aliases to
// the names of the agents.
func (f *faults) collisions(d adapter.Descriptor, owners map[string]string) {
	if owner, taken := owners[d.Name]; taken && owner != d.Name {
		f.add("agent", "is an alias of agent "+owner, strconv.Quote(d.Name), "another name, or "+strconv.Quote(owner)+" to replace it")
	}
	for i, a := range d.Aliases {
		owner, taken := owners[a]
		switch {
		case !taken || owner == d.Name:
		case a == owner:
			f.add(fmt.Sprintf("aliases[%d]", i), "is the name of another agent", strconv.Quote(a), "an unused name")
		default:
			f.add(fmt.Sprintf("aliases[%d]", i), "is an alias of agent "+owner, strconv.Quote(a), "an unused name")
		}
	}
}

// clip shortens input that a message repeats.
func clip(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// isName reports a lower-case letter followed by lower-case letters, digits and dashes, at most limit
// characters. A pattern would have to be compiled at the start of every program.
func isName(s string, limit int) bool {
	if s == "" || len(s) > limit || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' })
}

// isVariable reports a valid name of an environment variable: letters, digits and underscores, not starting
// with a digit.
func isVariable(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
