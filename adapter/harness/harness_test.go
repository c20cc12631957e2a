package harness

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/modelapi/modelapitest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// TestImports: the harness and what it stands on know no product.
func TestImports(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{".", "../kit/codetool", "../kit/modelapi"} {
		if err := adaptertest.CheckImports(dir); err != nil {
			t.Error(err)
		}
	}
}

// TestSubAgent: a sub-agent works in a conversation of its own, with the same tools, questions and hooks, and returns one answer.
func TestSubAgent(t *testing.T) {
	t.Parallel()
	m := &model{replies: []reply{
		calls(`agent {"prompt":"write s.txt"}`),
		calls(`read {"path":"a.txt"}`, `write {"path":"s.txt","content":"s"}`, `fetch {}`), // the sub-agent's
		says("I wrote it"),
		says(`{"done":true}`),
	}}
	req := request(t, "let it be written")
	req.Instructions.SystemPrompt = "be brief"
	req.Tools = []execution.Tool{{Name: "fetch"}}
	req.Run.OutputSchema = json.RawMessage(`{"type":"object"}`)
	var asked []execution.ApprovalRequired
	hooked, fetched := 0, 0
	res, events := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{
		OnApproval: func(_ context.Context, q execution.ApprovalRequired) execution.Decision {
			asked = append(asked, q)
			return execution.Decision{Approve: true}
		},
		Tools: func(context.Context, execution.ToolCall) (execution.ToolResult, error) {
			fetched++
			return execution.ToolResult{}, nil
		},
		Hooks: agent.Hooks{PreToolUse: func(context.Context, execution.HookCall) (execution.HookResult, error) {
			hooked++
			return execution.HookResult{Decision: execution.HookAllow}, nil
		}},
	})
	if res.Status != execution.StatusCompleted || res.Text != `{"done":true}` || !exists(req.Run.Cwd, "s.txt") {
		t.Fatalf("%s %+v %q", res.Status, res.Error, res.Text)
	}
	if len(asked) != 1 || asked[0].ToolName != "write" || hooked != 4 || fetched != 1 {
		t.Errorf("asked %v, hooked %d times, fetched %d times", asked, hooked, fetched)
	}
	if res.Usage.Input != 400 || res.Usage.Output != 40 || *res.Trace.Summary.StepCount != 2 {
		t.Errorf("the usage is %+v after %d steps", res.Usage, *res.Trace.Summary.StepCount)
	}
	spawn, end := bodies[execution.SubagentSpawn](events), bodies[execution.SubagentResult](events)
	if len(spawn) != 1 || len(end) != 1 || spawn[0].Prompt != "write s.txt" || end[0].Summary != "I wrote it" || spawn[0].SubagentID != end[0].SubagentID {
		t.Fatalf("%+v %+v", spawn, end)
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case execution.FileCreate, execution.FileRead, execution.ApprovalRequired:
			if e.Parent != spawn[0].SubagentID {
				t.Errorf("%s has the parent %q", e.Body.Type(), e.Parent)
			}
		case execution.TextDelta:
			if (e.Parent == "") != strings.HasPrefix(b.Delta, "{") {
				t.Errorf("%q has the parent %q", b.Delta, e.Parent)
			}
		}
	}
	var tools struct {
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(m.bodies[1]), &tools); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Function.Name)
	}
	if got := strings.Join(names, " "); got != "fetch read list search edit patch write shell" {
		t.Errorf("the sub-agent has %s", got)
	}
	if strings.Contains(m.bodies[1], "response_format") {
		t.Error("the sub-agent's answer has the form of the agent's")
	}
	if got := m.said(t, 2); len(got) != 6 || !strings.HasPrefix(got[0], "system: You are a sub-agent") || got[1] != "user: write s.txt" || strings.Contains(got[0], "be brief") {
		t.Errorf("the sub-agent got %q", got)
	}
	if got := m.said(t, 3); got[len(got)-1] != "tool: I wrote it" {
		t.Errorf("the agent got %q", got)
	}
}

