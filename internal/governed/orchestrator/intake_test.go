//go:build unix

package orchestrator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// TestIntentsFollowTheRun: a run that begins takes those that waited for it and suppresses those of another; a phase that is left
// retires its own; all of it with the transaction of the run.
func TestIntentsFollowTheRun(t *testing.T) {
	p := newProject(t, three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""))
	write := func(id, more string) {
		p.write(protocol.IntentFile(id), `{"schema_version":"1.0","intent_id":"`+id+`","event_id":"evt_1","status":"approved","priority":"p1","charter":"x","acceptance_contract":[],"history":[],"odd":{"b":1,"a":2}`+more+`}`)
	}
	write("intent_1", `,"cross_run_durable":true,"preferred_role":"qa"`)
	write("intent_2", `,"approved_run_id":"run_old"`)
	write("intent_3", `,"cross_run_durable":true,"phase_scope":"planning","preferred_role":"qa"`)
	write("intent_4", ``)
	p.write(protocol.PreemptionFile, `{"intent_id":"intent_2"}`)
	p.step(govern.OutcomeAccepted)
	says := func(id string, words ...string) {
		t.Helper()
		for _, w := range words {
			if text := p.read(protocol.IntentFile(id)); !strings.Contains(text, w) {
				t.Errorf("%s lacks %s:\n%s", id, w, text)
			}
		}
	}
	run := `"approved_run_id": "` + p.state().ID() + `"`
	says("intent_1", `"status": "approved"`, run, "\"odd\": {\n    \"b\": 1,\n    \"a\": 2\n  }")
	says("intent_2", `"status": "suppressed"`, `"archived_reason": "stale: approved under run run_old`)
	says("intent_3", `"status": "approved"`, run)
	says("intent_4", `"status": "archived_migration"`)
	if _, err := os.Stat(filepath.Join(p.root, protocol.PreemptionFile)); err == nil {
		t.Error("the marker of a suppressed intent is still there")
	}
	if _, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true}); err != nil {
		t.Fatal(err)
	}
	says("intent_3", `"status": "satisfied"`, `"satisfied_reason": "phase planning exited`)
	says("intent_1", `"status": "approved"`)
}

// TestIntentThatIsGone: a turn whose intent cannot be read is not accepted, and one whose intent is over is.
func TestIntentThatIsGone(t *testing.T) {
	p := newProject(t, one(`{"type":"manual"}`, ""))
	p.write(protocol.IntentFile("intent_1"), `{"intent_id":"intent_1","status":"approved","priority":"p0","charter":"x","acceptance_contract":["sidebar sorted"],"history":[],"cross_run_durable":true}`)
	r := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true})
	text := p.read(protocol.IntentFile("intent_1"))
	if !strings.Contains(text, `"status": "executing"`) || !strings.Contains(text, r.TurnID) {
		t.Fatalf("the turn has not got it: %s", text)
	}
	p.write("a.txt", "x")
	p.stage(r.TurnID, `{"schema_version":"1.0","run_id":"`+r.RunID+`","turn_id":"`+r.TurnID+`","role":"dev","runtime_id":"dev-rt","status":"completed","summary":"s","decisions":[],"objections":[],`+
		`"files_changed":["a.txt"],"verification":{"status":"pass"},"artifact":{"type":"workspace","ref":null},"proposed_next_role":"dev","run_completion_request":true}`)
	p.remove(protocol.IntentFile("intent_1"))
	if r := p.step(govern.OutcomeFailed, govern.StepOptions{NoRepair: true}); r.Code != "intent_reconciliation_failed" || !strings.Contains(strings.Join(r.Errors, ""), "there is no") {
		t.Errorf("%s %v", r.Code, r.Errors)
	}
	p.write(protocol.IntentFile("intent_1"), strings.Replace(text, `"executing"`, `"completed"`, 1))
	if r, err := p.engine().Accept(t.Context(), govern.AcceptOptions{}); err != nil || r.Outcome != govern.OutcomeAccepted {
		t.Errorf("%+v, %v", r, err)
	}
}
