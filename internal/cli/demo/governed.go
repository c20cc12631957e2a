package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/workspace"
	"github.com/drawbar/drawbar/internal/modelserver"
)

// governedConfig configures the second part: a person plans, an agent implements, another reviews, a person approves twice.
const governedConfig = `{
  "schema_version": "1.0",
  "project": {"id": "demo", "name": "Demo", "goal": "double a number"},
  "roles": {
    "pm": {"title": "Product Manager", "mandate": "Decide what is built.", "write_authority": "review_only", "runtime": "person"},
    "dev": {"title": "Developer", "mandate": "Build it and show that it works.", "write_authority": "authoritative", "runtime": "agent"},
    "qa": {"title": "QA", "mandate": "Review it.", "write_authority": "review_only", "runtime": "agent"}
  },
  "runtimes": {"person": {"type": "manual"}, "agent": {"type": "agent", "agent": "claude", "approve": "yolo"}},
  "routing": {
    "planning": {"entry_role": "pm", "allowed_next_roles": ["pm", "human"], "exit_gate": "plan"},
    "implementation": {"entry_role": "dev", "allowed_next_roles": ["dev", "human"], "exit_gate": "built"},
    "qa": {"entry_role": "qa", "allowed_next_roles": ["dev", "qa", "human"], "exit_gate": "ship"}
  },
  "gates": {
    "plan": {"requires_files": [".planning/PLAN.md"], "requires_human_approval": true},
    "built": {"requires_verification_pass": true},
    "ship": {"requires_verification_pass": true, "requires_human_approval": true}
  },
  "budget": {"per_turn_max_usd": 1, "per_run_max_usd": 5},
  "workflow_kit": {}
}
`

// governed is the second part of the demo: a governed run in its own repository.
type governed struct {
	*stage
	client *drawbar.Client
	engine govern.Engine
	root   string
	git    bool
	env    map[string]string // of the agent in the current turn
	waits  chan string       // id of the person's turn
}

