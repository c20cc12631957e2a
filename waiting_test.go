package drawbar_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
)

// TestWaiting: the record of a run that waits has what continues it, and no secrets; one decision is used once, by whichever process.
func TestWaiting(t *testing.T) {
	p := newProduct(t, writesNote)
	const key = "sk-ant-api03-0123456789abcdefghij"
	open := func() *drawbar.Client {
		client, err := drawbar.New(drawbar.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	do := func(req execution.Request) (execution.Result, error) { // in a process of its own
		client := open()
		defer func() { _ = client.Close() }()
		run, err := client.Run(t.Context(), req, drawbar.RunOptions{})
		if err != nil {
			return execution.Result{}, err
		}
		return run.Result(t.Context())
	}
	first, err := do(execution.Request{Message: execution.Message{Text: "write the note"}, Instructions: execution.Instructions{SystemPrompt: "You keep files."},
		Requirements: &execution.Requirements{ApprovalInterrupts: execution.SupportRequired},
		Run: execution.RunOptions{Agent: "harness", Model: model, Cwd: p.dir, NonInteractive: true, Tags: []string{"notes"}, MaxTurns: 7,
			Env: map[string]string{"NOTE_API_KEY": key, "PLAIN": "value"}}})
	if err != nil || first.Status != execution.StatusAwaitingApproval {
		t.Fatalf("%s %+v %v", first.Status, first.Error, err)
	}
	client := open()
	t.Cleanup(func() { _ = client.Close() })
	req, res, err := client.Waiting(string(first.RunID)[:20])
	if err != nil || res.RunID != first.RunID || req.Run.MaxTurns != 7 || req.Run.Tags[0] != "notes" || req.Instructions.SystemPrompt != "You keep files." || req.Run.Env["PLAIN"] != "value" ||
		req.Run.Model != "" || req.Requirements.ApprovalInterrupts != execution.SupportRequired {
		t.Fatalf("%+v %v", req, err)
	}
	if _, ok := req.Run.Env["NOTE_API_KEY"]; ok {
		t.Errorf("environment %v", req.Run.Env)
	}
	forged := req.Clone()
	forged.Message.Text, forged.Continuation.Decision = "go on", &execution.ContinuationDecision{ApprovalID: "x", Approved: true}
	if _, err := do(forged); err == nil || p.wrote() {
		t.Error("a forged decision is used")
	}
	refused := req.Clone() // nothing runs, so nothing is decided
	refused.Message.Text, refused.Run.Interactive, refused.Tools = "go on", false, []execution.Tool{{Name: "x"}}
	refused.Continuation.Decision = &execution.ContinuationDecision{ApprovalID: first.ApprovalRequest.ApprovalKey, Approved: true}
	if res, err := do(refused); err != nil || res.Status != execution.StatusUnsupported {
		t.Fatalf("%s %v", res.Status, err)
	}
	req.Message.Text = "go on"
	req.Continuation.Decision = &execution.ContinuationDecision{ApprovalID: first.ApprovalRequest.ApprovalKey, Approved: true}
	if res, err := do(req); err != nil || res.Status != execution.StatusCompleted || !p.wrote() {
		t.Fatalf("%s %+v %v", res.Status, res.Error, err)
	}
	var e *execution.Error
	if _, err := do(req); !errors.As(err, &e) || e.Code != execution.CodeInteractionNotFound || !strings.HasPrefix(e.Hint, "drawbar logs ") {
		t.Errorf("a second decision: %v", err)
	}
	// A continuation that names no run is told from another one by its state.
	delete(req.Continuation.State, "runId")
	for i, want := range []bool{true, false} {
		if _, err := do(req); (err == nil) != want {
			t.Errorf("%d: %v", i, err)
		}
	}
	if _, _, err := client.Waiting("0000"); err == nil {
		t.Error("a run that does not exist waits")
	}
	err = filepath.WalkDir(os.Getenv("DRAWBAR_STATE_DIR"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), key) {
			t.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
