// Package batch is "drawbar batch": many prompts, several at once, each until it has a result.
package batch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/batch/queue"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/cli/junit"
)

type options struct {
	flags   cli.RequestFlags
	jobs    string
	results string
	junit   string
	report  []junit.Case
	run     queue.Options

	waits sync.Once // for other runs, to know what budgets have left
	mu    sync.Mutex
	over  string // why a budget ended the batch
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use: "batch FILE [AGENT]", Short: "Run many prompts of a file, several at once",
		Long: `Run the prompts of a file of JSON lines. A line is an object with prompt, and at will id, systemPrompt, agent, fallback, cwd, model and every
other option of a run but the profile by its name in JSON; what a line leaves out comes from the command line and the configuration. Without an id, an
item has the number of its line.

Each item has one result, a line of JSON in FILE.results.jsonl (--results), in the order in which they end. The same command again does
what is left: after Ctrl-C, a crash, a power failure, --max-cost or --max-failures. An item whose line changed after it was run is refused.

A usage limit of an agent is waited for by all of its items; that of a fallback agent also by the item that met it. Nobody is asked:
calls that need permission are denied unless --approve or --allow permits them. With --json, results are printed in the order of the
file, those of earlier runs too, and then {"summary": ...}.

The exit code is 0 if all items completed, 1 if one failed, 21 at --max-cost or when a budget (drawbar budget) is used up, 130 after Ctrl-C.`,
		Example: `  drawbar batch prompts.jsonl claude --jobs 4 --allow Read
  drawbar batch prompts.jsonl --jobs auto --max-cost 5 --max-failures 3
  jq -r 'select(.status != "completed") | .id' prompts.jsonl.results.jsonl`,
		Args: cli.Args(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.do(cmd, app, args) },
	}
	o.flags.Register(cmd)
	o.flags.Refuse(cmd, func(row execution.Option) bool {
		return row.In(execution.ReachDefaults) || row.Name == "cwd" || row.Name == "profile"
	},
		"is for one run", "state it in a line of the file", "system", "system-file", "fallback")
	f := cmd.Flags()
	f.StringVar(&o.jobs, "jobs", "1", "items at once; auto for one a processor core, at most 8")
	f.StringVar(&o.results, "results", "", "file of results (default FILE.results.jsonl)")
	f.StringVar(&o.junit, "junit", "", "file for a report of all items, as continuous integration reads it")
	f.Float64Var(&o.run.MaxCost, "max-cost", 0, "start nothing more once the items of this command have cost so many dollars")
	f.IntVar(&o.run.MaxFailures, "max-failures", 0, "start nothing more once so many items have failed")
	f.BoolVar(&o.run.RetryFailed, "retry-failed", false, "run items again that failed before")
	return cmd
}

func (o *options) do(cmd *cobra.Command, app *cli.App, args []string) error {
	if err := o.check(cmd); err != nil {
		return err
	}
	app.SetDir(o.flags.Dir())
	dir, err := app.ProjectDir()
	if err != nil {
		return err
	}
	r := &reader{app: app, cmd: cmd, flags: &o.flags, dir: dir, known: map[string]execution.RunOptions{}}
	if r.system, err = o.flags.SystemPrompt(); err != nil {
		return err
	}
	if len(args) > 1 {
		entry, rest, err := o.flags.Agent(app, cmd, args[1:])
		if err != nil {
			return err
		}
		if r.agent = entry.Descriptor.Name; len(rest) > 1 {
			return cli.Usage("%s is not an agent's name", args[1])
		}
	} else if cfg, err := app.Config(dir); err != nil {
		return err
	} else {
		r.agent = cfg.DefaultAgent()
	}
	items, err := r.read(args[0])
	if err != nil {
		return err
	}
	path := o.results
	if path == "" {
		path = args[0] + ".results.jsonl"
	}
	report, err := cli.OpenOut("--junit", o.junit)
	if err != nil {
		return err
	}
	if same(path, args[0]) {
		return cli.Usage("--results is the file of the items").WithHint("name another file")
	}
	if o.run.Results, err = queue.Open(path); errors.Is(err, queue.ErrInUse) {
		return execution.Errorf(execution.CodeConfig, "%w", err).WithHint("wait for it, or stop it")
	} else if err != nil {
		return cli.Usage("--results: %v", err).WithHint("name a file of results, or one that does not exist")
	}
	defer func() { _ = o.run.Results.Close() }() // every result is on the disk
	if err := changed(items, o.run.Results, path); err != nil {
		return err
	}
	client, err := app.Client()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the program; the runs end with it
	}()
	line := begin(app, items, &o.run)
	o.run.Run = func(ctx context.Context, item queue.Item, _ int) (queue.Result, *queue.Limit) {
		lane := line.began(item)
		res, limit := o.one(ctx, app, client, item, lane)
		line.ended(lane, res, limit == nil)
		return res, limit
	}
	o.run.Told = func(_ queue.Item, res queue.Result, earlier bool) {
		tell(app, res, earlier)
		o.report = append(o.report, caseOf(res))
	}
	o.run.Waits = func(agent string, until time.Time) {
		line.limited(agent, until)
		app.Notef("%s has reached its usage limit; its items wait until %s", agent, until.Format("2006-01-02 15:04:05"))
	}
	sum, err := queue.Run(ctx, items, o.run)
	line.status.Close()
	var text bytes.Buffer
	err = errors.Join(err, o.summarize(app, sum, path), junit.Write(&text, "drawbar batch "+args[0], "drawbar.batch", o.report))
	if err == nil {
		err = report.Write(text.Bytes())
	}
	if err != nil {
		return err
	}
	return code(sum)
}