// governed runs the second part.
func (s *stage) governed(ctx context.Context, client *drawbar.Client) (err error) {
	g := &governed{stage: s, client: client, root: filepath.Join(s.dir, "governed"), waits: make(chan string, 1)}
	if err := g.prepare(ctx); err != nil {
		return err
	}
	g.engine, err = drawbar.OpenProject(g.root, govern.Options{Agents: g, Owner: "drawbar demo", Notice: g.notice, Trust: func(string, []govern.TrustItem) bool { return true }}) // made by this program
	if err != nil {
		return err
	}
	s.app.Notef("")
	s.app.Notef("Part two: a governed run. agentxchain.json says who works (pm is a person, dev and qa are agents), in which phases")
	s.app.Notef("(planning, implementation, qa), and what each gate requires. Scripted: the model and the person. Real: rules, files, record.")
	s.app.Notef("The agents act without asking (\"approve\": \"yolo\"), in a folder made for the demo; without that line they ask on the terminal.")
	for _, play := range []func(context.Context) error{g.plan, g.build, g.review, g.end} {
		if err := play(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (g *governed) prepare(ctx context.Context) error {
	files := map[string]string{"agentxchain.json": governedConfig, ".gitignore": ".agentxchain/*\n!.agentxchain/chain.jsonl\nTALK.md\n"}
	maps.Copy(files, g.subject.files)
	files[g.subject.file] = strings.Replace(files[g.subject.file], g.subject.old, g.subject.to, 1)
	if err := os.MkdirAll(filepath.Join(g.root, ".planning"), 0o700); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(g.root, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	g.git = g.repository(ctx, g.root, "add works")
	return nil
}

// plan is the person's turn and the approval of the plan.
func (g *governed) plan(ctx context.Context) error {
	g.prompt("step", "pm is a person: the command waits until a result is submitted")
	type end struct {
		rep govern.Report
		err error
	}
	done := make(chan end, 1)
	go func() {
		rep, err := g.engine.Step(ctx, govern.StepOptions{})
		done <- end{rep, err}
	}()
	select {
	case turn := <-g.waits:
		text, err := g.result(ctx, turn, "pm", "person", obj{"summary": "what is built, and how it is checked",
			"decisions":                []obj{{"id": "DEC-001", "category": "scope", "statement": "Double is written with Add", "rationale": "addition stays in one place"}},
			"objections":               []obj{{"id": "OBJ-001", "severity": "low", "statement": "the behaviour on overflow is not specified"}},
			"files_changed":            []string{".planning/PLAN.md"},
			"phase_transition_request": "implementation"})
		if err == nil {
			err = os.WriteFile(filepath.Join(g.root, ".planning", "PLAN.md"), []byte("# Plan\n\nDouble(n) is n + n; a test checks it for 4.\n"), 0o600)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(g.root, filepath.FromSlash(protocol.StagedFile(turn))), []byte(text), 0o600)
		}
		e := <-done
		if err := errors.Join(err, e.err); err != nil {
			return err
		}
		if err := g.show(e.rep, govern.OutcomeAccepted); err != nil {
			return err
		}
	case e := <-done:
		return errors.Join(e.err, g.show(e.rep, govern.OutcomeAccepted))
	}
	return g.pass(ctx, govern.ApproveOptions{By: protocol.Person{Name: "the demo"}})
}

// build is the developer's turn. Its first result contradicts its own evidence and is rejected.
func (g *governed) build(ctx context.Context) error {
	c := g.subject.governed
	return g.agentTurn(ctx, "dev", func(turn string) ([]string, error) {
		claim := obj{"summary": "Double and its test", "decisions": []obj{}, "objections": []obj{}, "files_changed": []string{c.file, c.testFile},
			"artifact": obj{"type": "workspace", "ref": nil}, "phase_transition_request": "qa", "proposed_next_role": "qa"}
		evidence := func(code int) obj {
			return obj{"status": "pass", "machine_evidence": []obj{{"command": g.subject.test, "exit_code": code}}}
		}
		claim["verification"] = evidence(1)
		first, err := g.submission(ctx, turn, "dev", claim)
		if err != nil {
			return nil, err
		}
		claim["verification"] = evidence(0)
		second, err := g.submission(ctx, turn, "dev", claim)
		if err != nil {
			return nil, err
		}
		return []string{
			says("", call("Write", obj{"file_path": g.path(c.file), "content": c.wrong}), call("Write", obj{"file_path": g.path(c.testFile), "content": c.test}),
				call("Bash", obj{"command": g.subject.test, "description": "Run the test"})),
			says("", first), says("It passes."),
			says("", call("Edit", obj{"file_path": g.path(c.file), "old_string": c.old, "new_string": c.to}), call("Bash", obj{"command": g.subject.test, "description": "Run the test"})),
			says("", second), says("Now it does."),
		}, nil
	})
}

// review is the reviewer's turn and the approval of the completion.
func (g *governed) review(ctx context.Context) error {
	err := g.agentTurn(ctx, "qa", func(turn string) ([]string, error) {
		last, err := g.submission(ctx, turn, "qa", obj{"summary": "Double does what the plan says",
			"objections":   []obj{{"id": "OBJ-002", "severity": "medium", "statement": "only one number is tested"}},
			"verification": obj{"status": "pass", "machine_evidence": []obj{{"command": g.subject.test, "exit_code": 0}}}, "run_completion_request": true})
		if err != nil {
			return nil, err
		}
		return []string{says("", call("Bash", obj{"command": g.subject.test, "description": "Run the test"})), says("", last), says("Reviewed.")}, nil
	})
	if err != nil {
		return err
	}
	return g.pass(ctx, govern.ApproveOptions{Completion: true, By: protocol.Person{Name: "the demo"}})
}

// end verifies the record and prints the next commands.
func (g *governed) end(ctx context.Context) error {
	g.prompt("verify", "")
	var heads []string
	if g.git {
		w, err := workspace.Open(ctx, g.root)
		if err != nil {
			return err
		}
		if heads, err = w.Heads(ctx); err != nil {
			return err
		}
	}
	r, err := ledger.Verify(ctx, g.root, heads)
	if err != nil {
		return err
	}
	if !r.OK {
		return execution.Errorf(execution.CodeInternal, "the demo's record is not intact: %+v", r)
	}
	st, err := g.engine.Status(ctx)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("  the record is intact: %d lines in its hash chain", r.Entries)
	if g.git {
		text += fmt.Sprintf(", named in %d commits", r.Heads)
	} else {
		text += "; with git, each accepted turn would be a commit, and its changes would be checked against its result"
	}
	g.app.Notef("%s. Spent: $%.4f.", text, st.Budget.SpentUSD)
	if g.git {
		out, err := cliagent.Spawn(ctx, adapter.SpawnRequest{Command: "git", Args: []string{"--no-pager", "log", "--no-color", "--format=  %h %s"}, Cwd: g.root, Env: gitEnv})
		if err != nil {
			return err
		}
		g.app.Notef("$ git log --format='%%h %%s'\n%s", strings.TrimRight(out.Stdout, "\n"))
	}
	g.app.Notef("")
	g.app.Notef("Next:")
	g.app.Notef("  drawbar govern init --goal \"...\" --agent claude   # make your repository a governed project")
	g.app.Notef("  drawbar govern step                              # run one turn; drawbar govern run continues to the next gate")
	return nil
}

// agentTurn runs a turn of an agent. script returns the model's script for the turn's id.
func (g *governed) agentTurn(ctx context.Context, role string, script func(turn string) ([]string, error)) (err error) {
	g.prompt("step", role+" is an agent")
	ready, err := g.engine.Resume(ctx, govern.StepOptions{Role: role})
	if err != nil {
		return err
	}
	turns, err := script(ready.TurnID)
	if err != nil {
		return err
	}
	parsed, err := modelserver.Parse([]byte(`{"defaults":{"usage":{"input":1800,"output":120}},"turns":[` + strings.Join(turns, ",") + `]}`))
	if err != nil {
		return fmt.Errorf("the demo's script: %w", err)
	}
	model, err := modelserver.New(parsed, modelserver.Options{}).Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	if g.env, err = g.agentEnv(g.client, model.URL()); err != nil {
		return err
	}
	rep, err := g.engine.Step(ctx, govern.StepOptions{Turn: ready.TurnID})
	if err != nil {
		return err
	}
	return g.show(rep, govern.OutcomeAccepted)
}

// pass approves the waiting gate, with --ask only if the person agrees.
func (g *governed) pass(ctx context.Context, o govern.ApproveOptions) error {
	why := "answered by the demo; ask me with --ask"
	if g.ask {
		g.app.Notef("  approve it? [y]es or [n]o")
		line, err := g.app.ReadLine(ctx)
		if err != nil || !cli.Yes(line) {
			return errNotApproved
		}
		why, o.By = "", protocol.Person{Name: "the person at the demo"}
	}
	g.prompt("approve", why)
	rep, err := g.engine.Approve(ctx, o)
	if err != nil {
		return err
	}
	want := govern.OutcomeDone
	if o.Completion {
		want = govern.OutcomeCompleted
	}
	return g.show(rep, want)
}

var errNotApproved = errors.New("the gate was not approved")

func (g *governed) prompt(command, why string) {
	if why != "" {
		why = strings.Repeat(" ", max(1, 12-len(command))) + "# " + why
	}
	g.app.Notef("\n$ drawbar govern %s%s", command, why)
}

// show prints the outcome of a command. An unexpected outcome is an error.
func (g *governed) show(r govern.Report, want govern.Outcome) error {
	if r.Outcome != want {
		return execution.Errorf(execution.CodeInternal, "the governed part of the demo stopped: %s %s %s", r.Outcome, r.Code, strings.Join(r.Errors, "; ")).
			WithHint("drawbar demo --keep keeps its directory")
	}
	if g.app.JSON {
		return g.app.Line(obj{"type": "governed", "report": r})
	}
	head := "  " + string(r.Outcome)
	switch r.Outcome {
	case govern.OutcomeDone:
		head = "  the gate passes"
	case govern.OutcomeCompleted:
		head = "  the gate passes and the run is completed"
	}
	if r.TurnID != "" {
		head += fmt.Sprintf(" %s: %s", r.Role, r.Summary)
	}
	if r.Attempt > 1 {
		head += fmt.Sprintf(" (attempt %d)", r.Attempt)
	}
	if r.Cost != nil && r.Cost.USD > 0 {
		head += fmt.Sprintf(", %s, $%.4f", view.Duration(r.DurationMS), r.Cost.USD)
	}
	g.app.Notef("%s", head)
	for _, d := range r.Decisions {
		g.app.Notef("    decision  %s %s", d.ID, d.Statement)
	}
	for _, o := range r.Objections {
		g.app.Notef("    objection %s (%s) %s", o.ID, o.Severity, o.Statement)
	}
	if r.EnteredPhase != "" {
		g.app.Notef("    phase     %s", r.EnteredPhase)
	}
	if r.Pending != "" {
		g.app.Notef("    gate      %s waits for a person", r.Pending)
	}
	return nil
}

// notice prints an agent's actions and the reasons of a rejected result.
func (g *governed) notice(n govern.Notice) {
	switch n.Kind {
	case govern.NoticeProgress:
		if n.Progress.Stage == govern.StageWaiting {
			select {
			case g.waits <- n.TurnID:
			default:
			}
		}
	case govern.NoticeRejected:
		g.app.Notef("  refused: %s", n.Text)
		g.app.Notef("  The agent gets its turn back, with the reason.")
	case govern.NoticeEvent:
		if e, ok := n.Event.Body.(execution.ShellExit); ok && e.ExitCode != 0 && !g.app.JSON {
			g.app.Notef("    exit code %d", e.ExitCode)
		}
		if c, ok := n.Event.Body.(execution.ToolCallReady); ok && !g.app.JSON {
			var in struct {
				File    string `json:"file_path"`
				Command string `json:"command"`
			}
			_ = json.Unmarshal(c.Input, &in) // other calls show only their name
			if in.File != "" {
				if rel, err := filepath.Rel(g.root, in.File); err == nil {
					in.File = filepath.ToSlash(rel)
				}
			}
			if strings.HasPrefix(in.File, protocol.Dir) {
				in.File = "the turn's result"
			}
			g.app.Notef("  ● %s %s%s", c.ToolName, in.File, in.Command)
		}
	}
}

// Negotiate negotiates a turn of the stand-in.
func (g *governed) Negotiate(_ context.Context, req execution.Request) (execution.Negotiation, error) {
	return g.client.Negotiate(g.withEnv(req), drawbar.RunOptions{})
}

// Run runs a turn of the stand-in.
func (g *governed) Run(ctx context.Context, req execution.Request, o agent.Options) (*agent.Run, error) {
	return g.client.Run(ctx, g.withEnv(req), drawbar.RunOptions{Options: o})
}

func (g *governed) withEnv(req execution.Request) execution.Request {
	req = req.Clone()
	maps.Copy(req.Run.Env, g.env)
	return req
}

func (g *governed) path(name string) string { return filepath.Join(g.root, name) }

// result returns a turn result: a review's, overridden by the members of more.
func (g *governed) result(ctx context.Context, turn, role, runtime string, more obj) (string, error) {
	st, err := g.engine.Status(ctx)
	if err != nil {
		return "", err
	}
	r := obj{"schema_version": protocol.ResultVersion, "run_id": st.RunID, "turn_id": turn, "role": role, "runtime_id": runtime, "status": "completed",
		"decisions": []obj{}, "objections": []obj{}, "files_changed": []string{}, "verification": obj{"status": "skipped"},
		"artifact": obj{"type": "review", "ref": nil}, "proposed_next_role": "human"}
	maps.Copy(r, more)
	b, err := json.Marshal(r)
	return string(b), err
}

// submission returns the tool call that writes a result.
func (g *governed) submission(ctx context.Context, turn, role string, more obj) (string, error) {
	text, err := g.result(ctx, turn, role, "agent", more)
	return call("Write", obj{"file_path": filepath.Join(g.root, filepath.FromSlash(protocol.StagedFile(turn))), "content": text}), err
}

// says returns a turn of the scripted model.
func says(text string, tools ...string) string {
	return fmt.Sprintf(`{"text":%q,"tools":[%s]}`, text, strings.Join(tools, ","))
}

func call(tool string, input obj) string {
	b, err := json.Marshal(obj{"name": tool, "input": input})
	if err != nil {
		panic(err) // plain values always encode
	}
	return string(b)
}

// double is the subject of the second part.
type double struct {
	file, testFile string
	wrong, test    string
	old, to        string
}

var goDouble = double{
	file: "double.go", testFile: "double_test.go",
	wrong: "package calc\n\n// Double is twice a number.\nfunc Double(n int) int {\n\treturn Add(n, 2)\n}\n",
	test:  "package calc\n\nimport \"testing\"\n\nfunc TestDouble(t *testing.T) {\n\tif got := Double(4); got != 8 {\n\t\tt.Errorf(\"Double(4) = %d, want 8\", got)\n\t}\n}\n",
	old:   "Add(n, 2)", to: "Add(n, n)",
}

var shellDouble = double{
	file: "double.sh", testFile: "test.sh",
	wrong: "# double is twice a number.\ndouble() {\n\tadd $1 2\n}\n",
	test:  ". ./add.sh\n. ./double.sh\ngot=$(double 4)\n[ \"$got\" = 8 ] || { echo \"double 4 = $got, want 8\"; exit 1; }\necho ok\n",
	old:   "add $1 2", to: "add $1 $1",
}
