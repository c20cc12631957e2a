//go:build unix

package orchestrator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/notice"
	"github.com/drawbar/drawbar/internal/settings/trust"
)

// listener is the server of a webhook.
type listener struct {
	mu     sync.Mutex
	told   []notice.Envelope
	tokens []string
	status func(n int) int // of the n-th answer, from 0; 0 hangs, 1 breaks the connection
}

func listen(t *testing.T) (*listener, string) {
	t.Helper()
	l := &listener{status: func(int) int { return http.StatusNoContent }}
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e notice.Envelope
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		l.mu.Lock()
		status := l.status(len(l.told))
		l.told, l.tokens = append(l.told, e), append(l.tokens, r.Header.Get("Authorization"))
		l.mu.Unlock()
		switch status {
		case 0:
			<-over
		case 1: // the answer is lost
			panic(http.ErrAbortHandler)
		case http.StatusFound:
			http.Redirect(w, r, "http://other.example/", status)
		default:
			w.WriteHeader(status)
		}
	}))
	t.Cleanup(func() {
		close(over)
		s.Close()
	})
	return l, s.URL
}

func (l *listener) heard() (kinds []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.told {
		kinds = append(kinds, e.EventType)
	}
	return kinds
}

func webhook(name, url, events string) string {
	return fmt.Sprintf(`{"name":%q,"url":%q,"events":[%s],"timeout_ms":30000,"env":{"TOKEN":"s3cret-token"},"headers":{"Authorization":"Bearer ${TOKEN}"}}`, name, url, events)
}

func (p *world) audit() (tries []notice.Try) {
	for line := range strings.Lines(p.read(protocol.NoticeAuditFile)) {
		var try notice.Try
		if err := json.Unmarshal([]byte(line), &try); err != nil {
			p.t.Error(err)
		}
		tries = append(tries, try)
	}
	return tries
}

// Webhooks are told what they asked for, once, with the envelope of the protocol; a gate that waits is reminded of.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	team, teamURL := listen(t)
	ops, opsURL := listen(t)
	config := strings.Replace(three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""), `{`, `{"notifications":{"webhooks":[`+
		webhook("team", teamURL, `"phase_transition_pending","run_blocked","approval_sla_reminder"`)+","+webhook("ops", opsURL, `"run_blocked"`)+
		`],"approval_sla":{"reminder_after_seconds":[300,900]}},`, 1)
	p := newProject(t, config)
	now := time.Now()
	later := func(o *Options) { o.Now = func() time.Time { return now } }
	if r := p.step(govern.OutcomeAccepted); r.Pending != "planned" {
		t.Fatalf("%+v", r)
	}
	if got := team.heard(); fmt.Sprint(got) != "[phase_transition_pending]" || len(ops.heard()) != 0 {
		t.Fatalf("team was told %v, ops %v", got, ops.heard())
	}
	e := team.told[0]
	if e.SchemaVersion != "0.1" || !strings.HasPrefix(e.EventID, "notif_") || len(e.EventID) != len("notif_")+16 || e.Project.Root != p.root || e.Project.ID == "" ||
		e.Run.ID != p.state().ID() || e.Run.Status != "paused" || e.Run.Phase != "planning" || e.Turn == nil || !strings.Contains(string(e.Payload), `"gate_id":"planned"`) {
		t.Errorf("%+v %s", e, e.Payload)
	}
	if team.tokens[0] != "Bearer s3cret-token" || strings.Contains(p.read(protocol.NoticeAuditFile), "s3cret") {
		t.Errorf("header %q, audit %s", team.tokens[0], p.read(protocol.NoticeAuditFile))
	}
	for i, c := range []struct {
		after time.Duration
		told  int
	}{{time.Minute, 0}, {6 * time.Minute, 1}, {7 * time.Minute, 0}, {20 * time.Minute, 1}, {time.Hour, 0}} {
		now = time.Now().Add(c.after)
		n, err := p.engine(later).Notify(t.Context())
		if err != nil || len(n.Tries) != c.told || n.Left != 0 {
			t.Errorf("%d: %+v, %v", i, n, err)
		}
	}
	if got := fmt.Sprint(team.heard()); got != "[phase_transition_pending approval_sla_reminder approval_sla_reminder]" || !strings.Contains(string(team.told[2].Payload), `"reminder_after_seconds":900`) {
		t.Errorf("%v", got)
	}
	if _, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.engine().Escalate(t.Context(), govern.EscalateOptions{Reason: "stuck"}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(ops.heard()); got != "[run_blocked]" {
		t.Errorf("ops was told %v", got)
	}
	p.sound()
}

