package intent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

func config(t *testing.T, text string) *protocol.Config {
	t.Helper()
	var c protocol.Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

const twoPhases = `{"schema_version":"1.0","routing":{"build":{"entry_role":"dev","exit_gate":"built"},"ship":{"entry_role":"qa","exit_gate":"shipped"}},
	"gates":{"built":{},"shipped":{}}}`

var now = protocol.At(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

func run(id string, status protocol.RunStatus) *protocol.State {
	s := &protocol.State{Status: status, Phase: "build"}
	if id != "" {
		s.RunID = &id
	}
	return s
}

// waiting is an approved intent of a run.
func waiting(t *testing.T, id, priority string, st *protocol.State, more ...func(*Assessment)) protocol.Intent {
	t.Helper()
	i := New(id, "evt_1", now)
	a := Assessment{Priority: priority, Template: "generic", Charter: "do it", Acceptance: []string{"it is done"}}
	for _, f := range more {
		f(&a)
	}
	if err := Triage(&i, a, config(t, twoPhases), now); err != nil {
		t.Fatal(err)
	}
	if err := Approve(&i, "me", "", st, now); err != nil {
		t.Fatal(err)
	}
	return i
}

func TestNext(t *testing.T) {
	st := run("run_1", protocol.RunActive)
	planned := waiting(t, "intent_5", "p0", st)
	if err := Plan(&planned, nil, now); err != nil {
		t.Fatal(err)
	}
	list := []protocol.Intent{
		waiting(t, "intent_1", "p2", st), waiting(t, "intent_2", "p1", st), waiting(t, "intent_3", "p0", run("run_0", protocol.RunActive)),
		waiting(t, "intent_4", "p0", st, func(a *Assessment) { a.PreferredRole = "qa" }),
		waiting(t, "intent_6", "p0", st, func(a *Assessment) { a.Charter = "mend the gate shipped" }), planned,
	}
	for _, c := range []struct{ run, phase, role, want string }{
		{"run_1", "build", "dev", "intent_2"}, // not another run's, role's or phase's, and an approved one before a planned one
		{"run_1", "build", "qa", "intent_4"},
		{"run_1", "ship", "dev", "intent_6"},
		{"run_0", "build", "dev", "intent_3"},
		{"", "", "", "intent_3"},
		{"run_2", "build", "dev", ""},
	} {
		got := ""
		if i := Next(list, c.run, c.phase, c.role); i != nil {
			got = i.IntentID
		}
		if got != c.want {
			t.Errorf("Next(%s, %s, %s) is %q, want %q", c.run, c.phase, c.role, got, c.want)
		}
	}
	if i := Next([]protocol.Intent{planned}, "run_1", "build", "dev"); i == nil {
		t.Error("a planned intent waits too")
	}
}

func TestAdopt(t *testing.T) {
	early, own, stale, none := waiting(t, "intent_1", "p1", run("", protocol.RunIdle)), waiting(t, "intent_2", "p1", run("run_1", protocol.RunActive)),
		waiting(t, "intent_3", "p1", run("run_0", protocol.RunBlocked)), waiting(t, "intent_4", "p1", run("run_0", protocol.RunCompleted))
	if !early.CrossRunDurable || !none.CrossRunDurable || stale.ApprovedRunID != "run_0" {
		t.Fatalf("%+v %+v %+v", early, none, stale)
	}
	for _, c := range []struct {
		i       *protocol.Intent
		changed bool
		status  string
	}{
		{&early, true, protocol.IntentApproved}, {&own, false, protocol.IntentApproved}, {&stale, true, protocol.IntentSuppressed}, {&none, true, protocol.IntentApproved},
	} {
		if got := Adopt(c.i, "run_1", now); got != c.changed || c.i.Status != c.status {
			t.Errorf("Adopt(%s) is %v and leaves it %s", c.i.IntentID, got, c.i.Status)
		}
	}
	if early.ApprovedRunID != "run_1" || early.CrossRunDurable || stale.ArchivedReason == "" {
		t.Errorf("%+v %+v", early, stale)
	}
	old := waiting(t, "intent_5", "p1", run("", protocol.RunIdle))
	if old.CrossRunDurable = false; !Adopt(&old, "run_1", now) || old.Status != protocol.IntentArchived {
		t.Errorf("an intent of no run is %s", old.Status)
	}
}

func TestRetire(t *testing.T) {
	i := waiting(t, "intent_1", "p1", run("run_1", protocol.RunActive), func(a *Assessment) { a.Acceptance = []string{"gate built passes"} })
	if i.PhaseScope == nil || *i.PhaseScope != "build" {
		t.Fatalf("the scope is %v", i.PhaseScope)
	}
	for _, c := range [][2]string{{"run_2", "build"}, {"run_1", "ship"}} {
		if Retire(&i, c[0], c[1], now) {
			t.Errorf("retired by %v", c)
		}
	}
	if !Retire(&i, "run_1", "build", now) || i.Status != protocol.IntentSatisfied || i.SatisfiedReason == "" {
		t.Errorf("%+v", i)
	}
}

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		run    string
		status protocol.RunStatus
		done   bool
		want   string
		fails  bool
	}{
		{"run_1", protocol.RunActive, false, protocol.IntentExecuting, false},
		{"run_1", protocol.RunPaused, false, protocol.IntentExecuting, false},
		{"run_1", protocol.RunBlocked, false, protocol.IntentBlocked, false},
		{"run_1", protocol.RunCompleted, false, protocol.IntentCompleted, false},
		{"run_2", protocol.RunActive, false, protocol.IntentExecuting, true},
		{"run_2", protocol.RunActive, true, protocol.IntentCompleted, false},
	} {
		i := waiting(t, "intent_1", "p1", run("run_1", protocol.RunActive))
		if err := Bind(&i, "run_1", "turn_1", "dev", now); err != nil {
			t.Fatal(err)
		}
		changed, err := Resolve(&i, c.done, run(c.run, c.status), now)
		if (err != nil) != c.fails || i.Status != c.want || changed != (c.want != protocol.IntentExecuting) {
			t.Errorf("%+v: %s, %v, %v", c, i.Status, changed, err)
		}
	}
}

