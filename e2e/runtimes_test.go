//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sixRuntimes is a project in which every kind of worker has a role. %[1]s is the address of the services.
const sixRuntimes = `{
  "schema_version": "1.0",
  "project": {"id": "calc", "name": "Calculator", "goal": "a calculator that adds", "default_branch": "main"},
  "roles": {
    "pm": {"title": "Product Manager", "mandate": "Say what is built.", "write_authority": "review_only", "runtime": "person"},
    "architect": {"title": "Architect", "mandate": "Propose it.", "write_authority": "proposed", "runtime": "model"},
    "security": {"title": "Security", "mandate": "Doubt the proposal.", "write_authority": "review_only", "runtime": "tool"},
    "auditor": {"title": "Auditor", "mandate": "Doubt it again.", "write_authority": "review_only", "runtime": "service"},
    "dev": {"title": "Developer", "mandate": "Build it.", "write_authority": "authoritative", "runtime": "program"},
    "qa": {"title": "QA", "mandate": "Doubt the work.", "write_authority": "review_only", "runtime": "agent"}
  },
  "runtimes": {
    "person": {"type": "manual"},
    "model": {"type": "api_proxy", "provider": "openai", "model": "scripted-model", "base_url": "%[1]s/chat", "auth_env": "PROXY_KEY"},
    "tool": {"type": "mcp", "command": ["mcp-echo-agent"]},
    "service": {"type": "remote_agent", "url": "%[1]s/turn", "headers": {"Authorization": "Bearer planted-service-key"}},
    "program": {"type": "local_cli", "command": ["./dev.sh"]},
    "agent": {"type": "agent", "agent": "claude", "approve": "yolo"}
  },
  "routing": {
    "planning": {"entry_role": "pm", "allowed_next_roles": ["pm", "human"], "exit_gate": "plan"},
    "implementation": {"entry_role": "architect", "allowed_next_roles": ["architect", "security", "auditor", "dev", "human"], "exit_gate": "built"},
    "qa": {"entry_role": "qa", "allowed_next_roles": ["dev", "qa", "human"], "exit_gate": "ship"}
  },
  "gates": {
    "plan": {"requires_files": [".planning/PM_SIGNOFF.md", ".planning/SYSTEM_SPEC.md", ".planning/ROADMAP.md"], "requires_human_approval": true},
    "built": {"requires_files": [".planning/IMPLEMENTATION_NOTES.md"], "requires_verification_pass": true},
    "ship": {"requires_files": [".planning/ship-verdict.md"], "requires_verification_pass": true, "requires_human_approval": true}
  },
  "budget": {"per_turn_max_usd": 2, "per_run_max_usd": 50},
  "run_loop": {"non_progress_threshold": 6},
  "rules": {"challenge_required": true, "max_turn_retries": 2}
}`

// builder works on what was proposed.
const builder = `#!/bin/sh
set -e
field() { sed -n 's/^  "'"$1"'": "\(.*\)",*$/\1/p' "$AGENTXCHAIN_DISPATCH_DIR/ASSIGNMENT.json"; }
echo 'test "$(sh add.sh 2 3)" = 5' > test.sh
sh test.sh
printf '# Notes\n\n## Changes\n\ntest.sh tests.\n\n## Verification\n\nIt was run.\n' > .planning/IMPLEMENTATION_NOTES.md
cat > "$AGENTXCHAIN_STAGING_PATH" <<END
{"schema_version": "1.0", "run_id": "$(field run_id)", "turn_id": "$AGENTXCHAIN_TURN_ID", "role": "dev", "runtime_id": "program",
 "status": "completed", "summary": "what was proposed adds", "decisions": [], "objections": [],
 "files_changed": ["test.sh", ".planning/IMPLEMENTATION_NOTES.md"],
 "verification": {"status": "pass", "machine_evidence": [{"command": "sh test.sh", "exit_code": 0}]},
 "artifact": {"type": "workspace", "ref": null}, "proposed_next_role": "qa", "phase_transition_request": "qa"}
END
`

var (
	runOf  = regexp.MustCompile(`run_[0-9a-f]{16}`)
	turnOf = regexp.MustCompile(`turn_[0-9a-f]{16}`)
)

