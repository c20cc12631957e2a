// Package submit implements "drawbar govern submit": a person submits their turn without writing JSON, with flags, a
// form or answers to questions.
package submit

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/spf13/cobra"
)

// submission is what the flags say.
type submission struct {
	o                               govern.SubmitOptions
	form                            form
	from                            string
	empty, edit                     bool
	objections, resolved, decisions []string
	proposed, deleted               []string
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var s submission
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
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(app, cmd) },
	}
	fl := cmd.Flags()
	fl.StringVar(&s.o.Turn, "turn", "", "turn to submit, if several are active")
	fl.StringVar(&s.form.Summary, "summary", "", "what you did, in one sentence")
	fl.StringArrayVar(&s.objections, "objection", nil, `"SEVERITY: TEXT" (repeatable)`)
	fl.StringArrayVar(&s.resolved, "resolve", nil, `OBJECTION="resolution" (repeatable)`)
	fl.StringArrayVar(&s.decisions, "decision", nil, `"CATEGORY: WHAT, because WHY" (repeatable)`)
	fl.StringArrayVar(&s.form.Files, "file", nil, "changed file (repeatable; default: the changes that git reports)")
	fl.StringArrayVar(&s.proposed, "propose", nil, "propose the content of a file: PATH=FILE (repeatable)")
	fl.StringArrayVar(&s.deleted, "propose-delete", nil, "propose to delete a file (repeatable)")
	fl.StringVar(&s.form.Verify, "verification", "", "pass, fail or skipped (default skipped)")
	fl.StringVar(&s.form.Evidence, "evidence", "", "what you checked, or why nothing")
	fl.StringVar(&s.form.Next, "next", "", "next role (default human)")
	fl.StringVar(&s.form.Phase, "phase", "", "phase that should start")
	fl.BoolVar(&s.form.Complete, "complete", false, "request the end of the run")
	fl.StringVar(&s.form.NeedsHuman, "needs-human", "", "what only a person can decide; the run stops for it")
	fl.StringVar(&s.from, "from", "", "file with the form (- for standard input)")
	fl.BoolVar(&s.empty, "form", false, "print an empty form")
	fl.BoolVar(&s.edit, "edit", false, "fill in the form with $VISUAL or $EDITOR")
	fl.BoolVar(&s.o.Replace, "replace", false, "replace an existing draft; a copy of it is kept")
	fl.BoolVar(&s.o.DryRun, "dry-run", false, "validate only; stage nothing")
	return cmd
}

func (s *submission) run(app *cli.App, cmd *cobra.Command) error {
	if s.empty {
		app.Printf("%s", blank)
		return nil
	}
	given := slices.ContainsFunc([]string{"summary", "objection", "resolve", "decision", "verification", "evidence", "next", "phase", "complete", "needs-human",
		"file", "propose", "propose-delete"}, cmd.Flags().Changed)
	if (s.from != "" || s.edit) && given || s.from != "" && s.edit {
		return cli.Usage("--from and --edit contradict each other and the flags of the content").WithHint("put everything into the form")
	}
	var err error
	if s.edit {
		s.from, err = editForm(cmd.Context(), app)
	}
	switch {
	case err != nil:
	case s.from != "":
		s.form, err = read(app, s.from)
	case given:
		if err := errors.Join(s.form.add(s.objections, s.resolved, s.decisions), s.form.propose(s.proposed, s.deleted)); err != nil {
			return cli.Usage("%v", err)
		}
	case cli.IsTerminal(app.In):
		_, err = view.Use(app, cmd, false, func(ctx context.Context, e govern.Engine) (struct{}, error) {
			return struct{}{}, s.form.ask(ctx, app, func(field string) (string, error) {
				form, err := s.form.submission()
				if err != nil {
					return "", err
				}
				return e.CheckSubmission(ctx, govern.SubmitOptions{Turn: s.o.Turn, Form: form}, field)
			})
		})
	}
	if err != nil {
		return err
	}
	if strings.TrimSpace(s.form.Summary) == "" {
		if s.edit {
			_ = os.Remove(s.from) // it was left unchanged
		}
		return cli.Usage("%v", errEmpty).WithHint(`%s --summary "..."`, cmd.CommandPath())
	}
	if s.o.Form, err = s.form.submission(); err != nil {
		return err
	}
	return view.Act(app, cmd, false, func(ctx context.Context, e govern.Engine) (govern.Report, error) {
		r, err := e.Submit(ctx, s.o)
		if s.edit && err == nil && r.Outcome == govern.OutcomeDone && !s.o.DryRun {
			_ = os.Remove(s.from)
		} else if s.edit {
			app.Notef("the form is saved; submit it with: drawbar govern submit --from %s", s.from)
		}
		return r, err
	})
}