// TestSteps holds every step to the states that it begins in: nothing is skipped, and nothing that is over is taken up.
// An intent that was handed to a workstream follows that workstream.
func TestResolveHandedOff(t *testing.T) {
	now := protocol.At(time.UnixMilli(1))
	to := protocol.TargetWorkstream{CoordinatorRoot: "/ws", WorkstreamID: "w", SuperRunID: "srun_1"}
	for name, tc := range map[string]struct {
		from, run, reason, barrier, want string
	}{
		"goes on":                 {protocol.IntentExecuting, protocol.CoordinatorActive, "", "pending", protocol.IntentExecuting},
		"complete":                {protocol.IntentExecuting, protocol.CoordinatorActive, "", "satisfied", protocol.IntentCompleted},
		"complete after a block":  {protocol.IntentBlocked, protocol.CoordinatorCompleted, "", "satisfied", protocol.IntentCompleted},
		"blocked":                 {protocol.IntentExecuting, protocol.CoordinatorBlocked, "why", "pending", protocol.IntentBlocked},
		"still blocked":           {protocol.IntentBlocked, protocol.CoordinatorBlocked, "why", "pending", protocol.IntentBlocked},
		"resumed":                 {protocol.IntentBlocked, protocol.CoordinatorActive, "", "pending", protocol.IntentExecuting},
		"ended without it":        {protocol.IntentExecuting, protocol.CoordinatorCompleted, "", "partially_satisfied", protocol.IntentFailed},
		"waits at a gate":         {protocol.IntentExecuting, protocol.CoordinatorPaused, "", "partially_satisfied", protocol.IntentExecuting},
		"another run":             {protocol.IntentExecuting, "another", "", "pending", ""},
		"workstream is gone":      {protocol.IntentExecuting, protocol.CoordinatorActive, "", "", ""},
		"never handed to anybody": {protocol.IntentDetected, protocol.CoordinatorActive, "", "pending", ""},
	} {
		i := protocol.Intent{IntentID: "i", Status: tc.from, TargetWorkstream: &to}
		st := protocol.CoordinatorState{SuperRunID: "srun_1", Status: tc.run, BlockedReason: tc.reason}
		if tc.run == "another" {
			st.SuperRunID = "srun_2"
		}
		var barriers protocol.Ordered[protocol.Barrier]
		if tc.barrier != "" {
			barriers.Set("w_completion", protocol.Barrier{Status: protocol.BarrierStatus(tc.barrier)})
		}
		changed, err := ResolveHandedOff(&i, &st, &barriers, now)
		switch {
		case tc.want == "" && (err == nil || i.Status != tc.from):
			t.Errorf("%s: %s, %v", name, i.Status, err)
		case tc.want != "" && (err != nil || i.Status != tc.want || changed != (tc.want != tc.from)):
			t.Errorf("%s: %s, %v, %v", name, i.Status, changed, err)
		}
	}
}

