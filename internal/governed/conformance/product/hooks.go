package product

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/drawbar/drawbar/internal/governed/phasehook"
)

// runHooks runs the fixture's hooks of a phase.
func runHooks(ctx context.Context, w *world) (fields, error) {
	var args struct {
		Phase   string          `json:"phase"`
		Payload json.RawMessage `json:"payload"`
	}
	if err := w.args(&args); err != nil {
		return nil, err
	}
	var about struct {
		RunID  string `json:"run_id"`
		TurnID string `json:"turn_id"`
	}
	_ = json.Unmarshal(args.Payload, &about) // a payload may have any content
	call := phasehook.Call{RunID: w.state.ID(), TurnID: about.TurnID, Payload: args.Payload}
	if call.RunID == "" {
		call.RunID = about.RunID
	}
	runner := phasehook.Runner{Root: w.dir, Environ: os.Environ(), Now: time.Now}
	out, err := runner.Run(ctx, args.Phase, w.config.Hooks.At(args.Phase), call)
	if err != nil {
		return nil, err
	}
	f := fields{"result": "success", "hook_ok": out.OK, "blocked": out.Blocked, "audit_entry": nil, "audit_entries": append([]phasehook.AuditEntry{}, out.Entries...)}
	if len(out.Entries) > 0 {
		f["audit_entry"] = out.Entries[0]
	}
	return f, nil
}
