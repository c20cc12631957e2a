// Command bot is a small assistant over any agent of Drawbar: it assembles each turn, asks its policy first, and keeps turns that wait for an
// approval or an answer in a file, so that they can be continued days later.
//
//	bot ask "delete the old logs"      prints the answer, or what it waits for
//	bot list                           prints what waits
//	bot answer ID approve|deny|TEXT    continues a turn
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/drawbar/drawbar"
	_ "github.com/drawbar/drawbar/adapter/all"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/product/continuation"
	"github.com/drawbar/drawbar/product/policy"
	"github.com/drawbar/drawbar/product/turncontext"
)

var (
	file  = flag.String("file", "bot.db", "file of the turns that wait")
	agent = flag.String("agent", os.Getenv("BOT_AGENT"), "agent of Drawbar that can be continued")
	model = flag.String("model", os.Getenv("BOT_MODEL"), "model of the agent")
	now   = flag.String("now", "", "time in RFC 3339 (default the clock's)")
)

func main() {
	drawbar.Supervise()
	flag.Parse()
	if err := bot(context.Background(), os.Stdout, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bot:", err)
		os.Exit(1)
	}
}

func clock() time.Time {
	if t, err := time.Parse(time.RFC3339, *now); err == nil {
		return t
	}
	return time.Now()
}

func bot(ctx context.Context, out io.Writer, args []string) error {
	client, err := drawbar.New(drawbar.Options{})
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // nothing is lost
	store, err := continuation.OpenSQLite(ctx, *file)
	if err != nil {
		return err
	}
	defer store.Close() //nolint:errcheck // every change is on the disk
	run := func(ctx context.Context, req execution.Request) (execution.Result, error) {
		req.Run.Agent, req.Run.NonInteractive = *agent, true
		if req.Continuation == nil { // else it has the model of the turn before
			req.Run.Model = *model
		}
		req.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportRequired, ContinuationSupport: execution.SupportPreferred}
		r, err := client.Run(ctx, req, drawbar.RunOptions{})
		if err != nil {
			return execution.Result{}, err
		}
		return r.Result(ctx)
	}
	waiting := continuation.New(continuation.Options{Store: store, Now: clock,
		Run: func(ctx context.Context, t continuation.Turn) (execution.Result, error) { return run(ctx, t.Request()) },
		Deliver: func(_ context.Context, _ string, r continuation.Record) error {
			_, err := fmt.Fprintln(out, r.Delivery.Text)
			return err
		}})
	switch {
	case len(args) == 2 && args[0] == "ask":
		return ask(ctx, out, args[1], run, waiting)
	case len(args) == 1 && args[0] == "list":
		all, err := store.List(ctx, "")
		for _, r := range all {
			fmt.Fprintf(out, "%s  %s  %s  %v\n", r.ID, r.Status, r.WaitFor.Kind, r.Continuation.State["action"])
		}
		return err
	case len(args) == 3 && args[0] == "answer":
		return answer(ctx, out, args[1], args[2], store, waiting)
	}
	return fmt.Errorf("usage: bot [flags] ask TEXT | list | answer ID approve|deny|TEXT")
}

// gate allows a turn unless it is about money, which nobody may ask for.
var gate = policy.Rule{ID: "no-money", Evaluate: func(_ context.Context, a policy.Action, _ policy.Risk) (*policy.Decision, error) {
	if strings.Contains(strings.ToLower(a.Description), "transfer") {
		return &policy.Decision{Verdict: policy.Deny, Reason: "this bot moves no money"}, nil
	}
	return &policy.Decision{Verdict: policy.Allow}, nil
}}

func ask(ctx context.Context, out io.Writer, text string, run func(context.Context, execution.Request) (execution.Result, error), waiting *continuation.Runtime) error {
	rules, err := policy.New(policy.Options{}, gate)
	if err == nil {
		err = rules.Check(ctx, policy.Action{Type: "turn", Description: text})
	}
	if err != nil {
		return err
	}
	turn := fmt.Sprint("turn-", clock().UnixNano())
	assembly, err := turncontext.Assembler{}.Assemble(ctx, turncontext.Input{AssistantID: "bot", TurnID: turn, SessionID: "shell",
		Identity:   turncontext.Identity{SystemPrompt: "You keep a folder tidy.", Traits: turncontext.Traits{Voice: "concise"}},
		Guardrails: []turncontext.Guardrail{{ID: "folder", Rule: "Change files only in the current directory."}}})
	if err != nil {
		return err
	}
	req := assembly.Request(execution.Message{ID: turn, Text: execution.Prompt(text), ReceivedAt: clock()}, turncontext.With{})
	res, err := run(ctx, req)
	if err != nil || res.Status == execution.StatusCompleted {
		fmt.Fprintln(out, res.Text)
		return err
	}
	create := continuation.FromResult(req, res)
	create.ExpiresAt = clock().Add(7 * 24 * time.Hour)
	r, err := waiting.Create(ctx, create)
	if err != nil {
		return fmt.Errorf("%s: %w", res.Status, err)
	}
	fmt.Fprintf(out, "%s waits for %s\n", r.ID, r.WaitFor.Kind)
	return nil
}

func answer(ctx context.Context, out io.Writer, id, text string, store continuation.Store, waiting *continuation.Runtime) error {
	r, err := store.Get(ctx, id)
	if err != nil {
		return err
	}
	t := continuation.Trigger{Kind: r.WaitFor.Kind, SessionID: "shell", ApprovalID: r.WaitFor.ApprovalID}
	switch decision := map[string]string{"approve": continuation.Approved, "deny": continuation.Denied}[text]; t.Kind {
	case continuation.ApprovalResolution:
		t.Decision = decision
	case continuation.UserReply:
		t.Message = &execution.Message{ID: "reply", Text: execution.Prompt(text), ReceivedAt: clock()}
	}
	r, _, err = waiting.Resume(ctx, id, t)
	if err == nil && r.Status != continuation.Completed {
		fmt.Fprintln(out, r.Status, r.Reason)
	}
	return err
}
