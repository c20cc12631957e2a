package submit

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
)

// ask fills in the form with questions. check returns what is wrong with a field of the form; such a question is asked
// again. Without a turn to submit it asks nothing.
func (f *form) ask(ctx context.Context, app *cli.App, check func(field string) (fault string, err error)) error {
	if _, err := check(""); err != nil {
		return err
	}
	until := func(question string, take func(text string) (string, error)) error {
		return until(ctx, app, question, take)
	}
	checked := func(question, field string, to *string) error {
		return until(question, func(text string) (string, error) {
			*to = text
			switch {
			case text == "" && field == "summary":
				return errEmpty.Error(), nil
			case text == "":
				return "", nil
			}
			return check(field)
		})
	}
	if err := checked("What did you do, in one sentence?", "summary", &f.Summary); err != nil {
		return err
	}
	for more := true; more; {
		if err := until("What do you object to? (SEVERITY: TEXT; an empty line ends)", func(text string) (string, error) {
			if more = text != ""; more {
				return "", f.add([]string{text}, nil, nil)
			}
			return check("objections")
		}); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		question, field string
		to              *string
	}{
		{"What did you check? (empty: nothing)", "verification.evidence_summary", &f.Evidence},
		{"Which phase should start? (empty: none)", "phase_transition_request", &f.Phase},
		{"Which role is next? (empty: a person decides)", "proposed_next_role", &f.Next},
	} {
		if err := checked(c.question, c.field, c.to); err != nil {
			return err
		}
	}
	if f.Phase != "" {
		return nil
	}
	return until("Should the run end? (y or n; empty: n)", func(text string) (string, error) {
		switch strings.ToLower(text) {
		case "y", "yes":
			f.Complete = true
		case "", "n", "no":
		default:
			return "y or n", nil
		}
		return "", nil
	})
}

// until asks on the terminal until take accepts the answer.
func until(ctx context.Context, app *cli.App, question string, take func(text string) (fault string, err error)) error {
	for {
		app.Notef("%s", question)
		text, err := app.ReadLine(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, io.EOF):
			return execution.Errorf(execution.CodeInterrupted, "not all questions were answered: nothing was submitted")
		case err != nil:
			return err
		}
		fault, err := take(strings.TrimSpace(text))
		if err != nil || fault == "" {
			return err
		}
		app.Notef("%s", fault)
	}
}
