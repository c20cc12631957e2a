package drawbar_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/govern"
)

// A project whose only role is a person's: a turn is made ready, its result is written, and it goes into the record.
func ExampleOpenProject() {
	root, err := os.MkdirTemp("", "drawbar-example-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	config := `{"schema_version": "1.0", "project": {"id": "tale", "name": "Tale"},
		"roles": {"pm": {"title": "Product", "mandate": "Want it.", "write_authority": "review_only", "runtime": "person"}},
		"runtimes": {"person": {"type": "manual"}},
		"routing": {"planning": {"entry_role": "pm", "allowed_next_roles": ["pm", "human"]}}, "workflow_kit": {}}`
	if err := os.WriteFile(filepath.Join(root, "agentxchain.json"), []byte(config), 0o600); err != nil {
		panic(err)
	}

	p, err := drawbar.OpenProject(root, govern.Options{Owner: "example"})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	ready, err := p.Step(ctx, govern.StepOptions{NoWait: true})
	if err != nil {
		panic(err)
	}
	fmt.Println(ready.Outcome, ready.Role)

	result, err := json.Marshal(map[string]any{
		"schema_version": "1.0", "run_id": ready.RunID, "turn_id": ready.TurnID, "role": ready.Role, "runtime_id": ready.RuntimeID,
		"status": "completed", "summary": "the tale is wanted", "decisions": []any{}, "files_changed": []string{},
		"objections":   []any{map[string]any{"id": "OBJ-001", "severity": "low", "statement": "it may be long"}},
		"verification": map[string]any{"status": "skipped"}, "artifact": map[string]any{"type": "review"},
		"proposed_next_role": "human", "run_completion_request": true,
	})
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".agentxchain", "staging", ready.TurnID, "turn-result.json"), result, 0o600); err != nil {
		panic(err)
	}
	taken, err := p.Accept(ctx, govern.AcceptOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(taken.Outcome, taken.Summary)

	status, err := p.Status(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(status.Status, status.Phase)
	// Output:
	// assigned pm
	// accepted the tale is wanted
	// completed planning
}
