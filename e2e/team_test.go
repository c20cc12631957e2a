//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// teamProject is a project that two people carry: one plans with an agent that only proposes, then two agents work beside each
// other.
const teamProject = `{
  "schema_version": "1.0", "record": "branch",
  "project": {"id": "team", "name": "Team"},
  "roles": {
    "pm": {"title": "Product Manager", "mandate": "Say what is built.", "write_authority": "review_only", "runtime": "person"},
    "adviser": {"title": "Adviser", "mandate": "Propose.", "write_authority": "proposed", "runtime": "codex"},
    "dev": {"title": "Developer", "mandate": "Build it.", "write_authority": "authoritative", "runtime": "claude"},
    "docs": {"title": "Writer", "mandate": "Explain it.", "write_authority": "authoritative", "runtime": "codex"}
  },
  "runtimes": {
    "person": {"type": "manual"},
    "claude": {"type": "agent", "agent": "claude", "approve": "yolo"},
    "codex": {"type": "agent", "agent": "codex", "approve": "yolo"}
  },
  "routing": {
    "planning": {"entry_role": "adviser", "allowed_next_roles": ["pm", "adviser", "human"], "exit_gate": "plan"},
    "build": {"entry_role": "dev", "allowed_next_roles": ["dev", "docs", "human"], "exit_gate": "ship", "max_concurrent_turns": 2}
  },
  "gates": {"plan": {"requires_human_approval": true}, "ship": {"requires_human_approval": true}},
  "rules": {"challenge_required": true}, "workflow_kit": {}
}`

// clone is another clone of the project's remote, with an identity of its own.
func (g *governed) clone(hub, name string) *governed {
	g.t.Helper()
	l := *g.lab
	c := &governed{&l}
	c.work = filepath.Join(g.root, name)
	g.git("clone", "-q", hub, c.work)
	c.git("config", "user.name", name)
	c.git("config", "user.email", name+"@localhost")
	return c
}