func TestSteps(t *testing.T) {
	st := run("run_1", protocol.RunActive)
	steps := map[string]func(*protocol.Intent) error{
		"detected":         func(i *protocol.Intent) error { return Triage(i, Assessment{}, config(t, twoPhases), now) },
		"detected ":        func(i *protocol.Intent) error { return Suppress(i, "x", now) },
		"triaged":          func(i *protocol.Intent) error { return Reject(i, "x", now) },
		"triaged blocked":  func(i *protocol.Intent) error { return Approve(i, "me", "", st, now) },
		"approved":         func(i *protocol.Intent) error { return Plan(i, nil, now) },
		"approved planned": func(i *protocol.Intent) error { return Bind(i, "run_1", "turn_1", "dev", now) },
		"executing":        func(i *protocol.Intent) error { return Complete(i, "run_1", "turn_1", "dev", now) },
	}
	for from, step := range steps {
		for _, status := range []string{"detected", "triaged", "approved", "planned", "executing", "blocked", "completed", "satisfied", "suppressed", "rejected", "failed", "superseded", "archived_migration", "odd"} {
			i := protocol.Intent{IntentID: "intent_1", Status: status}
			err := step(&i)
			if allowed := slices.Contains(strings.Fields(from), status); allowed != (err == nil) {
				t.Errorf("a step from %q out of %q: %v", from, status, err)
			}
			if err != nil && i.Status != status {
				t.Errorf("a refused step from %q left %q as %q", from, status, i.Status)
			}
		}
	}
}

func TestUncovered(t *testing.T) {
	c := config(t, twoPhases)
	for _, x := range []struct {
		name, item, result string
		phase, gate        string
		open               bool
	}{
		{name: "nothing said", item: "sidebar sorted alphabetically", result: `{"summary":"did it"}`, open: true},
		{name: "one of three words", item: "sidebar sorted alphabetically", result: `{"summary":"the sidebar"}`, open: true},
		{name: "two of three words", item: "sidebar sorted alphabetically", result: `{"summary":"the SIDEBAR is sorted"}`},
		{name: "exactly half", item: "sidebar sorted", result: `{"summary":"the sidebar"}`},
		{name: "short words count for nothing", item: "do it now", result: `{}`},
		{name: "in a decision", item: "sidebar sorted", result: `{"decisions":[{"statement":"sidebar","rationale":"sorted"}]}`},
		{name: "in an objection", item: "sidebar sorted", result: `{"objections":[{"statement":"sidebar sorted"}]}`},
		{name: "in a path", item: "sidebar sorted", result: `{"files_changed":["src/sidebar.go"]}`},
		{name: "in an artifact", item: "sidebar sorted", result: `{"artifacts_created":["sidebar"]}`},
		{name: "in the evidence", item: "sidebar sorted", result: `{"verification":{"evidence_summary":"sidebar"}}`},
		{name: "in a command", item: "sidebar sorted", result: `{"verification":{"machine_evidence":[{"command":"test sidebar","exit_code":0}]}}`},
		{name: "answered", item: "Sidebar sorted", result: `{"intent_response":[{"item":"sidebar sorted ","status":"deferred"}]}`},
		{name: "answered in a way that is unknown, and with its words", item: "Sidebar sorted", result: `{"intent_response":[{"item":"sidebar sorted","status":"maybe"}]}`},
		{name: "another item answered", item: "sidebar sorted", result: `{"intent_response":[{"item":"x","status":"addressed"}]}`, open: true},
		{name: "a phase that is over", item: "repair what gate built wants", result: `{}`, phase: "ship"},
		{name: "a phase that is not", item: "repair what gate built wants", result: `{}`, phase: "build", open: true},
		{name: "a gate that passed", item: "gate shipped passes somehow quickly", result: `{}`, phase: "build", gate: "shipped"},
		{name: "a gate that did not", item: "gate shipped passes somehow quickly", result: `{}`, phase: "build", gate: "built", open: true},
	} {
		var r protocol.TurnResult
		if err := json.Unmarshal([]byte(x.result), &r); err != nil {
			t.Fatal(err)
		}
		st := run("run_1", protocol.RunActive)
		if x.phase != "" {
			st.Phase = x.phase
		}
		if x.gate != "" {
			st.PhaseGateStatus.Set(x.gate, protocol.GatePassed)
		}
		if got := Uncovered(protocol.Intent{AcceptanceContract: []string{x.item}}, &r, st, c); (len(got) > 0) != x.open {
			t.Errorf("%s: open %q", x.name, got)
		}
	}
}

func TestMode(t *testing.T) {
	for _, x := range [][3]string{{"", "p0", Strict}, {"", "p1", Lenient}, {Lenient, "p0", Lenient}, {Strict, "p3", Strict}} {
		if got := Mode(&protocol.Config{IntentCoverageMode: x[0]}, x[1]); got != x[2] {
			t.Errorf("Mode(%q, %s) is %s", x[0], x[1], got)
		}
	}
}
