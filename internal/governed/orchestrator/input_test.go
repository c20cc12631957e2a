//go:build unix

package orchestrator

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/orchestrator/turnruntime"
)

// What a person or an agent stages and must not get into the record: each is refused with its reason, the turn stays, and a good
// result is taken afterwards.
func TestBadStagedResults(t *testing.T) {
	t.Parallel()
	edit := func(change func(r map[string]any)) func(*world, string) {
		return func(p *world, turn string) {
			var r map[string]any
			if err := json.Unmarshal([]byte(handWritten(p, turn, "work.txt")), &r); err != nil {
				p.t.Fatal(err)
			}
			change(r)
			b, _ := json.Marshal(r)
			p.stage(turn, string(b))
		}
	}
	files := func(names ...string) func(*world, string) {
		return edit(func(r map[string]any) { r["files_changed"] = names })
	}
	text := func(s string) func(*world, string) { return func(p *world, turn string) { p.stage(turn, s) } }
	for name, c := range map[string]struct {
		stage func(*world, string)
		want  string // in the report's errors or in the error
		fails bool   // an error of the command: there is nothing to judge
		takes bool   // it is accepted
	}{
		"absent":     {stage: func(*world, string) {}, want: "no staged result", fails: true},
		"empty":      {stage: text(""), want: "no staged result", fails: true},
		"blank":      {stage: text(" \n\t"), want: "no staged result", fails: true},
		"{}":         {stage: text("{}"), want: "no staged result", fails: true},
		"not JSON":   {stage: text("I have done the work."), want: "turn-result.json"},
		"half":       {stage: text(`{"schema_version":"1.0","run`), want: "turn-result.json"},
		"a list":     {stage: text(`[1,2]`), want: "turn-result.json"},
		"a number":   {stage: text(`7`), want: "turn-result.json"},
		"nested":     {stage: text(strings.Repeat(`{"a":`, 20000)), want: "turn-result.json"},
		"too large":  {stage: sparse, want: "16", fails: true},
		"a folder":   {stage: func(p *world, turn string) { p.write(protocol.StagedFile(turn)+"/x", "") }, want: "regular", fails: true},
		"a link out": {stage: linked, want: "link", fails: true},
		"fenced": {stage: func(p *world, turn string) {
			p.stage(turn, "Here it is:\n```json\n"+handWritten(p, turn, "work.txt")+"\n```\nDone.\n")
		}, takes: true},
		"of another run": {stage: edit(func(r map[string]any) { r["run_id"], r["turn_id"] = "run_x", "turn_x" }), want: "turn_x"},
		"another role":   {stage: edit(func(r map[string]any) { r["role"] = "qa" }), want: "role"},
		"runtime":        {stage: edit(func(r map[string]any) { r["runtime_id"] = "other" }), want: "runtime_id"},
		"climbs out":     {stage: files("work.txt", "../outside.txt"), want: "../outside.txt"},
		"absolute":       {stage: files("work.txt", "/etc/passwd"), want: "/etc/passwd"},
		"of Windows":     {stage: files("work.txt", `C:\x`), want: `C:`},
		"reserved":       {stage: files("work.txt", ".agentxchain/state.json"), want: ".agentxchain/state.json"},
		"reserved, case": {stage: files("work.txt", ".AgentXchain/STATE.json"), want: ".AgentXchain/STATE.json"},
		"in .git":        {stage: files("work.txt", ".git/hooks/post-commit"), want: ".git"},
		"through a link": {stage: func(p *world, turn string) {
			if err := os.Symlink(p.t.TempDir(), filepath.Join(p.root, "away")); err != nil {
				p.t.Fatal(err)
			}
			files("work.txt", "away/x.txt")(p, turn)
		}, want: "away"},
		"undeclared": {stage: files("other.txt"), want: "work.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, one(manualRuntime, ""))
			turn := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true}).TurnID
			p.write("work.txt", "by hand\n")
			c.stage(p, turn)
			r, err := p.engine().Accept(t.Context(), govern.AcceptOptions{})
			switch {
			case c.takes:
				if err != nil || r.Outcome != govern.OutcomeAccepted {
					t.Fatalf("%+v %v", r, err)
				}
				p.sound()
				return
			case c.fails:
				if err == nil || !strings.Contains(err.Error(), c.want) || hint(err) == "" {
					t.Errorf("%+v: %v (%s)", r, err, hint(err))
				}
			case err != nil || r.Outcome != govern.OutcomeFailed || !strings.Contains(strings.Join(r.Errors, "\n"), c.want) || r.Next == "":
				t.Errorf("%s %v %q: %v", r.Outcome, r.Errors, r.Next, err)
			}
			if len(p.accepted()) != 0 || !p.state().ActiveTurns.Has(turn) {
				t.Fatalf("accepted %v, active %v", p.accepted(), p.state().ActiveTurns.Keys())
			}
			if _, err := os.Lstat(filepath.Join(filepath.Dir(p.root), "outside.txt")); err == nil {
				t.Error("a file was written outside")
			}
			// A person mends it.
			for _, name := range []string{filepath.Dir(protocol.StagedFile(turn)), "away"} {
				if err := os.RemoveAll(filepath.Join(p.root, name)); err != nil {
					t.Fatal(err)
				}
			}
			p.stage(turn, handWritten(p, turn, "work.txt"))
			if r, err := p.engine().Accept(t.Context(), govern.AcceptOptions{}); err != nil || r.Outcome != govern.OutcomeAccepted {
				t.Errorf("the good one: %s %v %v", r.Outcome, r.Errors, err)
			}
			p.sound()
		})
	}
}

