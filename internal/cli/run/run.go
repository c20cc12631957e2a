// Package run is "drawbar run": one turn, or a conversation, of one agent.
package run

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
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
	hooks       []string
	hookTimeout time.Duration
	trust       bool
}

// New makes the command.
func New(app *cli.App) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "run [AGENT] [PROMPT] [-- COMMAND [ARGS...]]",
		Short: "Run an agent and stream what it does",
		Long: `Run an agent and stream what it does: its answer to standard output, tools, questions and cost to standard error.

The prompt is the words behind the agent's name, --prompt, a file (--file), or standard input. Without an agent's name
the configured one runs (drawbar config set defaultAgent claude), or that of the profile.
The agent acp is any program that speaks the Agent Client Protocol: it and its arguments stand behind --.
Ctrl-C once interrupts the turn, twice aborts the run. On a terminal permission questions are asked there;
elsewhere they are denied with a warning, unless --approve says otherwise.`,
		Example: `  drawbar run claude "fix the failing test"
  drawbar run codex --approve yolo --cwd ../service "upgrade the linter"
  git diff | drawbar run claude --system "You review patches." --json
  drawbar run claude -i "let us look at the parser"     # a conversation: type while it works
  drawbar run codex -d "write the changelog"            # in the background; then: drawbar ps
  drawbar run acp "explain this module" -- gemini --acp`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, app, args) },
	}
	o.flags.Register(cmd)
	cmd.Flags().BoolVarP(&o.interactive, "interactive", "i", false, "keep the conversation open: lines from standard input are messages")
	cmd.Flags().BoolVarP(&o.detach, "detach", "d", false, "run in the background and print the run's id")
	cmd.Flags().StringArrayVar(&o.hooks, "hook", nil, "EVENT=COMMAND to ask or tell in this run: preToolUse, userPromptSubmit (can deny or modify), postToolUse, sessionStart, sessionEnd, stop (repeatable); see drawbar hooks --help")
	cmd.Flags().DurationVar(&o.hookTimeout, "hook-timeout", agent.DefaultHookTimeout, "how long one command of a hook may take; then it has denied")
	cli.TrustFlag(cmd, &o.trust)
	return cmd
}

func (o *options) run(cmd *cobra.Command, app *cli.App, args []string) error {
	client, err := app.Client()
	if err != nil {
		return err
	}
	entry, args, err := o.flags.Agent(app, cmd, args)
	if err != nil {
		return err
	}
	if o.interactive && o.detach {
		return cli.Usage("--interactive and --detach contradict each other").WithHint("detach it, then talk to it: drawbar attach RUN")
	}
	prompt, err := o.flags.Split(cmd, entry.Adapter.Capabilities().Agent.TakesCommand, true, args)
	if err != nil {
		return err
	}
	if o.interactive && len(prompt) == 0 && o.flags.File == "" && !cmd.Flags().Changed("prompt") {
		app.Notef("what should %s do? (a line, then Enter)", entry.Descriptor.DisplayName)
		line, err := app.ReadLine(cmd.Context())
		if err != nil {
			return cli.Usage("no prompt was given: %v", err)
		}
		prompt = []string{line}
	}
	req, err := o.flags.Request(app, cmd, entry.Descriptor.Name, prompt, true)
	if err != nil {
		return err
	}
	req.Run.Interactive = o.interactive
	if o.hookTimeout < time.Millisecond {
		return cli.Usage("--hook-timeout %s is out of range", o.hookTimeout).WithHint("a duration such as 30s or 5m")
	}
	opts := drawbar.RunOptions{Fallback: o.flags.Fallback}
	told, err := addHooks(cmd.Context(), app, entry, req.Run.Cwd, o.hooks, o.hookTimeout, o.trust, &opts)
	if err != nil {
		return err
	}
	if o.detach {
		return Detach(cmd.Context(), app, client, order{req, opts.Fallback, o.hooks, o.hookTimeout}, opts)
	}
	defer told()
	return Execute(cmd.Context(), app, client, req, opts)
}

// Execute runs a request in the foreground: events to the app's streams, signals and the terminal to the run. The error
// carries the exit code.
func Execute(ctx context.Context, app *cli.App, client *drawbar.Client, req execution.Request, opts drawbar.RunOptions) error {
	terminal := cli.IsTerminal(app.In) && cli.IsTerminal(app.Err) && !app.JSON
	var status *cli.StatusLine
	if terminal && !req.Run.Interactive && app.Getenv("TERM") != "dumb" { // a person types where the line would be
		status = cli.NewStatusLine(app.Err, req.Run.Agent)
		defer status.Close()
	}
	out := newOutput(app, req.Run.Debug, status)
	defer out.close()

	talk := &conversation{app: app, status: status}
	if terminal && !req.Run.Interactive {
		opts.OnApproval = talk.approve
		opts.OnInput = talk.input
	}
	run, err := client.Run(ctx, req, opts)
	if err != nil {
		return err
	}
	var background sync.WaitGroup
	over, end := context.WithCancel(ctx)
	defer background.Wait()
	defer end()
	background.Go(func() { obey(over, run) })
	if req.Run.Interactive {
		// A read of a terminal cannot be cancelled: this goroutine ends with the input or with the process.
		go talk.listen(over, func(c control.Call) (control.Reply, error) {
			r := control.Apply(run, c)
			if r.Error != nil {
				return r, r.Error
			}
			return r, nil
		})
	}
	for e, err := range run.Events(context.WithoutCancel(ctx), 0) {
		if err != nil {
			return err
		}
		out.event(e)
		if _, ended := e.Body.(execution.TurnEnd); ended && e.Parent == "" && terminal && req.Run.Interactive {
			fmt.Fprint(app.Err, "> ")
		}
	}
	res, err := run.Result(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	return ended(res)
}

// ended turns a result into the command's exit code; what there is to say has been said.
func ended(res execution.Result) error {
	if code := exitcode.OfResult(res); code != 0 {
		return &exitcode.Error{Code: code, Silent: true, Err: fmt.Errorf("the run ended %s", res.Status)}
	}
	return nil
}

// obey passes signals on to the run: the first interrupt interrupts, the second aborts, a third ends this process at once.
func obey(ctx context.Context, run *agent.Run) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	interrupts := 0
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-signals:
			if s != os.Interrupt {
				run.Abort(fmt.Errorf("signal %s", s))
				continue
			}
			interrupts++
			switch interrupts {
			case 1:
				run.CloseInput()
				err := run.Interrupt()
				idle := execution.CodeOf(err) == execution.CodeInvalidStateTransition && run.State() != execution.StatePaused
				if err != nil && !idle { // a conversation between its turns ends with its input
					run.Abort(errors.New("interrupted from the keyboard"))
				}
			case 2:
				run.Abort(errors.New("interrupted twice from the keyboard"))
			default:
				os.Exit(execution.ExitInterruptedKey)
			}
		}
	}
}

