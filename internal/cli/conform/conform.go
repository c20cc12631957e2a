// Package conform is "drawbar agents conform": it runs the conformance suite of the seam against an installed agent with a
// scripted model, without cost or login.
package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/external"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/modelserver"
	"github.com/spf13/cobra"
)

// row is the outcome of a check.
type row struct {
	Check   string              `json:"check"`
	Spec    string              `json:"spec"`
	Verdict adaptertest.Verdict `json:"verdict"`
	Message string              `json:"message,omitempty"`
	Ms      int64               `json:"elapsedMs"`
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "conform [AGENT] [--command PROGRAM] [--url URL] [-- COMMAND ARGS...]",
		Short: "Run the conformance suite against an installed agent, with a scripted model",
		Long: `Run the conformance suite against an installed agent. The model is a script on this machine: no login, no cost. Checks that an
installed program cannot trigger are skipped, with the reason.

acp -- COMMAND checks any program that speaks the Agent Client Protocol, --command an external adapter that is not on PATH yet, and --url
one that waits for connections: a WebSocket with the same lines, and the token of DRAWBAR_TOKEN. Such a program, and an agent of your configuration, finds the scripted model in the usual variables, such as OPENAI_BASE_URL, or plays
the scenarios itself: it gets the message "conformance: SCENARIO". An external adapter lists the scenarios that it plays in its reply
to initialize; --plays lists them for the others.`,
		Example: `  drawbar conform claude
  drawbar conform acp -- my-agent --acp
  drawbar conform --command ./drawbar-adapter-mine --format junit > report.xml
  drawbar conform --command node -- ./adapter.ts`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := o.check(app, cmd, args); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			s, err := o.open(ctx, app)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.close()) }()
			return s.run(ctx, o)
		},
	}
	cmd.Flags().StringVar(&o.only, "check", "", "run only the checks whose name contains this text")
	cmd.Flags().StringVar(&o.program, "command", "", "external adapter to check: a `PROGRAM`, its arguments after --")
	cmd.Flags().StringVar(&o.url, "url", "", "external adapter to check that waits at a `URL`: ws:// or wss://")
	cmd.Flags().StringSliceVar(&o.plays, "plays", nil, "scenarios that the program plays itself, with commas")
	cmd.Flags().DurationVar(&o.limit, "limit", 2*time.Minute, "time limit for each run of a check")
	cmd.Flags().StringVar(&o.format, "format", text, "format of the report: text, json or junit")
	return cmd
}

const marker = "DRAWBAR_CONFORM"

func (s *stand) run(ctx context.Context, o options) error {
	subject := s.subject()
	rows := []row{}
	failures := 0
	for _, check := range adaptertest.Suite() {
		if !strings.Contains(check.Name, o.only) {
			continue
		}
		out := adaptertest.RunOne(ctx, subject, check)
		if ctx.Err() != nil {
			return execution.Errorf(execution.CodeInterrupted, "interrupted in check %s", check.Name)
		}
		if out.Verdict == adaptertest.Failing {
			failures++
		}
		rows = append(rows, row{check.Name, check.Spec, out.Verdict, out.Message, out.Elapsed.Milliseconds()})
		if o.format == text {
			line := fmt.Sprintf("%-5s %-34s %6.1fs", out.Verdict, check.Name, out.Elapsed.Seconds())
			if out.Message != "" {
				line += "  " + out.Message
			}
			s.app.Printf("%s\n", line)
		}
	}
	if len(rows) == 0 {
		return cli.Usage("no check name contains %q", o.only)
	}
	var err error
	if o.format == junitFormat {
		err = writeJUnit(s.app.Out, s.about.Name, rows)
	} else {
		err = s.app.Answer(rows, func() { s.app.Printf("%d checks, %d failed\n", len(rows), failures) })
	}
	return exitcode.If(failures > 0, execution.ExitGeneral, err)
}

func (s *stand) subject() adaptertest.Subject {
	sub := adaptertest.Subject{
		Backend: func() agent.Backend { return agent.BackendOf(s.about) },
		Request: s.request, Limit: s.longest, Others: []string{"another"},
		Survivors: adaptertest.MarkedProcesses(marker + "=" + s.dir), Cannot: s.cannot,
	}
	if s.scripted {
		sub.Answer, sub.Memory = "hi", "plover"
	}
	return sub
}

