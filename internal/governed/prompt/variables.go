package prompt

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/base/near"
)

// Variable is a name that a role's prompt may use as {{name}}.
type Variable struct {
	Name string
	Doc  string
	of   func(*Input) string
}

// Variables are the names that a role's prompt may use, in the order of their documentation.
var Variables = []Variable{
	{"role", "id of the role", (*Input).roleID},
	{"role_id", "the same as role", (*Input).roleID},
	{"role_title", "title of the role", (*Input).title},
	{"mandate", "mandate of the role", func(in *Input) string { return in.role().Mandate }},
	{"write_authority", "authoritative, proposed or review_only", func(in *Input) string { return string(in.role().WriteAuthority) }},
	{"runtime_id", "id of the role's runtime", (*Input).runtimeID},
	{"runtime_type", "its type: manual, local_cli, agent ...", func(in *Input) string { return in.runtime().Type }},
	{"project_id", "id of the project", func(in *Input) string { return in.Config.Project.ID }},
	{"project_name", "name of the project", func(in *Input) string { return in.Config.Project.Name }},
	{"project_goal", "goal of the project; empty when none is set", func(in *Input) string { return in.Config.Project.Goal }},
	{"default_branch", "default branch of the project", func(in *Input) string { return in.Config.Project.DefaultBranch }},
	{"run_id", "id of the run", func(in *Input) string { return in.State.ID() }},
	{"turn_id", "id of the turn", func(in *Input) string { return in.TurnID }},
	{"attempt", "number of this attempt, from 1", func(in *Input) string { return strconv.Itoa(in.turn().Attempt) }},
	{"max_attempts", "number of attempts of a turn", func(in *Input) string { return strconv.Itoa(in.Config.Rules.Attempts()) }},
	{"phase", "the current phase", func(in *Input) string { return in.State.Phase }},
	{"next_phase", "the phase after it; empty for the last", (*Input).next},
	{"phases", "all phases in their order", func(in *Input) string { return strings.Join(in.Config.Phases(), ", ") }},
	{"exit_gate", "id of the phase's exit gate; empty without one", func(in *Input) string { return in.phase().ExitGate }},
	{"gate_files", "files that the exit gate requires", func(in *Input) string { return strings.Join(in.gateFiles(), ", ") }},
	{"allowed_next_roles", "roles that may be proposed as next", func(in *Input) string { return strings.Join(in.allowed(), ", ") }},
	{"last_turn_id", "the last accepted turn; empty for the first", func(in *Input) string {
		if h := in.last(); h != nil {
			return h.TurnID
		}
		return ""
	}},
	{"last_role", "the role of that turn", func(in *Input) string {
		if h := in.last(); h != nil {
			return h.Role
		}
		return ""
	}},
	{"deadline_at", "when the turn times out", func(in *Input) string { return in.turn().DeadlineAt.String() }},
	{"budget_usd", "cost limit of the turn in US dollars; empty without a limit", func(in *Input) string {
		if r, ok := in.State.BudgetReservations.Get(in.TurnID); ok {
			return strconv.FormatFloat(r.ReservedUSD, 'f', -1, 64)
		}
		return ""
	}},
	{"staging_result_path", "path of the turn result", func(in *Input) string { return protocol.StagedFile(in.TurnID) }},
	{"assignment_path", "path of ASSIGNMENT.json", func(in *Input) string { return bundleFile(in, AssignmentFile) }},
	{"prompt_path", "path of PROMPT.md", func(in *Input) string { return bundleFile(in, PromptFile) }},
	{"context_path", "path of CONTEXT.md", func(in *Input) string { return bundleFile(in, ContextFile) }},
	{"date", "the day the turn was assigned, as 2006-01-02", func(in *Input) string {
		if t := in.turn().AssignedAt; !t.IsZero() {
			return t.UTC().Format("2006-01-02")
		}
		return ""
	}},
}

func bundleFile(in *Input, name string) string {
	return path.Join(protocol.BundleDir(in.TurnID), name)
}

var reference = lazy.Regexp(`\$?\{\{[ \t]*([A-Za-z][A-Za-z0-9_]*)[ \t]*\}\}`)

// expand replaces variables in a text, once: a value that looks like a variable is not expanded. "${{ ... }}" belongs
// to other tools and is kept. Unknown names are kept and returned, without duplicates.
func (in *Input) expand(text string) (string, []string) {
	var unknown []string
	out := reference().ReplaceAllStringFunc(text, func(m string) string {
		if m[0] == '$' {
			return m
		}
		name := reference().FindStringSubmatch(m)[1]
		for _, v := range Variables {
			if v.Name == name {
				return v.of(in)
			}
		}
		if !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
		return m
	})
	return out, unknown
}

// Warnings are oddities in the input that do not stop the turn: unknown variables of the role's prompt, and a fence
// that it leaves open.
func Warnings(in Input) []string {
	text, unknown := in.expand(in.RolePrompt)
	known := make([]string, len(Variables))
	for i, v := range Variables {
		known[i] = v.Name
	}
	var out []string
	for _, name := range unknown {
		w := fmt.Sprintf("%s: {{%s}} is not a variable and is kept as it is", in.promptName(), name)
		if meant := near.Word(name, known); meant != "" {
			w += "; did you mean {{" + meant + "}}?"
		}
		out = append(out, w)
	}
	if openFence(text) != "" {
		out = append(out, in.promptName()+": a code fence is not closed; it is closed at the end of the text")
	}
	return out
}

func (in *Input) promptName() string {
	if in.RolePromptPath != "" {
		return in.RolePromptPath
	}
	return "the prompt of role " + in.roleID()
}
