package execution

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/internal/base/deepcopy"
)

// Option is a row of the table of run options: what validation, copies, defaults, configuration files,
// profiles, environment variables, flags and schemas need to know about one field of RunOptions. The field's
// type determines how a value is written, read and merged.
type Option struct {
	Name    string // of the field in JSON
	Key     string // in configuration files, if it differs from Name
	Flag    string // flag of drawbar run
	Short   string // one-letter form of Flag
	Env     string // environment variable
	Usage   string // help of Flag
	Doc     string // description in the schema of configuration files
	Default string // value if nothing is stated, as JSON
	Reach   Reach  // places that can state it besides a request
	Group   string // options of one group exclude each other
	Adds    bool   // lists from several places are joined, each entry once

	// Tight is how a project may tighten the user's value. Words: from the tightest, with | between equally
	// tight ones; a user who states none allows Default, else the tightest. "less": a smaller number. Empty:
	// the project's value replaces the user's.
	Tight string
	Never string // the word that is refused in a project's files

	Min, Max float64 // bounds of a number
}

// Reach is a set of places that can state an option.
type Reach uint8

// The places: a client's defaults, profiles, the user's configuration and environment, the project's
// configuration. A project's profile can state options that both a profile and a project's configuration can
// state.
const (
	ReachDefaults Reach = 1 << iota
	ReachProfile
	ReachUser
	ReachProject

	reachRequest = Reach(0) // a single run
	reachPlain   = ReachDefaults | ReachProfile
	reachUser    = reachPlain | ReachUser
	reachAll     = reachUser | ReachProject
)