// sparse is a file of 100 MB that takes no room.
func sparse(p *world, turn string) {
	p.stage(turn, "{")
	if err := os.Truncate(filepath.Join(p.root, protocol.StagedFile(turn)), 100<<20); err != nil {
		p.t.Fatal(err)
	}
}

func linked(p *world, turn string) {
	path := filepath.Join(p.t.TempDir(), "result.json")
	if err := os.WriteFile(path, []byte(handWritten(p, turn, "work.txt")), 0o600); err != nil {
		p.t.Fatal(err)
	}
	at := filepath.Join(p.root, protocol.StagedFile(turn))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Symlink(path, at); err != nil {
		p.t.Fatal(err)
	}
}

// Projects that another program, or an older version of it, began.
func reference(t *testing.T, over string) *world {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"project", over} {
		if err := os.CopyFS(root, os.DirFS(filepath.Join("..", "project", "testdata", "reference", dir))); err != nil {
			t.Fatal(err)
		}
	}
	p := &world{t: t, root: root}
	if err := os.Rename(filepath.Join(root, "gitignore"), filepath.Join(root, ".gitignore")); err != nil {
		t.Fatal(err)
	}
	config := p.read("agentxchain.json")
	var doc map[string]json.RawMessage
	if err := json.Unmarshal([]byte(config), &doc); err != nil {
		t.Fatal(err)
	}
	var old protocol.Config
	if err := json.Unmarshal([]byte(config), &old); err != nil {
		t.Fatal(err)
	}
	// The developer is this test's program.
	begin := strings.Index(config, `"local-dev": {`)
	end := begin + strings.Index(config[begin:], "}") + 1
	p.write("agentxchain.json", config[:begin]+`"local-dev": `+runtimeOf("ok")+config[end:])
	p.git("init", "-q", "-b", "main")
	p.git("add", "-A")
	p.git("commit", "-qm", "start")
	for _, turn := range p.state().ActiveTurns.All() {
		if b := turn.Baseline; b != nil && b.HeadRef != nil { // the turn began at this repository's commit
			p.write(protocol.StateFile, strings.ReplaceAll(p.read(protocol.StateFile), *b.HeadRef, p.git("rev-parse", "HEAD")))
		}
	}
	return p
}

