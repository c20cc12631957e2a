//go:build unix

package orchestrator

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/examples/echoturn"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// asked is what a service got in a turn.
type asked struct {
	run, turn, text string
	header          http.Header
}

var (
	runID  = regexp.MustCompile(`run_[0-9a-f]{16}`)
	turnID = regexp.MustCompile(`turn_[0-9a-f]{16}`)
)

// service is a server that answers every request with what answer makes of it: a status and a body.
func service(t *testing.T, answer func(asked) (int, any)) (url string, requests *[]asked) {
	t.Helper()
	requests = &[]asked{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		a := asked{run: runID.FindString(string(b)), turn: turnID.FindString(string(b)), text: string(b), header: r.Header}
		*requests = append(*requests, a)
		status, v := answer(a)
		text, isText := v.(string)
		if !isText {
			out, _ := json.Marshal(v)
			text = string(out)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// reviewed is the result of a reviewing turn.
func reviewed(a asked, role, runtime string) map[string]any {
	return map[string]any{"schema_version": "1.0", "run_id": a.run, "turn_id": a.turn, "role": role, "runtime_id": runtime, "status": "completed",
		"summary": "read the work", "decisions": []any{}, "objections": []any{objection("OBJ-001", "low", "no test covers the empty name")}, "files_changed": []any{},
		"verification": map[string]any{"status": "skipped"}, "artifact": map[string]any{"type": "review"}, "proposed_next_role": "human", "run_completion_request": false}
}

// proposes turns a result into one of a proposing turn.
func proposes(r map[string]any, changes ...map[string]any) map[string]any {
	r["artifact"], r["proposed_changes"], r["objections"] = map[string]any{"type": "patch"}, changes, []any{}
	return r
}

func change(path, action, content string) map[string]any {
	c := map[string]any{"path": path, "action": action}
	if action != "delete" {
		c["content"] = content
	}
	return c
}

// chatting wraps a result as the answer of a chat API.
func chatting(result map[string]any) map[string]any {
	b, _ := json.Marshal(result)
	return map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": "```json\n" + string(b) + "\n```"}}},
		"usage": map[string]any{"prompt_tokens": 100, "completion_tokens": 10}}
}

// alone is a configuration with one role of an authority on a runtime.
func alone(authority, runtime, more string) string {
	return strings.Replace(one(runtime, more), `"authoritative"`, `"`+authority+`"`, 1)
}

// once allows one attempt of a turn.
func once(config string) string {
	return strings.Replace(config, `"rules":{`, `"rules":{"max_turn_retries":1,`, 1)
}

func TestAPIProxyTurn(t *testing.T) {
	t.Setenv("THE_KEY", "kk-secret-0123456789")
	fail := true
	url, requests := service(t, func(a asked) (int, any) {
		if fail {
			return 401, `{"error":{"type":"authentication_error","message":"kk-secret-0123456789 is wrong"}}`
		}
		return 200, chatting(reviewed(a, "dev", "dev-rt"))
	})
	p := newProject(t, alone("review_only", `{"type":"api_proxy","provider":"openai","model":"m-1","auth_env":"THE_KEY","base_url":"`+url+`"}`,
		`,"budget":{"per_turn_max_usd":5,"per_run_max_usd":9,"cost_rates":{"m-1":{"input_per_1m":1000,"output_per_1m":1000}}}`))
	r := p.step(govern.OutcomeBlocked)
	if r.Code != "auth_failure" || *p.state().BlockedOn != "dispatch:auth_failure" || r.Next != "drawbar govern step --resume" {
		t.Errorf("%+v on %s", r, *p.state().BlockedOn)
	}
	fail = false
	r = p.step(govern.OutcomeAccepted, govern.StepOptions{Resume: true})
	h := p.history()[0]
	if h.Cost == nil || h.Cost.USD != 0.11 || h.AdapterMeta == nil || h.AdapterMeta.Provider != "openai" || h.AdapterMeta.Model != "m-1" || *h.AdapterMeta.InputTokens != 100 {
		t.Errorf("%+v %+v", h.Cost, h.AdapterMeta)
	}
	if p.state().BudgetStatus.SpentUSD != 0.11 {
		t.Errorf("spent %v", p.state().BudgetStatus.SpentUSD)
	}
	if len(*requests) != 2 || !strings.Contains((*requests)[1].text, "no tools") || (*requests)[1].header.Get("Authorization") != "Bearer kk-secret-0123456789" {
		t.Errorf("%+v", *requests)
	}
	at := filepath.Join(p.root, ".agentxchain", "archive", "turns", r.TurnID)
	for _, name := range []string{"evidence/API_REQUEST.json", "evidence/API_REQUEST-1.json", "evidence/api-error-1.json", "staging/provider-response.json"} {
		if _, err := os.Stat(filepath.Join(at, name)); err != nil {
			t.Error(err)
		}
	}
	p.without("kk-secret-0123456789")
	p.sound()
}

// without fails if a file of the project contains a text; the configuration may.
func (p *world) without(text string) {
	p.t.Helper()
	err := filepath.WalkDir(p.root, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && e.Name() != protocol.ConfigFile && strings.Contains(string(mustRead(path)), text) {
			p.t.Errorf("%s contains %s", path, text)
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// tool answers as an MCP server whose tool returns a result.
func tool(result func(asked) map[string]any) func(asked) (int, any) {
	return func(a asked) (int, any) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal([]byte(a.text), &m)
		answer := map[string]any{}
		switch m.Method {
		case "initialize":
			answer = map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "s", "version": "1"}}
		case "tools/list":
			answer["tools"] = []any{map[string]any{"name": "my_turn", "inputSchema": map[string]any{"type": "object"}}}
		case "tools/call":
			answer["structuredContent"], answer["content"] = result(a), []any{}
		}
		if len(m.ID) == 0 {
			return 202, ""
		}
		return 200, map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": answer}
	}
}

// TestMCPTurn: a tool reviews, and one that may write does so in the work tree.
func TestMCPTurn(t *testing.T) {
	url, requests := service(t, tool(func(a asked) map[string]any { return reviewed(a, "dev", "dev-rt") }))
	runtime := `{"type":"mcp","transport":"streamable_http","url":"` + url + `","tool_name":"%s","headers":{"Authorization":"Bearer kk-secret-0123456789"}}`
	p := newProject(t, alone("review_only", strings.Replace(runtime, "%s", "nobody", 1), ""))
	r := p.step(govern.OutcomeBlocked)
	if r.Code != "mcp_failure" || *p.state().BlockedOn != "dispatch:mcp_failure" || !strings.Contains(strings.Join(r.Errors, ""), "it has my_turn") {
		t.Errorf("%+v", r)
	}
	p.write("agentxchain.json", alone("review_only", strings.Replace(runtime, "%s", "my_turn", 1), ""))
	p.step(govern.OutcomeAccepted, govern.StepOptions{Resume: true})
	if got := (*requests)[len(*requests)-1]; got.header.Get("Authorization") != "Bearer kk-secret-0123456789" || !strings.Contains(got.text, `"phase":"implementation"`) {
		t.Errorf("%+v", got)
	}
	root := ""
	url, _ = service(t, tool(func(a asked) map[string]any {
		if err := os.WriteFile(filepath.Join(root, "made.txt"), []byte("by the tool\n"), 0o644); err != nil {
			panic(err)
		}
		v := reviewed(a, "dev", "dev-rt")
		v["artifact"], v["files_changed"] = map[string]any{"type": "workspace"}, []any{"made.txt"}
		return v
	}))
	p = newProject(t, one(`{"type":"mcp","transport":"streamable_http","url":"`+url+`","tool_name":"my_turn"}`, ""))
	root = p.root
	r = p.step(govern.OutcomeAccepted)
	if r.Commit == "" || p.git("show", "HEAD:made.txt") != "by the tool" {
		t.Errorf("%+v", r)
	}
	p.sound()
}

func init() {
	workers["echo server"] = func(*worker) { _ = echoturn.Server().Run(context.Background(), &mcp.StdioTransport{}) }
}

// TestEchoServer: the example's result is valid for every authority, over both transports.
func TestEchoServer(t *testing.T) {
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return echoturn.Server() }, nil))
	defer s.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, runtime := range map[string]string{
		"stdio": `{"type":"mcp","command":["` + self + `"],"env":{"` + workerEnv + `":"echo server"}}`,
		"http":  `{"type":"mcp","transport":"streamable_http","url":"` + s.URL + `"}`,
	} {
		for _, authority := range []string{"review_only", "proposed", "authoritative"} {
			p := newProject(t, alone(authority, runtime, ""))
			r, err := p.engine().Step(t.Context(), govern.StepOptions{})
			if err != nil || len(p.history()) != 1 || r.Summary == "" && authority == "review_only" {
				t.Errorf("%s, %s: %+v %v", name, authority, r, err)
			}
			if needs := authority != "review_only"; (p.state().Status == protocol.RunBlocked) != needs {
				t.Errorf("%s, %s: the run is %s", name, authority, p.state().Status)
			}
		}
	}
}

