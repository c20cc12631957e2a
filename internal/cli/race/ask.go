package race

import (
	"context"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
)

// ask lets a person answer the questions of a racer on the terminal, one question at a time in the whole race.
func (r *Race) ask(i int, opts *drawbar.RunOptions) {
	racer := &r.Racers[i]
	racer.render, racer.questions = cli.NewRenderer(r.App, false, r.status), cli.NewQuestions(r.App, r.status)
	racer.render.Dir = racer.Request.Run.Cwd
	turn := func(ctx context.Context) (release func(), err error) {
		select {
		case r.asking <- struct{}{}:
			r.App.Notef("%s asks:", racer.Name)
			return func() { <-r.asking }, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	opts.OnApproval = func(ctx context.Context, b execution.ApprovalRequired) execution.Decision {
		release, err := turn(ctx)
		if err != nil {
			return execution.Decision{Reason: "no answer was given"}
		}
		defer release()
		return racer.questions.Approve(ctx, b)
	}
	opts.OnInput = func(ctx context.Context, b execution.InputRequired) (string, error) {
		release, err := turn(ctx)
		if err != nil {
			return "", err
		}
		defer release()
		return racer.questions.Input(ctx, b)
	}
}
