//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/modelserver"
)

// The parts of a governed project's record that the tests look at.
type (
	report struct {
		Outcome, Status, Phase, Role, Code, Commit string
		TurnID                                     string `json:"turn_id"`
		Attempt                                    int
		Errors                                     []string
		Files                                      []string `json:"files_changed"`
		Pending                                    string   `json:"pending_gate"`
		Next                                       string
	}
	standing struct {
		Status, Phase, Next string
		Pending             string `json:"pending_gate"`
		Turns               []struct {
			ID     string `json:"turn_id"`
			Role   string `json:"assigned_role"`
			Status string
			Live   *struct{ Worker, Stage string }
		} `json:"active_turns"`
		Budget struct {
			Spent float64 `json:"spent_usd"`
		}
	}
	entry struct {
		TurnID     string `json:"turn_id"`
		Role       string
		Phase      string
		RuntimeID  string `json:"runtime_id"`
		Objections []struct{ ID, Statement string }
		Files      []string `json:"files_changed"`
		Cost       *struct {
			USD    float64
			Input  int64 `json:"input_tokens"`
			Output int64 `json:"output_tokens"`
		}
		Meta *struct {
			Model, Provider string
			SessionID       string   `json:"session_id"`
			CostUSD         *float64 `json:"cost_usd"`
			LatencyMS       *int64   `json:"latency_ms"`
		} `json:"adapter_meta"`
	}
)

// threeRoles is a project with a person, a program and an agent; %s is what the agent's runtime says besides.
const threeRoles = `{
  "schema_version": "1.0",
  "project": {"id": "calc", "name": "Calculator", "goal": "a calculator that adds", "default_branch": "main"},
  "roles": {
    "pm": {"title": "Product Manager", "mandate": "Say what is built.", "write_authority": "review_only", "runtime": "person"},
    "dev": {"title": "Developer", "mandate": "Build it.", "write_authority": "authoritative", "runtime": "program"},
    "qa": {"title": "QA", "mandate": "Doubt it.", "write_authority": "review_only", "runtime": "agent"}
  },
  "runtimes": {
    "person": {"type": "manual"},
    "program": {"type": "local_cli", "command": ["./dev.sh"]},
    "agent": {"type": "agent", "agent": "claude", "approve": "yolo"%s}
  },
  "routing": {
    "planning": {"entry_role": "pm", "allowed_next_roles": ["pm", "human"], "exit_gate": "plan"},
    "implementation": {"entry_role": "dev", "allowed_next_roles": ["dev", "human"], "exit_gate": "built"},
    "qa": {"entry_role": "qa", "allowed_next_roles": ["dev", "qa", "human"], "exit_gate": "ship"}
  },
  "gates": {
    "plan": {"requires_files": [".planning/PM_SIGNOFF.md", ".planning/SYSTEM_SPEC.md", ".planning/ROADMAP.md"], "requires_human_approval": true},
    "built": {"requires_files": [".planning/IMPLEMENTATION_NOTES.md"], "requires_verification_pass": true},
    "ship": {"requires_files": [".planning/acceptance-matrix.md", ".planning/ship-verdict.md", ".planning/RELEASE_NOTES.md"],
             "requires_verification_pass": true, "requires_human_approval": true}
  },
  "budget": {"per_turn_max_usd": 2, "per_run_max_usd": 50},
  "rules": {"challenge_required": true, "max_turn_retries": 2}
}`

// developer is a program in a role: it reads the assignment, works, and writes the result. In its first turn it leaves a defect.
const developer = `#!/bin/sh
set -e
field() { sed -n 's/^  "'"$1"'": "\(.*\)",*$/\1/p' "$AGENTXCHAIN_DISPATCH_DIR/ASSIGNMENT.json"; }
phase=null
if [ -e add.sh ]; then
  printf 'echo $(($1 + $2))\n' > add.sh
else
  printf 'echo $(($1 - $2))\n' > add.sh
  phase='"qa"'
fi
printf '# Notes\n\n## Changes\n\nadd.sh adds.\n\n## Verification\n\nIt was run.\n' > .planning/IMPLEMENTATION_NOTES.md
cat > "$AGENTXCHAIN_STAGING_PATH" <<END
{"schema_version": "1.0", "run_id": "$(field run_id)", "turn_id": "$AGENTXCHAIN_TURN_ID", "role": "dev", "runtime_id": "program",
 "status": "completed", "summary": "add.sh is written", "decisions": [], "objections": [],
 "files_changed": ["add.sh", ".planning/IMPLEMENTATION_NOTES.md"],
 "verification": {"status": "pass", "machine_evidence": [{"command": "sh add.sh 2 0", "exit_code": 0}]},
 "artifact": {"type": "workspace", "ref": null}, "proposed_next_role": "qa", "phase_transition_request": $phase}
END
`

