//go:build unix

package coordinator

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/settings/trust"
)

// hooked is a workspace whose hook appends what it is told to told.jsonl, runs act.sh if it is there, and answers what answer has.
func hooked(t *testing.T) *world {
	t.Helper()
	var hooks []string
	for _, phase := range protocol.CoordinatorHookPhases() {
		mode := "blocking"
		if phase == protocol.HookAfterAcceptance || phase == protocol.HookOnEscalation {
			mode = "advisory"
		}
		hooks = append(hooks, `"`+phase+`":[{"name":"h","type":"process","command":["sh","hook.sh"],"timeout_ms":20000,"mode":"`+mode+`"}]`)
	}
	w := newWorld(t, single("all_repos_accepted")+`,"hooks":{`+strings.Join(hooks, ",")+`}`)
	w.write("hook.sh", "cat >> told.jsonl; echo >> told.jsonl; if test -f act.sh; then . ./act.sh; fi; cat answer\n")
	w.write("answer", `{"verdict":"allow"}`)
	return w
}

// told takes what the hooks were told: the phases, and the payload of the last.
func (w *world) told() (phases string, last map[string]any) {
	w.t.Helper()
	var all []string
	for line := range strings.Lines(w.read("told.jsonl")) {
		var e struct {
			Phase   string         `json:"hook_phase"`
			Run     string         `json:"run_id"`
			Payload map[string]any `json:"payload"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			w.t.Fatal(err)
		}
		if st := w.status(); e.Run != st.State.SuperRunID || e.Payload["super_run_id"] != e.Run || e.Payload["phase"] != e.Phase {
			w.t.Errorf("told %s", line)
		}
		all, last = append(all, e.Phase), e.Payload
	}
	if err := os.Remove(w.path("told.jsonl")); err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	return strings.Join(all, " "), last
}

// TestHooks: hooks of the workspace are called where they are declared; one that objects keeps a turn from beginning and a gate from passing,
// and nothing else changes.
func TestHooks(t *testing.T) {
	t.Parallel()
	w := hooked(t)
	w.init()
	w.write("answer", `{"verdict":"block","message":"not on a Sunday"}`)
	for range 2 {
		r := w.step(govern.MultiWaiting, "")
		if b := r.Blockers[0]; b.Code != "hook_blocked" || b.RepoID != "api" || b.WorkstreamID != "core" || !strings.Contains(b.Message, "hook h (before_assignment) objects: not on a Sunday") {
			t.Errorf("%+v", r.Blockers)
		}
	}
	if phases, p := w.told(); phases != "before_assignment before_assignment" || p["repo_id"] != "api" || p["workstream_id"] != "core" || w.count(protocol.SuperTurnDispatched) != 0 {
		t.Errorf("%s %v", phases, p)
	}
	w.write("answer", `{"verdict":"allow"}`)
	w.plan("api", "phase=ship")
	w.step(govern.MultiTurn, "api")
	phases, p := w.told()
	if phases != "before_assignment after_acceptance" || p["repo_id"] != "api" || p["projection_ref"] == "" || !strings.Contains(p["summary"].(string), "worked on") ||
		len(p["files_changed"].([]any)) != 1 || len(p["pending_barriers"].([]any)) != 1 {
		t.Errorf("%s %v", phases, p)
	}
	w.plan("web", "phase=ship")
	w.step(govern.MultiTurn, "web")
	w.step(govern.MultiGate, "")
	w.told()
	w.write("answer", `{"verdict":"block"}`)
	if r := w.approve(govern.MultiWaiting); r.Blockers[0].Code != "hook_blocked" || r.Gate == nil || r.Next != "drawbar govern multi approve-gate" {
		t.Errorf("%+v", r)
	}
	if phases, p := w.told(); phases != "before_gate" || p["gate_type"] != protocol.GatePhase || p["from_phase"] != "build" || p["to_phase"] != "ship" {
		t.Errorf("%s %v", phases, p)
	}
	w.write("answer", `{"verdict":"allow"}`)
	w.approve(govern.MultiApproved)

	e, err := w.engine(w.path("web"))
	if err == nil {
		_, err = e.Restart(t.Context(), govern.RestartOptions{New: true})
	}
	if err != nil {
		if _, err = e.Escalate(t.Context(), govern.EscalateOptions{Reason: "stuck"}); err == nil {
			_, err = e.Restart(t.Context(), govern.RestartOptions{New: true})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	w.told()
	w.step(govern.MultiBlocked, "")
	w.step(govern.MultiBlocked, "")
	if phases, p := w.told(); phases != "on_escalation" || !strings.Contains(p["blocked_reason"].(string), "web has run") {
		t.Errorf("%s %v", phases, p)
	}
	if got := strings.Count(w.read(protocol.CoordinatorHookAudit), "\n"); got != 9 {
		t.Errorf("%d lines in the audit", got)
	}
	w.sound()
}

// TestHookThatChangesTheRecord: what a hook changes of the coordinator's files is put back, and the run is blocked until a person resumes it.
func TestHookThatChangesTheRecord(t *testing.T) {
	t.Parallel()
	for _, file := range []string{protocol.CoordinatorStateFile, protocol.CoordinatorHistoryFile, protocol.BarriersFile} {
		w := hooked(t)
		w.init()
		before := w.read(file)
		w.write("act.sh", "echo '{}' > "+file)
		r := w.step(govern.MultiBlocked, "")
		if !strings.Contains(r.BlockedReason, "coordinator_hook_violation: ") || !strings.Contains(r.BlockedReason, file) || r.Next != "drawbar govern multi resume" {
			t.Errorf("%s: %q %s", file, r.BlockedReason, r.Next)
		}
		if got := w.read(file); !strings.HasPrefix(got, before[:10]) || w.count(protocol.SuperTurnDispatched) != 0 {
			t.Errorf("%s: %q", file, got)
		}
		if err := os.Remove(w.path("act.sh")); err != nil {
			t.Fatal(err)
		}
		w.step(govern.MultiBlocked, "")
		if _, err := w.open().Resume(t.Context(), protocol.Person{}, ""); err != nil {
			t.Fatal(err)
		}
		w.step(govern.MultiTurn, "api")
		w.sound()
	}
}

// TestHooksNeedTrust: nothing starts before the user trusts the hooks.
func TestHooksNeedTrust(t *testing.T) {
	t.Parallel()
	w := hooked(t)
	var seen []trust.Item
	c := Open(w.root, Options{Open: w.engine})
	if _, err := c.Init(t.Context()); execution.CodeOf(err) != execution.CodeUntrusted || !strings.Contains(err.Error(), protocol.CoordinatorConfigFile) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(w.path(protocol.CoordinatorDir)); err == nil {
		t.Error("something was written")
	}
	c = Open(w.root, Options{Open: w.engine, Trust: func(_ string, items []trust.Item) error { seen = items; return nil }})
	if _, err := c.Init(t.Context()); err != nil || len(seen) != 4 || len(seen[0].Files) != 1 || seen[0].Files[0].Path != "hook.sh" {
		t.Errorf("%v %+v", err, seen)
	}
}
