// Package notice tells the webhooks of a governed project what happened in its run: that it waits for a person, is blocked or has ended.
// What has to be told is read from the record, and every try is written to an audit, so that a crash loses nothing and nothing that was
// delivered is told again.
package notice

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/phasehook"
	"github.com/drawbar/drawbar/internal/governed/procenv"
	"github.com/drawbar/drawbar/transport/httpcall"
)

const (
	reminder = "approval_sla_reminder"

	usualTimeout = 5 * time.Second
	maxAttempts  = 5
	firstPause   = 10 * time.Second // before the second attempt; doubles
	young        = 24 * time.Hour   // older events are not told any more
	maxAnswer    = 64 << 10
)

// names are the events of webhooks by those of the record.
var names = map[string]string{"run_blocked": "run_blocked", "run_completed": "run_completed", "escalation_raised": "operator_escalation_raised",
	"escalation_resolved": "escalation_resolved", "human_escalation_raised": "human_escalation_raised", "human_escalation_resolved": "human_escalation_resolved",
	"budget_exceeded_warn": "budget_exceeded_warn", "phase_transition": "phase_transition_pending", "run_completion": "run_completion_pending"}

// Envelope is what is posted.
type Envelope struct {
	SchemaVersion string              `json:"schema_version"` // 0.1
	EventID       string              `json:"event_id"`       // "notif_" and 16 hex digits, the same in every attempt
	EventType     string              `json:"event_type"`
	EmittedAt     protocol.Time       `json:"emitted_at"`
	Project       Project             `json:"project"`
	Run           Run                 `json:"run"`
	Turn          *protocol.EventTurn `json:"turn"`
	Payload       json.RawMessage     `json:"payload"`
}

// Project names the project.
type Project struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Root string `json:"root"`
}

// Run is the run at the time of the event.
type Run struct {
	ID     string `json:"run_id"`
	Status string `json:"status"`
	Phase  string `json:"phase"`
}

// Try is a line of the audit.
type Try struct {
	Timestamp  protocol.Time `json:"timestamp"`
	EventID    string        `json:"event_id"`
	EventType  string        `json:"event_type"`
	RunID      string        `json:"run_id"`
	Webhook    string        `json:"webhook"`
	Attempt    int           `json:"attempt"` // from 1
	Delivered  bool          `json:"delivered"`
	StatusCode int           `json:"status_code,omitempty"`
	Error      string        `json:"error,omitempty"`
	DurationMS int64         `json:"duration_ms"`
}

// over reports whether no other attempt follows: a server that understands the request and refuses it is not asked again.
func (t Try) over() bool {
	refused := t.StatusCode/100 == 4 && t.StatusCode != http.StatusRequestTimeout && t.StatusCode != http.StatusTooManyRequests
	return t.Delivered || refused || t.Attempt >= maxAttempts
}

// Sender tells the webhooks of one project.
type Sender struct {
	Root    string
	Config  *protocol.Config
	Environ []string
	Now     func() time.Time
}

