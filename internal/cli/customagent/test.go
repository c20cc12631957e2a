package customagent

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
)

// The verdicts of a check.
const (
	passed  = "passed"
	failed  = "failed"
	skipped = "skipped"
)

// row is the outcome of a check.
type row struct {
	Check   string `json:"check"`
	Verdict string `json:"verdict"`
	Details string `json:"details,omitempty"`
}

func newTest(app *cli.App) *cobra.Command {
	var run bool
	var prompt string
	cmd := &cobra.Command{Use: "test AGENT", Short: "Check an agent against its installed program", Args: cli.Args(cobra.ExactArgs(1)),
		Long: "Check that the program of an agent is installed, states a supported version and has a login. With --run it also answers a " +
			"prompt,\nwhich may cost money: the run must complete with text, without lines that the entry does not explain.",
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := app.Agent(args[0])
			if err != nil {
				return err
			}
			c, err := app.Client()
			if err != nil {
				return err
			}
			rows := detected(cmd.Context(), c, e)
			if run {
				rows = append(rows, answered(cmd.Context(), c, e, prompt, app.Dir())...)
			} else {
				rows = append(rows, row{"run", skipped, "add --run: the program answers a prompt, which may cost money"})
			}
			bad := 0
			for _, r := range rows {
				if r.Verdict == failed {
					bad++
				}
			}
			err = app.Answer(rows, func() {
				w := app.Table("CHECK", "RESULT", "DETAILS")
				for _, r := range rows {
					w.Row(r.Check, r.Verdict, r.Details)
				}
				w.Flush()
			})
			return exitcode.If(bad > 0, execution.ExitGeneral, err)
		}}
	cmd.Flags().BoolVar(&run, "run", false, "run the agent once")
	cmd.Flags().StringVar(&prompt, "prompt", "Say hello.", "prompt of the run")
	app.DirFlag(cmd)
	return cmd
}

// detected checks the installation, the version and the login.
func detected(ctx context.Context, c *drawbar.Client, e catalog.Entry) []row {
	d := e.Descriptor
	info, err := c.Detect(ctx, d.Name)
	if err != nil || info == nil {
		return []row{{"installed", failed, fmt.Sprint(err)}}
	}
	if !info.Installed {
		return []row{{"installed", failed, info.Notes}, {"version", skipped, "not installed"}, {"login", skipped, "not installed"}}
	}
	version := row{"version", passed, info.Version}
	switch {
	case info.Version == "":
		version = row{"version", skipped, info.Notes}
		if d.MinVersion != "" {
			version.Verdict = failed
		}
	case !info.MeetsMinVersion:
		version = row{"version", failed, info.Version + " is too old; the minimum is " + d.MinVersion}
	case !info.WithinTested && len(d.TestedVersions) > 0:
		version.Details += ", which is not a tested version"
	}
	login := row{"login", skipped, "unknown until the program runs"}
	switch info.AuthState {
	case adapter.Authenticated:
		login = row{"login", passed, "found"}
	case adapter.Unauthenticated, adapter.AuthExpired:
		login = row{"login", failed, "drawbar auth guide " + d.Name}
	}
	return []row{{"installed", passed, info.CLIPath}, version, login}
}

// answered runs the agent once and checks its result.
func answered(ctx context.Context, c *drawbar.Client, e catalog.Entry, prompt, dir string) []row {
	req := execution.Request{Message: execution.Message{Text: execution.Prompt(prompt)}, Run: execution.RunOptions{Agent: e.Descriptor.Name, Cwd: dir}}
	var res execution.Result
	r, err := c.Run(ctx, req, drawbar.RunOptions{})
	if err == nil {
		res, err = r.Result(ctx)
	}
	if err != nil {
		return []row{{"run", failed, err.Error()}}
	}
	if res.Status != execution.StatusCompleted {
		why := string(res.Status)
		if res.Error != nil {
			why = strings.TrimSpace(string(res.Error.ErrorCode()) + ": " + res.Error.Message + "\n" + res.Error.Stderr)
		}
		return []row{{"run", failed, why}}
	}
	rows := []row{{"run", passed, fmt.Sprintf("completed in %d ms", res.DurationMs)}}
	check := func(name string, ok bool, good, bad string) {
		if ok {
			rows = append(rows, row{name, passed, good})
		} else {
			rows = append(rows, row{name, failed, bad})
		}
	}
	check("answer", strings.TrimSpace(res.Text) != "", firstLine(res.Text), "the run completed without text")
	check("output", res.UnknownLines == 0, "every line is explained", fmt.Sprintf("%d lines are not explained; show them with: drawbar run %s --debug ...", res.UnknownLines, e.Descriptor.Name))
	if caps := e.Capabilities(); caps.ContinuationSupport != execution.ContinuationsNone {
		check("session", res.SessionID != "", res.SessionID, "the agent can resume, but the run named no session")
	}
	return rows
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
