// Package notify tells a person that a run waits or has ended: by the terminal's bell, on the desktop, by a command, to a webhook.
package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/transport/httpcall"
)

// Notice is one notification. A command gets it as JSON on standard input, a webhook as the body of a POST request.
type Notice struct {
	Event     string           `json:"event"` // waiting, failed, finished or budget
	RunID     execution.RunID  `json:"runId"` // or that of a governed run
	Agent     string           `json:"agent"` // or role of a governed run, or "governed run"
	SessionID string           `json:"sessionId,omitempty"`
	Cwd       string           `json:"cwd"`
	Text      string           `json:"text"`               // the question, the error, or the answer
	Question  string           `json:"question,omitempty"` // id of the question: drawbar approve RUN --question ID
	Status    execution.Status `json:"status,omitempty"`
	CostUSD   *float64         `json:"costUsd,omitempty"`
	At        time.Time        `json:"at"`
}

const (
	usualAfter = 10 * time.Second
	limit      = 10 * time.Second // of a command and of an attempt to post
	attempts   = 3
	pause      = time.Second // before the second attempt; doubles
	maxAnswer  = 64 << 10
)

// Notifier tells of one run, from its first event or Begin on. Its methods are for one goroutine.
type Notifier struct {
	Config config.Notify
	Cwd    string
	Ring   func()               // rings the bell; nil where there is no terminal
	Warn   func(string, ...any) // what could not be told
	Spawn  func(context.Context, adapter.SpawnRequest) (adapter.SpawnOutcome, error)

	transport http.RoundTripper // nil for a usual one

	session string
	begun   time.Time
	asked   map[string]*time.Timer
	sending sync.WaitGroup
}

// Of returns what tells of a run in cwd as the user's configuration says; nil if nobody is told.
func Of(app *cli.App, cwd string) *Notifier {
	cfg, err := app.Config(cwd)
	if err != nil {
		return nil // the command itself reports it
	}
	n := &Notifier{Config: cfg.Notify(), Cwd: cwd, Warn: app.Warnf, Spawn: cliagent.Spawn}
	if !n.Config.Any() {
		return nil
	}
	if cli.IsTerminal(app.Err) {
		n.Ring = func() { _, _ = io.WriteString(app.Err, "\a") } // nowhere to report an error
	}
	return n
}

// Begin starts the clock that decides whether the run took long enough to tell of its end.
func (n *Notifier) Begin() {
	if n.begun.IsZero() {
		n.begun, n.asked = time.Now(), map[string]*time.Timer{}
	}
}

// Event takes the next event of the run.
func (n *Notifier) Event(e execution.Event) {
	n.Begin()
	switch b := e.Body.(type) {
	case execution.SessionStart:
		if e.Parent == "" {
			n.session = b.SessionID
		}
	case execution.Finished:
		if e.Parent == "" {
			n.finished(e, b.Result)
		}
	default:
		n.Question(e)
	}
}

// Question takes an event, which may be that a question is asked, answered or withdrawn.
func (n *Notifier) Question(e execution.Event) {
	ask := func(id execution.QuestionID, text string) {
		notice := n.notice(e, text)
		notice.Question = string(id)
		n.Ask(key(e, id), notice)
	}
	switch b := e.Body.(type) {
	case execution.ApprovalRequired:
		ask(b.ID, strings.TrimSuffix(cmp.Or(b.ToolName, "a tool")+": "+cmp.Or(b.Detail, b.Action), ": "))
	case execution.InputRequired:
		ask(b.ID, b.Question)
	case execution.ApprovalGranted:
		n.Answered(key(e, b.ID))
	case execution.ApprovalDenied:
		n.Answered(key(e, b.ID))
	case execution.QuestionWithdrawn:
		n.Answered(key(e, b.ID))
	}
}

func key(e execution.Event, id execution.QuestionID) string {
	return string(e.RunID) + " " + string(id)
}

// Close waits until everything was told. No event may follow.
func (n *Notifier) Close() {
	for id := range n.asked {
		n.Answered(id)
	}
	n.sending.Wait()
}

func (n *Notifier) after() time.Duration {
	if ms := n.Config.AfterMs; ms != nil {
		return time.Duration(*ms) * time.Millisecond
	}
	return usualAfter
}

// Ask sends the notice of a question after the delay of Config, unless Answered is called with the same id before that.
func (n *Notifier) Ask(id string, notice Notice) {
	n.Begin()
	if notice.Event = config.NotifyWaiting; !n.Config.Wants(notice.Event) || n.asked[id] != nil {
		return
	}
	notice.Cwd, notice.At = n.Cwd, time.Now().UTC()
	n.sending.Add(1)
	n.asked[id] = time.AfterFunc(n.after(), func() {
		defer n.sending.Done()
		n.tell(notice)
	})
}