// TestRemoteAgentTurn: a failure blocks the run and keeps the turn, what is not the turn's result is refused, and a proposal
// can be applied.
func TestRemoteAgentTurn(t *testing.T) {
	var answer func(a asked) (int, any)
	url, requests := service(t, func(a asked) (int, any) { return answer(a) })
	runtime := `{"type":"remote_agent","url":"` + url + `","headers":{"authorization":"Bearer kk-secret-0123456789"}}`
	p := newProject(t, once(alone("proposed", runtime, "")))
	answer = func(asked) (int, any) { return 503, "down, " + "kk-secret-0123456789" }
	r := p.step(govern.OutcomeBlocked)
	if r.Code != "remote_agent_failure" || *p.state().BlockedOn != "dispatch:remote_agent_failure" || r.Next != "drawbar govern step --resume" || !p.state().ActiveTurns.Has(r.TurnID) {
		t.Errorf("%+v", r)
	}
	turn := r.TurnID
	if _, err := os.Stat(filepath.Join(p.root, ".agentxchain", "dispatch", "turns", turn, "evidence", "api-error.json")); err != nil {
		t.Error(err)
	}
	answer = func(a asked) (int, any) {
		return 200, proposes(reviewed(a, "dev", "dev-rt"), change("src/x.txt", "create", "x\n"))
	}
	if r = p.step(govern.OutcomeAccepted, govern.StepOptions{Resume: true}); r.TurnID != turn {
		t.Errorf("another turn ran: %s", r.TurnID)
	}
	if got := (*requests)[1]; got.turn != turn || got.header.Get("Authorization") != "Bearer kk-secret-0123456789" {
		t.Errorf("%+v", got)
	}
	if _, err := p.decide(govern.ProposalOptions{}); err != nil || p.read("src/x.txt") != "x\n" {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(p.root, ".agentxchain", "archive", "turns", turn, "evidence", "remote.log")); err != nil {
		t.Error(err)
	}
	p.without("kk-secret-0123456789")
	p.sound()

	for name, spoil := range map[string]func(map[string]any){
		"another turn":    func(r map[string]any) { r["turn_id"] = "turn_0000000000000000" },
		"another role":    func(r map[string]any) { r["role"] = "qa" },
		"another runtime": func(r map[string]any) { r["runtime_id"] = "other" },
		"no proposal":     func(r map[string]any) { delete(r, "proposed_changes") },
		"path outside":    func(r map[string]any) { r["proposed_changes"] = []any{change("../../escape.txt", "create", "x")} },
		"file outside":    func(r map[string]any) { r["files_changed"] = []any{"/etc/passwd"} },
		"decision":        func(r map[string]any) { r["decisions"] = "none" },
	} {
		p := newProject(t, once(alone("proposed", runtime, "")))
		answer = func(a asked) (int, any) {
			r := proposes(reviewed(a, "dev", "dev-rt"), change("src/x.txt", "create", "x\n"))
			spoil(r)
			return 200, r
		}
		if r := p.step(govern.OutcomeBlocked); r.Code != "validation_failed" || len(p.history()) != 0 || len(p.proposals()) != 0 {
			t.Errorf("%s: %s %v", name, r.Code, r.Errors)
		}
	}
}