// governed is a lab with a governed project.
type governed struct{ *lab }

func newGoverned(t *testing.T, k kit, runtime string) *governed {
	t.Helper()
	g := &governed{lab: newLab(t, k, `{"turns":[{"text":"nobody asks this"}]}`)}
	g.env["PATH"] += ":" + filepath.Dir(mustLook(t, "git"))
	g.file("agentxchain.json", fmt.Sprintf(threeRoles, runtime))
	g.file("dev.sh", developer)
	g.file(".planning/README.md", "The plan.\n")
	g.file(".gitignore", ".agentxchain/\n!.agentxchain/chain.jsonl\nTALK.md\n")
	if err := os.Chmod(filepath.Join(g.work, "dev.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.email", "e2e@localhost"}, {"config", "user.name", "e2e"}, {"add", "-A"}, {"commit", "-qm", "start"}} {
		g.git(args...)
	}
	g.trust()
	return g
}

// trust says yes to what a test has written.
func (g *governed) trust() {
	g.t.Helper()
	if o := g.command("trust", "--yes"); o.code != 0 {
		g.t.Fatalf("drawbar trust: exit %d %s", o.code, o.stderr)
	}
}

func (g *governed) git(args ...string) string {
	g.t.Helper()
	o := g.program(mustLook(g.t, "git"), args...)
	if o.code != 0 {
		g.t.Fatalf("git %v: exit code %d\n%s%s", args, o.code, o.stdout, o.stderr)
	}
	return o.stdout
}

func (g *governed) file(name, text string) {
	g.t.Helper()
	path := filepath.Join(g.work, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// govern runs "drawbar govern ARGS --json" and wants success.
func (g *governed) govern(args ...string) report {
	g.t.Helper()
	return answer[report](g.lab, append([]string{"govern"}, args...)...)
}

// model points the agent at a new model server with these turns.
func (g *governed) script(turns ...string) *modelserver.Server {
	g.t.Helper()
	parsed, err := modelserver.Parse([]byte(`{"defaults":{"usage":{"input":1000,"output":100}},"turns":[` + strings.Join(turns, ",") + `]}`))
	if err != nil {
		g.t.Fatal(err)
	}
	s := modelserver.New(parsed, modelserver.Options{})
	running, err := s.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		if err := running.Close(); err != nil {
			g.t.Error(err)
		}
	})
	g.redirect(running.URL())
	g.model = s
	return s
}

// waiting is a command that goes on while the test acts.
type waiting struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err bytes.Buffer
	done     chan error
}

func (g *governed) begin(args ...string) *waiting {
	g.t.Helper()
	w := &waiting{t: g.t, cmd: exec.Command(binary, append([]string{"govern"}, args...)...), done: make(chan error, 1)}
	w.cmd.Dir, w.cmd.Env, w.cmd.Stdout, w.cmd.Stderr = g.work, g.environ(), &w.out, &w.err
	if err := w.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	go func() { w.done <- w.cmd.Wait() }()
	return w
}

func (w *waiting) end() report {
	w.t.Helper()
	select {
	case err := <-w.done:
		if err != nil {
			w.t.Fatalf("%v: %v\n%s%s", w.cmd.Args, err, w.out.String(), w.err.String())
		}
	case <-time.After(60 * time.Second):
		_ = w.cmd.Process.Kill()
		w.t.Fatalf("%v did not end\n%s", w.cmd.Args, w.out.String())
	}
	var e struct{ Data report }
	if err := json.Unmarshal(w.out.Bytes(), &e); err != nil {
		w.t.Fatalf("%v: %v\n%s", w.cmd.Args, err, w.out.String())
	}
	return e.Data
}

