package drawbar_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/claude"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/sessions"
	"github.com/drawbar/drawbar/settings"
)

// noted keeps session files as Claude does, and runs as echo does, in the session "ours".
type noted struct{ claude.Adapter }

func (noted) Capabilities() execution.Capabilities { return echo{}.Capabilities() }

func (noted) Execute(ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		if yield(execution.Event{Body: execution.SessionStart{SessionID: "ours"}}, nil) {
			for e, err := range (echo{}).Execute(ctx, req, in) {
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

func costsClient(t *testing.T, o drawbar.Options) (*drawbar.Client, string) {
	t.Helper()
	home := t.TempDir()
	for _, session := range []string{"ours", "other"} {
		p := filepath.Join(home, ".claude", "projects", "-w", session+".jsonl")
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf(`{"message":{"id":"%s","model":"claude-opus-4-6","usage":{"output_tokens":1000}},"requestId":"r","type":"assistant","timestamp":"2026-11-01T10:00:00.000Z","cwd":"/w","sessionId":"%s"}`+"\n", session, session)
		if err := os.WriteFile(p, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		long := time.Now().Add(-time.Hour) // no run of a test has changed it
		if err := os.Chtimes(p, long, long); err != nil {
			t.Fatal(err)
		}
	}
	h := oshost.New(nil)
	h.Home, h.Getenv = home, func(string) string { return "" }
	o.Host = &h
	o.Agents = []adapter.Descriptor{echoDescriptor(), {Name: "noted", Aliases: []string{"n"}, DisplayName: "Noted", Command: "noted", Config: settings.Schema{Agent: "noted"},
		Models: claude.Descriptor().Models, New: func() adapter.Adapter { return noted{} }}}
	if !o.NoRecord {
		o.StateDir = filepath.Join(t.TempDir(), "state")
	}
	c, err := drawbar.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, o.StateDir
}

func TestSessionCosts(t *testing.T) {
	c, state := costsClient(t, drawbar.Options{})
	run, err := c.Run(t.Context(), execution.Request{Message: execution.Message{Text: "hello"}, Run: execution.RunOptions{Agent: "noted", Tags: []string{"nightly"}}}, drawbar.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Result(t.Context()); err != nil {
		t.Fatal(err)
	}
	q := sessions.CostQuery{Location: time.UTC}
	costs := func(q sessions.CostQuery) sessions.Costs {
		t.Helper()
		r, err := c.SessionCosts(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := costs(q); r.Total.Calls != 2 || r.Total.TotalUSD != 0.05 || r.Total.Source != "estimated" || r.BytesRead == 0 {
		t.Errorf("%+v", r)
	}
	if r := costs(q); r.Total.Calls != 2 || r.BytesRead != 0 {
		t.Errorf("the second time %d bytes were read", r.BytesRead)
	}
	if _, err := os.Stat(filepath.Join(state, "usage")); err != nil {
		t.Error(err)
	}
	q.Agent = "n"
	if r := costs(q); r.Total.Calls != 2 || r.Groups[0].Key != "noted" {
		t.Errorf("by alias: %+v", r.Groups)
	}
	q.Tag, q.By = "nightly", "session"
	deadline := time.Now().Add(10 * time.Second)
	r := costs(q)
	for r.Total.Calls == 0 && time.Now().Before(deadline) { // the record is written after the result
		time.Sleep(10 * time.Millisecond)
		r = costs(q)
	}
	if r.Total.Calls != 1 || r.Groups[0].Key != "noted:ours" {
		t.Errorf("by tag: %+v", r.Groups)
	}
	q.Tag = "weekly"
	if r := costs(q); r.Total.Calls != 0 || len(r.Groups) != 0 {
		t.Errorf("by another tag: %+v", r.Groups)
	}
	for name, tc := range map[string]struct {
		change func(*sessions.CostQuery)
		code   execution.ErrorCode
	}{
		"an agent that keeps none": {func(q *sessions.CostQuery) { q.Agent = "echo" }, execution.CodeCapability},
		"an unknown agent":         {func(q *sessions.CostQuery) { q.Agent = "nobody" }, execution.CodeUnknownAgent},
		"an unknown grouping":      {func(q *sessions.CostQuery) { q.By = "colour" }, execution.CodeValidation},
	} {
		q := sessions.CostQuery{}
		tc.change(&q)
		if _, err := c.SessionCosts(t.Context(), q); execution.CodeOf(err) != tc.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSessionCostsWithoutRecord(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	t.Setenv("DRAWBAR_STATE_DIR", state)
	c, _ := costsClient(t, drawbar.Options{NoRecord: true})
	r, err := c.SessionCosts(t.Context(), sessions.CostQuery{})
	if err != nil || r.Total.Calls != 2 {
		t.Errorf("%+v, %v", r.Total, err)
	}
	if _, err := os.Stat(state); err == nil {
		t.Error("something was written")
	}
	if _, err := c.SessionCosts(t.Context(), sessions.CostQuery{Tag: "x"}); execution.CodeOf(err) != execution.CodeValidation {
		t.Errorf("%v", err)
	}
}

// broken is noted that dies after a call of the model, whose tokens stand in its session file only.
type broken struct{ noted }

func (broken) Execute(_ context.Context, req execution.Request, _ adapter.Inbox) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		f, err := os.OpenFile(filepath.Join(req.Run.Env["CLAUDE_CONFIG_DIR"], "projects", "-w", "ours.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = fmt.Fprintf(f, `{"message":{"id":"%s","model":"claude-opus-4-6","usage":{"output_tokens":40}},"requestId":"r","type":"assistant","timestamp":"%s","cwd":"/w","sessionId":"ours"}`+"\n",
				req.Run.RunID, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
			_ = f.Close()
		}
		if err != nil {
			yield(execution.Event{}, err)
			return
		}
		_ = yield(execution.Event{Body: execution.SessionStart{SessionID: "ours", Model: "claude-opus-4-6"}}, nil) && yield(execution.Event{Body: execution.TurnStart{}}, nil) &&
			yield(execution.Event{Body: execution.TextDelta{Delta: "so", Accumulated: "so"}}, nil) &&
			yield(execution.Event{Body: execution.Finished{Result: execution.Result{Status: execution.StatusFailed, Error: execution.NewResultError(execution.CodeAgentCrash, "killed")}}}, nil)
	}
}

// TestCostOfBrokenRuns: each run of a session has what its agent noted while it ran, and no more.
func TestCostOfBrokenRuns(t *testing.T) {
	home := t.TempDir()
	p := filepath.Join(home, "projects", "-w", "ours.jsonl")
	if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(`{"message":{"id":"old","model":"claude-opus-4-6","usage":{"output_tokens":1000}},"requestId":"r","type":"assistant","timestamp":"2026-11-01T10:00:00.000Z","cwd":"/w","sessionId":"ours"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := drawbar.New(drawbar.Options{StateDir: filepath.Join(t.TempDir(), "state"), Agents: []adapter.Descriptor{{Name: "broken", DisplayName: "Broken", Command: "broken",
		Config: settings.Schema{Agent: "broken"}, Models: claude.Descriptor().Models, New: func() adapter.Adapter { return broken{} }}}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		run, err := c.Run(t.Context(), execution.Request{Message: execution.Message{Text: "go"}, Run: execution.RunOptions{Agent: "broken", Env: map[string]string{"CLAUDE_CONFIG_DIR": home}}}, drawbar.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := run.Result(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if cost := res.Cost; cost == nil || cost.OutputTokens != 40 || cost.TotalUSD == nil || *cost.TotalUSD != 0.001 || cost.Source != execution.CostFromSession {
			t.Errorf("%+v", cost)
		}
		time.Sleep(5 * time.Millisecond) // the times of calls are in milliseconds
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
