//go:build unix

package orchestrator

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// byHand carries a person's turn: it is made ready, its result is written, and taken. edit may be nil.
func (p *world) byHand(want govern.Outcome, edit func(r map[string]any)) govern.Report {
	p.t.Helper()
	turn := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true}).TurnID
	var r map[string]any
	if err := json.Unmarshal([]byte(handWritten(p, turn)), &r); err != nil {
		p.t.Fatal(err)
	}
	r["artifact"] = map[string]any{"type": "review"}
	if edit != nil {
		edit(r)
	}
	b, err := json.Marshal(r)
	if err != nil {
		p.t.Fatal(err)
	}
	p.stage(turn, string(b))
	return p.step(want)
}

// objecting hands in objections; ask is what the turn asks for besides: a phase, "the end" or nothing.
func objecting(ask string, list ...map[string]any) func(r map[string]any) {
	return func(r map[string]any) {
		r["objections"] = list
		switch ask {
		case "":
		case "the end":
			r["run_completion_request"] = true
		default:
			r["phase_transition_request"] = ask
		}
	}
}

func updated(id, severity, status string) map[string]any {
	o := objection(id, severity, "what became of it")
	o["status"] = status
	return o
}

// review is a project of one phase in which a person reviews; the gate asks for nothing but a person's approval.
func review(more string) string {
	return `{"schema_version":"1.0","project":{"id":"p","name":"P"},
"roles":{"qa":{"title":"QA","mandate":"Doubt.","write_authority":"authoritative","runtime":"hand"},
"dev":{"title":"Dev","mandate":"Build.","write_authority":"authoritative","runtime":"hand"}},
"runtimes":{"hand":` + manualRuntime + `},
"routing":{"qa":{"entry_role":"qa","allowed_next_roles":["qa","dev","human"],"exit_gate":"shipped"}},
"gates":{"shipped":{"requires_human_approval":true}}` + more + `,"workflow_kit":{}}`
}

// An objection that blocks stops the end of the run, in the result that raises it and in any later one, until it is resolved.
func TestABlockingObjectionStops(t *testing.T) {
	t.Parallel()
	p := newProject(t, review(""))
	r := p.byHand(govern.OutcomeAccepted, objecting("the end", objection("OBJ-001", "blocking", "it deletes the data")))
	if r.Pending != "" || r.Gate == nil || !strings.Contains(strings.Join(r.Gate.Reasons, " "), "OBJ-001") {
		t.Fatalf("the result that raises it: pending %q, gate %+v", r.Pending, r.Gate)
	}
	r = p.byHand(govern.OutcomeAccepted, objecting("the end", objection("OBJ-002", "low", "a typo")))
	if r.Pending != "" || r.Gate == nil || !strings.Contains(strings.Join(r.Gate.Reasons, " "), "it deletes the data") {
		t.Fatalf("a later result: pending %q, gate %+v", r.Pending, r.Gate)
	}
	if s, err := p.engine().Status(t.Context()); err != nil || len(s.Objections) != 2 || s.Objections[0].ID != "OBJ-001" {
		t.Errorf("status: %+v %v", s.Objections, err)
	}
	r = p.byHand(govern.OutcomeAccepted, objecting("the end", updated("OBJ-001", "blocking", "resolved"), objection("OBJ-003", "low", "slow")))
	if r.Pending != "shipped" || r.Objections[0].ID != "OBJ-001" {
		t.Fatalf("resolved by who raised it: pending %q, %+v", r.Pending, r.Objections)
	}
	if _, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true}); err != nil {
		t.Error(err)
	}
	p.sound()
}

