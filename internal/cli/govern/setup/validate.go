package setup

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
	"github.com/drawbar/drawbar/internal/governed/governance/turnresult"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/spf13/cobra"
)

// validation is the answer of validate.
type validation struct {
	OK       bool              `json:"valid"`
	Root     string            `json:"root"`
	Problems []charter.Problem `json:"problems"`
}

func validate(app *cli.App) *cobra.Command {
	var mode string
	cmd := &cobra.Command{
		Use: "validate [ROLE]", Short: "Validate the configuration and list every problem with a fix",
		Long: "Check agentxchain.json: every problem with its field, its line and a fix, what could never be completed (ADM-001 to " +
			"ADM-004), and\nwhat is not supported. Warnings leave the exit code at 0. With the id of a role: only that role and " +
			"its runtime.",
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := view.Root(app)
			if err != nil {
				return err
			}
			switch mode {
			case "full":
			case "turn":
				if len(args) > 0 {
					return cli.Usage("--mode turn cannot be combined with a role").WithHint("%s --mode turn", cmd.CommandPath())
				}
				return validateTurns(app, root)
			default:
				return cli.Usage("--mode %s is not supported", mode).WithHint("%s", cmd.CommandPath())
			}
			problems, err := Problems(root)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				if problems, err = aboutRole(root, args[0], problems); err != nil {
					return err
				}
			}
			v := validation{OK: len(charter.Errors(problems)) == 0, Root: root, Problems: problems}
			show := func() { printProblems(app, v, args) }
			if v.OK {
				return app.Answer(v, show)
			}
			first := charter.Errors(problems)[0]
			why := execution.Errorf(execution.CodeConfig, "%s: %s", protocol.ConfigFile, located(first))
			why.Hint = first.Hint
			return view.Failed(app, execution.ExitConfig, v, why, show)
		},
	}
	cmd.Flags().StringVar(&mode, "mode", "full", "turn checks the staged results of active turns")
	_ = cmd.Flags().MarkHidden("mode") // the flag exists
	return cmd
}

// staged is the answer about the staged result of an active turn.
type staged struct {
	TurnID string   `json:"turn_id"`
	File   string   `json:"file"`
	OK     bool     `json:"valid"`
	Stage  string   `json:"stage,omitempty"`
	Errors []string `json:"errors,omitempty"`
}

// validateTurns checks the staged results of the active turns as an acceptance would, except for the observed changes,
// and changes nothing.
func validateTurns(app *cli.App, root string) error {
	p, err := project.Load(root)
	if err != nil {
		return err
	}
	v, err := ledger.Read(root)
	if err != nil {
		return err
	}
	history, err := v.History(v.State.ID())
	if err != nil {
		return err
	}
	if v.State.ActiveTurns.Len() == 0 {
		return execution.Errorf(execution.CodeInvalidStateTransition, "no turn is active").WithHint("drawbar govern step")
	}
	list, bad := []staged{}, 0
	for id, turn := range v.State.ActiveTurns.All() {
		dir := root
		if turn.Worktree != "" {
			dir = filepath.Join(root, filepath.FromSlash(turn.Worktree))
		}
		s := staged{TurnID: id, File: protocol.StagedFile(id)}
		data, where, err := project.ReadStaged(dir, id)
		if err == nil {
			s.File = where
			var r turnresult.Report
			r, _, err = turnresult.Check(data, turnresult.Input{Config: p.Config, State: &v.State, Turn: turn, History: history})
			s.Stage, s.Errors = string(r.Failed), turnresult.Errors(r)
		}
		if err != nil {
			s.Errors = []string{err.Error()}
		}
		if s.OK = len(s.Errors) == 0; !s.OK {
			bad++
		}
		list = append(list, s)
	}
	show := func() {
		for _, s := range list {
			if s.OK {
				app.Printf("%s: the staged result of turn %s is valid\n", s.File, s.TurnID)
			}
			for _, e := range s.Errors {
				app.Printf("%s: %s\n", s.File, e)
			}
		}
	}
	if bad == 0 {
		return app.Answer(list, show)
	}
	why := execution.Errorf(execution.CodeValidation, "%d staged results are not valid", bad).WithHint("fix them, then: drawbar govern accept")
	return view.Failed(app, execution.ExitGeneral, list, why, show)
}

// Problems returns everything that is wrong, or odd, in a project's configuration. The error is about a file that
// cannot be read.
func Problems(root string) ([]charter.Problem, error) {
	p, err := project.Load(root)
	var invalid *project.InvalidError
	switch {
	case errors.As(err, &invalid):
		return invalid.Problems, nil
	case err != nil:
		return nil, err
	}
	list := append([]charter.Problem{}, p.Warnings...)
	list = append(list, p.Prompts()...)
	list = append(list, charter.Admission(p.Config)...)
	return append(list, charter.Unbuilt(p.Config)...), nil
}

// located is a problem with its position, without its hint.
func located(p charter.Problem) string {
	p.Hint = ""
	return p.String()
}

// aboutRole are the problems of one role and of its runtime.
func aboutRole(root, role string, problems []charter.Problem) ([]charter.Problem, error) {
	raw, err := project.Get(root, "roles")
	if err != nil {
		return nil, err
	}
	var roles protocol.Ordered[json.RawMessage]
	if err := json.Unmarshal(raw, &roles); err != nil || !roles.Has(role) {
		return nil, cli.Usage("unknown role %q", role).WithHint("one of: %s", strings.Join(roles.Keys(), ", "))
	}
	var of struct {
		Runtime string `json:"runtime"`
	}
	_ = json.Unmarshal(roles.At(role), &of) // another type of role is a problem of its own
	about := func(p charter.Problem, thing string) bool {
		return p.Field == thing || strings.HasPrefix(p.Field, thing+".")
	}
	list := []charter.Problem{}
	for _, p := range problems {
		if about(p, "roles."+role) || of.Runtime != "" && about(p, "runtimes."+of.Runtime) {
			list = append(list, p)
		}
	}
	return list, nil
}

func printProblems(app *cli.App, v validation, role []string) {
	for _, p := range v.Problems {
		app.Printf("%s: %s\n", p.Severity, located(p))
		if p.Hint != "" {
			app.Printf("    try: %s\n", p.Hint)
		}
	}
	errs := len(charter.Errors(v.Problems))
	switch errs {
	case 0:
		if len(role) > 0 {
			app.Printf("role %s of ", role[0])
		}
		app.Printf("%s is valid", protocol.ConfigFile)
	case 1:
		app.Printf("1 problem in %s", protocol.ConfigFile)
	default:
		app.Printf("%d problems in %s", errs, protocol.ConfigFile)
	}
	if w := len(v.Problems) - errs; w > 0 {
		app.Printf(", %d notes", w)
	}
	app.Printf("\n")
}