func TestProjectsOfTheOriginal(t *testing.T) {
	t.Parallel()
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		p := reference(t, "idle")
		p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true})
		p.sound()
	})
	t.Run("older", func(t *testing.T) {
		t.Parallel()
		p := reference(t, "older")
		before := p.state().ActiveTurns.Keys()
		s, err := p.engine().Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.engine().Step(t.Context(), govern.StepOptions{NoWait: true})
		if err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		if len(before) == 1 && r.TurnID != before[0] {
			t.Errorf("the turn %v of the alias was not carried on: %+v", before, r)
		}
		if strings.Contains(p.read(protocol.StateFile), "current_turn") {
			t.Error("the alias was written back")
		}
	})
	for _, over := range []string{"midrun", "midturn"} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			p := reference(t, over)
			turns := len(p.accepted())
			active := p.state().ActiveTurns.Keys()
			extra := keys(t, p.read(protocol.StateFile))
			r := p.step(govern.OutcomeAccepted)
			if len(active) == 1 && r.TurnID != active[0] {
				t.Errorf("the turn %v was not carried on: %+v", active, r)
			}
			if len(p.accepted()) != turns+1 {
				t.Errorf("accepted %v", p.accepted())
			}
			for _, k := range extra {
				if k != "active_turns" && k != "budget_reservations" && !slices.Contains(keys(t, p.read(protocol.StateFile)), k) {
					t.Errorf("the key %s of the state is lost", k)
				}
			}
			finishReference(p)
		})
	}
}

func keys(t *testing.T, object string) (names []string) {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &m); err != nil {
		t.Fatal(err)
	}
	for k, v := range m {
		if s := string(v); s != "null" && s != "[]" && s != "{}" { // what is empty may be left out
			names = append(names, k)
		}
	}
	return names
}

// finishReference brings a run of the original to its end: the developer, then QA by hand.
func finishReference(p *world) {
	p.t.Helper()
	hand := func(change func(r map[string]any), files ...string) govern.Report {
		p.t.Helper()
		active := p.state().ActiveTurns.Keys()
		if len(active) != 1 {
			p.t.Fatalf("active: %v", active)
		}
		var r map[string]any
		_ = json.Unmarshal([]byte(handWritten(p, active[0], files...)), &r)
		change(r)
		b, _ := json.Marshal(r)
		p.stage(active[0], string(b))
		rep, err := p.engine().Accept(p.t.Context(), govern.AcceptOptions{})
		if err != nil || rep.Outcome != govern.OutcomeAccepted {
			p.t.Fatalf("%s %v %v", rep.Outcome, rep.Errors, err)
		}
		return rep
	}
	p.write("agentxchain.json", strings.Replace(p.read("agentxchain.json"), `"`+workerEnv+`":"ok"`, `"`+workerEnv+`":"dev of the original"`, 1))
	p.git("commit", "-qam", "another program")
	p.step(govern.OutcomeAccepted, govern.StepOptions{Role: "dev"})
	if p.state().Phase != "qa" {
		p.t.Fatalf("phase %s: %+v", p.state().Phase, p.state().LastGateFailure)
	}
	p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true})
	p.write(".planning/acceptance-matrix.md", "# Acceptance\n\n| Req # | Requirement | Acceptance criteria | Test status | Last tested | Status |\n|---|---|---|---|---|---|\n| 1 | greet | prints | pass | today | PASS |\n")
	p.write(".planning/ship-verdict.md", "# Verdict\n\n## Verdict: SHIP IT\n")
	p.write(".planning/RELEASE_NOTES.md", "# Notes\n\n## User Impact\n\nGreets.\n\n## Verification Summary\n\nRan it.\n")
	rep := hand(func(r map[string]any) {
		r["artifact"], r["run_completion_request"], r["proposed_next_role"] = map[string]any{"type": "review"}, true, "human"
		r["objections"] = []any{objection("OBJ-900", "low", "names with spaces were not tried")}
	}, ".planning/acceptance-matrix.md", ".planning/ship-verdict.md", ".planning/RELEASE_NOTES.md")
	if rep.Status != protocol.RunCompleted {
		p.t.Fatalf("%s: %+v", rep.Status, p.state().LastGateFailure)
	}
}

func init() {
	workers["dev of the original"] = func(w *worker) {
		w.append("work.txt")
		w.put(".planning/IMPLEMENTATION_NOTES.md", "# Notes\n\n## Changes\n\nA greeting.\n\n## Verification\n\nRun it.\n")
		r := w.result("work.txt", ".planning/IMPLEMENTATION_NOTES.md")
		r["phase_transition_request"], r["proposed_next_role"] = "qa", "qa"
		w.stage(r)
	}
	workers["first edition"] = func(w *worker) {
		w.append("work.txt")
		r := w.result("work.txt")
		r["files_changed"] = []any{map[string]any{"path": "work.txt", "action": "created"}}
		r["artifact"] = map[string]any{"type": "code", "ref": "work.txt"}
		r["verification"].(map[string]any)["status"] = "passed"
		if w.attempt > 1 {
			r["objections"] = []any{objection("OBJ-001", "low", "nothing tests it")}
		}
		r["summary"] = os.Getenv("DRAWBAR_TEST_GREETING") + " " + strings.Join(os.Args[1:], " ")
		w.stage(r)
	}
}