// services are a model that proposes, at /chat, and an agent that reviews, at /turn.
func services(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		result := map[string]any{"schema_version": "1.0", "run_id": runOf.FindString(string(body)), "turn_id": turnOf.FindString(string(body)), "role": "auditor", "runtime_id": "service",
			"status": "completed", "summary": "read the proposal", "decisions": []any{}, "files_changed": []string{}, "verification": verified("skipped"),
			"objections": []any{objects("OBJ-301", "low", "no test covers negative numbers")}, "artifact": map[string]any{"type": "review", "ref": nil},
			"proposed_next_role": "human", "run_completion_request": false}
		var answer any = result
		if r.URL.Path == "/chat" {
			result["role"], result["runtime_id"], result["summary"], result["artifact"] = "architect", "model", "proposes add.sh", map[string]any{"type": "patch"}
			result["proposed_changes"] = []any{map[string]any{"path": "add.sh", "action": "create", "content": "echo $(($1 + $2))\n"}}
			result["objections"] = []any{}
			text, err := json.Marshal(result)
			if err != nil {
				t.Error(err)
			}
			answer = map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": "```json\n" + string(text) + "\n```"}, "finish_reason": "stop"}},
				"usage": map[string]any{"prompt_tokens": 100, "completion_tokens": 10}}
		}
		want := map[string]string{"/chat": "Bearer planted-proxy-key", "/turn": "Bearer planted-service-key"}[r.URL.Path]
		if got := r.Header.Get("Authorization"); got != want {
			t.Errorf("%s: authorization %q", r.URL.Path, got)
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestEveryRuntimeInOneRun: a person, a model behind an API, an MCP server, a service, a program and the real agent take their turns in one
// run; a person approves two gates and applies what the model proposed; no key is in what the run leaves.
func TestEveryRuntimeInOneRun(t *testing.T) {
	only(t, "claude", func(t *testing.T, k kit) {
		g := newGoverned(t, k, "")
		build := exec.Command(mustLook(t, "go"), "build", "-o", filepath.Join(g.root, "bin")+"/", "github.com/drawbar/drawbar/examples/mcp-echo-agent")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		g.env["PATH"] = filepath.Join(g.root, "bin") + ":" + g.env["PATH"]
		g.env["PROXY_KEY"] = "planted-proxy-key"
		g.file("agentxchain.json", fmt.Sprintf(sixRuntimes, services(t)))
		g.file("dev.sh", builder)
		g.git("add", "-A")
		g.git("commit", "-qm", "six runtimes")
		g.trust()

		g.plans()
		proposal := ""
		for _, role := range []string{"architect", "security", "auditor"} {
			r := g.govern("step", "--role", role)
			if r.Outcome != "accepted" || r.Role != role || r.Phase != "implementation" {
				t.Fatalf("%s: %+v", role, r)
			}
			if role == "architect" {
				proposal = r.TurnID
			}
		}
		if _, err := os.Stat(filepath.Join(g.work, "add.sh")); err == nil {
			t.Error("the proposal was applied by itself")
		}
		if o := g.command("govern", "proposal", "apply", proposal); o.code != 0 {
			t.Fatalf("apply: exit %d\n%s%s", o.code, o.stdout, o.stderr)
		}
		g.git("add", "-A")
		g.git("commit", "-qm", "apply the proposal")
		if r := g.govern("step", "--role", "dev"); r.Outcome != "accepted" || r.Phase != "qa" {
			t.Fatalf("the program's turn: %+v", r)
		}
		turn := g.govern("resume").TurnID
		staged := filepath.Join(g.work, filepath.FromSlash(stagedPath(turn)))
		calls, names := g.ships(k)
		g.script(`{"text":"I run it.","tools":[`+k.shell("sh test.sh")+`]}`,
			`{"text":"It adds.","tools":[`+strings.Join(calls, ",")+`]}`,
			`{"text":"Done.","tools":[`+k.write(staged, g.result(turn, "qa", "agent", map[string]any{"files_changed": names, "run_completion_request": true,
				"verification": verified("pass", "sh test.sh")}))+`]}`,
			`{"text":"That is all."}`)
		if r := g.govern("step"); r.Outcome != "accepted" || r.TurnID != turn || r.Pending != "ship" {
			t.Fatalf("the agent's turn: %+v", r)
		}
		if r := g.govern("approve", "completion"); r.Outcome != "completed" || r.Status != "completed" {
			t.Fatalf("approved: %+v", r)
		}
		if o := g.command("govern", "verify"); o.code != 0 {
			t.Errorf("verify: exit %d\n%s%s", o.code, o.stdout, o.stderr)
		}
		for _, dir := range []string{filepath.Join(g.work, ".agentxchain"), filepath.Join(g.root, "state")} {
			for path, text := range contents(t, dir) {
				if strings.Contains(text, "planted-proxy-key") || strings.Contains(text, "planted-service-key") && !strings.HasSuffix(path, "agentxchain.json") {
					t.Errorf("a key is in %s", path)
				}
			}
		}
	})
}