// until waits for a turn of a role that is carried at a stage.
func (g *governed) until(role, stage string) standing {
	g.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		s := answer[standing](g.lab, "govern", "status")
		if len(s.Turns) == 1 && s.Turns[0].Role == role && s.Turns[0].Live != nil && s.Turns[0].Live.Stage == stage {
			return s
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("no turn of %s is %s: %+v", role, stage, s)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// result is a turn result of a reviewer, with more fields over it.
func (g *governed) result(turn, role, runtime string, more map[string]any) string {
	g.t.Helper()
	state := answer[struct {
		RunID string `json:"run_id"`
	}](g.lab, "govern", "status")
	r := map[string]any{"schema_version": "1.0", "run_id": state.RunID, "turn_id": turn, "role": role, "runtime_id": runtime,
		"status": "completed", "summary": role + " has looked", "decisions": []any{}, "files_changed": []string{},
		"objections": []any{objects("OBJ-901", "medium", "not all is said")}, "verification": verified("skipped"),
		"artifact": map[string]any{"type": "review", "ref": nil}, "proposed_next_role": "human",
		"phase_transition_request": nil, "run_completion_request": nil, "needs_human_reason": nil}
	for k, v := range more {
		r[k] = v
	}
	b, err := json.Marshal(r)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(b)
}

// ships are the calls with which an agent writes the documents that the gate of the last phase reads, and their names.
func (g *governed) ships(k kit) (calls, names []string) {
	for _, f := range [][2]string{
		{".planning/acceptance-matrix.md", "| Req # | Requirement | Acceptance criteria | Test status | Last tested | Status |\n|---|---|---|---|---|---|\n| 1 | adds | 2 3 gives 5 | run | today | PASS |\n"},
		{".planning/ship-verdict.md", "# Verdict\n\n## Verdict: YES\n"},
		{".planning/RELEASE_NOTES.md", "# Notes\n\n## User Impact\n\nIt adds.\n\n## Verification Summary\n\nadd.sh 2 3 said 5.\n"},
	} {
		names = append(names, f[0])
		calls = append(calls, k.write(filepath.Join(g.work, f[0]), f[1]))
	}
	return calls, names
}

func objects(id, severity, statement string) map[string]any {
	return map[string]any{"id": id, "severity": severity, "against_turn_id": nil, "statement": statement, "status": "raised"}
}

// verified is a verification with the commands that were run.
func verified(status string, commands ...string) map[string]any {
	evidence := []any{}
	for _, c := range commands {
		evidence = append(evidence, map[string]any{"command": c, "exit_code": 0, "stdout_tail": ""})
	}
	return map[string]any{"status": status, "commands": append([]string{}, commands...), "evidence_summary": "", "machine_evidence": evidence}
}

func stagedPath(turn string) string { return ".agentxchain/staging/" + turn + "/turn-result.json" }

// plans carries planning: a person works while a step waits, and a person approves.
func (g *governed) plans() {
	g.t.Helper()
	step := g.begin("step", "--json")
	turn := g.until("pm", "waiting").Turns[0]
	g.file(".planning/PM_SIGNOFF.md", "# Sign-off\n\nApproved: YES\n")
	g.file(".planning/ROADMAP.md", "# Roadmap\n\n1. add\n")
	g.file(".planning/SYSTEM_SPEC.md", "# Spec\n\n## Purpose\n\nIt adds.\n\n## Interface\n\nadd.sh A B\n\n## Acceptance Tests\n\nadd.sh 2 3 says 5\n")
	text := g.result(turn.ID, "pm", "person", map[string]any{"phase_transition_request": "implementation",
		"files_changed": []string{".planning/PM_SIGNOFF.md", ".planning/ROADMAP.md", ".planning/SYSTEM_SPEC.md"}})
	// A person's editor writes in two goes; the half is not taken.
	g.file(stagedPath(turn.ID), text[:len(text)/2])
	time.Sleep(100 * time.Millisecond)
	g.file(stagedPath(turn.ID), text)
	if r := step.end(); r.Outcome != "accepted" || r.TurnID != turn.ID || r.Status != "paused" || r.Pending != "plan" || r.Commit == "" || r.Next != "drawbar govern approve" {
		g.t.Fatalf("the person's turn: %+v", r)
	}
	if o := g.command("govern", "step", "--json"); o.code == 0 || !strings.Contains(o.stdout, "drawbar govern approve") {
		g.t.Errorf("a step before the approval: exit %d %s", o.code, o.stdout)
	}
	if r := g.govern("approve", "phase"); r.Phase != "implementation" {
		g.t.Fatalf("approved: %+v", r)
	}
}

// TestGovernedRun: a run of three roles, a person, a program and the agent, goes through its phases and gates to completion. The
// agent hands its result over in both ways; its first result is refused and repaired, its role keeps one session, and what it
// cost is in the record.
func TestGovernedRun(t *testing.T) {
	only(t, "claude", func(t *testing.T, k kit) {
		for name, mode := range map[string]string{"staged": `, "session": "role"`, "structured": `, "session": "role", "result": "structured"`} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				governedRun(newGoverned(t, k, mode), k, name == "structured")
			})
		}
	})
}