// A budget that is used up is told, whether it stops the run or only warns.
func TestWebhooksOfABudget(t *testing.T) {
	t.Parallel()
	for onExceed, want := range map[string]string{"warn": "budget_exceeded_warn", "pause_and_escalate": "run_blocked"} {
		l, url := listen(t)
		p := newProject(t, one(runtimeOf("dear"), `,"budget":{"per_run_max_usd":0.5,"on_exceed":"`+onExceed+`"},"notifications":{"webhooks":[`+
			webhook("ops", url, `"budget_exceeded_warn","run_blocked"`)+`]}`))
		r, err := p.engine().Step(t.Context(), govern.StepOptions{})
		if err != nil || fmt.Sprint(l.heard()) != "["+want+"]" {
			t.Errorf("%s: told %v: %+v %v", onExceed, l.heard(), r, err)
		}
	}
}

// A webhook that fails delays nothing for long, is tried again with more and more time between, and does not keep others from being told.
func TestWebhooksThatFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status func(n int) int
		want   string // error of each attempt
		tries  int
	}{
		"an error":   {func(int) int { return 500 }, "the server answered 500", 5},
		"it hangs":   {func(int) int { return 0 }, "it did not answer within 200ms", 5},
		"a redirect": {func(int) int { return http.StatusFound }, "redirects are not followed", 5},
		"a refusal":  {func(int) int { return 410 }, "the server answered 410", 1},
		"too many": {func(n int) int {
			if n < 2 {
				return 429
			}
			return 200
		}, "the server answered 429", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, badURL := listen(t)
			bad.status = c.status
			good, goodURL := listen(t)
			p := newProject(t, strings.Replace(three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""), `{`, `{"notifications":{"webhooks":[`+
				strings.Replace(webhook("bad", badURL, `"phase_transition_pending"`), "30000", map[bool]string{true: "200", false: "30000"}[name == "it hangs"], 1)+","+webhook("good", goodURL, `"phase_transition_pending"`)+`]},`, 1))
			p.step(govern.OutcomeAccepted)
			if len(good.heard()) != 1 || len(p.audit()) != 2 || len(p.heard(govern.NoticeWarning)) != 1 {
				t.Fatalf("told %v, audit %v, warned %v", good.heard(), p.audit(), p.heard(govern.NoticeWarning))
			}
			begin := time.Now()
			for minute := range 12 { // the last pause is of 80 seconds
				for range 2 { // the second is too early
					if _, err := p.engine(func(o *Options) { o.Now = func() time.Time { return begin.Add(time.Duration(minute) * time.Minute) } }).Notify(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			if audit := p.audit(); len(good.heard()) != 1 || len(audit) != 1+c.tries {
				t.Errorf("told %d times, tried %d times", len(good.heard()), len(audit)-1)
			}
			id := ""
			for _, try := range p.audit() {
				if try.Webhook == "bad" && (!try.Delivered && !strings.Contains(try.Error, c.want) || id != "" && try.EventID != id || strings.Contains(try.Error, "s3cret")) {
					t.Errorf("%+v", try)
				}
				id = try.EventID
			}
		})
	}
}

