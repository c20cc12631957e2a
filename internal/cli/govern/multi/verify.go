package multi

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/audit"
)

// verification is the answer of verify. OK says that no record is broken.
type verification struct {
	OK    bool   `json:"ok"`
	Repos []repo `json:"repos"`
}

// repo is the verification of a repository's record.
type repo struct {
	ID   string `json:"id"`
	Root string `json:"root"`
	audit.Report
}

func verify(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Check the records of all repositories, and of the run over them",
		Long: "Check the hash chain of the coordinator's history, and the record of each repository as drawbar govern verify does. The exit code is\n" +
			"1 if a repository's record is broken, and 7 if the history is: then every other command refuses it, too. This takes no lock and changes\n" +
			"nothing.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := use(app, cmd, false, verified)
			if err != nil {
				return err
			}
			print := func() {
				app.Printf("ok: the run over all repositories\n")
				for _, r := range v.Repos {
					if r.OK {
						app.Printf("ok: %s, %d lines, %d checkpoint heads\n", r.ID, r.Entries, r.Heads)
					} else {
						app.Printf("broken: %s: %s\n  in %s, type: drawbar govern verify\n", r.ID, r.Why(), r.Root)
					}
				}
			}
			for _, r := range v.Repos {
				if !r.OK {
					return view.Failed(app, execution.ExitGeneral, v, execution.Errorf(execution.CodeValidation, "%s: %s", r.ID, r.Why()), print)
				}
			}
			return app.Answer(v, print)
		},
	}
}

func verified(ctx context.Context, c govern.Coordinator) (verification, error) {
	st, err := c.Status(ctx) // reads the history
	v := verification{OK: err == nil, Repos: []repo{}}
	for _, r := range st.Repos {
		report, err := audit.Verify(ctx, r.Root)
		if err != nil {
			return v, fmt.Errorf("verify %s: %w", r.ID, err)
		}
		v.OK = v.OK && report.OK
		v.Repos = append(v.Repos, repo{r.ID, r.Root, report})
	}
	return v, err
}
