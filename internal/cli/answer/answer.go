// Package answer is "drawbar approve", "drawbar deny" and "drawbar answer": they answer the questions of a run that waits, from any
// terminal or script.
package answer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/control"
	"github.com/drawbar/drawbar/internal/runstore"
)

// NewApprove returns "drawbar approve".
func NewApprove(app *cli.App) *cobra.Command {
	var question, command string
	var always, edit bool
	var l later
	cmd := &cobra.Command{
		Use: "approve RUN",
		Long: `Approve what a run waits for permission to do. drawbar ps --waiting shows the runs that wait, and what for.

A run that ended because it waits (exit code 20) goes on as a new run, days later too: exactly the call that it asked for is allowed, once, by
one approval. --result FILE goes on with a result that was saved elsewhere (--json), in this directory; - is standard input.

With --always, calls like it are allowed from now on in this run, by the rule that is printed. With --command, another command runs
instead, and with --edit what you make of the command, or of the text that a file gets, in your editor ($VISUAL, else $EDITOR). Of several
questions, the one that --question names is answered. drawbar deny refuses, drawbar answer replies to a question in words.`,
		Example: "  drawbar ps --waiting\n  drawbar approve 01K9Z3\n  drawbar approve 01K9Z3 --command 'go test ./...'\n  drawbar approve 01K9Z3 --edit\n  drawbar approve --result result.json",
		Args:    l.args(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if done, err := l.goOn(cmd, app, args, true, ""); done || err != nil {
				return err
			}
			c := choice{id: question, approval: true, always: always}
			switch {
			case edit:
				c.change = func(q control.PendingQuestion) (json.RawMessage, error) {
					return app.EditCall(cmd.Context(), args[0], q.Call())
				}
			case cmd.Flags().Changed("command"):
				if strings.TrimSpace(command) == "" {
					return cli.Usage("--command is empty").WithHint("drawbar deny %s", args[0])
				}
				c.change = func(q control.PendingQuestion) (json.RawMessage, error) {
					input, ok := q.Call().WithCommand(command)
					if !ok {
						return nil, execution.Errorf(execution.CodeValidation, "%s has no command that can be changed", q.String()).WithHint("approve it as it is, or deny it with --reason")
					}
					return input, nil
				}
			}
			return answer(cmd.Context(), app, args[0], c, execution.Decision{Approve: true})
		},
	}
	questionFlag(cmd, &question)
	cmd.Flags().BoolVar(&always, "always", false, "allow calls like it from now on in this run")
	cmd.Flags().StringVar(&command, "command", "", "allow this command instead")
	cmd.Flags().BoolVar(&edit, "edit", false, "change the command or the text in your editor first")
	l.register(cmd)
	cli.Exclusive(cmd, "always", "command", "edit", "result")
	return cmd
}

// NewDeny returns "drawbar deny".
func NewDeny(app *cli.App) *cobra.Command {
	var question, reason string
	var l later
	cmd := &cobra.Command{
		Use:   "deny RUN",
		Short: "Deny what a waiting run asks permission for",
		Long: `Deny what a run waits for permission to do. The agent is told the reason and continues: in its run, or in a new one if it ended because it
waits (exit code 20).`,
		Example: `  drawbar deny 01K9Z3 --reason "use the staging database"`,
		Args:    l.args(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if reason = strings.TrimSpace(reason); reason == "" {
				if cmd.Flags().Changed("reason") {
					return cli.Usage("--reason is empty").WithHint("leave it out, or say what the agent should do instead")
				}
				reason = cli.DeniedByUser
			}
			if done, err := l.goOn(cmd, app, args, false, reason); done || err != nil {
				return err
			}
			return answer(cmd.Context(), app, args[0], choice{id: question, approval: true}, execution.Decision{Reason: reason})
		},
	}
	questionFlag(cmd, &question)
	cmd.Flags().StringVar(&reason, "reason", "", "reason for the agent")
	l.register(cmd)
	return cmd
}

// New returns "drawbar answer".
func New(app *cli.App) *cobra.Command {
	var question string
	var l later
	cmd := &cobra.Command{
		Use:   "answer RUN TEXT",
		Short: "Answer the question that a waiting run asks",
		Long: `Answer the question that a run waits for: in its run, or in a new one if it ended because it waits (exit code 20). A request for permission is
answered by drawbar approve and drawbar deny.`,
		Example: `  drawbar answer 01K9Z3 "PostgreSQL 17"`,
		Args:    l.args(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			words := args
			if l.result == "" {
				words = args[1:]
			}
			text := strings.Join(words, " ")
			if strings.TrimSpace(text) == "" {
				return cli.Usage("the answer is empty").WithHint("%s", cmd.UseLine())
			}
			if done, err := l.goOn(cmd, app, args, true, text); done || err != nil {
				return err
			}
			return answer(cmd.Context(), app, args[0], choice{id: question}, execution.Decision{Approve: true, Text: text})
		},
	}
	questionFlag(cmd, &question)
	l.register(cmd)
	return cmd
}

