package setup

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governance/charter"
	"github.com/drawbar/drawbar/internal/governance/protocol"
	"github.com/drawbar/drawbar/internal/project"
)

// validation is the answer of validate.
type validation struct {
	OK       bool              `json:"valid"`
	Root     string            `json:"root"`
	Problems []charter.Problem `json:"problems"`
}

func validate(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "validate", Short: "Check the configuration: every fault with its place and what to do",
		Long: "Check agentxchain.json: every fault with its field, its line and what to do, what could never be finished (ADM-001 to ADM-004), and\n" +
			"what is not built yet. Warnings leave the exit code at 0.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			root, err := view.Root(app)
			if err != nil {
				return err
			}
			problems, err := Problems(root)
			if err != nil {
				return err
			}
			v := validation{OK: len(charter.Errors(problems)) == 0, Root: root, Problems: problems}
			if err := app.Answer(v, func() { printProblems(app, v) }); err != nil {
				return err
			}
			if !v.OK {
				return &exitcode.Error{Code: execution.ExitConfig, Silent: true}
			}
			return nil
		},
	}
}

// Problems is everything that is wrong, or odd, in a project's configuration. The error is about a file that cannot be read.
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

// located is a problem with its place, and without what to do about it.
func located(p charter.Problem) string {
	p.Hint = ""
	return p.String()
}

func printProblems(app *cli.App, v validation) {
	for _, p := range v.Problems {
		app.Printf("%s: %s\n", p.Severity, located(p))
		if p.Hint != "" {
			app.Printf("    try: %s\n", p.Hint)
		}
	}
	errs := len(charter.Errors(v.Problems))
	switch errs {
	case 0:
		app.Printf("%s can be run", protocol.ConfigFile)
	case 1:
		app.Printf("1 fault in %s", protocol.ConfigFile)
	default:
		app.Printf("%d faults in %s", errs, protocol.ConfigFile)
	}
	if w := len(v.Problems) - errs; w > 0 {
		app.Printf(", %d to know", w)
	}
	app.Printf("\n")
}