// TestRemoteRuntimesNeedNoWorkTree: neither a worktree nor a clean one.
func TestRemoteRuntimesNeedNoWorkTree(t *testing.T) {
	url, _ := service(t, func(a asked) (int, any) {
		return 200, chatting(proposes(reviewed(a, "dev", "dev-rt"), change("x.txt", "create", "x")))
	})
	runtime := `{"type":"api_proxy","provider":"ollama","model":"m","base_url":"` + url + `"}`
	for _, workspace := range []string{"shared", "worktree"} {
		p := newProject(t, alone("proposed", runtime, `,"workspace":"`+workspace+`"`))
		p.write("README.md", "a person's work\n")
		r := p.step(govern.OutcomeAccepted)
		if _, err := os.Stat(filepath.Join(p.root, ".agentxchain", "archive", "turns", r.TurnID, "staging", "provider-response.json")); err != nil {
			t.Errorf("%s: %v", workspace, err)
		}
		if p.read("README.md") != "a person's work\n" || len(p.proposals()) != 1 {
			t.Errorf("%s: %+v", workspace, p.proposals())
		}
		p.sound()
	}
}

// TestFirstEditionAPI: the settings of a role of specification 000 reach the request, and its results are judged as such.
func TestFirstEditionAPI(t *testing.T) {
	t.Setenv("THE_KEY", "kk-secret-0123456789")
	url, requests := service(t, func(a asked) (int, any) { return 200, chatting(reviewed(a, "qa", "api_proxy-qa")) })
	p := newProject(t, `{"schema_version":"1.0","project":{"id":"p","name":"P"},"roles":{"qa":{"adapter":"api_proxy","adapter_config":{"provider":"custom","model":"m-1",
"max_tokens":77,"temperature":0.5,"api_key_env":"THE_KEY","timeout_ms":60000,"max_retries":1,"base_url":"`+url+`"}}},
"routing":{"qa":{"entry_role":"qa","allowed_next_roles":["qa","human"]}},"workflow_kit":{}}`)
	r := p.step(govern.OutcomeAccepted)
	got := (*requests)[0]
	for _, want := range []string{`"max_tokens":77`, `"temperature":0.5`, `"model":"m-1"`} {
		if !strings.Contains(got.text, want) {
			t.Errorf("%s is not in the request", want)
		}
	}
	request := p.read(".agentxchain/archive/turns/" + r.TurnID + "/evidence/API_REQUEST.json")
	if got.header.Get("Authorization") != "Bearer kk-secret-0123456789" || !strings.Contains(request, `"timeout_seconds": 60`) || !strings.Contains(request, `"max_attempts": 2`) {
		t.Errorf("%v %s", got.header, request)
	}
	p.sound()
}

// TestAPIProxyNeedsKey: nothing is left behind of a turn that cannot start.
func TestAPIProxyNeedsKey(t *testing.T) {
	p := newProject(t, alone("review_only", `{"type":"api_proxy","provider":"anthropic","model":"m-1","auth_env":"NO_SUCH_KEY"}`, ""))
	_, err := p.engine().Step(t.Context(), govern.StepOptions{})
	if err == nil || !strings.Contains(err.Error(), "NO_SUCH_KEY is not set") || !strings.Contains(hint(err), "export NO_SUCH_KEY=") {
		t.Errorf("%v", err)
	}
	if p.state().Status != protocol.RunIdle && p.state().Status != "" {
		t.Errorf("the run is %s", p.state().Status)
	}
}
