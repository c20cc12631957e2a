package agent_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

func using(name string, u execution.ToolUse) execution.ApprovalRequired {
	q := approvalOf("q")
	q.ToolName, q.Use = name, u
	return q
}

// TestRules: which questions rules and the mode reads answer, and which remain for somebody. The agent is always told to ask.
func TestRules(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	yes := agent.Options{OnApproval: func(context.Context, execution.ApprovalRequired) execution.Decision {
		return execution.Decision{Approve: true, Reason: "callback"}
	}}
	command := func(line string) execution.ApprovalRequired {
		return using("Bash", execution.ToolUse{Kind: execution.ToolShell, Command: line})
	}
	read := func(path string) execution.ApprovalRequired {
		return using("Read", execution.ToolUse{Kind: execution.ToolRead, Paths: []string{path}})
	}
	tests, rm := []string{"Bash(go test:*)"}, []string{"Bash(rm:*)"}
	for _, tt := range []struct {
		name string
		q    execution.ApprovalRequired
		run  execution.RunOptions
		opts agent.Options
		want string
		mode execution.ApprovalMode // as the agent sees it
	}{
		{"allowed", command("go test ./..."), execution.RunOptions{AllowTools: tests}, agent.Options{OnApproval: panicky}, "true by the rule Bash(go test:*)", "prompt"},
		{"allowed, nobody there", command("go test ./..."), execution.RunOptions{AllowTools: tests}, agent.Options{}, "true by the rule Bash(go test:*)", "prompt"},
		{"another command", command("go test; rm x"), execution.RunOptions{AllowTools: tests}, yes, "true callback", "prompt"},
		{"another command, nobody there", command("go vet"), execution.RunOptions{AllowTools: tests}, agent.Options{}, "false nobody can approve it", "prompt"},
		{"all else denied", command("go vet"), execution.RunOptions{AllowTools: tests, ApprovalMode: execution.ApprovalDeny}, yes, "false approval mode deny", "prompt"},
		{"allowed although all else is denied", command("go test"), execution.RunOptions{AllowTools: tests, ApprovalMode: execution.ApprovalDeny}, yes, "true by the rule Bash(go test:*)", "prompt"},
		{"denied", command("rm x"), execution.RunOptions{DenyTools: rm}, yes, "false denied by the rule Bash(rm:*)", ""},
		{"denied in yolo", command("rm x"), execution.RunOptions{DenyTools: rm, ApprovalMode: execution.ApprovalYolo}, yes, "false denied by the rule Bash(rm:*)", "yolo"},
		{"denied and allowed", command("rm x"), execution.RunOptions{DenyTools: rm, AllowTools: []string{"Bash"}}, yes, "false denied by the rule Bash(rm:*)", "prompt"},
		{"not denied in yolo", command("ls"), execution.RunOptions{DenyTools: rm, AllowTools: tests, ApprovalMode: execution.ApprovalYolo}, yes, "true approval mode yolo", "yolo"},
		{"reads", read("a.txt"), execution.RunOptions{ApprovalMode: execution.ApprovalReads}, agent.Options{}, "true approval mode reads", "prompt"},
		{"reads elsewhere", read("/etc/passwd"), execution.RunOptions{ApprovalMode: execution.ApprovalReads}, yes, "true callback", "prompt"},
		{"reads an unknown file", using("Read", execution.ToolUse{Kind: execution.ToolRead}), execution.RunOptions{ApprovalMode: execution.ApprovalReads}, yes, "true callback", "prompt"},
		{"reads, but edits", using("Edit", execution.ToolUse{Kind: execution.ToolEdit, Paths: []string{"a.txt"}}), execution.RunOptions{ApprovalMode: execution.ApprovalReads}, agent.Options{}, "false nobody can approve it", "prompt"},
		{"by the agent's own name", using("ExitPlanMode", execution.ToolUse{}), execution.RunOptions{AllowTools: []string{"ExitPlanMode"}}, agent.Options{}, "true by the rule ExitPlanMode", "prompt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var mode execution.ApprovalMode
			req := request("x")
			req.Run = tt.run
			req.Run.Cwd = dir
			r := start(t, backend(func(c *at.Call) execution.Result {
				mode = c.Request.Run.ApprovalMode
				opened(c)
				d, err := c.Ask(tt.q)
				if err != nil {
					return at.Failed(execution.CodeAborted, err.Error())
				}
				c.Say(map[bool]string{true: "true ", false: "false "}[d.Approve] + d.Reason)
				ended(c)
				return at.Completed()
			}), req, tt.opts)
			if res, _ := finish(t, r); res.Text != tt.want || mode != tt.mode {
				t.Errorf("%q (%s), %+v, the agent's mode is %q", res.Text, res.Status, res.Error, mode)
			}
			if got := r.Request().Run; got.ApprovalMode != tt.run.ApprovalMode {
				t.Errorf("the request says %q", got.ApprovalMode)
			}
		})
	}
}