func governedRun(g *governed, k kit, structured bool) {
	t := g.t
	// hands is the agent's tool call that hands a result over.
	hands := func(turn, result string) string {
		if structured {
			return fmt.Sprintf(`{"name":%q,"input":%s}`, k.structured, result)
		}
		return k.write(filepath.Join(g.work, filepath.FromSlash(stagedPath(turn))), result)
	}
	g.plans()
	if r := g.govern("step"); r.Outcome != "accepted" || r.Role != "dev" || r.Phase != "qa" || r.Commit == "" {
		t.Fatalf("the program's turn: %+v", r)
	}

	// The turn is made ready first, so that the scripted model can know its id.
	turn := g.govern("resume").TurnID
	objection := []any{objects("OBJ-001", "high", "add.sh 2 3 says -1")}
	asked := g.script(
		`{"text":"I look at it for the first time.","tools":[`+hands(turn, g.result(turn, "qa", "agent", map[string]any{"objections": []any{}}))+`]}`,
		`{"text":"That is my result."}`,
		`{"text":"I object now.","tools":[`+hands(turn, g.result(turn, "qa", "agent", map[string]any{"objections": objection, "proposed_next_role": "dev", "run_completion_request": false}))+`]}`,
		`{"text":"Mended."}`)
	r := g.govern("step")
	if r.Outcome != "accepted" || r.TurnID != turn || r.Attempt != 2 || r.Phase != "qa" {
		t.Fatalf("the agent's first turn: %+v", r)
	}
	sent := bodiesOf(asked)
	last := sent[len(sent)-1]
	if !strings.Contains(sent[0], "Doubt it.") || !strings.Contains(sent[0], "add.sh is written") {
		t.Error("the prompt does not hold the role's mandate or the turn before")
	}
	if !strings.Contains(last, "at least one objection") {
		t.Error("the second attempt does not hear what was wrong with the first")
	}
	if !strings.Contains(last, "I look at it for the first time.") {
		t.Error("the second attempt does not go on with the conversation of the first")
	}

	if r := g.govern("step"); r.Outcome != "accepted" || r.Role != "dev" || r.Phase != "qa" {
		t.Fatalf("the program's second turn: %+v", r)
	}
	turn = g.govern("resume").TurnID
	calls, names := g.ships(k)
	asked = g.script(
		`{"text":"Now I run it.","tools":[`+k.shell("sh add.sh 2 3")+`]}`,
		`{"text":"It adds.","tools":[`+strings.Join(calls, ",")+`]}`,
		`{"text":"Done.","tools":[`+hands(turn, g.result(turn, "qa", "agent", map[string]any{"files_changed": names, "run_completion_request": true,
			"objections":   []any{objects("OBJ-002", "low", "negative numbers are not tried")},
			"verification": verified("pass", "sh add.sh 2 3")}))+`]}`,
		`{"text":"That is all."}`)
	if r := g.govern("step"); r.Outcome != "accepted" || r.TurnID != turn || r.Attempt != 1 || r.Pending != "ship" {
		t.Fatalf("the agent's second turn: %+v", r)
	}
	if first := bodiesOf(asked)[0]; !strings.Contains(first, "I look at it for the first time.") {
		t.Error("the role's second turn does not go on with its session")
	}
	if r := g.govern("approve", "completion"); r.Outcome != "completed" || r.Status != "completed" {
		t.Fatalf("approved: %+v", r)
	}

	g.recorded()
	if log := g.git("log", "--format=%s"); strings.Count(log, "turn_") != 5 {
		t.Errorf("the commits are\n%s", log)
	}
	// The record's chain goes on with the approval; the next checkpoint takes it.
	if left := g.git("status", "--porcelain"); left != "" && left != " M .agentxchain/chain.jsonl\n" {
		t.Errorf("not committed: %s", left)
	}
	if text, err := os.ReadFile(filepath.Join(g.work, "add.sh")); err != nil || string(text) != "echo $(($1 + $2))\n" {
		t.Errorf("add.sh is %q: %v", text, err)
	}
}