// options is the table, in the order of the configuration file schema. Every new field of RunOptions needs a
// row.
var options = []Option{
	{Name: "agent", Key: "defaultAgent", Env: "DRAWBAR_AGENT", Reach: ReachProfile | ReachUser | ReachProject},
	{Name: "model", Key: "defaultModel", Flag: "model", Short: "m", Env: "DRAWBAR_MODEL", Reach: reachAll,
		Usage: "model, as the agent names it"},
	{Name: "profile", Flag: "profile", Env: "DRAWBAR_PROFILE", Reach: ReachDefaults | ReachUser,
		Usage: "profile with options; see drawbar profiles list"},
	{Name: "approvalMode", Flag: "approve", Env: "DRAWBAR_APPROVE", Reach: reachAll, Tight: "deny prompt reads yolo", Never: "yolo",
		Default: `"prompt"`,
		Usage:   "answer to permission questions: yolo, reads (ask about all but reading here), prompt or deny (default prompt)",
		Doc:     "who answers permission questions"},
	{Name: "allowTools", Flag: "allow", Reach: reachUser, Adds: true,
		Usage: "tool calls to allow without asking: Read, Edit(docs/**), Bash(go test:*), MCP(server/tool) (repeatable)",
		Doc:   "rules of tool calls that are allowed without a question"},
	{Name: "denyTools", Flag: "deny-tool", Reach: reachAll, Adds: true,
		Usage: "tool calls to deny in every approval mode: Bash(rm:*), Edit(.github/**) (repeatable)",
		Doc:   "rules of tool calls that are denied; those of every file apply"},
	{Name: "sandbox", Flag: "sandbox", Env: "DRAWBAR_SANDBOX", Reach: reachAll, Tight: "read-only workspace-write none", Never: "none",
		Usage: "sandbox of the agent's commands: read-only, workspace-write or none",
		Doc:   "what commands may touch, where the agent has a sandbox"},
	{Name: "thinkingEffort", Flag: "effort", Env: "DRAWBAR_EFFORT", Reach: reachAll, Usage: "thinking effort: low, medium, high or max"},
	{Name: "thinkingBudgetTokens", Flag: "thinking-budget", Reach: reachAll, Min: 1024, Max: MaxTokenCount,
		Usage: "tokens for thinking (at least 1024)", Doc: "1024 or more; overrides the effort"},
	{Name: "maxOutputTokens", Flag: "max-output-tokens", Reach: reachAll, Tight: "less", Min: 1, Max: MaxTokenCount,
		Usage: "limit for a single answer, in tokens"},
	{Name: "maxTurns", Flag: "max-turns", Env: "DRAWBAR_MAX_TURNS", Reach: reachAll, Tight: "less", Min: 1, Max: MaxTurnCount,
		Usage: "maximum number of model calls"},
	{Name: "maxBudgetUsd", Flag: "budget", Env: "DRAWBAR_BUDGET", Reach: reachAll, Tight: "less", Max: 1e9,
		Usage: "maximum cost of the run, in US dollars", Doc: "US dollars"},
	{Name: "timeout", Flag: "timeout", Env: "DRAWBAR_TIMEOUT", Reach: reachAll, Tight: "less", Max: float64(MaxTimeout / time.Millisecond),
		Usage: "time limit for the run (0: none)", Doc: "milliseconds (0: none)"},
	{Name: "inactivityTimeout", Flag: "idle-timeout", Env: "DRAWBAR_IDLE_TIMEOUT", Reach: reachAll, Tight: "less",
		Max:   float64(MaxTimeout / time.Millisecond),
		Usage: "time limit for silence while no tool is running (0: none)", Doc: "milliseconds (0: none)"},
	{Name: "gracePeriodMs", Flag: "grace", Env: "DRAWBAR_GRACE", Reach: reachAll, Tight: "less",
		Max: float64(MaxGrace / time.Millisecond), Default: "5000",
		Usage: "time for the agent's processes to stop before they are killed", Doc: "milliseconds from TERM to KILL"},
	{Name: "stream", Flag: "stream", Env: "DRAWBAR_STREAM", Reach: reachAll, Default: `"auto"`,
		Usage: "text streaming: auto, on (refuse agents that cannot) or off (whole messages)"},
	{Name: "retryPolicy", Flag: "attempts", Reach: reachAll, Tight: "less",
		Usage: "total attempts if the agent crashes, is rate limited or times out"},
	{Name: "systemPromptMode", Flag: "system-mode", Reach: reachAll, Tight: "append|prepend replace",
		Usage: "place of the system prompt: prepend, append or replace (default append)"},
	{Name: "environment", Flag: "environment", Env: "DRAWBAR_ENVIRONMENT", Reach: reachAll, Tight: "minimal inherit", Default: `"inherit"`,
		Usage: "environment of the agent: inherit or minimal", Doc: "environment that agents inherit"},
	{Name: "env", Flag: "env", Short: "e", Reach: ReachDefaults | ReachUser,
		Usage: "NAME=VALUE for the agent; NAME copies the current value (repeatable)", Doc: "variables of every run; user's file only"},
	{Name: "mcpServers", Flag: "mcp", Reach: reachUser, Doc: "MCP servers of every run; user's file only",
		Usage: "JSON file with MCP servers (repeatable)"},
	{Name: "skills", Flag: "skill", Reach: reachUser, Usage: "folder of a skill for this run (repeatable)",
		Doc: "folders of skills of every run; user's file only"},
	{Name: "tags", Flag: "tag", Reach: reachAll, Usage: "tag for the record (repeatable)"},
	{Name: "projectId", Flag: "project-id", Reach: ReachDefaults | ReachUser | ReachProject, Usage: "project id for the record"},

	{Name: "temperature", Flag: "temperature", Reach: reachPlain, Max: 2, Usage: "sampling temperature, 0 to 2"},
	{Name: "topP", Flag: "top-p", Reach: reachPlain, Max: 1, Usage: "nucleus sampling, 0 to 1"},
	{Name: "topK", Flag: "top-k", Reach: reachPlain, Min: 1, Max: MaxTokenCount, Usage: "number of tokens to sample from"},
	{Name: "maxTokens", Reach: reachPlain, Min: 1, Max: MaxTokenCount},
	{Name: "thinkingOverride", Reach: reachPlain},
	{Name: "outputFormat", Reach: reachPlain},
	{Name: "outputSchema", Flag: "schema", Reach: reachPlain, Usage: "file with a JSON Schema that the answer must satisfy"},
	{Name: "keepRetrying", Flag: "keep-retrying", Reach: reachPlain, Usage: "let the agent keep retrying when its credentials are rejected"},
	{Name: "debug", Flag: "debug", Reach: reachPlain, Usage: "show agent output that could not be parsed"},
	{Name: "command", Reach: reachPlain}, // the words after -- of drawbar run
	{Name: "invocation", Flag: "on", Env: "DRAWBAR_ON", Reach: reachUser,
		Usage: "where the agent runs: local, ssh:[USER@]HOST[:DIR], docker:IMAGE or kubernetes:[NAMESPACE/]POD[:DIR] (default local)",
		Doc:   "where agents run; user's file only"},

	{Name: "cwd", Flag: "cwd", Short: "C", Reach: ReachDefaults, Usage: "directory to work in (default: here)"},
	{Name: "agentsDoc", Flag: "agents-doc", Reach: ReachDefaults,
		Usage: "file with an agents document, such as an AGENTS.md, for this run", Doc: "text of an agents document for the run"},
	{Name: "interactive", Reach: ReachDefaults, Group: "interactive"}, // drawbar run -i
	{Name: "nonInteractive", Reach: ReachDefaults, Group: "interactive"},
	{Name: "collectEvents", Reach: ReachDefaults},
	{Name: "sessionId", Flag: "session", Reach: reachRequest, Group: "session", Usage: "resume a session: an id or its beginning, a name, the id of a run, latest, or pick to choose one"},
	{Name: "forkSessionId", Flag: "fork", Reach: reachRequest, Group: "session", Usage: "start from a copy of a session; see --session"},
	{Name: "noSession", Flag: "no-session", Reach: ReachDefaults, Group: "session", Usage: "do not save a session"},
	{Name: "runId", Flag: "run-id", Reach: reachRequest, Usage: "id of the run, a ULID (default: a new one)"},
}