// request returns the request of a scenario, with its own scripted model.
func (s *stand) request(sc adaptertest.Scenario) execution.Request {
	req := adaptertest.PlayRequest(sc)
	req.Message.Text = execution.Prompt(prompt(sc))
	home := filepath.Join(s.dir, "home")
	to := s.redirect("http://127.0.0.1:0", home)
	url, err := s.serve(script(sc, to))
	if err == nil {
		to = s.redirect(url, home)
		err = write(to.Files)
	}
	if err != nil {
		s.mu.Lock()
		s.failure = errors.Join(s.failure, fmt.Errorf("scenario %s: %w", sc, err))
		s.mu.Unlock()
	}
	env := map[string]string{"PATH": s.app.Getenv("PATH"), marker: s.dir}
	if token := s.app.Getenv(external.Token); s.connects && token != "" {
		env[external.Token] = token
	}
	maps.Copy(env, to.Env)
	req.Run.Command = s.command
	if sc == adaptertest.Missing {
		env["PATH"] = filepath.Join(s.dir, "empty")
		if s.about.Programless() {
			maps.Copy(env, s.redirect("http://127.0.0.1:1", env["HOME"]).Env) // nothing listens there
		}
		if s.command != nil {
			req.Run.Command = []string{"drawbar-conform-missing"}
		}
	}
	req.Run.Env, req.Run.Environment, req.Run.Cwd, req.Run.Model = env, execution.EnvironmentMinimal, filepath.Join(s.dir, "work"), to.Model
	if sc == adaptertest.Think && to.ThinkingModel != "" {
		req.Run.Model = to.ThinkingModel
	}
	if sc == adaptertest.Connect {
		self, err := os.Executable()
		if err == nil {
			req.Run.MCPServers = []execution.MCPServer{{Name: "files", Transport: execution.MCPStdio, Command: self, Args: []string{Hidden}}}
		}
	}
	switch sc {
	case adaptertest.Tool, adaptertest.Connect, adaptertest.Steps, adaptertest.Spend:
		req.Run.ApprovalMode = execution.ApprovalYolo
	case adaptertest.Clarify, adaptertest.Approval:
		req.Run.ApprovalMode = execution.ApprovalPrompt
	}
	return req
}

func prompt(sc adaptertest.Scenario) string { return "conformance: " + string(sc) }

func write(files map[string][]byte) error {
	for path, content := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (s *stand) serve(text string) (string, error) {
	parsed, err := modelserver.Parse([]byte(text))
	if err != nil {
		return "", err
	}
	m, err := modelserver.New(parsed, modelserver.Options{}).Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	s.models = append(s.models, m)
	s.mu.Unlock()
	return m.URL(), nil
}

// longText repeats no sentence: an agent may slow down, or stop, a model that repeats itself.
func longText() string {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "Part %d of a long answer. ", i)
	}
	return b.String()
}

// script returns the model's script for a scenario.
func script(sc adaptertest.Scenario, to adapter.Redirect) string {
	type turn = map[string]any
	hi := turn{"text": "hi", "repeat": true}
	// A request may run more than once: the prompt is answered with the call, the tool's result with the rest.
	call := func(c adapter.ScriptedCall, more ...turn) []turn {
		first := turn{"tools": []adapter.ScriptedCall{c}, "match": map[string]string{"contains": prompt(sc)}, "repeat": true}
		return append([]turn{first}, more...)
	}
	turns := []turn{hi}
	switch sc {
	case adaptertest.Tool:
		if to.MCP != nil {
			turns = call(to.MCP("drawbar", "echo", json.RawMessage(`{"text":"ping"}`)), hi)
		}
	case adaptertest.Connect:
		if to.MCP != nil {
			turns = call(to.MCP("files", "echo", json.RawMessage(`{"text":"ping"}`)), hi)
		}
	case adaptertest.Clarify:
		if to.Clarify != nil {
			turns = call(to.Clarify("which repo?"), hi)
		}
	case adaptertest.Approval:
		if to.Shell != nil {
			turns = call(to.Shell("touch asked-for", true), hi)
			if to.Unasked != "" {
				unasked := turn{"tools": []adapter.ScriptedCall{to.Shell("touch asked-for", false)}, "match": map[string]string{"contains": to.Unasked}, "repeat": true}
				turns = slices.Insert(turns, 1, unasked)
			}
		}
	case adaptertest.Fail:
		turns = []turn{{"status": 400, "error": map[string]string{"type": "invalid_request_error", "message": "the script refuses"}, "repeat": true}}
	case adaptertest.Hang:
		turns = []turn{{"text": "this takes long", "chunks": 4, "hang": "mid-text"}, hi}
	case adaptertest.Long:
		turns = []turn{{"text": longText(), "chunks": 400, "repeat": true}}
	case adaptertest.Remember:
		turns = []turn{{"text": "plover", "repeat": true}}
	case adaptertest.Steps:
		if to.Shell == nil {
			break
		}
		turns = []turn{{"tools": []adapter.ScriptedCall{to.Shell("echo step", false)}, "repeat": 3}, hi}
	case adaptertest.Spend:
		if to.Shell == nil {
			break
		}
		turns = []turn{{"tools": []adapter.ScriptedCall{to.Shell("echo step", false)}, "repeat": 2, "usage": map[string]int{"input": 50000, "output": 5000}}, hi}
	case adaptertest.Think:
		turns = []turn{{"thinking": "let me see", "text": "hi", "repeat": true}}
	case adaptertest.Structure:
		if to.Structured != nil {
			turns = call(to.Structured(json.RawMessage(`{"answer":"hi"}`)), hi)
		} else {
			turns = []turn{{"text": `{"answer":"hi"}`, "repeat": true}}
		}
	}
	b, err := json.Marshal(map[string]any{"turns": turns})
	if err != nil {
		panic(err) // plain values always encode
	}
	return string(b)
}
