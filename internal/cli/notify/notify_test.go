package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/settings/config"
)

// heard is what somebody was told of.
type heard struct {
	mu       sync.Mutex
	notices  []Notice
	commands [][]string
	warned   []string
	statuses []int // of the webhook's answers, in order; 0 is a broken connection
	posted   []time.Time
	code     int // of the command
}

func (h *heard) spawn(_ context.Context, r adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.commands = append(h.commands, append([]string{r.Command}, r.Args...))
	var n Notice
	if len(r.Stdin) > 0 {
		if err := json.Unmarshal(r.Stdin, &n); err != nil {
			return adapter.SpawnOutcome{}, err
		}
		h.notices = append(h.notices, n)
	}
	return adapter.SpawnOutcome{Code: h.code, Stderr: "broken"}, nil
}

func (h *heard) RoundTrip(r *http.Request) (*http.Response, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var n Notice
	if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
		return nil, err
	}
	status := 200
	if i := len(h.posted); i < len(h.statuses) {
		status = h.statuses[i]
	}
	h.notices, h.posted = append(h.notices, n), append(h.posted, time.Now())
	if status == 0 {
		return nil, errors.New("the connection broke")
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Location": {"http://elsewhere/"}}, Body: io.NopCloser(strings.NewReader("ok"))}, nil
}

func (h *heard) notifier(c config.Notify) *Notifier {
	return &Notifier{Config: c, Cwd: "/w", Spawn: h.spawn, transport: h, Warn: func(format string, args ...any) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.warned = append(h.warned, fmt.Sprintf(format, args...))
	}}
}

func event(b execution.Body) execution.Event {
	return execution.Event{RunID: "run-1", Agent: "claude", Body: b}
}

func ended(status execution.Status, code execution.ErrorCode) execution.Body {
	res := execution.Result{Status: status, Output: &execution.Output{Text: "it is done"}}
	if code != "" {
		res.Error = execution.NewResultError(code, "it broke")
	}
	return execution.Finished{Result: res}
}

// TestNotices: a question that waits, and the end of a run that took a while, are told once; what is answered at once and what nobody
// wants to know is not.
func TestNotices(t *testing.T) {
	t.Parallel()
	type step struct {
		wait time.Duration
		body execution.Body
	}
	asks := execution.ApprovalRequired{ID: "q1", ToolName: "Write", Detail: "a.txt"}
	for name, tt := range map[string]struct {
		on    []string
		after *int64
		steps []step
		want  string
	}{
		"a question that waits": {nil, nil, []step{{0, execution.SessionStart{SessionID: "s1"}}, {0, asks}, {11 * time.Second, execution.ApprovalGranted{ID: "q1"}}, {0, ended("completed", "")}},
			"waiting Write: a.txt q1 s1; finished it is done  s1"},
		"one that is answered":  {nil, nil, []step{{0, asks}, {9 * time.Second, execution.ApprovalDenied{ID: "q1"}}, {0, ended("completed", "")}}, ""},
		"one that is withdrawn": {nil, nil, []step{{0, execution.InputRequired{ID: "q2", Question: "which?"}}, {time.Second, execution.QuestionWithdrawn{ID: "q2"}}}, ""},
		"a question for words":  {nil, nil, []step{{0, execution.InputRequired{ID: "q2", Question: "which?"}}, {time.Minute, execution.QuestionWithdrawn{ID: "q2"}}}, "waiting which? q2 "},
		"a short run":           {nil, nil, []step{{0, execution.TurnStart{}}, {time.Second, ended("failed", execution.CodeAuth)}}, ""},
		"a failure":             {nil, nil, []step{{0, execution.TurnStart{}}, {time.Minute, ended("failed", execution.CodeAuth)}}, "failed it broke  "},
		"the budget":            {nil, nil, []step{{0, execution.TurnStart{}}, {time.Minute, ended("failed", execution.CodeBudgetExceeded)}}, "budget it broke  "},
		"only failures":         {[]string{"failed"}, nil, []step{{0, asks}, {time.Minute, execution.ApprovalGranted{ID: "q1"}}, {0, ended("completed", "")}}, ""},
		"everything at once":    {nil, new(int64(0)), []step{{0, ended("completed", "")}}, "finished it is done  "},
	} {
		for _, way := range []config.Notify{{Command: []string{"tell", "me"}}, {Webhook: "https://hooks.example/x"}} {
			synctest.Test(t, func(t *testing.T) {
				h := &heard{}
				way.On, way.AfterMs = tt.on, tt.after
				n := h.notifier(way)
				for _, s := range tt.steps {
					time.Sleep(s.wait)
					n.Event(event(s.body))
				}
				n.Close()
				var got []string
				for _, one := range h.notices {
					got = append(got, fmt.Sprintf("%s %s %s %s", one.Event, one.Text, one.Question, one.SessionID))
					if one.RunID != "run-1" || one.Agent != "claude" || one.Cwd != "/w" || one.At.IsZero() {
						t.Errorf("%s: %+v", name, one)
					}
				}
				if d := cmp.Diff(tt.want, strings.Join(got, "; ")); d != "" || len(h.warned) > 0 {
					t.Errorf("%s: %s, warned %v", name, d, h.warned)
				}
			})
		}
	}
}

// TestWebhook: a server that is busy or away is asked again, one that refuses is not, and what could not be told is said.
func TestWebhook(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		statuses []int
		posts    int
		warned   string
	}{
		{nil, 1, ""}, {[]int{500, 0, 204}, 3, ""}, {[]int{429, 200}, 2, ""}, {[]int{404}, 1, "notify by webhook: the server answered 404"},
		{[]int{503, 503, 503, 200}, 3, "notify by webhook: 3 attempts: the server answered 503"}, {[]int{302}, 3, "redirect"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := &heard{statuses: tt.statuses}
			if tt.warned == "redirect" {
				h.statuses = []int{302, 302, 302}
			}
			n := h.notifier(config.Notify{Webhook: "https://hooks.example/secret?token=1", AfterMs: new(int64(0))})
			n.Event(event(ended("completed", "")))
			n.Close()
			warned := strings.Join(h.warned, "; ")
			if len(h.posted) != tt.posts || !strings.Contains(warned, tt.warned) || tt.warned == "" && warned != "" || strings.Contains(warned, "token") {
				t.Errorf("%v: %d posts, %s", tt.statuses, len(h.posted), warned)
			}
		})
	}
}

// TestWays: the bell rings, a command that fails is said, and the desktop gets a text that is no code.
func TestWays(t *testing.T) {
	t.Parallel()
	h := &heard{code: 3}
	n := h.notifier(config.Notify{Bell: true, Command: []string{"tell"}, AfterMs: new(int64(0))})
	rung := 0
	n.Ring = func() { rung++ }
	n.Event(event(ended("completed", "")))
	n.Close()
	if rung != 1 || len(h.commands) != 1 || len(h.warned) != 1 || h.warned[0] != "notify by command: tell exits with code 3: broken" {
		t.Errorf("rung %d, %v, %v", rung, h.commands, h.warned)
	}
	notice := Notice{Event: config.NotifyWaiting, Agent: "claude", Text: `-u "; rm -rf / #` + strings.Repeat("x", 300)}
	for goos, program := range map[string]string{"linux": "notify-send", "darwin": "osascript", "windows": ""} {
		command, err := desktop(goos, notice)
		if (err != nil) != (program == "") || err == nil && (command[0] != program || command[len(command)-3] != "--" || len([]rune(command[len(command)-1])) != 200) {
			t.Errorf("%s: %q %v", goos, command, err)
		}
	}
}