// TestSubAgentEnds: a sub-agent that fails, says nothing or uses up its own limits ends its call, not the turn.
func TestSubAgentEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		replies []reply
		limits  Limits
		want    string
	}{
		{"nothing said", []reply{says("")}, Limits{}, "the sub-agent ended without an answer"},
		{"an error", []reply{{status: 400}}, Limits{}, "the sub-agent failed: the model says no"},
		{"its model calls", []reply{{text: "so far", calls: []string{`read {"path":"a.txt"}`}}, calls(`list {}`)}, Limits{MaxSubIterations: 2}, "reached its limit (max_iterations_reached). Its last words: so far"},
		{"its tool calls", []reply{calls(`read {"path":"a.txt"}`, `list {}`)}, Limits{MaxSubToolUse: 1}, "reached its limit (max_tool_calls_reached)"},
		{"a loop", []reply{calls(`list {}`, `list {}`, `list {}`)}, Limits{}, "made the same call 3 times"},
		{"a sub-agent of its own", []reply{calls(`agent {"prompt":"more"}`), calls(`agent {"prompt":"more"}`)}, Limits{}, "there is no tool agent"},
		{"a question", []reply{calls(`ask {"question":"what?"}`), calls(`ask {"question":"what?"}`)}, Limits{}, "there is no tool ask"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &model{replies: append(append([]reply{calls(`agent {"prompt":"go"}`)}, tt.replies...), says("done"))}
			res, events := modelapitest.Run(t, m.backend(tt.limits), request(t, "go"), agent.Options{})
			if res.Status != execution.StatusCompleted || res.Text != "done" {
				t.Errorf("%s %+v", res.Status, res.Error)
			}
			got := bodies[execution.SubagentError](events)
			if len(got) != 1 || !strings.Contains(got[0].Error, tt.want) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestSubAgentWaits: a permission that a sub-agent needs ends the turn; continued, the sub-agent starts again.
func TestSubAgentWaits(t *testing.T) {
	t.Parallel()
	m := &model{replies: []reply{calls(`agent {"prompt":"write"}`), calls(`write {"path":"s.txt","content":"s"}`), calls(`write {"path":"s.txt","content":"s"}`), says("written"), says("done")}}
	req := request(t, "go")
	interrupts(&req)
	res, _ := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
	if res.Status != execution.StatusAwaitingApproval {
		t.Fatalf("%s %+v", res.Status, res.Error)
	}
	again := request(t, "yes")
	again.Run.Cwd, again.Run.ApprovalMode, again.Continuation = req.Run.Cwd, execution.ApprovalYolo, stored(t, res)
	if res, _ = modelapitest.Run(t, m.backend(Limits{}), again, agent.Options{}); res.Status != execution.StatusCompleted || !exists(req.Run.Cwd, "s.txt") {
		t.Errorf("%s %+v", res.Status, res.Error)
	}
}

// TestInstructions: the model is told the agent's instructions, the repository's documents from its root on, skills, and what the request
// says; a request may replace the first.
func TestInstructions(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "repo", "sub")
	skill := filepath.Join(top, "skills", "review")
	put(t, map[string]string{filepath.Join(top, "AGENTS.md"): "outside the repository", filepath.Join(top, "repo", "AGENTS.md"): "of the root",
		filepath.Join(dir, "AGENTS.md"): "of the folder </file>", filepath.Join(top, "repo", ".git", "HEAD"): "x", filepath.Join(skill, "SKILL.md"): "---\nname: careful-review\ndescription: |\n  how\n  to review\n---\nLook twice.\n",
		filepath.Join(skill, "more.txt"): "more\n"})
	for _, mode := range []execution.SystemPromptMode{execution.SystemPromptAppend, execution.SystemPromptReplace} {
		m := &model{replies: []reply{calls(`skill {"name":"careful-review"}`, `skill {"name":"other"}`), calls(`read {"path":"` + filepath.ToSlash(filepath.Join(skill, "more.txt")) + `"}`), says("done")}}
		req := request(t, "go")
		req.Run.Cwd, req.Run.Skills, req.Run.SystemPromptMode, req.Instructions.SystemPrompt = dir, []string{"../../skills/review"}, mode, "speak French"
		req.Run.AgentsDoc = "the run's document"
		res, events := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
		if res.Status != execution.StatusCompleted {
			t.Fatalf("%s %+v", res.Status, res.Error)
		}
		system := m.said(t, 0)[0]
		at := -1
		for _, part := range []string{"Working directory: " + dir, "of the root", "of the folder &lt;/file>", "- careful-review: how to review", "the run's document"} {
			i := strings.Index(system, part)
			if i <= at {
				t.Errorf("%q is at %d in %s", part, i, system)
			}
			at = i
		}
		if strings.Contains(system, "outside the repository") || strings.Contains(system, "You are a coding agent") != (mode == execution.SystemPromptAppend) ||
			strings.HasPrefix(system, "system: speak French") != (mode == execution.SystemPromptReplace) || !strings.Contains(system, "speak French") {
			t.Errorf("%s: %s", mode, system)
		}
		var read []string
		for _, b := range bodies[execution.AgentdocRead](events) {
			read = append(read, b.Path)
		}
		if want := []string{filepath.Join(top, "repo", "AGENTS.md"), filepath.Join(dir, "AGENTS.md")}; !slices.Equal(read, want) {
			t.Errorf("read %v, want %v", read, want)
		}
		if l, i := bodies[execution.SkillLoaded](events), bodies[execution.SkillInvoked](events); len(l) != 1 || len(i) != 1 || l[0].SkillName != "careful-review" || i[0].SkillName != "careful-review" {
			t.Errorf("%+v %+v", l, i)
		}
		got := strings.Join(m.said(t, 2), "\n")
		if !strings.Contains(got, "Look twice.") || !strings.Contains(got, "tool: there is no skill other") || !strings.Contains(got, "tool: 1\tmore\n") {
			t.Errorf("the model got %s", got)
		}
	}
}

// TestOutsideOfRepository: without a repository only the folder's own document counts.
func TestOutsideOfRepository(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "sub")
	for _, at := range []string{top, dir} {
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, document), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, paths := documents(dir); !slices.Equal(paths, []string{filepath.Join(dir, document)}) {
		t.Errorf("read %v", paths)
	}
}