// Only who raised an objection that blocks, a person, or a role with the authority resolves it; another role acknowledges it.
func TestWhoResolvesAnObjection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		role, status, severity string
		want                   string // the status in the record
	}{
		"another role, blocking":     {role: "dev", status: "resolved", severity: "blocking", want: "acknowledged"},
		"another role, low":          {role: "dev", status: "resolved", severity: "low", want: "resolved"},
		"who raised it":              {role: "qa", status: "resolved", severity: "blocking", want: "resolved"},
		"says a person did":          {role: "dev", status: "resolved_by_human", severity: "blocking", want: "acknowledged"},
		"says the director did":      {role: "qa", status: "resolved_by_director", severity: "blocking", want: "resolved"},
		"the director":               {role: "eng_director", status: "resolved_by_director", severity: "blocking", want: "resolved_by_director"},
		"a lower severity":           {role: "dev", status: "raised", severity: "blocking", want: "raised"},
		"acknowledged, escalated on": {role: "dev", status: "escalated", severity: "blocking", want: "escalated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := strings.Replace(review(""), `"dev":{"title":"Dev"`, `"eng_director":{"title":"Director","mandate":"Decide.","write_authority":"authoritative","runtime":"cli"},"dev":{"title":"Dev"`, 1)
			config = strings.Replace(config, `["qa","dev","human"]`, `["qa","dev","eng_director","human"]`, 1)
			config = strings.ReplaceAll(config, `"runtime":"hand"`, `"runtime":"cli"`)
			config = strings.Replace(config, `"runtimes":{`, `"runtimes":{"cli":`+runtimeOf("objects")+`,`, 1)
			p := newProject(t, config)
			p.write("objections.json", `[`+text2(objection("OBJ-001", c.severity, "it deletes the data"))+`]`)
			p.git("add", "-A")
			p.git("commit", "-qm", "the objection")
			p.step(govern.OutcomeAccepted, govern.StepOptions{Role: "qa"})
			second := updated("OBJ-001", c.severity, c.status)
			if name == "a lower severity" {
				second = objection("OBJ-001", "low", "it deletes the data")
			}
			p.write("objections.json", `[`+text2(second)+`]`)
			p.git("commit", "-qam", "the update")
			r := p.step(govern.OutcomeAccepted, govern.StepOptions{Role: c.role})
			if got := r.Objections[0]; got.ID != "OBJ-001" || got.Status != c.want {
				t.Errorf("%+v, want status %s", got, c.want)
			}
			open := p.state().OpenObjections
			if settled := strings.HasPrefix(c.want, "resolved"); settled != (len(open) == 0) {
				t.Errorf("open are %+v", open)
			} else if !settled && (open[0].Severity != c.severity || open[0].Statement != "it deletes the data" || open[0].Role != "qa") {
				t.Errorf("open is %+v", open[0])
			}
			p.sound()
		})
	}
}