// Send makes the attempts that are due, at most one for each event and webhook, and returns them. left is how many events are not delivered
// yet and will be tried again. If another process sends, it does nothing.
func (s Sender) Send(ctx context.Context) (tries []Try, left int, err error) {
	settings := s.Config.Notices()
	if len(settings.Webhooks) == 0 {
		return nil, 0, nil
	}
	unlock, taken, err := ledger.TryLock(s.Root, "notify")
	if err != nil || !taken {
		return nil, 0, err
	}
	defer unlock()
	v, err := ledger.Read(s.Root)
	if err != nil {
		return nil, 0, err
	}
	past, since, err := s.past()
	if err != nil {
		return nil, 0, err
	}
	all, err := s.due(v, settings, past, since)
	if err != nil {
		return nil, 0, err
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	for _, hook := range settings.Webhooks {
		group.Go(func() {
			made, waiting, failed := s.tell(ctx, hook, all, past)
			mu.Lock()
			defer mu.Unlock()
			tries, left, err = append(tries, made...), left+waiting, cmp.Or(err, failed)
		})
	}
	group.Wait()
	return tries, left, err
}

// due returns the events to tell, in order: those of the current run, and those of earlier runs that were tried before or happened after
// the first attempt.
func (s Sender) due(v *ledger.View, settings protocol.Notifications, past map[key]history, since time.Time) (list []Envelope, err error) {
	id := v.State.ID()
	if id == "" {
		return nil, nil
	}
	events, err := v.EventsOf("")
	if err != nil {
		return nil, err
	}
	tried := map[string]bool{}
	for k := range past {
		tried[k.event] = true
	}
	events = slices.DeleteFunc(events, func(e protocol.Event) bool {
		return e.RunID != id && !tried[idOf(e.EventID)] && (since.IsZero() || e.Timestamp.Before(since))
	})
	project := Project{ID: s.Config.Project.ID, Name: s.Config.Project.Name, Root: s.Root}
	for _, e := range events {
		kind := e.EventType
		if kind == "gate_pending" {
			var gate struct {
				Type string `json:"gate_type"`
			}
			_ = json.Unmarshal(e.Payload, &gate) // Drawbar wrote it
			kind = gate.Type
		}
		if name := names[kind]; name != "" && s.Now().Sub(e.Timestamp.Time) < young {
			list = append(list, Envelope{SchemaVersion: "0.1", EventID: idOf(e.EventID), EventType: name, EmittedAt: e.Timestamp, Project: project,
				Run: Run{ID: e.RunID, Status: e.Status, Phase: e.Phase}, Turn: e.Turn, Payload: e.Payload})
		}
	}
	return append(list, s.reminders(v, settings, project)...), nil
}

// reminders are those of an approval that a person has not given in time: the last one that is due.
func (s Sender) reminders(v *ledger.View, settings protocol.Notifications, project Project) []Envelope {
	gate, kind, asked := "", "phase_transition", protocol.Time{}
	switch st := v.State; {
	case settings.SLA.Enabled != nil && !*settings.SLA.Enabled:
		return nil
	case st.PendingTransition != nil:
		gate, asked = st.PendingTransition.Gate, st.PendingTransition.RequestedAt
	case st.PendingCompletion != nil:
		gate, kind, asked = st.PendingCompletion.Gate, "run_completion", st.PendingCompletion.RequestedAt
	}
	waited := s.Now().Sub(asked.Time)
	var last int64
	for _, after := range settings.SLA.After {
		if waited >= time.Duration(after)*time.Second {
			last = after
		}
	}
	if gate == "" || asked.IsZero() || last == 0 {
		return nil
	}
	payload, _ := json.Marshal(map[string]any{"gate_id": gate, "gate_type": kind, "requested_at": asked, "reminder_after_seconds": last, "waiting_seconds": int64(waited.Seconds())}) // it always encodes
	return []Envelope{{SchemaVersion: "0.1", EventID: idOf(fmt.Sprint(v.State.ID(), gate, asked, last)), EventType: reminder, EmittedAt: protocol.At(s.Now()), Project: project,
		Run: Run{ID: v.State.ID(), Status: string(v.State.Status), Phase: v.State.Phase}, Payload: payload}}
}

func idOf(of string) string {
	sum := sha256.Sum256([]byte(of))
	return "notif_" + hex.EncodeToString(sum[:8])
}

// history is what was tried for an event and a webhook.
type history struct {
	attempts int
	over     bool // delivered, or refused for good
	last     time.Time
}

type key struct{ event, webhook string }

// past reads the audit, whose first attempt was at since. A line that cannot be read, such as one that a crash cut off, tells nothing.
func (s Sender) past() (past map[key]history, since time.Time, err error) {
	past = map[key]history{}
	b, err := os.ReadFile(filepath.Join(s.Root, filepath.FromSlash(protocol.NoticeAuditFile)))
	if errors.Is(err, fs.ErrNotExist) {
		return past, since, nil
	}
	if err != nil {
		return nil, since, fmt.Errorf("notifications: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var t Try
		if json.Unmarshal(lines.Bytes(), &t) != nil {
			continue
		}
		if since.IsZero() {
			since = t.Timestamp.Time
		}
		k := key{t.EventID, t.Webhook}
		past[k] = history{past[k].attempts + 1, past[k].over || t.over(), t.Timestamp.Time}
	}
	return past, since, nil
}

// tell makes a webhook's attempts, until one fails: the others wait with it.
func (s Sender) tell(ctx context.Context, hook protocol.Webhook, all []Envelope, past map[key]history) (tries []Try, left int, err error) {
	for _, e := range all {
		was := past[key{e.EventID, hook.Name}]
		switch {
		case !slices.Contains(hook.Events, e.EventType), was.over:
			continue
		case len(tries) > 0 && !tries[len(tries)-1].Delivered, was.attempts > 0 && s.Now().Sub(was.last) < firstPause<<(was.attempts-1), ctx.Err() != nil:
			left++
			continue
		}
		begun := time.Now()
		status, failure := s.post(ctx, hook, e)
		t := Try{Timestamp: protocol.At(s.Now()), EventID: e.EventID, EventType: e.EventType, RunID: e.Run.ID, Webhook: hook.Name, Attempt: was.attempts + 1,
			Delivered: failure == "", StatusCode: status, Error: failure, DurationMS: time.Since(begun).Milliseconds()}
		tries = append(tries, t)
		if err := phasehook.AppendLine(s.Root, protocol.NoticeAuditFile, t); err != nil {
			return tries, left, err
		}
		if !t.over() {
			left++
		}
	}
	return tries, left, nil
}

// post makes one attempt. failure has no secret and no address.
func (s Sender) post(ctx context.Context, hook protocol.Webhook, e Envelope) (status int, failure string) {
	redact := secret.New(secret.URL(hook.URL))
	header, err := procenv.Headers("notifications.webhooks."+hook.Name, s.Environ, hook.Env.All(), hook.Headers.All(), func(name, written, value string) {
		if value != written || secret.Name(name) {
			redact.Add(value)
		}
	})
	if err != nil {
		return 0, err.Error()
	}
	body, err := protocol.Marshal(e)
	if err != nil {
		return 0, err.Error()
	}
	header.Set("Content-Type", "application/json")
	limit := usualTimeout
	if hook.TimeoutMS > 0 {
		limit = time.Duration(hook.TimeoutMS) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	client := httpcall.New(nil)
	defer client.Close()
	answer, err := client.Do(ctx, httpcall.Call{URL: hook.URL, Header: header, Body: body, Limit: maxAnswer})
	if errors.Is(err, context.DeadlineExceeded) {
		return 0, fmt.Sprintf("it did not answer within %s", limit)
	} else if err != nil {
		return 0, redact.Text(err.Error())
	}
	defer func() { _ = answer.Body.Close() }() // nothing is read
	if answer.Status/100 != 2 {
		return answer.Status, fmt.Sprintf("the server answered %d", answer.Status)
	}
	return answer.Status, ""
}