// A role of the first edition: its settings in itself, its spellings, an objection always.
func TestFirstEditionRole(t *testing.T) {
	t.Parallel()
	self, _ := os.Executable()
	config := `{"schema_version":"1.0","project":{"id":"p","name":"P"},
"roles":{"dev":{"title":"Developer","mandate":"Build.","write_authority":"authoritative","adapter":"local_cli",
"adapter_config":{"command":"` + self + `","args":["--flag"],"prompt_transport":"stdin","timeout_ms":60000,
"env":{"` + workerEnv + `":"first edition","DRAWBAR_TEST_GREETING":"hello ${DRAWBAR_TEST_NAME}"}}}},"runtimes":{},
"routing":{"implementation":{"entry_role":"dev","allowed_next_roles":["dev","human"],"exit_gate":"done"}},
"gates":{"done":{"requires_verification_pass":true}},"rules":{"challenge_required":false},"workflow_kit":{}}`
	p := newProject(t, config)
	if _, err := p.engine().Step(t.Context(), govern.StepOptions{}); err == nil || !strings.Contains(err.Error(), "DRAWBAR_TEST_NAME") {
		t.Fatalf("a variable that is not there: %v", err)
	}
	if st := p.state(); st.ActiveTurns.Len() != 0 {
		t.Errorf("a turn was begun: %v", st.ActiveTurns.Keys())
	}
	named := func(o *Options) { o.Environ = append(o.Environ, "DRAWBAR_TEST_NAME=world") }
	r, err := p.engine(named).Step(t.Context(), govern.StepOptions{})
	if err != nil || r.Outcome != govern.OutcomeAccepted || r.Attempt != 2 || r.Summary != "hello world --flag" {
		t.Fatalf("%s after %d: %q %v %v", r.Outcome, r.Attempt, r.Summary, r.Errors, err)
	}
	bundle := p.read(protocol.ArchiveDir + "/" + r.TurnID + "/ASSIGNMENT.json")
	for _, want := range []string{`"adapter": "local_cli"`, `"adapter_config"`, `"timeout_ms": 60000`, `"context_ref"`, `"prompt_ref"`} {
		if !strings.Contains(bundle, want) {
			t.Errorf("the assignment has no %s:\n%s", want, bundle)
		}
	}
	if strings.Contains(bundle, "hello") || strings.Contains(bundle, "world") {
		t.Errorf("a value of the environment is written:\n%s", bundle)
	}
	p.sound()
}

// What is refused before anything starts.
func TestRefusedConfigurations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ config, want string }{
		"api_proxy":    {one(`{"type":"api_proxy","provider":"anthropic","model":"m","auth_env":"K"}`, ""), "api_proxy"},
		"no such role": {strings.Replace(one(runtimeOf("ok"), ""), `"entry_role":"dev"`, `"entry_role":"ops"`, 1), "ops"},
		"not JSON":     {`{"schema_version":`, "agentxchain.json"},
		"no program":   {one(`{"type":"local_cli","command":["no-such-program-here"],"prompt_transport":"stdin"}`, ""), "no-such-program-here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, c.config)
			_, err := p.engine().Step(t.Context(), govern.StepOptions{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v", err)
			}
			if hint(err) == "" {
				t.Errorf("no hint: %v", err)
			}
			if _, err := os.Stat(filepath.Join(p.root, protocol.StateFile)); err == nil && p.state().ActiveTurns.Len() > 0 {
				t.Error("a turn was begun")
			}
			if left, _ := filepath.Glob(filepath.Join(p.root, protocol.LocksDir, "turn-*")); len(left) > 0 {
				t.Errorf("leases stay: %v", left)
			}
		})
	}
	p := newProject(t, one(`{"type":"agent","agent":"claude"}`, ""))
	if _, err := p.engine().Step(t.Context(), govern.StepOptions{}); execution.CodeOf(err) != execution.CodeInternal || turnruntime.DefaultTimeout == 0 {
		t.Errorf("%v", err)
	}
}
