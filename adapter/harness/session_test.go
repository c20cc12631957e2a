package harness

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/modelapi/modelapitest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// kept is a request whose conversation is kept in a home of its own.
func kept(t *testing.T, text string) execution.Request {
	t.Helper()
	req := request(t, text)
	req.Run.Env = map[string]string{"HOME": t.TempDir()}
	return req
}

// sessionText returns the text of the only session.
func sessionText(t *testing.T, req execution.Request) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(req.Run.Env["HOME"], ".local/state/drawbar/sessions/harness/*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the sessions are %v, %v", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSession: a conversation is resumed and forked by its session, with the results of its calls, whatever ended it.
func TestSession(t *testing.T) {
	t.Parallel()
	for _, limits := range []Limits{{}, {MaxIterations: 1}} {
		m := &model{replies: []reply{calls(`read {"path":"a.txt"}`), says("first"), says("second"), says("third")}}
		req := kept(t, "one")
		res, _ := modelapitest.Run(t, m.backend(limits), req, agent.Options{})
		if deferred := res.Status == execution.StatusDeferred; deferred != (limits.MaxIterations == 1) || res.SessionID == "" {
			t.Fatalf("%s %+v", res.Status, res.Error)
		}
		text := sessionText(t, req)
		if strings.Contains(text, plantedKey) || !strings.Contains(text, `"model":"fake/model-1"`) || !strings.Contains(text, `"agent":"harness"`) {
			t.Errorf("the session is %s", text)
		}
		again := req
		again.Message.Text, again.Run.SessionID = "two", res.SessionID
		second, events := modelapitest.Run(t, m.backend(Limits{}), again, agent.Options{})
		if second.Status != execution.StatusCompleted || second.SessionID != res.SessionID || !bodies[execution.SessionStart](events)[0].Resumed {
			t.Errorf("%s %+v", second.Status, second.Error)
		}
		got := strings.Join(m.said(t, m.called()-1)[1:], "\n")
		if !strings.HasPrefix(got, "user: one\nassistant:  calls read\ntool: 1\tcontent of a\n") || !strings.HasSuffix(got, "\nuser: two") {
			t.Errorf("the model got %s", got)
		}
		fork := req
		fork.Message.Text, fork.Run.ForkSessionID = "other", res.SessionID
		if third, _ := modelapitest.Run(t, m.backend(Limits{}), fork, agent.Options{}); third.Status != execution.StatusCompleted || third.SessionID == res.SessionID {
			t.Errorf("%s %+v", third.Status, third.Error)
		}
	}
}

// TestSessionOfSummary: what is read again of a conversation that was summarized is the summary.
func TestSessionOfSummary(t *testing.T) {
	t.Parallel()
	large := calls(`read {"path":"a.txt"}`)
	large.tokens = 790
	m := &model{window: 1000, replies: []reply{large, says("it was read"), calls(`list {}`), says("done"), says("more")}}
	req := kept(t, "one")
	res, _ := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
	again := req
	again.Message.Text, again.Run.SessionID = "two", res.SessionID
	modelapitest.Run(t, m.backend(Limits{}), again, agent.Options{})
	want := []string{"user: [map[text:one type:text] map[text:What followed was summarized:\n\nit was read type:text]]", "assistant:  calls list", "tool: a.txt", "assistant: done", "user: two"}
	if got := m.said(t, 4)[1:]; !slices.Equal(got, want) {
		t.Errorf("the model got %q", got)
	}
}

// TestSessionOfContinuation: a continuation begins a session with its conversation, and never goes on with another session.
func TestSessionOfContinuation(t *testing.T) {
	t.Parallel()
	m := &model{replies: []reply{calls(`ask {"question":"which?"}`), says("done"), says("more")}}
	req := kept(t, "one")
	req.Run.NoSession = false
	res, _ := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
	again := kept(t, "the second")
	again.Continuation = stored(t, res)
	second, _ := modelapitest.Run(t, m.backend(Limits{}), again, agent.Options{})
	if second.Status != execution.StatusCompleted || second.SessionID == res.SessionID {
		t.Fatalf("%s %+v", second.Status, second.Error)
	}
	third := again
	third.Continuation, third.Run.SessionID, third.Message.Text = nil, second.SessionID, "three"
	modelapitest.Run(t, m.backend(Limits{}), third, agent.Options{})
	want := []string{"user: one", "assistant:  calls ask", "tool: the second", "assistant: done", "user: three"}
	if got := m.said(t, 2)[1:]; !slices.Equal(got, want) {
		t.Errorf("the model got %q", got)
	}
	third.Continuation = again.Continuation
	if res, _ := modelapitest.Run(t, m.backend(Limits{}), third, agent.Options{}); res.Status != execution.StatusUnsupported {
		t.Errorf("a continuation and a session: %s %+v", res.Status, res.Error)
	}
	// One that only names a session is that session.
	third.Continuation = &execution.Continuation{Kind: execution.ContinuationDeferred, State: map[string]any{"agent": "harness", "sessionId": second.SessionID}}
	third.Run.SessionID = ""
	if res, _ := modelapitest.Run(t, m.backend(Limits{}), third, agent.Options{}); res.Status != execution.StatusCompleted || res.SessionID != second.SessionID {
		t.Errorf("%s %+v", res.Status, res.Error)
	}
}

// TestSessionsListed: the sessions are read like those of any agent.
func TestSessionsListed(t *testing.T) {
	t.Parallel()
	a := New(Options{})
	if s, ok := adapter.As[adapter.SessionStore](a); !ok || s == nil {
		t.Error("no session store")
	}
	if u, ok := adapter.As[adapter.UsageLog](a); !ok || u == nil {
		t.Error("no usage log")
	}
}