// recorded holds the record of the finished run against what happened.
func (g *governed) recorded() {
	t := g.t
	t.Helper()
	history := answer[[]entry](g.lab, "govern", "history")
	var roles []string
	for _, h := range history {
		roles = append(roles, h.Role)
		if h.Role != "qa" {
			continue
		}
		if h.Cost == nil || h.Cost.USD <= 0 || h.Cost.Input < 2000 || h.Cost.Output < 200 {
			t.Errorf("the cost of %s is %+v", h.TurnID, h.Cost)
		}
		if m := h.Meta; m == nil || m.Model == "" || m.Provider != "claude" || m.SessionID == "" || m.LatencyMS == nil || m.CostUSD == nil || *m.CostUSD <= 0 {
			t.Errorf("%s knows of its agent %+v", h.TurnID, m)
		}
	}
	if !slices.Equal(roles, []string{"pm", "dev", "qa", "dev", "qa"}) {
		t.Fatalf("the turns are those of %v", roles)
	}
	if first := history[2]; first.Cost.USD <= *first.Meta.CostUSD {
		t.Errorf("the turn of two attempts cost %v, its last attempt alone %v", first.Cost.USD, *first.Meta.CostUSD)
	}
	if a, b := history[2].Meta.SessionID, history[4].Meta.SessionID; a != b {
		t.Errorf("the role's turns have the sessions %s and %s", a, b)
	}
	if s := answer[standing](g.lab, "govern", "status"); s.Status != "completed" || s.Budget.Spent < history[2].Cost.USD+history[4].Cost.USD-1e-9 {
		t.Errorf("at the end: %+v", s)
	}
	v := answer[struct{ OK bool }](g.lab, "govern", "verify")
	if !v.OK {
		t.Errorf("the record is not whole: %+v", v)
	}
	if o := g.command("govern", "objections", "--json"); o.code != 0 || !strings.Contains(o.stdout, "add.sh 2 3 says -1") {
		t.Errorf("the objections: %s", o.stdout)
	}
	if o := g.command("govern", "turn", "show", history[2].TurnID, "--file", "PROMPT.md"); o.code != 0 || !strings.Contains(o.stdout, "Doubt it.") {
		t.Errorf("the archived prompt: %s%s", o.stdout, o.stderr)
	}
	if o := g.command("ps", "--all", "--json"); o.code != 0 || strings.Count(o.stdout, `"agent":"claude"`) < 3 {
		t.Errorf("the agent's runs are not recorded like any other: %s", o.stdout)
	}
}

func bodiesOf(s *modelserver.Server) []string {
	var list []string
	for _, r := range s.Requests() {
		if r.Side == "" {
			list = append(list, string(r.Body))
		}
	}
	return list
}

// TestGovernedNegotiation: what the agent cannot do is refused before anything of it starts, by the key and the capability.
func TestGovernedNegotiation(t *testing.T) {
	only(t, "claude", func(t *testing.T, k kit) {
		g := newGoverned(t, k, `, "sandbox": "read-only"`)
		g.plans()
		if r := g.govern("step"); r.Phase != "qa" {
			t.Fatalf("the program's turn: %+v", r)
		}
		o := g.command("govern", "step", "--json")
		var e struct{ Data report }
		if err := json.Unmarshal([]byte(o.stdout), &e); err != nil {
			t.Fatalf("%v: %s", err, o.stdout)
		}
		if r := e.Data; o.code != execution.ExitGeneral || r.Outcome != "blocked" || len(r.Errors) == 0 || !strings.Contains(r.Errors[0], "runtimes.agent") || !strings.Contains(r.Errors[0], "the sandbox read-only") {
			t.Errorf("exit %d: %+v", o.code, r)
		}
		if g.turns() != 0 {
			t.Errorf("%d model calls; want it refused before anything starts", g.turns())
		}
		// The person takes the sandbox back, and the turn goes on.
		g.file("agentxchain.json", fmt.Sprintf(threeRoles, ""))
		g.trust()
		turn := g.govern("resume").TurnID
		g.script(`{"tools":[`+k.write(filepath.Join(g.work, filepath.FromSlash(stagedPath(turn))), g.result(turn, "qa", "agent", nil))+`]}`, `{"text":"done"}`)
		if r := g.govern("step"); r.Outcome != "accepted" || r.TurnID != turn {
			t.Errorf("after that: %+v", r)
		}
	})
}