func text2(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func init() {
	workers["objects"] = func(w *worker) {
		r := w.result()
		r["artifact"] = map[string]any{"type": "review"}
		r["objections"] = json.RawMessage(mustRead("objections.json"))
		w.stage(r)
	}
}

// An objection of another text under a number that is taken is another objection.
func TestAnObjectionUnderATakenNumber(t *testing.T) {
	t.Parallel()
	p := newProject(t, review(""))
	p.byHand(govern.OutcomeAccepted, objecting("", objection("OBJ-001", "low", "a typo")))
	r := p.byHand(govern.OutcomeAccepted, objecting("", objection("OBJ-001", "high", "it leaks"), objection("OBJ-003", "low", "slow")))
	if r.Objections[0].ID != "OBJ-004" || len(p.state().OpenObjections) != 3 {
		t.Errorf("%+v, open %+v", r.Objections, p.state().OpenObjections)
	}
	r = p.byHand(govern.OutcomeAccepted, objecting("", objection("OBJ-001", "low", "a  typo")))
	if r.Objections[0].ID != "OBJ-001" || len(p.state().OpenObjections) != 3 {
		t.Errorf("repeated: %+v, open %+v", r.Objections, p.state().OpenObjections)
	}
}

// A person acknowledges, resolves and reopens, with a reason and on the record; the request that the objection stopped is decided anew.
func TestAPersonRulesOnObjections(t *testing.T) {
	t.Parallel()
	p := newProject(t, review(""))
	p.byHand(govern.OutcomeAccepted, objecting("the end", objection("OBJ-001", "blocking", "it deletes the data")))
	rule := func(id, status, reason string) (govern.Report, error) {
		return p.engine().RuleObjection(t.Context(), govern.ObjectionOptions{ID: id, Status: status, Reason: reason, By: protocol.Person{Name: "Ann", Email: "ann@x"}})
	}
	for _, bad := range [][3]string{{"OBJ-009", "resolved_by_human", "no"}, {"OBJ-001", "resolved_by_human", " "}, {"OBJ-001", "raised", "it is open"}, {"OBJ-001", "gone", "x"}} {
		if _, err := rule(bad[0], bad[1], bad[2]); err == nil || hint(err) == "" {
			t.Errorf("%v: %v, hint %q", bad, err, hint(err))
		}
	}
	if r, err := rule("OBJ-001", "acknowledged", "we know"); err != nil || r.Pending != "" || p.state().OpenObjections[0].Status != "acknowledged" {
		t.Fatalf("acknowledged: %+v %v", r, err)
	}
	r, err := rule("OBJ-001", "resolved_by_human", "there is a backup")
	if err != nil || r.Pending != "shipped" || r.Next != "drawbar govern approve" || len(p.state().OpenObjections) != 0 {
		t.Fatalf("resolved: %+v %v", r, err)
	}
	if _, err := rule("OBJ-001", "resolved_by_human", "again"); err == nil {
		t.Error("resolved twice")
	}
	if r, err = rule("OBJ-001", "raised", "the backup is empty"); err != nil || len(p.state().OpenObjections) != 1 {
		t.Fatalf("reopened: %+v %v", r, err)
	}
	if _, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true}); err == nil || !strings.Contains(err.Error(), "OBJ-001") || execution.CodeOf(err) != execution.CodeInvalidStateTransition {
		t.Errorf("approved beside an objection that blocks: %v", err)
	}
	lines, err := p.view().Ledger("")
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, l := range lines {
		if l.Note != nil {
			said = append(said, l.Note.Decision+" "+string(l.Note.Extra.At("by"))+" "+string(l.Note.Extra.At("reason")))
		}
	}
	got := strings.Join(said, "\n")
	for _, want := range []string{`objection_acknowledged "Ann <ann@x>" "we know"`, `objection_resolved "Ann <ann@x>" "there is a backup"`, `objection_reopened "Ann <ann@x>" "the backup is empty"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the record lacks %s:\n%s", want, got)
		}
	}
	if n := len(p.events("objection_updated")); n != 3 {
		t.Errorf("%d events", n)
	}
	p.sound()
}

// The next turn reads what is open, and how it is resolved.
func TestThePromptNamesOpenObjections(t *testing.T) {
	t.Parallel()
	p := newProject(t, review(""))
	p.byHand(govern.OutcomeAccepted, objecting("", objection("OBJ-001", "blocking", "it deletes the data"), objection("OBJ-002", "low", "a typo")))
	if _, err := p.engine().RuleObjection(t.Context(), govern.ObjectionOptions{ID: "OBJ-002", Status: "resolved_by_human", Reason: "corrected"}); err != nil {
		t.Fatal(err)
	}
	turn := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true}).TurnID
	text := p.read(protocol.BundleDir(turn) + "/PROMPT.md")
	for _, want := range []string{"OBJ-001", `"status": "resolved"`, "blocking"} {
		if !strings.Contains(text, want) {
			t.Errorf("PROMPT.md does not say %s", want)
		}
	}
	if context := p.read(protocol.BundleDir(turn) + "/CONTEXT.md"); strings.Contains(context[strings.Index(context, "### Open Objections"):], "OBJ-002") {
		t.Error("CONTEXT.md lists a resolved objection as open")
	}
}
