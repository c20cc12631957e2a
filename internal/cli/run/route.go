package run

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/product/routing"
)

// What candidates are compared by.
const (
	routeInput  = 10_000 // tokens
	routeOutput = 1_000
	routeRuns   = 20 // of the record, for the mean duration
)

// choose replaces a list of agents, the first argument, with the one that --route prefers. The others without a model are its fallbacks.
func (o *options) choose(cmd *cobra.Command, app *cli.App, args []string) ([]string, error) {
	if !cmd.Flags().Changed("route") {
		return args, nil
	}
	for _, name := range []string{"race", "session", "fork", "continue", "model"} {
		if cmd.Flags().Changed(name) {
			return nil, cli.Usage("--route chooses between agents, and --%s is for one", name).WithHint("leave --%s out", name)
		}
	}
	if len(args) == 0 || !strings.Contains(args[0], ",") {
		return nil, cli.Usage("--route needs a list of agents").WithHint("%s --route cheapest claude,codex/MODEL \"what to do\"", cmd.CommandPath())
	}
	app.SetDir(o.flags.Dir())
	client, err := app.Client()
	if err != nil {
		return nil, err
	}
	dir, err := app.ProjectDir()
	if err != nil {
		return nil, err
	}
	var all []routing.Candidate
	for part := range strings.SplitSeq(args[0], ",") {
		c, err := o.candidate(cmd, app, client, dir, strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	r, err := routing.ToAdapter(routing.Need{Prefer: routing.Preference(o.route)}, all)
	if err != nil {
		return nil, err
	}
	var then []string
	for _, f := range r.Fallbacks {
		if then = append(then, f.Name()); f.Model == "" && f.Agent != r.Candidate.Agent {
			o.flags.Fallback = append(o.flags.Fallback, f.Agent)
		}
	}
	if !app.JSON && !o.answer.quiet {
		text := r.Candidate.Name() + " runs it: " + r.Reason
		if len(then) > 0 {
			text += "; then " + strings.Join(then, ", ")
		}
		for _, x := range r.Rejected {
			text += "; not " + x.Candidate.Name() + ": " + x.Reason
		}
		app.Notef("%s", text)
	}
	return append([]string{r.Candidate.Name()}, args[1:]...), nil
}

// candidate is an agent of the list with what is known about it.
func (o *options) candidate(cmd *cobra.Command, app *cli.App, client *drawbar.Client, dir, name string) (c routing.Candidate, err error) {
	agentName, model, _ := strings.Cut(name, "/")
	if err := app.TrustAgent(cmd.Context(), agentName, o.trust); err != nil {
		return c, err
	}
	entry, err := app.Agent(agentName)
	if err != nil {
		return c, err
	}
	if entry.Capabilities().Agent.TakesCommand {
		return c, cli.Usage("--route: %s runs a program that each run names", agentName)
	}
	c.Agent, c.Model = entry.Descriptor.Name, model
	over := config.Options{}
	if model != "" {
		over["model"], _ = json.Marshal(model) // a text always encodes
	}
	run, err := o.flags.RunIn(app, cmd, dir, c.Agent, over)
	if err != nil {
		return c, err
	}
	run.Agent = c.Agent
	if c.Negotiation, err = client.Negotiate(execution.Request{Run: run, Message: execution.Message{Text: "route"}}, drawbar.RunOptions{}); err != nil {
		return c, err
	}
	found, err := client.Detect(cmd.Context(), c.Agent)
	if err != nil {
		return c, err
	}
	if !found.Installed && !entry.Descriptor.Programless() {
		c.Down = "it is not installed"
	}
	if id := cmp.Or(run.Model, found.ActiveModel); id != "" {
		if p := client.Models().Price(c.Agent, id); p != nil {
			c.Cost = p.Of(execution.Usage{Input: routeInput, Output: routeOutput, Total: routeInput + routeOutput})
		}
		if m, err := client.Models().Model(c.Agent, id); err == nil {
			c.Context = int(m.ContextWindow)
		}
	}
	c.Latency, err = took(cmd.Context(), app, c.Agent, model)
	return c, err
}

// took is the mean duration of the newest completed runs of an agent; 0 if there are none.
func took(_ context.Context, app *cli.App, name, model string) (time.Duration, error) {
	store, err := app.Store()
	if err != nil {
		return 0, err
	}
	runs, err := store.List(runstore.Filter{Agent: name, State: execution.OutcomeCompleted, Limit: routeRuns})
	if err != nil {
		return 0, err
	}
	var sum, n int64
	for _, r := range runs {
		if model == "" || r.Model == model || strings.Contains(r.Model, model) {
			sum, n = sum+r.DurationMs, n+1
		}
	}
	if n == 0 {
		return 0, nil
	}
	return time.Duration(sum/n) * time.Millisecond, nil
}
