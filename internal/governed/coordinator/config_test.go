//go:build unix

package coordinator

import (
	"os"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

const goodConfig = `{"schema_version":"0.1","project":{"id":"p","name":"P"},"repos":{"api":{"path":"./api","default_branch":"main","required":true},"web":{"path":"./web"}},
"workstreams":{"core":{"phase":"build","repos":["api","web"],"entry_repo":"api","depends_on":[],"completion_barrier":"interface_alignment","interface_alignment":{"decision_ids_by_repo":{"api":["DEC-1"],"web":["DEC-2"]}}},
"next":{"phase":"ship","repos":["web"],"entry_repo":"web","depends_on":["core"],"completion_barrier":"all_repos_accepted"}},
"routing":{"build":{"entry_workstream":"core"},"ship":{}},"gates":{"initiative_ship":{"requires_human_approval":true,"requires_repos":["web"]}}}`

func TestConfig(t *testing.T) {
	t.Parallel()
	if c, faults := Parse([]byte(goodConfig)); c == nil || len(faults) > 0 {
		t.Fatalf("good: %v", faults)
	}
	for _, tc := range []struct{ name, old, new, code, field string }{
		{"a list", goodConfig, `[]`, "config_invalid", ""},
		{"cut", goodConfig, goodConfig[:40], "config_invalid", ""},
		{"version", `"0.1"`, `"1.0"`, "schema_version_invalid", "schema_version"},
		{"no project id", `"id":"p"`, `"id":" "`, "project_id_invalid", "project.id"},
		{"no project name", `"name":"P"`, `"name":""`, "project_name_invalid", "project.name"},
		{"misspelt key", `"completion_barrier":"all`, `"completion_bariere":"all`, "config_invalid", "workstreams.next.completion_bariere"},
		{"id of a repository", `"web":{"path":"./web"}`, `"We b":{"path":"./web"}`, "repo_id_invalid", "repos.We b"},
		{"no path", `"path":"./web"`, `"path":""`, "repo_path_invalid", "repos.web.path"},
		{"phase", `"phase":"ship"`, `"phase":"shop"`, "workstream_phase_invalid", "workstreams.next.phase"},
		{"no repositories", `"repos":["web"]`, `"repos":[]`, "workstream_repos_invalid", "workstreams.next.repos"},
		{"twice", `"repos":["web"]`, `"repos":["web","web"]`, "workstream_repo_duplicate", "workstreams.next.repos"},
		{"unknown repository", `"repos":["web"]`, `"repos":["web","docs"]`, "workstream_repo_unknown", "workstreams.next.repos"},
		{"entry", `"entry_repo":"web"`, `"entry_repo":"api"`, "workstream_entry_repo_mismatch", "workstreams.next.entry_repo"},
		{"no dependencies", `"depends_on":[],`, ``, "workstream_depends_on_invalid", "workstreams.core.depends_on"},
		{"unknown dependency", `["core"]`, `["car"]`, "workstream_dependency_unknown", "workstreams.next.depends_on"},
		{"cycle", `"depends_on":[]`, `"depends_on":["next"]`, "workstream_cycle", "workstreams.core.depends_on"},
		{"later dependency", `"depends_on":[],"completion_barrier":"interface_alignment"`, `"depends_on":["next"],"completion_barrier":"interface_alignment"`, "workstream_dependency_later", "workstreams.core.depends_on"},
		{"barrier", `all_repos_accepted`, `some_repos_accepted`, "workstream_completion_barrier_invalid", "workstreams.next.completion_barrier"},
		{"decisions missing", `"interface_alignment":{`, `"named_decisions":{`, "workstream_interface_alignment_invalid", "workstreams.core.interface_alignment.decision_ids_by_repo"},
		{"decisions of one", `,"web":["DEC-2"]`, ``, "workstream_interface_alignment_repo_missing", "workstreams.core.interface_alignment.decision_ids_by_repo.web"},
		{"form of a decision", `"DEC-2"`, `"D-2"`, "workstream_interface_alignment_decision_invalid", "workstreams.core.interface_alignment.decision_ids_by_repo.web"},
		{"decision twice", `"DEC-2"`, `"DEC-2","DEC-2"`, "workstream_interface_alignment_decision_duplicate", "workstreams.core.interface_alignment.decision_ids_by_repo.web"},
		{"decisions of another", `"web":["DEC-2"]`, `"web":["DEC-2"],"docs":["DEC-3"]`, "workstream_interface_alignment_repo_unknown", "workstreams.core.interface_alignment.decision_ids_by_repo.docs"},
		{"name of a phase", `"ship":{}`, `"ship":{},"9th":{}`, "routing_phase_invalid", "routing.9th"},
		{"entry workstream", `"ship":{}`, `"ship":{"entry_workstream":"none"}`, "routing_entry_workstream_unknown", "routing.ship.entry_workstream"},
		{"entry workstream of another phase", `"ship":{}`, `"ship":{"entry_workstream":"core"}`, "routing_phase_mismatch", "routing.ship.entry_workstream"},
		{"unknown gate", `"initiative_ship"`, `"other"`, "gate_unknown", "gates.other"},
		{"repository of a gate", `"requires_repos":["web"]`, `"requires_repos":["docs"]`, "gate_requires_repo_unknown", "gates.initiative_ship.requires_repos"},
		{"phase of a hook", `"gates":`, `"hooks":{"after_dispatch":[]},"gates":`, "hooks_invalid", "hooks.after_dispatch"},
		{"hook", `"gates":`, `"hooks":{"before_gate":[{"name":"h","type":"process","timeout_ms":1000,"mode":"blocking"}]},"gates":`, "hooks_invalid", "hooks.before_gate[0].command"},
		{"hook that is too late to object", `"gates":`, `"hooks":{"after_acceptance":[{"name":"h","type":"process","command":["true"],"timeout_ms":1000,"mode":"blocking"}]},"gates":`, "hooks_invalid", "hooks.after_acceptance[0].mode"},
		{"hook of a wrong type", `"gates":`, `"hooks":[],"gates":`, "config_invalid", ""},
		{"type", `"depends_on":["core"]`, `"depends_on":"core"`, "config_invalid", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, faults := Parse([]byte(strings.Replace(goodConfig, tc.old, tc.new, 1)))
			for _, f := range faults {
				if f.Code == tc.code && f.Field == tc.field {
					return
				}
			}
			t.Errorf("%v, want %s of %s", faults, tc.code, tc.field)
		})
	}
}

func TestWhereTheRepositoriesAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t, single("all_repos_accepted"))
	config := w.read(protocol.CoordinatorConfigFile)
	for name, tc := range map[string]struct{ path, want string }{
		"missing":      {"./none", "there is no folder"},
		"not governed": {"./plain", "drawbar govern --cwd ./plain init"},
		"twice":        {"./link", "it is the folder of api, too"},
	} {
		w.write("plain/x", "")
		_ = os.Symlink(w.path("api"), w.path("link"))
		w.write(protocol.CoordinatorConfigFile, strings.Replace(config, "./web", tc.path, 1))
		if _, err := w.open().Init(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "repos.web.path") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Find(t.TempDir()); err == nil || !strings.Contains(hint(err), "multi --help") {
		t.Errorf("no workspace: %v", err)
	}
	if root, err := Find(w.path("api/.agentxchain")); err == nil && root != w.root {
		t.Errorf("found %s", root)
	}
}

// A run begins in all repositories that are required, or in none.
func TestInit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, single("all_repos_accepted"))
	e, err := w.engine(w.path("web"))
	if err != nil {
		t.Fatal(err)
	}
	rep, err := e.StartRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Escalate(t.Context(), govern.EscalateOptions{Reason: "stuck"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.open().Init(t.Context()); err == nil || !strings.Contains(err.Error(), "web: its run "+rep.RunID+" is blocked") || hint(err) != "drawbar govern --cwd ./web status" {
		t.Errorf("blocked: %v (%s)", err, hint(err))
	}
	if st, _, _, err := readRecord(w.path("api")); err != nil || st.ID() != "" || w.read(protocol.CoordinatorHistoryFile) != "" {
		t.Errorf("something began: %s %v", st.ID(), err)
	}
	w.write(protocol.CoordinatorConfigFile, strings.Replace(w.read(protocol.CoordinatorConfigFile), `"./web"`, `"./web","required":false`, 1))
	st := w.init() // without it
	if st.State.RepoRuns.Len() != 1 || st.State.RepoRuns.At("api").Status != "initialized" {
		t.Errorf("runs: %v", st.State.RepoRuns.Keys())
	}
	w.step(govern.MultiTurn, "api")
	if b := w.barrier("core"); b.Status != protocol.BarrierSatisfied {
		t.Errorf("barrier: %+v", b)
	}
}

// A configuration that changes during a run ends nothing by itself.
func TestConfigChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, single("all_repos_accepted"))
	w.init()
	config := w.read(protocol.CoordinatorConfigFile)
	w.write(protocol.CoordinatorConfigFile, strings.NewReplacer(`"build":{},`, ``, `"phase":"build"`, `"phase":"ship"`).Replace(config))
	if r := w.step(govern.MultiWaiting, ""); len(r.Blockers) != 1 || r.Blockers[0].Code != "phase_unknown" {
		t.Errorf("blockers: %+v", r.Blockers)
	}
	w.write(protocol.CoordinatorConfigFile, strings.Replace(config, `"web":{"path":"./web"}`, `"web":{"path":"./web","required":false},"none":{"path":"./api/none","required":false}`, 1))
	if _, err := w.open().Step(t.Context(), govern.MultiStepOptions{}); err == nil || !strings.Contains(err.Error(), "repos.none.path") {
		t.Errorf("a folder that is missing: %v", err)
	}
	w.write(protocol.CoordinatorConfigFile, strings.NewReplacer(`,"web":{"path":"./web"}`, ``, `["api","web"]`, `["api"]`).Replace(config))
	if r := w.step(govern.MultiBlocked, ""); !strings.Contains(r.BlockedReason, "web is no longer in") {
		t.Errorf("reason: %s", r.BlockedReason)
	}
	if _, err := w.open().Resume(t.Context(), protocol.Person{}, ""); err == nil || !strings.Contains(err.Error(), "web is no longer in") {
		t.Errorf("resume: %v", err)
	}
	w.write(protocol.CoordinatorConfigFile, config)
	if _, err := w.open().Resume(t.Context(), protocol.Person{}, ""); err != nil {
		t.Fatal(err)
	}
	w.step(govern.MultiTurn, "api")
	w.sound()
}