// TestSteer: a message that arrives during a turn reaches the model with the results of its calls, and makes no turn of its own.
func TestSteer(t *testing.T) {
	t.Parallel()
	req := request(t, "go")
	req.Run.Interactive, req.Tools = true, []execution.Tool{{Name: "wait"}}
	synctest.Test(t, func(t *testing.T) {
		m := &model{replies: []reply{calls(`wait {}`), says("done")}}
		var run *agent.Run
		begun := make(chan struct{})
		run, err := agent.New(m.backend(Limits{})).Start(t.Context(), req, agent.Options{Tools: func(context.Context, execution.ToolCall) (execution.ToolResult, error) {
			<-begun
			if _, err := run.Steer("and be quick", execution.WhenNow); err != nil {
				t.Error(err)
			}
			run.CloseInput()
			time.Sleep(time.Second) // in virtual time: until the message has arrived
			return execution.ToolResult{Output: json.RawMessage(`"ok"`)}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		close(begun)
		res, err := run.Result(t.Context())
		if err != nil || res.Status != execution.StatusCompleted || res.TurnCount != 1 {
			t.Fatalf("%+v, %v", res, err)
		}
		if got := strings.Join(m.said(t, 1)[1:], "\n"); got != "user: go\nassistant:  calls wait\ntool: ok\nuser: and be quick" {
			t.Errorf("the model got %s", got)
		}
	})
}

// TestBadSkills: a skill that cannot be used is refused before the model is called.
func TestBadSkills(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for path, text := range map[string]string{"bad/SKILL.md": "---\nname: [\n---\n", "one/SKILL.md": "---\nname: same\n---\n", "two/SKILL.md": "---\nname: same\n---\n", "large/SKILL.md": strings.Repeat("x", maxSkill+1)} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(top, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, list := range map[string][]string{"is not a folder with a SKILL.md": {"none"}, "is not YAML": {"bad"}, "two skills have the name same": {"one", "two"}, "is too large": {"large"}} {
		m := &model{replies: []reply{says("hi")}}
		req := request(t, "go")
		for _, s := range list {
			req.Run.Skills = append(req.Run.Skills, filepath.Join(top, s))
		}
		res, _ := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
		if res.Status != execution.StatusFailed || res.Error.ErrorCode() != execution.CodeValidation || !strings.Contains(res.Error.Message, want) || m.called() > 0 {
			t.Errorf("%v: %s %+v", list, res.Status, res.Error)
		}
	}
}

// TestSandbox: read-only has neither changes nor commands, whatever the model tries and whoever approves.
func TestSandbox(t *testing.T) {
	t.Parallel()
	m := &model{replies: []reply{calls(`shell {"command":"touch x"}`), calls(`read {"path":"a.txt"}`), calls(`write {"path":"x","content":"x"}`), calls(`read {"path":"a.txt"}`),
		calls(`agent {"prompt":"write x"}`), calls(`write {"path":"x","content":"x"}`), says("I cannot"), says("done")}}
	req := request(t, "go")
	req.Run.Sandbox, req.Run.ApprovalMode = execution.SandboxReadOnly, execution.ApprovalYolo
	res, events := modelapitest.Run(t, m.backend(Limits{MaxIterations: 20}), req, agent.Options{})
	if res.Status != execution.StatusCompleted || exists(req.Run.Cwd, "x") || len(bodies[execution.ShellStart](events)) > 0 {
		t.Errorf("%s %+v", res.Status, res.Error)
	}
	if !strings.Contains(m.said(t, 0)[0], "neither change files nor run commands") {
		t.Error("the model is not told")
	}
	req.Run.Sandbox = execution.SandboxWorkspace
	if res, _ := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{}); res.Status != execution.StatusUnsupported || !strings.Contains(res.Error.Message, "workspace-write (it has read-only, none)") {
		t.Errorf("%s %+v", res.Status, res.Error)
	}
}

// TestDirectory: a working directory that does not exist is refused before the model is called.
func TestDirectory(t *testing.T) {
	t.Parallel()
	m := &model{replies: []reply{says("hi")}}
	req := request(t, "go")
	req.Run.Cwd = filepath.Join(req.Run.Cwd, "none")
	res, _ := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
	if res.Status != execution.StatusFailed || !strings.Contains(res.Error.Message, "open the folder") || m.called() > 0 {
		t.Errorf("%s %+v", res.Status, res.Error)
	}
}

// TestCallerTools: the caller's tools are offered besides, and one of the same name takes the place of the agent's.
func TestCallerTools(t *testing.T) {
	t.Parallel()
	m := &model{replies: []reply{calls(`read {"anything":1}`, `fetch {}`), says("done")}}
	req := request(t, "go")
	req.Tools = []execution.Tool{{Name: "read"}, {Name: "fetch", RequiresApproval: true}}
	var got []string
	res, events := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{
		Tools: func(_ context.Context, c execution.ToolCall) (execution.ToolResult, error) {
			got = append(got, c.Name+string(c.Input))
			return execution.ToolResult{Output: json.RawMessage(`"theirs"`)}, nil
		},
		OnApproval: func(context.Context, execution.ApprovalRequired) execution.Decision {
			return execution.Decision{Approve: true}
		},
	})
	if res.Status != execution.StatusCompleted || !slices.Equal(got, []string{`read{"anything":1}`, `fetch{}`}) || len(bodies[execution.FileRead](events)) > 0 {
		t.Errorf("%s %+v, called %v", res.Status, res.Error, got)
	}
	if n := strings.Count(m.bodies[0], `"name":"read"`); n != 1 {
		t.Errorf("read is offered %d times", n)
	}
}

// TestAnswers: the input that a person or a hook gives in place of the model's is checked like the model's, and an answer to a question is
// the result of its call.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, input, result, file string
		hook                      bool
	}{
		{"another input", `{"path":"theirs.txt","content":"x"}`, "created theirs.txt (1 bytes)", "theirs.txt", false},
		{"an input outside", `{"path":"../x","content":"x"}`, "the input that the answer gave: ../x is outside", "", false},
		{"no input", `{"path":1}`, "the input that the answer gave: the input is not valid", "", false},
		{"a hook's input", `{"path":"theirs.txt","content":"x"}`, "created theirs.txt (1 bytes)", "theirs.txt", true},
		{"a hook's bad input", `{"file":"x"}`, "the input that the hook gave: the input is not valid", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &model{replies: []reply{calls(`ask {"question":"where?"}`, `write {"path":"mine.txt","content":"x"}`), says("done")}}
			req := request(t, "go")
			opts := agent.Options{
				OnInput: func(context.Context, execution.InputRequired) (string, error) { return "there", nil },
				OnApproval: func(context.Context, execution.ApprovalRequired) execution.Decision {
					if tt.hook {
						return execution.Decision{Approve: true}
					}
					return execution.Decision{Approve: true, Input: json.RawMessage(tt.input)}
				},
			}
			if tt.hook {
				opts.Hooks.PreToolUse = func(_ context.Context, c execution.HookCall) (execution.HookResult, error) {
					if c.Data.ToolName != "write" {
						return execution.HookResult{Decision: execution.HookAllow}, nil
					}
					return execution.HookResult{Decision: execution.HookModify, ModifiedInput: json.RawMessage(tt.input)}, nil
				}
			}
			modelapitest.Run(t, m.backend(Limits{}), req, opts)
			got := m.said(t, 1)
			if got[3] != "tool: there" || !strings.HasPrefix(got[4], "tool: "+tt.result) {
				t.Errorf("the model got %q", got)
			}
			if exists(req.Run.Cwd, "mine.txt") || tt.file != "" && !exists(req.Run.Cwd, tt.file) {
				t.Error("the wrong file was written")
			}
		})
	}
}

