//go:build unix

package turnruntime

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// desk is where a person sits.
func desk(t *testing.T) (Dispatch, func() []string) {
	t.Helper()
	d := scene(t, "")
	d.Runtime = protocol.Runtime{Type: protocol.RuntimeManual, PollIntervalMS: new(3600000)}
	d.RuntimeID, d.RoleID = "manual-pm", "pm"
	d.Role = protocol.Role{Title: "Product Manager", Mandate: "Protect the user.", WriteAuthority: protocol.ReviewOnly}
	d.Turn.Attempt = 2
	d.Turn.LastRejection = &protocol.Rejection{Reason: "schema_error", ValidationErrors: []string{"objections is empty"}}
	d.Requirements = []string{".planning/PM_SIGNOFF.md says Approved: YES"}
	var mu sync.Mutex
	var said []string
	d.Out = func(s string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, s)
	}
	return d, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), said...)
	}
}

// wait waits until a line was said.
func wait(t *testing.T, said func() []string, part string) {
	t.Helper()
	for range 500 {
		if strings.Contains(strings.Join(said(), "\n"), part) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%q was not said: %q", part, said())
}

func TestManualWaitsForAResult(t *testing.T) {
	d, said := desk(t)
	w := &watcher{}
	done := make(chan Outcome)
	go func() { done <- carry(t, context.Background(), d, w) }()
	wait(t, said, "mv ")
	text := strings.Join(said(), "\n")
	for _, part := range []string{"Product Manager (pm)", "turn_1", "implementation", "Attempt   2", "Protect the user.", ".agentxchain/dispatch/turns/turn_1/PROMPT.md",
		".agentxchain/dispatch/turns/turn_1/CONTEXT.md", ".agentxchain/staging/turn_1/turn-result.json", "schema_error", "objections is empty",
		"PM_SIGNOFF.md says Approved: YES", "within 1m"} {
		if !strings.Contains(text, part) {
			t.Errorf("the instructions lack %q:\n%s", part, text)
		}
	}
	// The template, unfinished: it waits.
	template := filepath.Join(filepath.Dir(d.StagedPath), "turn-result.template.json")
	data := read(t, template)
	if err := os.WriteFile(d.StagedPath, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	wait(t, said, "still says")
	if err := os.WriteFile(d.StagedPath, []byte(`{"half":`), 0o644); err != nil {
		t.Fatal(err)
	}
	wait(t, said, "not ready yet: "+d.StagedPath)
	if err := os.WriteFile(d.StagedPath, []byte(" {} \n"), 0o644); err != nil {
		t.Fatal(err)
	}
	select {
	case o := <-done:
		t.Fatalf("it took something unfinished: %+v", o)
	case <-time.After(100 * time.Millisecond):
	}
	begun := time.Now()
	if err := os.WriteFile(d.StagedPath, []byte(goodResult), 0o644); err != nil {
		t.Fatal(err)
	}
	select {
	case o := <-done:
		if !o.Staged || o.Class != "" || o.Meta.LatencyMS == nil {
			t.Errorf("%+v", o)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("a person waits for the poll")
	}
	t.Logf("taken %v after it was written", time.Since(begun))
	if len(w.pids) != 1 || w.pids[0] != 0 || len(w.first) != 1 || w.first[0] != "staged_result" || w.progress[0].Stage != govern.StageWaiting || w.progress[0].Worker != "a person" {
		t.Errorf("%+v", w)
	}
}

func TestManualPolls(t *testing.T) {
	// The folder of the flat file is not watched, so only the poll finds it.
	d, said := desk(t)
	d.Runtime.PollIntervalMS = new(50)
	done := make(chan Outcome)
	go func() { done <- carry(t, context.Background(), d, &watcher{}) }()
	wait(t, said, "mv ")
	if err := os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(d.StagedPath)), "turn-result.json"), []byte(goodResult), 0o644); err != nil {
		t.Fatal(err)
	}
	select {
	case o := <-done:
		if !o.Staged {
			t.Errorf("%+v", o)
		}
	case <-time.After(1500 * time.Millisecond):
		t.Error("poll_interval_ms is ignored")
		<-done
	}
}

func TestManualTakesWhatIsThere(t *testing.T) {
	d, _ := desk(t)
	if err := d.put([]byte("```json\n" + goodResult + "\n```")); err != nil {
		t.Fatal(err)
	}
	d.Timeout = 300 * time.Millisecond
	if o := carry(t, context.Background(), d, &watcher{}); !o.Staged {
		t.Errorf("%+v", o)
	}
}

func TestManualTimeout(t *testing.T) {
	d, _ := desk(t)
	d.Timeout, d.Loop.LivenessHeartbeatMS = 2*time.Second, new(20)
	if err := d.put([]byte("nonsense")); err != nil {
		t.Fatal(err)
	}
	w := &watcher{}
	o := carry(t, context.Background(), d, w)
	if o.Class != ClassTimeout || o.Staged || !strings.Contains(o.Detail, "not ready") || !o.Draft || !strings.Contains(o.Hint, d.shown(d.StagedPath)) {
		t.Errorf("%+v", o)
	}
	if len(w.progress) < 2 { // by default the second comes after a minute
		t.Errorf("%d reports", len(w.progress))
	}
	if read(t, d.StagedPath) != "nonsense" {
		t.Error("the person's file was touched")
	}
}

func TestManualCancelled(t *testing.T) {
	d, _ := desk(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if o := carry(t, ctx, d, &watcher{}); !o.Cancelled || o.Hint == "" {
		t.Errorf("%+v", o)
	}
}

func TestTemplate(t *testing.T) {
	for authority, want := range map[protocol.Authority]string{protocol.Authoritative: "workspace", protocol.Proposed: "patch", protocol.ReviewOnly: "review"} {
		d, _ := desk(t)
		d.Role.WriteAuthority = authority
		var r protocol.TurnResult
		if err := json.Unmarshal(Template(d), &r); err != nil {
			t.Fatal(err)
		}
		if r.Artifact.Type != want || r.TurnID != "turn_1" || r.RunID != "run_1" || r.Role != "pm" || r.RuntimeID != "manual-pm" || (len(r.Objections) > 0) != (authority == protocol.ReviewOnly) {
			t.Errorf("%+v", r)
		}
	}
	d, _ := desk(t)
	d.Role.WriteAuthority, d.Role.Adapter = protocol.Authoritative, "manual"
	if !strings.Contains(string(Template(d)), "OBJ-001") {
		t.Error("a role of the first edition always objects")
	}
	// A template that a person has begun is left alone.
	path := d.templatePath()
	_ = os.MkdirAll(filepath.Dir(path), 0o755)
	_ = os.WriteFile(path, []byte("mine"), 0o644)
	if err := writeTemplate(d); err != nil || read(t, path) != "mine" {
		t.Error(err)
	}
}
