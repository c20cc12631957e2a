// Command bot is a small assistant over any agent of Drawbar: it asks its policy first, and keeps turns that wait for an approval or an
// answer in a file, so that they can be continued days later.
//
//	bot ask "delete the old logs"      prints the answer, or what it waits for
//	bot list                           prints what waits
//	bot answer ID approve|deny|TEXT    continues a turn
//
// BOT_AGENT and BOT_MODEL name who does the work, BOT_FILE is the file (bot.db).
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/drawbar/drawbar"
	_ "github.com/drawbar/drawbar/adapter/all"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/product/continuation"
	"github.com/drawbar/drawbar/product/policy"
)

var (
	file, agent, model = cmp.Or(os.Getenv("BOT_FILE"), "bot.db"), os.Getenv("BOT_AGENT"), os.Getenv("BOT_MODEL")
	clock              = time.Now
)

func main() {
	drawbar.Supervise()
	if err := bot(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		log.Fatalln("bot:", err)
	}
}

func bot(ctx context.Context, out io.Writer, args []string) error {
	client, err := drawbar.New(drawbar.Options{})
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // nothing is lost
	rules, err := policy.New(policy.Options{}, policy.Rule{ID: "no-money", Evaluate: noMoney})
	if err != nil {
		return err
	}
	store, err := continuation.OpenSQLite(ctx, file)
	if err != nil {
		return err
	}
	defer store.Close() //nolint:errcheck // every change is on the disk
	run := func(ctx context.Context, req execution.Request) (execution.Result, error) {
		req.Run.Agent, req.Run.NonInteractive = agent, true
		req.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportRequired}
		return client.Execute(ctx, req, drawbar.RunOptions{})
	}
	waiting := continuation.New(continuation.Options{Store: store, Now: clock,
		Run: func(ctx context.Context, t continuation.Turn) (execution.Result, error) { return run(ctx, t.Request()) }})
	switch {
	case len(args) == 2 && args[0] == "ask":
		if err := rules.Check(ctx, policy.Action{Description: args[1]}); err != nil {
			return err
		}
		req := execution.Request{SessionID: "shell", Message: execution.Message{Text: execution.Prompt(args[1])},
			Instructions: execution.Instructions{SystemPrompt: "You keep a folder tidy."}, Run: execution.RunOptions{Model: model}}
		res, err := run(ctx, req)
		if err != nil || res.Status == execution.StatusCompleted {
			fmt.Fprintln(out, res.Text)
			return err
		}
		c := continuation.FromResult(req, res)
		c.ExpiresAt = clock().AddDate(0, 0, 7)
		r, err := waiting.Create(ctx, c)
		if err == nil {
			fmt.Fprintf(out, "%s waits for %s\n", r.ID, r.WaitFor.Kind)
		}
		return err
	case len(args) == 1 && args[0] == "list":
		all, err := store.List(ctx, "")
		for _, r := range all {
			fmt.Fprintf(out, "%s  %s  %s  %v\n", r.ID, r.Status, r.WaitFor.Kind, r.Continuation.State["action"])
		}
		return err
	case len(args) == 3 && args[0] == "answer":
		r, err := store.Get(ctx, args[1])
		if err == nil {
			r, _, err = waiting.Resume(ctx, r.ID, r.Reply(args[2]))
		}
		if err == nil {
			fmt.Fprintln(out, cmp.Or(r.Delivery.Text, fmt.Sprint(r.Status, " ", r.Reason)))
		}
		return err
	}
	return errors.New("usage: bot ask TEXT | list | answer ID approve|deny|TEXT")
}

// noMoney denies a turn about money.
func noMoney(_ context.Context, a policy.Action, _ policy.Risk) (*policy.Decision, error) {
	if strings.Contains(strings.ToLower(a.Description), "transfer") {
		return &policy.Decision{Verdict: policy.Deny, Reason: "this bot moves no money"}, nil
	}
	return &policy.Decision{Verdict: policy.Allow}, nil
}