func questionFlag(cmd *cobra.Command, id *string) {
	cmd.Flags().StringVar(id, "question", "", "the question, of several (ids: drawbar ps --waiting --json)")
}

// choice selects one of the questions of a run.
type choice struct {
	id       string // "" if the run has only one of the kind
	approval bool
	always   bool
	change   func(control.PendingQuestion) (json.RawMessage, error) // returns another input for the call; may be nil
}

// answered is the answer of the commands to --json.
type answered struct {
	RunID    execution.RunID         `json:"runId"`
	Question control.PendingQuestion `json:"question"`
	Approved bool                    `json:"approved"`
	Always   string                  `json:"always,omitempty"` // rule of the calls that are allowed from now on
}

func answer(ctx context.Context, app *cli.App, id string, c choice, d execution.Decision) error {
	r, err := app.LiveRun(id, "drawbar ps --waiting")
	if err != nil {
		return err
	}
	q, err := c.find(ctx, r)
	if err == nil && c.change != nil { // once more, with what can be changed
		c.id = string(q.ID)
		q, err = c.find(ctx, r)
	}
	if err != nil {
		return err
	}
	if c.always {
		if d.Always = q.Always; d.Always == "" {
			return execution.Errorf(execution.CodeValidation, "no rule allows calls like %s", q.String()).WithHint("approve it without --always")
		}
	}
	if c.change != nil {
		if d.Input, err = c.change(q); err != nil {
			return err
		}
	}
	// By its id, so that what is answered is what was looked up, whatever the run asks meanwhile.
	if _, err := control.Do(ctx, r.ControlPath(), control.Call{Verb: "answer", Question: q.ID, Decision: &d}); err != nil {
		return err
	}
	return app.Answer(answered{r.ID, q, d.Approve, d.Always}, func() {
		verb := "denied"
		switch {
		case !q.Approval:
			verb = "answered"
		case d.Approve:
			verb = "approved"
		}
		app.Printf("%s: %s\n", verb, cli.OneLine(q.String(), 200))
		if d.Always != "" {
			app.Printf("from now on in this run: %s\n", d.Always)
		}
	})
}

// find asks a run for the chosen question.
func (c choice) find(ctx context.Context, r runstore.Run) (control.PendingQuestion, error) {
	status, err := control.Do(ctx, r.ControlPath(), control.Call{Verb: "status", Question: execution.QuestionID(c.id)})
	if err != nil {
		return control.PendingQuestion{}, err
	}
	return c.of(r, status.Pending)
}

// of returns the chosen question.
func (c choice) of(r runstore.Run, pending []control.PendingQuestion) (control.PendingQuestion, error) {
	var some, other []control.PendingQuestion
	for _, q := range pending {
		switch {
		case c.id != "" && string(q.ID) != c.id:
		case q.Approval == c.approval:
			some = append(some, q)
		default:
			other = append(other, q)
		}
	}
	if len(some) == 1 {
		return some[0], nil
	}
	if len(some) > 1 {
		var hints []string
		for _, q := range some {
			hints = append(hints, fmt.Sprintf("--question %s (%s)", q.ID, cli.OneLine(q.String(), 60)))
		}
		return control.PendingQuestion{}, cli.Usage("run %s asks %d questions", r.ID, len(some)).WithHint("%s", strings.Join(hints, ", "))
	}
	what, hint := "an answer", fmt.Sprintf("drawbar approve %[1]s, drawbar deny %[1]s", r.ID)
	if c.approval {
		what, hint = "permission", fmt.Sprintf("drawbar answer %s TEXT", r.ID)
	}
	if len(other) > 0 {
		return control.PendingQuestion{}, execution.Errorf(execution.CodeNoPendingInteraction, "run %s does not wait for %s; it asks: %s",
			r.ID, what, cli.OneLine(other[0].String(), 200)).WithHint("%s", hint)
	}
	if c.id != "" {
		return control.PendingQuestion{}, execution.Errorf(execution.CodeInteractionNotFound, "run %s has no question %s: it was answered or withdrawn",
			r.ID, c.id).WithHint("drawbar ps --waiting")
	}
	return control.PendingQuestion{}, execution.Errorf(execution.CodeNoPendingInteraction, "run %s does not wait for %s", r.ID, what).
		WithHint("drawbar attach %s", r.ID)
}