// A crash between the record and its webhooks loses nothing: the next command tells them.
func TestWebhooksAfterACrash(t *testing.T) {
	t.Parallel()
	team, url := listen(t)
	p := newProject(t, strings.Replace(three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""), `{`, `{"notifications":{"webhooks":[`+webhook("team", url, `"phase_transition_pending","run_blocked"`)+`]},`, 1))
	team.status = func(int) int { return 1 } // and the audit's last line is lost, too
	p.step(govern.OutcomeAccepted)
	team.mu.Lock()
	team.status = func(int) int { return 200 }
	team.mu.Unlock()
	p.write(protocol.NoticeAuditFile, strings.TrimRight(p.read(protocol.NoticeAuditFile), "\n")[:40])
	for range 2 {
		if _, err := p.engine().Notify(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := team.heard(); len(got) != 2 || team.told[0].EventID != team.told[1].EventID {
		t.Errorf("told %v", got)
	}
}

// What a run could not tell is told after the next one has begun; what happened before there was a webhook is not.
func TestWebhooksOfTheRunBefore(t *testing.T) {
	t.Parallel()
	team, url := listen(t)
	plain := one(runtimeOf("complete"), "")
	p := newProject(t, plain)
	if _, err := p.engine().Run(t.Context(), govern.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	p.write("agentxchain.json", strings.Replace(plain, `{`, `{"notifications":{"webhooks":[`+webhook("team", url, `"run_completed"`)+`]},`, 1))
	p.git("commit", "-qam", "a webhook")
	team.status = func(n int) int { return []int{500, 200}[min(n, 1)] }
	for range 2 {
		if _, err := p.engine().Restart(t.Context(), govern.RestartOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.engine().Run(t.Context(), govern.RunOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	later := time.Now().Add(time.Minute)
	if _, err := p.engine(func(o *Options) { o.Now = func() time.Time { return later } }).Notify(t.Context()); err != nil {
		t.Fatal(err)
	}
	runs := map[string]int{}
	for _, e := range team.told {
		runs[e.Run.ID]++
	}
	if len(runs) != 2 || len(team.told) != 3 {
		t.Errorf("told of %v", runs)
	}
}

// Webhooks that the user has not trusted are told nothing, and neither is anybody of a project without webhooks.
func TestWebhooksNeedTrust(t *testing.T) {
	t.Parallel()
	team, url := listen(t)
	p := newProject(t, strings.Replace(three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""), `{`, `{"notifications":{"webhooks":[`+webhook("crew", url, `"phase_transition_pending"`)+`]},`, 1))
	distrust := func(o *Options) {
		o.Trust = func(root string, items []trust.Item) error {
			for _, i := range items {
				if strings.HasPrefix(i.Place, "notifications.") && strings.Contains(i.Runs, url) {
					return trust.Refusal(root, []trust.Change{{Item: i}})
				}
			}
			return nil
		}
	}
	p.step(govern.OutcomeAccepted)
	p.write("agentxchain.json", strings.Replace(p.read("agentxchain.json"), `"crew"`, `"team"`, 1))
	p.git("commit", "-qam", "another webhook")
	if _, err := p.engine(distrust).Decline(t.Context(), govern.DeclineOptions{Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	if got := p.heard(govern.NoticeWarning); len(team.heard()) != 1 || len(got) != 1 || !strings.Contains(got[0], "webhooks were not told") {
		t.Errorf("told %v, warned %q", team.heard(), got)
	}
	if _, err := p.engine(distrust).Notify(t.Context()); execution.CodeOf(err) != execution.CodeUntrusted {
		t.Errorf("%v", err)
	}
	if n, err := p.engine().Notify(t.Context()); err != nil || len(n.Tries) != 1 || !n.Tries[0].Delivered {
		t.Errorf("%+v, %v", n, err)
	}
	none := newProject(t, three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""))
	if _, err := none.engine().Notify(t.Context()); execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(hint(err), "notifications.webhooks") {
		t.Errorf("%v", err)
	}
}