// TestGovernedReference: projects as the original leaves them, after its init, between two turns, and in a turn whose worker
// died, are taken up as they are and come to completion. The developer is the agent's program by its command line.
func TestGovernedReference(t *testing.T) {
	only(t, "claude", func(t *testing.T, k kit) {
		for _, left := range []string{"idle", "older", "midrun", "midturn"} {
			t.Run(left, func(t *testing.T) {
				t.Parallel()
				g := newReference(t, k, left)
				accepted := g.accepted()
				if left == "idle" || left == "older" {
					step := g.begin("step", "--json")
					turn := g.until("pm", "waiting").Turns[0]
					g.file(".planning/PM_SIGNOFF.md", "# Sign-off\n\nApproved: YES\n")
					g.file(".planning/SYSTEM_SPEC.md", "# Spec\n\n## Purpose\n\nIt greets.\n\n## Interface\n\ngreet NAME\n\n## Acceptance Tests\n\ngreet Ann says Hello Ann\n")
					g.file(stagedPath(turn.ID), g.result(turn.ID, "pm", "manual-pm", map[string]any{"phase_transition_request": "implementation",
						"files_changed": []string{".planning/PM_SIGNOFF.md", ".planning/SYSTEM_SPEC.md"}}))
					if r := step.end(); r.Outcome != "accepted" || r.Phase != "implementation" {
						t.Fatalf("planning: %+v", r)
					}
				}
				turn := g.govern("resume").TurnID
				dev := g.result(turn, "dev", "local-dev", map[string]any{"objections": []any{}, "files_changed": []string{"greet.sh", ".planning/IMPLEMENTATION_NOTES.md"},
					"artifact": map[string]any{"type": "workspace", "ref": nil}, "verification": verified("pass", "sh greet.sh Ann"),
					"proposed_next_role": "qa", "phase_transition_request": "qa"})
				// With the option --bare, which the original puts in, the agent has no tool that writes a file.
				write := func(name, text string) string { return k.shell("printf '%s' " + shellQuote(text) + " > " + name) }
				g.script(`{"text":"I build it.","tools":[`+write("greet.sh", "echo Hello $1\n")+`,`+
					write(".planning/IMPLEMENTATION_NOTES.md", "# Notes\n\n## Changes\n\ngreet.sh greets.\n\n## Verification\n\nsh greet.sh Ann was run.\n")+`]}`,
					`{"tools":[`+write(stagedPath(turn), dev)+`]}`, `{"text":"Built."}`)
				if r := g.govern("step"); r.Outcome != "accepted" || r.Role != "dev" || r.Phase != "qa" {
					t.Fatalf("implementation: %+v", r)
				}
				step := g.begin("step", "--json")
				turn = g.until("qa", "waiting").Turns[0].ID
				g.file(".planning/acceptance-matrix.md", "| Req # | Requirement | Acceptance criteria | Test status | Last tested | Status |\n|---|---|---|---|---|---|\n| 1 | greets | greet.sh Ann | run | today | PASS |\n")
				g.file(".planning/ship-verdict.md", "# Verdict\n\n## Verdict: YES\n")
				g.file(".planning/RELEASE_NOTES.md", "# Notes\n\n## User Impact\n\nIt greets.\n\n## Verification Summary\n\nIt was run.\n")
				g.file(stagedPath(turn), g.result(turn, "qa", "manual-qa", map[string]any{"run_completion_request": true, "verification": verified("pass", "sh greet.sh Ann"),
					"files_changed": []string{".planning/acceptance-matrix.md", ".planning/ship-verdict.md", ".planning/RELEASE_NOTES.md"}}))
				if r := step.end(); r.Outcome != "accepted" || r.Status != "completed" {
					t.Fatalf("qa: %+v", r)
				}
				if now := g.accepted(); len(now) < len(accepted)+2 || !slices.Equal(now[:len(accepted)], accepted) {
					t.Errorf("the record held %v and holds %v", accepted, now)
				}
				if o := g.command("govern", "verify", "--json"); o.code != 0 {
					t.Errorf("the record is not whole: %s%s", o.stdout, o.stderr)
				}
			})
		}
	})
}