// Options returns the rows of all fields of RunOptions.
func Options() iter.Seq[Option] { return slices.Values(options) }

// OptionNamed returns the row of a field by its JSON name.
func OptionNamed(name string) (Option, bool) {
	at := slices.IndexFunc(options, func(o Option) bool { return o.Name == name })
	if at < 0 {
		return Option{}, false
	}
	return options[at], true
}

// In reports whether the option can be stated in a place.
func (o Option) In(place Reach) bool { return o.Reach&place == place }

// fields are the fields of RunOptions by JSON name.
var fields = sync.OnceValue(func() map[string]reflect.StructField {
	m := map[string]reflect.StructField{}
	for f := range reflect.TypeFor[RunOptions]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		m[name] = f
	}
	return m
})

// Field returns the row's field of RunOptions.
func (o Option) Field() reflect.StructField { return fields()[o.Name] }

func (o Option) of(run *RunOptions) reflect.Value {
	return reflect.ValueOf(run).Elem().FieldByIndex(o.Field().Index)
}

// Stated reports whether run sets the option to a non-zero value.
func (o Option) Stated(run RunOptions) bool { return !o.of(&run).IsZero() }

// Words returns the values of an option that takes one of a set of words; nil for other options.
func (o Option) Words() []string {
	t := o.Field().Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return slices.Clone(enumValues()[t.Name()])
}

// Duration reports whether the option is a duration in milliseconds.
func (o Option) Duration() bool {
	t := o.Field().Type
	return t.Kind() == reflect.Int64 || t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Int64
}

// Merged reports whether objects from several places are merged, one level deep. Other values replace each
// other.
func (o Option) Merged() bool {
	t := o.Field().Type
	return t.Kind() == reflect.Map || t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

// WithDefaults fills the zero fields of o from d: maps are merged, other values are copied whole, and values
// that contradict o are skipped. Options of a single run are not copied; see ReachDefaults.
func (o RunOptions) WithDefaults(d RunOptions) RunOptions {
	out, d := deepcopy.Of(o), deepcopy.Of(d)
	for _, row := range options {
		if !row.In(ReachDefaults) || row.Group != "" && len(o.stated(row.Group)) > 0 {
			continue
		}
		have, def := row.of(&out), row.of(&d)
		switch {
		case def.IsZero():
		case have.IsZero():
			have.Set(def)
		case have.Kind() == reflect.Map:
			for key, v := range have.Seq2() {
				def.SetMapIndex(key, v)
			}
			have.Set(def)
		case row.Adds:
			list := def.Interface().([]string)
			for _, entry := range have.Interface().([]string) {
				if !slices.Contains(list, entry) {
					list = append(list, entry)
				}
			}
			have.Set(reflect.ValueOf(list))
		}
	}
	return out
}

// stated returns the names of the group's options that are stated.
func (o RunOptions) stated(group string) (names []string) {
	for _, row := range options {
		if row.Group == group && row.Stated(o) {
			names = append(names, row.Name)
		}
	}
	return names
}

// check validates the option's value by its row alone: words, bounds, contradictions.
func (o Option) check(run RunOptions, f *faults) {
	field, v := "run."+o.Name, o.of(&run)
	if o.Group != "" && o.Stated(run) {
		if all := run.stated(o.Group); all[0] != o.Name && all[1] == o.Name {
			f.addf(field, strings.Join(all, " and "), "one of them", "contradicts run."+all[0])
		}
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		if words := enumValues()[v.Type().Name()]; words != nil {
			f.add(optional(field, v.String(), words))
		}
	case reflect.Int:
		if n := v.Int(); n != 0 && (float64(n) < o.Min || float64(n) > o.Max) {
			f.addf(field, strconv.FormatInt(n, 10), fmt.Sprintf("%.0f to %.0f", o.Min, o.Max), "is out of range")
		}
	case reflect.Int64:
		duration(field, v.Int(), time.Duration(o.Max)*time.Millisecond, f)
	case reflect.Float64:
		if n := v.Float(); !(n >= o.Min && n <= o.Max) {
			f.addf(field, strconv.FormatFloat(n, 'g', -1, 64), fmt.Sprintf("%g to %g", o.Min, o.Max), "is out of range")
		}
	}
}