// TestRulesDenyBeforeTheCall: a rule that denies holds although the agent asks for no permission, and beside the caller's hook.
func TestRulesDenyBeforeTheCall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, path, want string
		decision         execution.HookDecision
	}{
		{"denied", ".github/ci.yml", "denied by the rule Edit(.github/**)", ""},
		{"another file", "a.txt", "", ""},
		{"another file, the hook allows", "a.txt", "", execution.HookAllow},
		{"another file, the hook denies", "a.txt", "not today", execution.HookDeny},
		{"another file, the hook modifies", "a.txt", "the rules of this run were not applied", execution.HookModify},
		{"denied, the hook allows", ".github/ci.yml", "denied by the rule", execution.HookAllow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request("x")
			req.Run = execution.RunOptions{DenyTools: []string{"Edit(.github/**)"}, ApprovalMode: execution.ApprovalYolo, Cwd: t.TempDir()}
			var opts agent.Options
			if tt.decision != "" {
				opts.Hooks.PreToolUse = func(context.Context, execution.HookCall) (execution.HookResult, error) {
					return execution.HookResult{Decision: tt.decision, Message: "not today", ModifiedInput: json.RawMessage(`{}`)}, nil
				}
			}
			why := ""
			r := start(t, backend(func(c *at.Call) execution.Result {
				opened(c)
				_, why, _ = c.Hook("call", "Write", json.RawMessage(`{}`), execution.ToolUse{Kind: execution.ToolEdit, Paths: []string{filepath.FromSlash(tt.path)}})
				ended(c)
				return at.Completed()
			}), req, opts)
			if finish(t, r); !strings.Contains(why, tt.want) || tt.want == "" && why != "" {
				t.Errorf("denied: %q", why)
			}
		})
	}
}

// TestRulesWithoutADirectory: a request without one runs here, and relative patterns begin here.
func TestRulesWithoutADirectory(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs("rules.go")
	if err != nil {
		t.Fatal(err)
	}
	req := request("x")
	req.Run.DenyTools = []string{"Edit(*.go)"}
	why := ""
	r := start(t, backend(func(c *at.Call) execution.Result {
		opened(c)
		_, why, _ = c.Hook("call", "Write", json.RawMessage(`{}`), execution.ToolUse{Kind: execution.ToolEdit, Paths: []string{here}})
		ended(c)
		return at.Completed()
	}), req, agent.Options{})
	if finish(t, r); !strings.Contains(why, "denied by the rule") {
		t.Errorf("denied: %q", why)
	}
}

// TestRulesRefused: wrong rules, and rules that nothing would enforce, are refused before anything starts.
func TestRulesRefused(t *testing.T) {
	t.Parallel()
	req := request("x")
	req.Run.AllowTools = []string{"Read", "Bash("}
	if _, err := agent.New(backend(nil)).Start(t.Context(), req, agent.Options{}); execution.CodeOf(err) != execution.CodeValidation || !strings.Contains(err.Error(), "run.allowTools") {
		t.Errorf("%v", err)
	}
	if n := agent.New(backend(nil)).Negotiate(req, agent.Options{}); n.Supported {
		t.Errorf("%+v", n)
	}
	for want, run := range map[string]execution.RunOptions{
		"rules that deny tool calls":  {DenyTools: []string{"Bash"}},
		"rules that allow tool calls": {AllowTools: []string{"Bash"}},
		"the approval mode reads":     {ApprovalMode: execution.ApprovalReads},
	} {
		req := request("x")
		req.Run = run
		b := declaring(nil, func(c *execution.Capabilities) {
			c.Agent.ApprovalModes, c.Agent.RuntimeHooks = []execution.ApprovalMode{execution.ApprovalYolo}, execution.RuntimeHooks{}
		})
		n := agent.New(b).Negotiate(req, agent.Options{})
		if n.Supported || len(n.Reasons) != 1 || !strings.Contains(n.Reasons[0].Message, want) {
			t.Errorf("%s: %+v", want, n.Reasons)
		}
		if n := agent.New(backend(nil)).Negotiate(req, agent.Options{}); !n.Supported {
			t.Errorf("%s: %+v", want, n.Reasons)
		}
	}
}

// TestAlways: an approval may allow like calls from now on, by a rule that allows what was asked; the agent does not see the rule.
func TestAlways(t *testing.T) {
	t.Parallel()
	command := func(line string) execution.ApprovalRequired {
		return using("Bash", execution.ToolUse{Kind: execution.ToolShell, Command: line})
	}
	for _, tt := range []struct {
		name, first, always, next, want string
		denyTools                       []string
	}{
		{"the next call", "go test ./a", "Bash(go test:*)", "go test ./b", "true from now on by the rule Bash(go test:*), true by the rule Bash(go test:*)", nil},
		{"another call", "go test ./a", "Bash(go test:*)", "go vet", "true from now on by the rule Bash(go test:*), false asked again", nil},
		{"a denied call", "go test ./a", "Bash(go:*)", "go vet", "true from now on by the rule Bash(go:*), false denied by the rule Bash(go vet)", []string{"Bash(go vet)"}},
		{"a rule for something else", "go vet", "Bash(go test:*)", "go test", "false the rule Bash(go test:*) does not allow what is asked: d, false asked again", nil},
		{"no rule", "go vet", "Bash(", "go vet", `false always: the rule "Bash(" does not end with a bracket, false asked again`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			req := request("x")
			req.Run.DenyTools = tt.denyTools
			r := start(t, backend(func(c *at.Call) execution.Result {
				opened(c)
				var said []string
				for _, line := range []string{tt.first, tt.next} {
					q := command(line)
					q.ID, q.Detail = execution.QuestionID(line+" "+tt.name), "d"
					d, err := c.Ask(q)
					if err != nil || d.Always != "" {
						return at.Failed(execution.CodeAborted, "asked")
					}
					said = append(said, map[bool]string{true: "true ", false: "false "}[d.Approve]+d.Reason)
				}
				c.Say(strings.Join(said, ", "))
				ended(c)
				return at.Completed()
			}), req, agent.Options{OnApproval: func(context.Context, execution.ApprovalRequired) execution.Decision {
				if asked++; asked > 1 {
					return execution.Decision{Reason: "asked again"}
				}
				return execution.Decision{Approve: true, Always: tt.always}
			}})
			if res, _ := finish(t, r); strings.ReplaceAll(res.Text, "run "+string(r.ID())+": ", "") != tt.want {
				t.Errorf("%q, want %q (%s) %+v", res.Text, tt.want, res.Status, res.Error)
			}
		})
	}
}