// caseOf is an item in a report.
func caseOf(r queue.Result) junit.Case {
	c := junit.Case{Name: r.Agent + " " + r.ID, Took: time.Duration(r.DurationMs) * time.Millisecond, Output: r.Text}
	if r.Failed() {
		c.Output, c.Failure = "", string(r.Status)
		if r.Error != nil {
			c.Failure, c.Detail = string(r.Error.Code), r.Error.Message
		}
	}
	return c
}

// check reads what the flags say.
func (o *options) check(cmd *cobra.Command) error {
	n, err := strconv.Atoi(o.jobs)
	switch {
	case o.jobs == "auto":
		n = min(runtime.NumCPU(), 8)
	case err != nil || n < 1:
		return cli.Usage("--jobs %q is neither a number of at least 1 nor auto", o.jobs).WithHint("%s FILE --jobs 4", cmd.CommandPath())
	}
	o.run.Jobs = n
	switch {
	case o.run.MaxCost < 0 || cmd.Flags().Changed("max-cost") && o.run.MaxCost == 0:
		return cli.Usage("--max-cost must be more than 0")
	case o.run.MaxFailures < 0 || cmd.Flags().Changed("max-failures") && o.run.MaxFailures == 0:
		return cli.Usage("--max-failures must be at least 1")
	}
	return nil
}

