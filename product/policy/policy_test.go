package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func says(id string, priority int, v Verdict) Rule {
	return Rule{ID: id, Priority: priority, Evaluate: func(_ context.Context, a Action, _ Risk) (*Decision, error) {
		if v == "" || a.Type == "other" {
			return nil, nil
		}
		return &Decision{Verdict: v, Reason: id, RuleID: "forged", Risk: "forged"}, nil
	}}
}

func engine(t *testing.T, o Options, rules ...Rule) *Engine {
	t.Helper()
	e, err := New(o, rules...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestFirstRule: the first rule that says something decides; without one an approval is required.
func TestFirstRule(t *testing.T) {
	t.Parallel()
	e := engine(t, Options{}, says("a", 0, Allow), says("b", 50, ""), says("c", 50, Deny), says("d", 50, Escalate), says("last", 200, Allow))
	if got := e.Rules(); !slices.Equal(got, []string{"b", "c", "d", "a", "last"}) {
		t.Errorf("%v", got)
	}
	d, id, err := e.Evaluate(t.Context(), Action{Type: "x"})
	if err != nil || d != (Decision{Verdict: Deny, RuleID: "c", Risk: Medium, Reason: "c"}) || !strings.HasPrefix(id, "pol_") {
		t.Errorf("%+v %s %v", d, id, err)
	}
	if d, _, err := e.Evaluate(t.Context(), Action{Type: "other"}); err != nil || d.Verdict != RequireApproval || d.RuleID != Fallback {
		t.Errorf("%+v %v", d, err)
	}
	if err := e.Remove("c"); err != nil {
		t.Fatal(err)
	}
	if d, _, _ := e.Evaluate(t.Context(), Action{Type: "x"}); d.Verdict != Escalate {
		t.Errorf("%+v", d)
	}
	if err := e.Remove("c"); !errors.Is(err, ErrUnknownRule) {
		t.Errorf("%v", err)
	}
	before := e.Rules()
	for _, bad := range []Rule{says("d", 0, Allow), says("", 0, Allow), says(Fallback, 0, Allow), {ID: "nothing"}} {
		if err := e.Add(says("fine", 0, Allow), bad); err == nil || !slices.Equal(e.Rules(), before) {
			t.Errorf("%q: %v, %v", bad.ID, err, e.Rules())
		}
	}
	if err := e.Add(says("d", 0, Allow)); !errors.Is(err, ErrDuplicateRule) {
		t.Errorf("%v", err)
	}
}

// TestFailsClosed: whatever fails, nothing is allowed.
func TestFailsClosed(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	classify := func(r Risk, err error) func(context.Context, Action) (Risk, error) {
		return func(context.Context, Action) (Risk, error) { return r, err }
	}
	for name, c := range map[string]struct {
		o    Options
		rule Rule
		want error
	}{
		"classifier":            {Options{Classify: classify("", broken)}, says("a", 0, Allow), ErrClassification},
		"an unknown risk":       {Options{Classify: classify("extreme", nil)}, says("a", 0, Allow), ErrClassification},
		"a rule":                {Options{}, Rule{ID: "a", Evaluate: func(context.Context, Action, Risk) (*Decision, error) { return nil, broken }}, ErrRule},
		"a rule that panics":    {Options{}, Rule{ID: "a", Evaluate: func(context.Context, Action, Risk) (*Decision, error) { panic("no") }}, ErrRule},
		"an unknown verdict":    {Options{}, says("a", 0, "maybe"), ErrRule},
		"the audit":             {Options{Audit: func(context.Context, Event) error { return broken }}, says("a", 0, Allow), ErrAudit},
		"the audit of a denial": {Options{Audit: func(context.Context, Event) error { return broken }}, says("a", 0, Deny), ErrAudit},
	} {
		e := engine(t, c.o, c.rule)
		d, id, err := e.Evaluate(t.Context(), Action{Type: "x"})
		if !errors.Is(err, c.want) || d != (Decision{}) || id != "" {
			t.Errorf("%s: %+v %q %v", name, d, id, err)
		}
		if e.Check(t.Context(), Action{Type: "x"}) == nil {
			t.Errorf("%s: allowed", name)
		}
	}
}

// TestRisk: rules see the risk of the action.
func TestRisk(t *testing.T) {
	t.Parallel()
	o := Options{Classify: func(_ context.Context, a Action) (Risk, error) { return Risk(a.Type), nil }}
	e := engine(t, o, Rule{ID: "r", Evaluate: func(_ context.Context, a Action, r Risk) (*Decision, error) {
		if r == Critical || a.Proactive {
			return &Decision{Verdict: Escalate}, nil
		}
		return &Decision{Verdict: Allow}, nil
	}})
	for _, c := range []struct {
		a    Action
		want Verdict
	}{{Action{Type: "low"}, Allow}, {Action{Type: "critical"}, Escalate}, {Action{Type: "low", Proactive: true}, Escalate}} {
		if d, _, err := e.Evaluate(t.Context(), c.a); err != nil || d.Verdict != c.want || string(d.Risk) != c.a.Type {
			t.Errorf("%+v: %+v %v", c.a, d, err)
		}
	}
}

// TestApprove: a decision is approved once, in time, and only if it asks for an approval; the audit has everything first.
func TestApprove(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	var log []Event
	var fails error
	o := Options{Now: func() time.Time { return now }, Audit: func(_ context.Context, ev Event) error { log = append(log, ev); return fails }}
	e := engine(t, o, Rule{ID: "r", Evaluate: func(_ context.Context, a Action, _ Risk) (*Decision, error) {
		return &Decision{Verdict: Verdict(a.Type), Approval: &ApprovalHint{Timeout: time.Minute, Approver: "ann"}}, nil
	}})
	ask := func(v Verdict) string {
		_, id, err := e.Evaluate(t.Context(), Action{ID: "1", Type: string(v)})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	id := ask(RequireApproval)
	if err := e.Approve(t.Context(), id, Approval{Approved: true, ApprovedBy: "ann", Comment: "fine"}); err != nil {
		t.Fatal(err)
	}
	if len(log) != 2 || log[0].ID != id || log[0].Approval != nil || log[1].Of != id || log[1].ID == id || !log[1].Approval.Approved || !log[1].Approval.ResolvedAt.Equal(now) || log[1].Action.ID != "1" {
		t.Errorf("%+v", log)
	}
	if err := e.Approve(t.Context(), id, Approval{}); !errors.Is(err, ErrAnswered) {
		t.Errorf("%v", err)
	}
	if err := e.Approve(t.Context(), "pol_forged", Approval{Approved: true}); !errors.Is(err, ErrUnknownEvent) {
		t.Errorf("%v", err)
	}
	for _, v := range []Verdict{Allow, Deny} {
		if err := e.Approve(t.Context(), ask(v), Approval{Approved: true}); !errors.Is(err, ErrNoApproval) {
			t.Errorf("%s: %v", v, err)
		}
	}
	late := ask(Escalate)
	now = now.Add(2 * time.Minute)
	if err := e.Approve(t.Context(), late, Approval{Approved: true}); !errors.Is(err, ErrTooLate) {
		t.Errorf("%v", err)
	}
	id, fails = ask(Escalate), errors.New("full")
	if err := e.Approve(t.Context(), id, Approval{Approved: true}); !errors.Is(err, ErrAudit) {
		t.Errorf("%v", err)
	}
	fails = nil
	if err := e.Approve(t.Context(), id, Approval{Approved: true}); err != nil {
		t.Errorf("after the audit failed: %v", err)
	}
	first := ask(RequireApproval)
	for range kept {
		ask(Allow)
	}
	if err := e.Approve(t.Context(), first, Approval{Approved: true}); !errors.Is(err, ErrUnknownEvent) || len(e.known) != kept || len(e.order) != kept {
		t.Errorf("%v, %d kept", err, len(e.known))
	}
}

// TestCheck: the gate lets through only what is allowed.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, v := range []Verdict{Allow, Deny, RequireApproval, Escalate, ""} {
		e := engine(t, Options{}, says("r", 0, v))
		err := e.Check(t.Context(), Action{Type: "x"})
		var refused *Refused
		if (err == nil) != (v == Allow) || err != nil && (!errors.As(err, &refused) || refused.EventID == "") {
			t.Errorf("%s: %v", v, err)
		}
	}
}

// TestToolTrust: a tool goes from the sandbox to ask to allow, and back after a failure.
func TestToolTrust(t *testing.T) {
	t.Parallel()
	tt := &ToolTrust{Need: 2, Start: map[string]Trust{"read": Allowed, "odd": "everything"}, Most: map[string]Trust{"pay": Ask}}
	e := engine(t, Options{}, tt.Rule("tools", 10))
	verdict := func(tool string, boxed bool) Verdict {
		d, _, err := e.Evaluate(t.Context(), Action{Type: ToolPrefix + tool, Metadata: map[string]any{"sandboxed": boxed}})
		if err != nil {
			t.Fatal(err)
		}
		return d.Verdict
	}
	if verdict("shell", false) != Deny || verdict("shell", true) != Allow || verdict("read", false) != Allow || verdict("odd", false) != Deny {
		t.Error("the start")
	}
	var got []Trust
	for range 5 {
		tt.Used("shell", true)
		tt.Used("pay", true)
		got = append(got, tt.Of("shell"))
	}
	if !slices.Equal(got, []Trust{Sandbox, Ask, Ask, Allowed, Allowed}) || tt.Of("pay") != Ask || verdict("pay", true) != RequireApproval || verdict("shell", false) != Allow {
		t.Errorf("%v, pay %s", got, tt.Of("pay"))
	}
	tt.Used("shell", false)
	if tt.Of("shell") != Sandbox || tt.Of("read") != Allowed {
		t.Error("after a failure")
	}
	if d, _, _ := e.Evaluate(t.Context(), Action{Type: "mail"}); d.RuleID != Fallback {
		t.Errorf("%+v", d)
	}
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	e := engine(t, Options{}, says("a", 0, RequireApproval))
	var all sync.WaitGroup
	var won sync.Map
	_, id, err := e.Evaluate(t.Context(), Action{Type: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		all.Go(func() {
			if err := e.Add(says(fmt.Sprint("r", i), 0, Allow)); err != nil {
				t.Error(err)
			}
			_, _, _ = e.Evaluate(context.Background(), Action{Type: "x"})
			if e.Approve(context.Background(), id, Approval{Approved: true}) == nil {
				won.Store(i, true)
			}
			if err := e.Remove(fmt.Sprint("r", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	n := 0
	won.Range(func(any, any) bool { n++; return true })
	if n != 1 || len(e.Rules()) != 1 {
		t.Errorf("%d approvals counted, rules %v", n, e.Rules())
	}
}

func BenchmarkEvaluate(b *testing.B) {
	e, err := New(Options{}, says("a", 1, ""), says("b", 2, Allow))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := e.Evaluate(context.Background(), Action{Type: "x"}); err != nil {
			b.Fatal(err)
		}
	}
}