// Answered ends the wait that Ask began.
func (n *Notifier) Answered(id string) {
	if t := n.asked[id]; t != nil && t.Stop() {
		n.sending.Done()
	}
	delete(n.asked, id)
}

func (n *Notifier) finished(e execution.Event, res execution.Result) {
	notice := n.notice(e, "")
	notice.Event, notice.Status = config.NotifyFinished, res.Status
	if res.Output != nil {
		notice.Text = res.Output.Text
	}
	if res.Status != execution.StatusCompleted {
		notice.Event = config.NotifyFailed
		if res.Error != nil {
			notice.Text = res.Error.Message
		}
		if res.Error.ErrorCode() == execution.CodeBudgetExceeded {
			notice.Event = config.NotifyBudget
		}
	}
	if res.Cost != nil {
		notice.CostUSD = res.Cost.TotalUSD
	}
	n.End(notice)
}

// End tells of the end of a run that took long enough to look away.
func (n *Notifier) End(notice Notice) {
	n.Begin()
	if !n.Config.Wants(notice.Event) || time.Since(n.begun) < n.after() {
		return
	}
	notice.Cwd, notice.At = n.Cwd, time.Now().UTC()
	n.sending.Go(func() { n.tell(notice) })
}

func (n *Notifier) notice(e execution.Event, text string) Notice {
	return Notice{RunID: e.RunID, Agent: e.Agent, SessionID: n.session, Text: text}
}

// tell tells in every way that the configuration names, at the same time.
func (n *Notifier) tell(notice Notice) {
	body, err := json.Marshal(notice)
	if err != nil {
		n.Warn("notify: %v", err)
		return
	}
	if n.Config.Bell && n.Ring != nil {
		n.Ring()
	}
	var all sync.WaitGroup
	way := func(name string, f func() error) {
		all.Go(func() {
			if err := f(); err != nil {
				n.Warn("notify by %s: %v", name, err)
			}
		})
	}
	if n.Config.Desktop {
		way("desktop", func() error {
			command, err := desktop(runtime.GOOS, notice)
			if err != nil {
				return err
			}
			return n.run(command, nil)
		})
	}
	if len(n.Config.Command) > 0 {
		way("command", func() error { return n.run(n.Config.Command, body) })
	}
	if n.Config.Webhook != "" {
		way("webhook", func() error { return n.post(body) })
	}
	all.Wait()
}

// desktop returns the command that shows a notice on the desktop of a system. A notice is data there, never code.
func desktop(goos string, notice Notice) ([]string, error) {
	title := fmt.Sprintf("%s %s", notice.Agent, map[string]string{config.NotifyWaiting: "waits for you", config.NotifyFailed: "failed",
		config.NotifyFinished: "has finished", config.NotifyBudget: "has used up its budget"}[notice.Event])
	text := notice.Text
	if r := []rune(text); len(r) > 200 {
		text = string(r[:199]) + "…"
	}
	switch goos {
	case "darwin":
		return []string{"osascript", "-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", "--", title, text}, nil
	case "windows":
		return nil, fmt.Errorf("there is no way on Windows; use a command or a webhook")
	}
	return []string{"notify-send", "--app-name=drawbar", "--", title, text}, nil
}

func (n *Notifier) run(command []string, stdin []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	out, err := n.Spawn(ctx, adapter.SpawnRequest{Command: command[0], Args: command[1:], Stdin: stdin, Cwd: n.Cwd})
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", command[0], err)
	case out.Code != 0:
		return fmt.Errorf("%s exits with code %d: %.200s", command[0], out.Code, strings.TrimSpace(out.Stderr))
	}
	return nil
}

// post posts a notice until an attempt succeeds or is refused.
func (n *Notifier) post(body []byte) (err error) {
	client := httpcall.New(n.transport)
	defer client.Close()
	for i := range attempts {
		if i > 0 {
			time.Sleep(pause << (i - 1))
		}
		var again bool
		if again, err = n.once(client, body); !again {
			return err
		}
	}
	return fmt.Errorf("%d attempts: %w", attempts, err)
}

func (n *Notifier) once(client *httpcall.Client, body []byte) (again bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	answer, err := client.Do(ctx, httpcall.Call{URL: n.Config.Webhook, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Limit: maxAnswer})
	if err != nil {
		return true, err
	}
	defer func() { _ = answer.Body.Close() }() // nothing is read
	if answer.Status/100 == 2 {
		return false, nil
	}
	err = fmt.Errorf("the server answered %d", answer.Status)
	return answer.Status == http.StatusTooManyRequests || answer.Status >= 500, err
}