// same reports whether two paths lead to one file.
func same(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return filepath.Clean(a) == filepath.Clean(b)
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// changed refuses items whose line is another one than that of their result.
func changed(items []queue.Item, results *queue.Results, path string) error {
	var ids []string
	for _, item := range items {
		if known := results.Of(item.ID); known != nil && known.Hash != item.Hash {
			ids = append(ids, item.ID)
		}
	}
	if n := len(ids); n > maxTold {
		ids = append(ids[:maxTold], fmt.Sprintf("and %d more", n-maxTold))
	}
	if len(ids) > 0 {
		return cli.Usage("%s has results of items whose lines have changed since: %s", path, strings.Join(ids, ", ")).
			WithHint("give them other ids, delete their lines in %s, or name another file: --results FILE", path)
	}
	return nil
}

// recheck is how often an item that waits for a budget looks at it.
const recheck = 500 * time.Millisecond

// one carries out an item as soon as budgets allow it.
func (o *options) one(ctx context.Context, app *cli.App, client *drawbar.Client, item queue.Item, lane *cli.Lane) (queue.Result, *queue.Limit) {
	for {
		res, limit, err := run(ctx, client, item, lane)
		over, is := errors.AsType[*drawbar.OverBudget](err)
		if !is {
			return res, limit
		}
		if over.ReservedUSD == 0 {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.over = over.Error()
			return res, &queue.Limit{Budget: true}
		}
		lane.Say("waits for a budget")
		o.waits.Do(func() { app.Notef("%v; items wait for it", over) })
		select {
		case <-ctx.Done():
			return res, nil
		case <-time.After(recheck):
		}
	}
}

// run carries out one item. The error is why it could not be started; the result has it too.
func run(ctx context.Context, client *drawbar.Client, item queue.Item, lane *cli.Lane) (queue.Result, *queue.Limit, error) {
	w, _ := item.Work.(work)
	failed := func(err error) (queue.Result, *queue.Limit, error) {
		e := execution.Errorf(execution.CodeOf(err), "%w", err)
		return queue.Result{Status: execution.StatusFailed, Error: e, ExitCode: exitcode.Of(err)}, nil, err
	}
	r, err := client.Run(ctx, w.request, drawbar.RunOptions{Fallback: w.fallback})
	if err != nil {
		return failed(err)
	}
	limits := map[string]time.Time{} // by agent
	for e, err := range r.Events(context.WithoutCancel(ctx), 0) {
		if err != nil {
			return failed(err)
		}
		lane.Event(e)
		if b, is := e.Body.(execution.RateLimited); is && !strings.HasPrefix(b.Status, "allowed") {
			switch {
			case b.ResetsAt > 0:
				limits[e.Agent] = time.UnixMilli(b.ResetsAt)
			case b.RetryAfterMs > 0:
				limits[e.Agent] = time.Now().Add(time.Duration(b.RetryAfterMs) * time.Millisecond)
			}
		}
	}
	res, err := r.Result(context.WithoutCancel(ctx))
	if err != nil {
		return failed(err)
	}
	one := queue.Result{Agent: res.Agent, RunID: res.RunID, SessionID: res.SessionID, Status: res.Status, Cost: res.Cost, Usage: res.Usage, DurationMs: res.DurationMs,
		ExitCode: exitcode.OfResult(res)}
	if res.Output != nil {
		one.Text, one.Structured = res.Output.Text, res.Output.Structured
	}
	if res.Error != nil {
		one.Error = &execution.Error{Code: res.Error.ErrorCode(), Message: res.Error.Message}
	}
	if res.Error != nil && res.Error.ErrorCode() == execution.CodeRateLimited {
		return one, &queue.Limit{Agent: res.Agent, Until: limits[res.Agent]}, nil
	}
	return one, nil, nil
}

// tell prints a result.
func tell(app *cli.App, r queue.Result, earlier bool) {
	if app.JSON {
		_ = app.Line(r) // the file has it
		return
	}
	if earlier {
		return
	}
	mark, why := "✓", ""
	if r.Failed() {
		mark, why = "✗", string(r.Status)
		if r.Error != nil {
			why = string(r.Error.Code) + ": " + r.Error.Message
		}
	}
	app.Printf("%s\n", strings.TrimRight(fmt.Sprintf("%s %s  %s · %s · %s  %s", mark, cli.OneLine(r.ID, 60), r.Agent,
		(time.Duration(r.DurationMs)*time.Millisecond).Round(10*time.Millisecond), cli.Money(r.Cost), cli.OneLine(why, 200)), " "))
}

// summarize prints the summary.
func (o *options) summarize(app *cli.App, sum queue.Summary, path string) error {
	if app.JSON {
		return app.Line(map[string]queue.Summary{"summary": sum})
	}
	text := fmt.Sprintf("%s: %d done now, %d before, %d failed, %d left, $%.4f", cli.Number(sum.Items, "item", "items"), sum.Run, sum.Earlier, sum.Failed, sum.Left, sum.CostUSD)
	app.Notef("%s; results in %s", text, path)
	switch sum.Stop {
	case queue.Cost:
		app.Notef("stopped at --max-cost")
	case queue.Budget:
		app.Notef("stopped: %s", o.over)
	case queue.Failures:
		app.Notef("stopped at --max-failures")
	}
	if sum.Left > 0 {
		app.Notef("  try: the same command again, for what is left")
	}
	return nil
}

// code is the exit code of a batch.
func code(sum queue.Summary) error {
	exit := execution.ExitOK
	switch {
	case sum.Stop == queue.Stopped:
		exit = execution.ExitInterruptedKey
	case sum.Stop == queue.Cost, sum.Stop == queue.Budget:
		exit = execution.ExitBudget
	case sum.Failed > 0 || sum.Stop == queue.Failures:
		exit = execution.ExitGeneral
	}
	return exitcode.If(exit != execution.ExitOK, exit, nil)
}