// TestService: how a model is named, and what is said about a wrong name.
func TestService(t *testing.T) {
	t.Parallel()
	a, _ := (&model{}).backend(Limits{}).Adapter.(*Adapter)
	for model, want := range map[string]string{"fake/m": "m", "fake/a/b": "a/b", "fake": "model-1", "fake/": "model-1"} {
		if _, got, err := a.service(model); err != nil || got != want {
			t.Errorf("%s: %s, %v", model, got, err)
		}
	}
	for model, want := range map[string]string{"gpt": `"gpt" is not PROVIDER/MODEL`, "/m": "is not PROVIDER/MODEL"} {
		if _, _, err := a.service(model); err == nil || !strings.Contains(err.Message, want) {
			t.Errorf("%s: %v", model, err)
		}
		if r := a.Negotiate(execution.Request{Run: execution.RunOptions{Model: model}}); len(r) != 1 || r[0].Severity != execution.SeverityBlocking || r[0].Capability != "model" {
			t.Errorf("%s: %+v", model, r)
		}
	}
}

// TestCapabilitiesFor: a request gets what its provider supports.
func TestCapabilitiesFor(t *testing.T) {
	t.Parallel()
	a, _ := (&model{}).backend(Limits{}).Adapter.(*Adapter)
	if got := a.CapabilitiesFor(execution.Request{Run: execution.RunOptions{Model: "fake/m"}}).Agent; len(got.ThinkingEfforts) != 0 || got.Thinking || got.ThinkingBudgetTokens {
		t.Errorf("%+v", got)
	}
	if got := a.Capabilities(); got.Validate() != nil || got.ToolUse != execution.ToolsNativeIterative || got.ContinuationSupport != execution.ContinuationsStructured || len(got.Agent.ThinkingEfforts) != 4 {
		t.Errorf("%+v", got)
	}
}