// accepted are the turns of all runs in the record.
func (g *governed) accepted() []string {
	g.t.Helper()
	var list []string
	for _, h := range answer[[]entry](g.lab, "govern", "history", "--all") {
		list = append(list, h.TurnID)
	}
	return list
}

// newReference is a project in one of the states that the original leaves behind.
func newReference(t *testing.T, k kit, left string) *governed {
	t.Helper()
	g := &governed{lab: newLab(t, k, `{"turns":[{"text":"nobody asks this"}]}`)}
	g.env["PATH"] += ":" + filepath.Dir(mustLook(t, "git"))
	for _, part := range []string{"project", left} {
		if err := os.CopyFS(g.work, os.DirFS(filepath.Join("..", "internal", "governed", "project", "testdata", "reference", part))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(g.work, "gitignore"), filepath.Join(g.work, ".gitignore")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.email", "e2e@localhost"}, {"config", "user.name", "e2e"}, {"add", "-A"}, {"commit", "-qm", "start"}} {
		g.git(args...)
	}
	// The record names the commit of another repository, in which it was made.
	const theirs = "88faa55d0949ac3cad3a0a069597b03cf7d1e6fa"
	ours := strings.TrimSpace(g.git("rev-parse", "HEAD"))
	err := filepath.WalkDir(filepath.Join(g.work, ".agentxchain"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(b, []byte(theirs)) {
			return err
		}
		return os.WriteFile(path, bytes.ReplaceAll(b, []byte(theirs), []byte(ours)), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	g.git("add", "-A")
	g.git("commit", "-q", "--allow-empty", "-m", "the record")
	g.trust()
	return g
}

// TestGovernedAgentsAskByDefault: an agent in a role asks before it writes. Where nobody is there nothing is written, the run is blocked
// with what was asked and what to type, and the same turn goes on once a person has said that it may.
func TestGovernedAgentsAskByDefault(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		g := newGoverned(t, k, "")
		project := func(approve string) {
			g.file("agentxchain.json", fmt.Sprintf(`{"schema_version": "1.0", "project": {"id": "calc", "name": "Calculator"},
				"roles": {"dev": {"title": "Developer", "mandate": "Build it.", "write_authority": "authoritative", "runtime": "agent"}},
				"runtimes": {"agent": {"type": "agent", "agent": %q%s}},
				"routing": {"build": {"entry_role": "dev", "allowed_next_roles": ["dev", "human"], "exit_gate": "done"}}, "gates": {"done": {}}, "workflow_kit": {}}`, k.name, approve))
			g.trust()
		}
		project("")
		g.git("add", "-A")
		g.git("commit", "-qm", "an agent")
		made := filepath.Join(g.work, "made.txt")
		script := func() { g.script(`{"tools":[`+escalated(k, made)+`]}`, `{"text":"Done."}`, `{"text":"Done."}`) }
		script()
		o := g.command("govern", "step", "--json")
		var e struct{ Data report }
		if err := json.Unmarshal([]byte(o.stdout), &e); err != nil {
			t.Fatalf("%v: %s\n%s", err, o.stdout, o.stderr)
		}
		r := e.Data
		if _, err := os.Stat(made); err == nil {
			t.Error("it acted without being asked for")
		}
		if r.Outcome != "blocked" || len(r.Errors) == 0 || !strings.Contains(r.Errors[0], k.name+" asks for permission and nobody can answer") ||
			!strings.Contains(r.Errors[0], "drawbar govern config set runtimes.agent.approve yolo") {
			t.Errorf("exit %d: %+v", o.code, r)
		}
		project(`, "approve": "yolo"`)
		if k.drives == "codex" { // with full access it refuses a call that asks
			g.script(`{"tools":[`+k.write(made, "x")+`]}`, `{"text":"Done."}`, `{"text":"Done."}`)
		} else {
			script()
		}
		o = g.command("govern", "step", "--resume", "--no-repair", "--json")
		if err := json.Unmarshal([]byte(o.stdout), &e); err != nil {
			t.Fatalf("%v: %s\n%s", err, o.stdout, o.stderr)
		}
		if _, err := os.Stat(made); err != nil || e.Data.TurnID != r.TurnID {
			t.Errorf("with yolo: %v, exit %d, %+v", err, o.code, e.Data)
		}
	})
}