// output writes events as JSON lines or for a person.
type output struct {
	app    *cli.App
	render *cli.Renderer
	mu     sync.Mutex
	buf    *bufio.Writer
	stop   chan struct{}
	done   chan struct{}
	err    error
}

func newOutput(app *cli.App, debug bool, status *cli.StatusLine) *output {
	o := &output{app: app}
	if !app.JSON {
		o.render = cli.NewRenderer(app, debug, status)
		return o
	}
	o.buf, o.stop, o.done = bufio.NewWriterSize(app.Out, 64<<10), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(o.done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				o.flush()
			case <-o.stop:
				return
			}
		}
	}()
	return o
}

func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = cmp.Or(o.err, o.buf.Flush())
}

func (o *output) event(e execution.Event) {
	if o.render != nil {
		o.render.Event(e)
		return
	}
	b, err := e.MarshalJSON()
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.err = cmp.Or(o.err, err)
		return
	}
	o.buf.Write(b)
	o.buf.WriteByte('\n')
}

func (o *output) close() {
	if o.buf == nil {
		return
	}
	close(o.stop)
	<-o.done
	o.flush()
	if o.err != nil && !errors.Is(o.err, syscall.EPIPE) {
		o.app.Warnf("write events: %v", o.err)
	}
}

// conversation is a person at standard input.
type conversation struct {
	app    *cli.App
	status *cli.StatusLine
	mu     sync.Mutex // one question at a time on the terminal
}

// ask shows a question and waits for a line, without the status line in the way.
func (c *conversation) ask(ctx context.Context, question string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Allow(false)
	defer c.status.Allow(true)
	c.status.Hide()
	c.app.Notef("%s", question)
	return c.app.ReadLine(ctx)
}

// approve asks for permission on the terminal.
func (c *conversation) approve(ctx context.Context, q execution.ApprovalRequired) execution.Decision {
	line, err := c.ask(ctx, "  allow it? [y]es, [n]o, or a reason to refuse")
	if err != nil {
		return execution.Decision{Reason: "no answer was given"}
	}
	return Decide(line)
}

func (c *conversation) input(ctx context.Context, q execution.InputRequired) (string, error) {
	return c.ask(ctx, "  your answer:")
}

// Decide reads an answer to a permission question: yes, no, or a refusal with its reason.
func Decide(line string) execution.Decision {
	switch answer := strings.ToLower(strings.TrimSpace(line)); answer {
	case "y", "yes":
		return execution.Decision{Approve: true}
	case "", "n", "no":
		return execution.Decision{Reason: "denied by the user"}
	default:
		return execution.Decision{Reason: strings.TrimSpace(line)}
	}
}

// listen passes lines of standard input on: answers while a question is pending, else messages and slash commands.
func (c *conversation) listen(ctx context.Context, do func(control.Call) (control.Reply, error)) {
	for {
		line, err := c.app.ReadLine(ctx)
		if err != nil {
			if errors.Is(err, io.EOF) {
				_, _ = do(control.Call{Verb: "close-input"}) // the run may have ended meanwhile
			}
			return
		}
		call, quit := Parse(line, do)
		if quit {
			return
		}
		if call.Verb == "" {
			continue
		}
		if _, err := do(call); err != nil {
			c.app.Notef("  %v", err)
		}
	}
}

// Parse turns a line into a call. do is asked what is pending, since a plain line answers a question before it is a message.
func Parse(line string, do func(control.Call) (control.Reply, error)) (call control.Call, quit bool) {
	text := strings.TrimSpace(line)
	if word, rest, _ := strings.Cut(text, " "); strings.HasPrefix(word, "/") {
		switch word {
		case "/quit", "/exit":
			_, _ = do(control.Call{Verb: "close-input"}) // the run may have ended meanwhile
			return control.Call{}, true
		case "/interrupt", "/abort", "/pause", "/resume":
			return control.Call{Verb: word[1:]}, false
		case "/queue", "/steer", "/approve", "/deny":
			return control.Call{Verb: word[1:], Text: strings.TrimSpace(rest)}, false
		}
	}
	status, err := do(control.Call{Verb: "status"})
	if err == nil && len(status.Pending) > 0 {
		q := status.Pending[0]
		d := Decide(text)
		if !q.Approval {
			d = execution.Decision{Approve: true, Text: text}
		}
		return control.Call{Verb: "answer", Question: q.ID, Decision: &d}, false
	}
	if text == "" {
		return control.Call{}, false
	}
	return control.Call{Verb: string(execution.VerbSend), Text: text, When: execution.WhenNow}, false
}