// TestGovernedTeam: two clones with two identities carry one run to completion over a bare remote. A proposal of Codex is reviewed
// in one clone and applied in the other, Claude Code and Codex work beside each other, a person resolves the conflict between
// them, another one approves, and a third clone checks the record.
func TestGovernedTeam(t *testing.T) {
	only(t, "claude", func(t *testing.T, k kit) {
		alice := newGoverned(t, k, "")
		alice.file("agentxchain.json", teamProject)
		alice.git("commit", "-qam", "a team")
		alice.trust()
		hub := filepath.Join(alice.root, "hub.git")
		alice.git("init", "-q", "--bare", "-b", "main", hub)
		alice.git("remote", "add", "origin", hub)
		alice.git("push", "-q", "origin", "main")
		bob := alice.clone(hub, "bob")
		bob.trust()

		codex := kits[slices.IndexFunc(kits, func(k kit) bool { return k.name == "codex" })]
		proposal := alice.govern("resume", "--role", "adviser").TurnID
		alice.kit = codex
		alice.script(`{"tools":[`+codex.write(filepath.Join(alice.work, filepath.FromSlash(stagedPath(proposal))), alice.result(proposal, "adviser", "codex",
			map[string]any{"artifact": map[string]any{"type": "patch", "ref": nil}, "proposed_next_role": "pm",
				"proposed_changes": []any{map[string]any{"path": "advice.txt", "action": "create", "content": "two files\n"}}}))+`]}`, `{"text":"Done.","repeat":true}`)
		if r := alice.govern("step"); r.Outcome != "accepted" || r.TurnID != proposal || len(r.Files) != 0 {
			t.Fatalf("a proposal: %+v", r)
		}
		turn := alice.govern("step", "--no-wait").TurnID
		if s := bob.govern("sync"); s.Status != "" {
			t.Fatalf("%+v", s)
		}
		if o := bob.command("govern", "proposal", "diff", proposal); o.code != 0 || !strings.Contains(o.stdout, "+two files") {
			t.Errorf("the proposal in the other clone: exit %d %s%s", o.code, o.stdout, o.stderr)
		}
		bob.file(stagedPath(turn), bob.result(turn, "pm", "person", map[string]any{"phase_transition_request": "build", "summary": "the advice is good"}))
		if r := bob.govern("step"); r.Outcome != "accepted" || r.TurnID != turn || r.Pending != "plan" {
			t.Fatalf("the review, a turn that the other clone assigned: %+v %s", r, bob.command("govern", "status").stdout)
		}
		if r := alice.govern("approve", "phase"); r.Phase != "build" {
			t.Fatalf("approved in the first clone: %+v", r)
		}
		if r := alice.govern("proposal", "apply", proposal); !slices.Equal(r.Files, []string{"advice.txt"}) {
			t.Fatalf("applied: %+v", r)
		}
		alice.git("add", "advice.txt")
		alice.git("commit", "-qm", "as advised")

		// The turns are made ready first, so that the scripted models can know their ids.
		dev, docs := alice.govern("resume", "--role", "dev").TurnID, alice.govern("resume", "--role", "docs").TurnID
		work := func(k kit, turn, role, runtime string) {
			at := filepath.Join(alice.work, ".agentxchain", "worktrees", turn)
			there := filepath.Join(alice.root, "at-")
			result := alice.result(turn, role, runtime, map[string]any{"objections": []any{}, "files_changed": []string{"shared.txt", role + ".txt"}, "proposed_next_role": "human",
				"verification": verified("pass", "true"), "artifact": map[string]any{"type": "workspace", "ref": nil}, "run_completion_request": true})
			alice.kit = k
			alice.script(
				`{"tools":[`+k.shell(fmt.Sprintf("touch %s%s; until test -e %sdev -a -e %sdocs; do sleep 0.1; done", there, role, there, there))+`]}`,
				`{"tools":[`+k.write(filepath.Join(at, "shared.txt"), role+"\n")+`]}`,
				`{"tools":[`+k.write(filepath.Join(at, role+".txt"), role+"\n")+`]}`,
				`{"tools":[`+k.write(filepath.Join(at, filepath.FromSlash(stagedPath(turn))), result)+`]}`,
				`{"text":"Done.","repeat":true}`)
		}
		work(codex, docs, "docs", "codex")
		work(k, dev, "dev", "claude")
		o := alice.command("govern", "run", "--max-turns", "2", "--json")
		s := answer[standing](alice.lab, "govern", "status")
		if o.code == 0 || len(s.Turns) != 1 || s.Turns[0].Status != "conflicted" {
			t.Fatalf("two agents that write one file: exit %d %s\n%s\n%+v", o.code, o.stdout, o.stderr, s)
		}
		var first string
		for _, h := range answer[[]entry](alice.lab, "govern", "history") {
			first = h.Role
		}
		second := s.Turns[0]
		if first == second.Role || first == "pm" {
			t.Errorf("accepted %s, in conflict %s", first, second.Role)
		}
		alice.file("shared.txt", "dev\ndocs\n")
		if r := alice.govern("accept", "--turn", second.ID, "--resolution", "human_merge"); r.Outcome != "accepted" || r.Pending != "ship" {
			t.Fatalf("what a person merged: %+v", r)
		}

		if r := bob.govern("approve", "completion"); r.Outcome != "completed" {
			t.Fatalf("approved in the second clone: %+v", r)
		}
		carol := alice.clone(hub, "carol")
		carol.git("fetch", "-q", "origin", "refs/drawbar/runs/*:refs/drawbar/runs/*")
		ref := strings.TrimSpace(carol.git("for-each-ref", "--format=%(refname)", "refs/drawbar/runs"))
		v := carol.command("govern", "verify", "--from", ref, "--json")
		var checked struct {
			Data struct {
				OK  bool
				Git struct{ Turns int }
			}
		}
		if err := json.Unmarshal([]byte(v.stdout), &checked); err != nil || !checked.Data.OK || checked.Data.Git.Turns != 4 {
			t.Errorf("the third clone: %v %s", err, v.stdout)
		}
		if _, err := os.Stat(filepath.Join(carol.work, ".agentxchain", "state.json")); err == nil {
			t.Error("a check leaves a record")
		}
		text, err := os.ReadFile(filepath.Join(bob.work, "shared.txt"))
		if err != nil || string(text) != "dev\ndocs\n" {
			t.Errorf("shared.txt in the second clone: %q %v", text, err)
		}
		for _, file := range []string{"advice.txt", "dev.txt", "docs.txt"} {
			if _, err := os.Stat(filepath.Join(bob.work, file)); err != nil {
				t.Error(err)
			}
		}
		if who := bob.git("log", "--format=%an", "-6"); !strings.Contains(who, "bob") || !strings.Contains(who, "e2e") {
			t.Errorf("the checkpoints are by %q", who)
		}
	})
}
