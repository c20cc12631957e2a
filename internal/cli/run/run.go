// Package run is "drawbar run": one turn, or a conversation, of one agent.
package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/control"
)

type options struct {
	flags       cli.RequestFlags
	interactive bool
	detach      bool
	unattended  string // --non-interactive
	goOn        bool   // --continue
	name        string // of the session
	worktree    string
	route       string // what --route prefers
	hooks       []string
	hookTimeout time.Duration
	trust       bool
	answer      answer
	record      string
	replay      string
	racing      raceFlags
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use: "run [AGENT] [PROMPT] [-- COMMAND [ARGS...]]",
		Long: `Run an agent and stream what it does: its answer to standard output; tools, questions and cost to standard error.

The prompt is the words after the agent's name, --prompt, a file (--file), or standard input; without one, on a terminal, a
conversation begins (-i). Without an agent's name, the agent of
the profile or the configured default runs (drawbar config set defaultAgent claude).

The agent acp is any program that speaks the Agent Client Protocol: give the program and its arguments after --. The agent
command is any other program, for one turn: the prompt is its standard input, or replaces {prompt} in an argument, or is in
the file that replaces {prompt_file}; its standard output is the answer, and exit code 0 means completed.

Ctrl-C interrupts the turn; a second Ctrl-C aborts the run. A conversation (-i) continues after an interrupt; Ctrl-C twice
between its turns ends it. A run whose output is no longer read continues and stays on record.

The line of a conversation can be edited: cursor keys, the messages of earlier conversations (up), /commands (tab), several lines (pasted,
or a \ or Alt-Enter at the end of a line). Ctrl-C clears it, Ctrl-D or a second Ctrl-C leaves.

--race lets several agents do the same work, each in a git worktree of its own at the same commit, and shares --budget among them. --check
runs in a clean checkout with what a racer did, but with the tests, the build files and the files that the command names as they were
(--protect chooses others). To have the work of one: drawbar adopt RUN. The exit code is 0 if the work of one is good.

--route takes a list of agents and runs the one that can do it and is the cheapest (10,000 tokens in, 1,000 out), the fastest (mean of its last 20
runs here) or the most capable (lacks the least, then the largest window). Unknown prices and times come last; the others are its fallbacks.

Permission questions are asked on the terminal. Without one, or with --non-interactive deny, they are denied unless --approve or
--allow permits the call, and the exit code is 24; with --non-interactive fail the run ends at the first one, with exit code 20.

Who wants to be told of questions that wait and of runs that have ended says so in the configuration: drawbar config set notify
'{"desktop":true}' (also bell, command, webhook; on and after say what and how late; drawbar config schema explains them).

--mcp reads {"mcpServers": {name: {command, args, env} or {type, url, headers}}}.

--record adds what the agent did to a file of JSON lines, without secrets; --replay repeats it as if the agent ran, with the same
output, usage, session and exit code, and needs no agent, key or network: for tests of scripts that run agents. The agent, the prompt and
the options must be those of the recorded run; what differs is reported. Files are not changed by a replay, and it is not in the
record of runs.`,
		Example: `  drawbar run claude "fix the failing test"
  drawbar run codex --approve yolo --cwd ../service "upgrade the linter"
  git diff | drawbar run claude --system "You review patches." --json
  drawbar run claude -i "let us look at the parser"     # a conversation: type while it works
  drawbar run codex -d "write the changelog"            # in the background; then: drawbar ps
  drawbar run harness/ollama/llama3 "fix the failing test"   # Drawbar's own agent: harness/PROVIDER/MODEL
  drawbar run --race claude,codex:2 --check 'go test ./...' --first-green "fix the parser"
  drawbar run --route cheapest claude,codex,gemini "explain this module"
  drawbar run acp "explain this module" -- gemini --acp
  drawbar run command "explain this module" -- ./ask.sh --brief
  drawbar run command -- ./check.sh                     # any program, without a prompt`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, app, args) },
	}
	o.flags.Register(cmd)
	cmd.Flags().BoolVarP(&o.interactive, "interactive", "i", false, "keep the conversation open; lines from standard input are messages")
	cmd.Flags().BoolVarP(&o.detach, "detach", "d", false, "run in the background and print the run id")
	cmd.Flags().BoolVar(&o.goOn, "continue", false, "go on with the agent's newest session in this directory (--session latest)")
	cmd.Flags().StringVar(&o.worktree, "worktree", "", "work in a git worktree and branch of its own: --worktree, or --worktree=NAME")
	cmd.Flags().Lookup("worktree").NoOptDefVal = newWorktree
	cmd.Flags().StringVar(&o.name, "name", "", "name for the session, which --session takes later")
	cmd.Flags().StringVar(&o.unattended, "non-interactive", "", "ask nobody: deny calls that need permission, or fail at the first (deny, fail)")
	_ = cmd.RegisterFlagCompletionFunc("non-interactive", cobra.FixedCompletions([]string{"deny", "fail"}, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	cmd.Flags().StringArrayVar(&o.hooks, "hook", nil, "EVENT=COMMAND to run at an event, for this run (repeatable; see drawbar hooks)")
	cmd.Flags().DurationVar(&o.hookTimeout, "hook-timeout", agent.DefaultHookTimeout, "time limit for a hook command; the call is denied when it expires")
	o.answer.register(cmd)
	cli.MarkdownFlag(cmd, app)
	cmd.Flags().StringVar(&o.record, "record", "", "file to add the run to, for --replay")
	cmd.Flags().StringVar(&o.replay, "replay", "", "file of a recorded run to repeat in place of the agent")
	cmd.Flags().StringVar(&o.route, "route", "", "choose from a list of agents: cheapest, fastest or capable")
	_ = cmd.RegisterFlagCompletionFunc("route", cobra.FixedCompletions([]string{"cheapest", "fastest", "capable"}, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	o.racing.register(cmd)
	cli.TrustFlag(cmd, &o.trust)
	return cmd
}

func (o *options) run(cmd *cobra.Command, app *cli.App, args []string) error {
	if err := o.racing.validate(cmd); err != nil {
		return err
	}
	if o.hookTimeout < time.Millisecond {
		return cli.Usage("--hook-timeout %s is out of range", o.hookTimeout).WithHint("a duration such as 30s or 5m")
	}
	args, err := o.choose(cmd, app, args)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("race") {
		return o.race(cmd, app, args)
	}
	if err := o.checkRecordings(cmd); err != nil {
		return err
	}
	if err := o.answer.check(cmd, app, o); err != nil {
		return err
	}
	app.Record, app.Replay = o.record, o.replay
	if len(args) > 0 {
		app.SetDir(o.flags.Dir())
		if err := app.TrustAgent(cmd.Context(), args[0], o.trust); err != nil {
			return err
		}
	}
	entry, args, err := o.flags.Agent(app, cmd, args)
	if err != nil {
		return err
	}
	client, err := app.Client()
	if err != nil {
		return err
	}
	if o.goOn {
		for _, other := range []string{"session", "fork", "no-session"} {
			if cmd.Flags().Changed(other) {
				return cli.Usage("--continue and --%s contradict each other", other).WithHint("use one of them")
			}
		}
		if err := cmd.Flags().Set("session", cli.Latest); err != nil {
			return err
		}
	}
	if err := checkName(client, o.name); err != nil {
		return err
	}
	if o.interactive && o.detach {
		return cli.Usage("--interactive and --detach contradict each other").WithHint("use --detach, then send messages with: " +
			"drawbar attach RUN")
	}
	if !o.detach && o.unattended == "" && entry.Capabilities().Agent.InteractiveMode && promptless(cmd, &o.flags, args) && cli.IsTerminal(app.In) && !app.JSON && !o.answer.quiet {
		o.interactive = true
	}
	if o.interactive {
		defer app.Converse(SlashCommands(), false)()
	}
	takesCommand := entry.Capabilities().Agent.TakesCommand
	prompt := o.flags.Split(cmd, takesCommand, args)
	if o.interactive && len(prompt) == 0 && o.flags.File == "" && !cmd.Flags().Changed("prompt") {
		app.Notef("A conversation with %s: a line is a message, /help lists commands, Ctrl-C twice leaves.", entry.Descriptor.DisplayName)
		asked, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGHUP) // before anybody can know that it is waited for
		if cli.IsTerminal(app.In) {
			app.Prompt()
		}
		line, err := app.ReadLine(asked)
		ended := asked.Err() != nil
		if stop(); ended {
			return &exitcode.Error{Code: execution.ExitAborted, Silent: true, Err: err} // with the terminal given back
		}
		if err != nil {
			return cli.Usage("no prompt was given: %v", err)
		}
		prompt = []string{line}
	}
	o.flags.PromptOptional = entry.Descriptor.PromptOptional
	req, err := o.flags.Request(app, cmd, entry.Descriptor.Name, prompt, true)
	if err != nil {
		return err
	}
	if takesCommand && len(req.Run.Command) == 0 {
		return cli.Usage("%s runs a program that you choose, and none is given", entry.Descriptor.Name).
			WithHint("%s %s \"what to do\" -- COMMAND [ARGS...]", cmd.CommandPath(), entry.Descriptor.Name)
	}
	req.Run.Interactive = o.interactive
	if err := o.askNobody(cmd, &req); err != nil {
		return err
	}
	opts := drawbar.RunOptions{Fallback: o.flags.Fallback}
	wait, err := addHooks(cmd.Context(), app, entry, req.Run, o.hooks, o.hookTimeout, o.trust, &opts)
	if err != nil {
		return err
	}
	at, err := placeOf(o.worktree, &req)
	if err != nil {
		return err
	}
	if _, err := client.Affordable(req, opts); err != nil && o.replay == "" {
		return err
	}
	if o.detach {
		return Detach(cmd.Context(), app, client, order{Request: req, Fallback: opts.Fallback, Name: o.name, Worktree: at, Hooks: o.hooks, HookTimeout: o.hookTimeout, trust: o.trust}, opts)
	}
	defer wait()
	if err := o.answer.open(); err != nil {
		return err
	}
	leave, err := at.enter(cmd.Context(), app, &req, o.trust, true)
	if err != nil {
		return err
	}
	defer leave()
	return execute(cmd.Context(), app, client, req, opts, o.name, &o.answer)
}

// promptless reports whether nothing gives a prompt. args begin with the agent's name.
func promptless(cmd *cobra.Command, f *cli.RequestFlags, args []string) bool {
	return len(args) < 2 && f.File == "" && !cmd.Flags().Changed("prompt") && cmd.ArgsLenAtDash() < 0
}

// askNobody applies --non-interactive.
func (o *options) askNobody(cmd *cobra.Command, req *execution.Request) error {
	if !cmd.Flags().Changed("non-interactive") {
		return nil
	}
	switch o.unattended {
	case "deny":
	case "fail":
		if req.Requirements == nil {
			req.Requirements = &execution.Requirements{}
		}
		req.Requirements.ApprovalInterrupts = execution.SupportRequired
	default:
		return cli.Usage("--non-interactive %q is unknown", o.unattended).WithHint("--non-interactive deny or --non-interactive fail")
	}
	if o.interactive {
		return cli.Usage("--interactive and --non-interactive contradict each other").WithHint("use one of them")
	}
	req.Run.NonInteractive = true
	return nil
}

// checkRecordings refuses what --record and --replay cannot do.
func (o *options) checkRecordings(cmd *cobra.Command) error {
	for _, name := range []string{"record", "replay"} {
		switch {
		case !cmd.Flags().Changed(name):
		case cmd.Flags().Lookup(name).Value.String() == "":
			return cli.Usage("--%s has no file", name).WithHint("--%s FILE", name)
		case o.detach:
			return cli.Usage("--%s and --detach contradict each other", name).WithHint("run in the foreground")
		}
	}
	if o.record != "" && o.replay != "" {
		return cli.Usage("--record and --replay contradict each other").WithHint("a replayed run is not recorded; use one of them")
	}
	return nil
}

// heldEvents is how many events may wait for the output before the agent has to wait.
const heldEvents = 16 << 10

// Execute runs a request in the foreground. Events go to the app's streams; signals and terminal input go to the run. The error
// contains the exit code.
func Execute(ctx context.Context, app *cli.App, client *drawbar.Client, req execution.Request, opts drawbar.RunOptions) error {
	return execute(ctx, app, client, req, opts, "", &answer{format: "text"})
}

func execute(ctx context.Context, app *cli.App, client *drawbar.Client, req execution.Request, opts drawbar.RunOptions, name string, a *answer) error {
	terminal := cli.IsTerminal(app.In) && cli.IsTerminal(app.Err) && !app.JSON
	asks := terminal && !req.Run.Interactive && !req.Run.NonInteractive
	var status *cli.StatusLine
	if terminal && !a.quiet && !req.Run.Interactive { // in a conversation the person types there
		status = app.StartStatus(req.Run.Agent)
		defer status.Close()
	}
	// If nothing reads standard output any more, writing fails but the run continues.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)

	talk, questions := &conversation{app: app, facts: &Facts{Agent: req.Run.Agent, Dir: req.Run.Cwd}}, cli.NewQuestions(app, status)
	if asks {
		opts.OnApproval, opts.OnInput = questions.Approve, questions.Input
	}
	opts.EventBuffer = heldEvents
	received, release := catch()
	defer release()
	run, err := client.Run(ctx, req, opts)
	if err != nil {
		return err
	}
	out := newOutput(app, run, a, req, status)
	defer out.close()
	if out.render != nil {
		out.render.Unrecorded = !client.Recorded(run.ID())
		out.render.Dir, out.render.Window = req.Run.Cwd, app.Window
		out.render.Unasked = req.Run.ApprovalMode == execution.ApprovalYolo
	}
	var background sync.WaitGroup
	over, end := context.WithCancel(ctx)
	defer background.Wait()
	defer end()
	defer func() { _ = app.Close() }() // signals are obeyed until the record is written; the root reports the error
	defer nameSession(app, client, run, name)()
	defer tellOthers(app, run)()
	keys := &signals{app: app, run: run, received: received, interactive: req.Run.Interactive}
	background.Go(func() { keys.obey(over) })
	if req.Run.Interactive {
		// Reading from a terminal cannot be cancelled: this goroutine ends with the input or the process.
		go talk.listen(over, func(c control.Call) (control.Reply, error) {
			r := control.Apply(run, c)
			if r.Error != nil {
				return r, r.Error
			}
			return r, nil
		})
	}
	for e, err := range run.EventsHeld(context.WithoutCancel(ctx), 0) {
		if err != nil {
			return err
		}
		if _, starts := e.Body.(execution.TurnStart); starts && e.Parent == "" {
			keys.turns.Add(1)
			app.Unprompt()
		}
		if e.Parent == "" {
			talk.facts.Add(e.Body)
		}
		question := cli.QuestionID(e.Body)
		switch {
		case !cli.Pending(run, question):
			out.event(e)
		case asks:
			questions.GiveWay(question, out.render, run)
		default:
			out.question(e, &talk.shown)
		}
		if next, waiting := talk.shown.Answered(e.Body); waiting > 0 {
			out.show(next, waiting)
		}
		if _, ended := e.Body.(execution.TurnEnd); ended && e.Parent == "" && terminal && req.Run.Interactive {
			app.Prompt()
		}
	}
	res, err := run.Result(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	switch {
	case a.format == "json":
		err = app.Line(res)
	case out.document != nil:
		err = out.document.write(app.Out, res)
	}
	if err = errors.Join(err, a.write(res)); err != nil {
		return err
	}
	if res.DeniedCalls > 0 && !app.JSON {
		app.Notef("%s denied because nobody could be asked", cli.Number(res.DeniedCalls, "tool call was", "tool calls were"))
		app.Notef("  try: --allow RULE, --approve reads, --approve yolo, or run it on a terminal")
	}
	return ended(res)
}

// ended returns the exit code of a result, which was already printed.
func ended(res execution.Result) error {
	if code := exitcode.OfResult(res); code != 0 {
		return &exitcode.Error{Code: code, Silent: true, Err: fmt.Errorf("the run ended %s", res.Status)}
	}
	return nil
}
