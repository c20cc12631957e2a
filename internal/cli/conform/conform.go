// Package conform is "drawbar agents conform": it runs the conformance suite of the seam against an installed agent with a
// scripted model, without cost or login.
package conform

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/modelserver"
	"github.com/spf13/cobra"
)

type row struct {
	Check   string              `json:"check"`
	Spec    string              `json:"spec"`
	Verdict adaptertest.Verdict `json:"verdict"`
	Message string              `json:"message,omitempty"`
	Ms      int64               `json:"elapsedMs"`
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var only string
	cmd := &cobra.Command{
		Use: "conform AGENT", Short: "Run the conformance suite against an installed agent, with a scripted model",
		Long: "Run the conformance suite against an installed agent. The model is a script on this machine: no login, no cost. " +
			"Checks that an installed program cannot trigger are skipped, with the reason.",
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			e, err := app.Agent(args[0])
			if err != nil {
				return err
			}
			if at := e.Descriptor.Documented; at != "" {
				app.Notef("%s: %s, its adapter follows %s", e.Descriptor.Name, adapter.NotExercised, at)
			}
			c, err := app.Client()
			if err != nil {
				return err
			}
			info, err := c.Detect(cmd.Context(), e.Descriptor.Name)
			if err != nil {
				return err
			}
			if info == nil || !info.Installed {
				missing := execution.Errorf(execution.CodeAgentNotInstalled, "%s is not installed: program %s was not found", e.Descriptor.DisplayName, e.Descriptor.Command)
				if m, err := c.Adapters().InstallInstructions(e.Descriptor.Name, ""); err == nil && len(m) > 0 {
					return missing.WithHint("%s", cmp.Or(m[0].Command, m[0].Notes))
				}
				return missing
			}
			s, err := newStand(app, e)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.close()) }()
			return s.run(cmd.Context(), only)
		},
	}
	cmd.Flags().StringVar(&only, "check", "", "run only the checks whose name contains this text")
	return cmd
}

// stand is the agent's private environment, with a scripted model per request.
type stand struct {
	app      *cli.App
	entry    catalog.Entry
	redirect adapter.ModelRedirector
	dir      string
	mu       sync.Mutex
	models   []*modelserver.Running
	failure  error
}

func newStand(app *cli.App, e catalog.Entry) (*stand, error) {
	r, ok := adapter.As[adapter.ModelRedirector](e.Adapter)
	if !ok {
		return nil, execution.Errorf(execution.CodeCapability, "%s cannot use a scripted model, so the suite cannot run against it", e.Descriptor.Name)
	}
	dir, err := os.MkdirTemp("", "drawbar-conform-*")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"home", "work", "empty"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	return &stand{app: app, entry: e, redirect: r, dir: dir}, nil
}

func (s *stand) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.failure
	for _, m := range s.models {
		err = errors.Join(err, m.Close())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

const marker = "DRAWBAR_CONFORM"

func (s *stand) run(ctx context.Context, only string) error {
	subject := s.subject()
	rows := []row{}
	failures := 0
	for _, check := range adaptertest.Suite() {
		if !strings.Contains(check.Name, only) {
			continue
		}
		o := adaptertest.RunOne(ctx, subject, check)
		if o.Verdict == adaptertest.Failing {
			failures++
		}
		rows = append(rows, row{check.Name, check.Spec, o.Verdict, o.Message, o.Elapsed.Milliseconds()})
		if !s.app.JSON {
			line := fmt.Sprintf("%-5s %-34s %6.1fs", o.Verdict, check.Name, o.Elapsed.Seconds())
			if o.Message != "" {
				line += "  " + o.Message
			}
			s.app.Printf("%s\n", line)
		}
	}
	if len(rows) == 0 {
		return cli.Usage("no check name contains %q", only)
	}
	err := s.app.Answer(rows, func() { s.app.Printf("%d checks, %d failed\n", len(rows), failures) })
	return exitcode.If(failures > 0, execution.ExitGeneral, err)
}

func (s *stand) subject() adaptertest.Subject {
	d := s.entry.Descriptor
	sub := adaptertest.Subject{
		Backend: func() agent.Backend { return agent.BackendOf(d) },
		Request: s.request, Answer: "hi", Memory: "plover", Limit: 2 * time.Minute, Others: []string{"another"},
		Survivors: adaptertest.MarkedProcesses(marker + "=" + s.dir),
		Cannot: map[adaptertest.Scenario]string{
			adaptertest.Crash:     "an installed agent does not crash on request",
			adaptertest.Malformed: "an installed agent does not break its own format on request",
			adaptertest.Stubborn:  "an installed agent does not ignore signals on request",
		},
	}
	if s.redirect.RedirectModel("http://127.0.0.1", s.dir).Clarify == nil {
		sub.Cannot[adaptertest.Clarify] = "its model has no call that asks a question"
	}
	return sub
}

// request returns the request of a scenario, with its own scripted model.
func (s *stand) request(sc adaptertest.Scenario) execution.Request {
	req := adaptertest.PlayRequest(sc)
	req.Message.Text = execution.Prompt(prompt(sc))
	home := filepath.Join(s.dir, "home")
	to := s.redirect.RedirectModel("http://127.0.0.1:0", home)
	url, err := s.serve(script(sc, to))
	if err == nil {
		to = s.redirect.RedirectModel(url, home)
		err = write(to.Files)
	}
	if err != nil {
		s.mu.Lock()
		s.failure = errors.Join(s.failure, fmt.Errorf("scenario %s: %w", sc, err))
		s.mu.Unlock()
	}
	env := map[string]string{"PATH": s.app.Getenv("PATH"), marker: s.dir}
	maps.Copy(env, to.Env)
	if sc == adaptertest.Missing {
		env["PATH"] = filepath.Join(s.dir, "empty")
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
		turns = call(to.MCP("drawbar", "echo", json.RawMessage(`{"text":"ping"}`)), hi)
	case adaptertest.Connect:
		turns = call(to.MCP("files", "echo", json.RawMessage(`{"text":"ping"}`)), hi)
	case adaptertest.Clarify:
		if to.Clarify != nil {
			turns = call(to.Clarify("which repo?"), hi)
		}
	case adaptertest.Approval:
		turns = call(to.Shell("touch asked-for", true), hi)
	case adaptertest.Fail:
		turns = []turn{{"status": 400, "error": map[string]string{"type": "invalid_request_error", "message": "the script refuses"}, "repeat": true}}
	case adaptertest.Hang:
		turns = []turn{{"text": "this takes long", "chunks": 4, "hang": "mid-text"}, hi}
	case adaptertest.Long:
		turns = []turn{{"text": longText(), "chunks": 400, "repeat": true}}
	case adaptertest.Remember:
		turns = []turn{{"text": "plover", "repeat": true}}
	case adaptertest.Steps:
		turns = []turn{{"tools": []adapter.ScriptedCall{to.Shell("echo step", false)}, "repeat": 3}, hi}
	case adaptertest.Spend:
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