// TestLogin: one key is enough, and without any the guide names every provider.
func TestLogin(t *testing.T) {
	t.Parallel()
	a, _ := (&model{}).backend(Limits{}).Adapter.(*Adapter)
	h := adapter.Host{Getenv: func(name string) string { return map[string]string{"FAKE_KEY": "x"}[name] }}
	if got := a.DetectAuth(t.Context(), h); got.Status != adapter.Authenticated || got.Details != "keys are set of fake" {
		t.Errorf("%+v", got)
	}
	h.Getenv = func(string) string { return "" }
	if got := a.DetectAuth(t.Context(), h); got.Status != adapter.Unauthenticated {
		t.Errorf("%+v", got)
	}
	if g := a.AuthGuidance(); len(g.Steps) != 1 || g.EnvVars[0].Name != "FAKE_KEY" {
		t.Errorf("%+v", g)
	}
}

// TestDeniedByARule: the model is told which rule denies a call, in one sentence.
func TestDeniedByARule(t *testing.T) {
	t.Parallel()
	m := &model{replies: []reply{calls(`write {"path":"x","content":"1"}`), says("done")}}
	req := request(t, "write")
	req.Run.DenyTools = []string{"Edit"}
	res, _ := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
	if said := m.said(t, 1); res.Status != execution.StatusCompleted || said[len(said)-1] != "tool: denied by the rule Edit" {
		t.Errorf("%s %+v: %q", res.Status, res.Error, said)
	}
}
