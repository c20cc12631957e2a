// Package submit implements "drawbar govern submit": a person submits their turn without writing JSON, with flags, a
// form or answers to questions.
package submit

import (
	"context"
	"os"
	"strings"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/spf13/cobra"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var o govern.SubmitOptions
	var f form
	var from string
	var empty, edit bool
	var objections, resolved, decisions []string
	cmd := &cobra.Command{
		Use: "submit", Short: "Submit a person's turn with flags, a form or answers to questions",
		Long: "Submit a person's turn. It is validated before it is staged; ids and the files that changed according to git are filled in. " +
			"With flags,\nnothing is asked; --edit opens a form in your editor ($VISUAL, else $EDITOR); --form prints the form and " +
			"--from reads it; without\nany of them, the questions are asked on the terminal.",
		Example: `  drawbar govern submit --summary "The plan is written" --objection "medium: an empty name is not specified"
  drawbar govern submit --edit
  drawbar govern submit --form > turn.yaml   # fill it in, then
  drawbar govern submit --from turn.yaml`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if empty {
				app.Printf("%s", blank)
				return nil
			}
			given := false
			for _, name := range []string{"summary", "objection", "resolve", "decision", "verification", "evidence", "next", "phase", "complete", "needs-human", "file"} {
				given = given || cmd.Flags().Changed(name)
			}
			switch {
			case (from != "" || edit) && given, from != "" && edit:
				return cli.Usage("--from and --edit contradict each other and the flags of the content").WithHint("put everything into the form")
			case edit:
				var err error
				if from, err = editForm(cmd.Context(), app); err != nil {
					return err
				}
				if f, err = read(app, from); err != nil {
					return err
				}
			case from != "":
				var err error
				if f, err = read(app, from); err != nil {
					return err
				}
			case given:
				if err := f.add(objections, resolved, decisions); err != nil {
					return cli.Usage("%v", err)
				}
			case cli.IsTerminal(app.In):
				if _, err := view.Use(app, cmd, false, func(ctx context.Context, e govern.Engine) (struct{}, error) {
					return struct{}{}, f.ask(ctx, app, func(field string) (string, error) {
						return e.CheckSubmission(ctx, govern.SubmitOptions{Turn: o.Turn, Form: f.submission()}, field)
					})
				}); err != nil {
					return err
				}
			}
			if strings.TrimSpace(f.Summary) == "" {
				if edit {
					_ = os.Remove(from) // it was left unchanged
				}
				return cli.Usage("%v", errEmpty).WithHint(`%s --summary "..."`, cmd.CommandPath())
			}
			o.Form = f.submission()
			r, err := view.Use(app, cmd, false, func(ctx context.Context, e govern.Engine) (govern.Report, error) { return e.Submit(ctx, o) })
			if edit {
				if err == nil && r.Outcome == govern.OutcomeDone && !o.DryRun {
					_ = os.Remove(from)
				} else {
					app.Notef("the form is saved; submit it with: drawbar govern submit --from %s", from)
				}
			}
			if err != nil {
				return err
			}
			return view.Tell(app, r)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Turn, "turn", "", "turn to submit, if several are active")
	fl.StringVar(&f.Summary, "summary", "", "what you did, in one sentence")
	fl.StringArrayVar(&objections, "objection", nil, `"SEVERITY: TEXT" (repeatable)`)
	fl.StringArrayVar(&resolved, "resolve", nil, `OBJECTION="resolution" (repeatable)`)
	fl.StringArrayVar(&decisions, "decision", nil, `"CATEGORY: WHAT, because WHY" (repeatable)`)
	fl.StringArrayVar(&f.Files, "file", nil, "changed file (repeatable; default: the changes that git reports)")
	fl.StringVar(&f.Verify, "verification", "", "pass, fail or skipped (default skipped)")
	fl.StringVar(&f.Evidence, "evidence", "", "what you checked, or why nothing")
	fl.StringVar(&f.Next, "next", "", "next role (default human)")
	fl.StringVar(&f.Phase, "phase", "", "phase that should start")
	fl.BoolVar(&f.Complete, "complete", false, "request the end of the run")
	fl.StringVar(&f.NeedsHuman, "needs-human", "", "what only a person can decide; the run stops for it")
	fl.StringVar(&from, "from", "", "file with the form (- for standard input)")
	fl.BoolVar(&empty, "form", false, "print an empty form")
	fl.BoolVar(&edit, "edit", false, "fill in the form with $VISUAL or $EDITOR")
	fl.BoolVar(&o.Replace, "replace", false, "replace an existing draft; a copy of it is kept")
	fl.BoolVar(&o.DryRun, "dry-run", false, "validate only; stage nothing")
	return cmd
}
