package product

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/conformance"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/governance/gate"
	"github.com/drawbar/drawbar/internal/governed/orchestrator"
	"github.com/drawbar/drawbar/internal/settings/trust"
)

// engine is the engine of real runs, for the fixture's project.
func (w *world) engine() (*orchestrator.Local, error) {
	return orchestrator.Open(w.dir, orchestrator.Options{Owner: owner, Getenv: os.Getenv, Environ: os.Environ(),
		Trust: func(string, []trust.Item) error { return nil }}) // created by this program
}

// command runs a command of the engine, and answers with the resulting state on disk. wants is the command's outcome on
// success.
func (w *world) command(fn func(*orchestrator.Local) (govern.Report, error), wants ...govern.Outcome) (fields, error) {
	e, err := w.engine()
	if err != nil {
		return nil, err
	}
	rep, err := fn(e)
	var refused governance.Refused
	switch {
	case errors.As(err, &refused):
		return w.refused(&refused)
	case err != nil:
		return nil, err
	}
	for _, want := range wants {
		if rep.Outcome == want {
			state, err := w.files.ReadFile(filepath.FromSlash(protocol.StateFile))
			return fields{"result": "ok", "state_assertions": json.RawMessage(state)}, err
		}
	}
	return w.refused(&governance.Refused{Code: governance.CodeInvalidTransition, Message: fmt.Sprintf("the command ended as %s: %v", rep.Outcome, rep.Errors)})
}

// asked is the engine's decision on a request for a phase or for the end of the run: a turn makes the request, and is
// accepted. The answer is an action of a gate's decision.
func (w *world) asked(ctx context.Context, completion bool, in gate.Input) (string, error) {
	fixture, err := w.asking(completion, in)
	if err != nil {
		return "", err
	}
	asking, err := newWorld(fixture)
	if err != nil {
		return "", err
	}
	defer func() { _ = asking.close() }() // our own folder
	e, err := asking.engine()
	if err != nil {
		return "", err
	}
	rep, err := e.Accept(ctx, govern.AcceptOptions{})
	if err != nil {
		return "", err
	}
	switch {
	case rep.Outcome != govern.OutcomeAccepted:
		return "", fmt.Errorf("the requesting turn is not accepted: %v", rep.Errors)
	case rep.Gate != nil:
		return gate.GateFailed, nil
	case rep.Pending != "":
		return gate.AwaitingHumanApproval, nil
	case rep.Status == protocol.RunCompleted:
		return gate.Complete, nil
	case rep.EnteredPhase != "":
		return gate.Advance, nil
	}
	return gate.NoRequest, nil
}

// asking adds an active turn to the fixture whose staged result makes the request. It is a person's turn, so that its
// verification status can be that of the fixture.
func (w *world) asking(completion bool, in gate.Input) (f conformance.Fixture, err error) {
	var setup map[string]json.RawMessage
	var config, state object
	if err = errors.Join(json.Unmarshal(w.fixture.Setup, &setup), json.Unmarshal(w.raw, &config)); err != nil {
		return f, err
	}
	const asker = "asker" // the requesting role if the fixture names none: unknown to the gate
	role, checked := in.Role, in.Verification
	authority, runtime, files := w.config.Roles.At(role).WriteAuthority, w.config.Roles.At(role).RuntimeID(), []string{}
	if role == "" {
		role, authority, runtime = asker, protocol.Authoritative, asker
	}
	if authority == protocol.Authoritative {
		files = append(files, "conformance.txt") // a developer's turn changes something
	}
	if checked == protocol.VerificationAttestedPass {
		checked = protocol.VerificationPass // a turn reports pass; attested_pass applies to a person's
	}
	var roles object
	if protocol.Is(config.At("roles")) {
		if err := json.Unmarshal(config.At("roles"), &roles); err != nil {
			return f, err
		}
	}
	roles.Set(asker, json.RawMessage(`{"title":"Asker","mandate":"Ask.","write_authority":"authoritative","runtime":"asker"}`))
	runtimes := map[string]any{asker: map[string]string{"type": protocol.RuntimeManual}}
	for id := range w.config.Runtimes.All() {
		runtimes[id] = map[string]string{"type": protocol.RuntimeManual}
	}
	for key, value := range map[string]any{"runtimes": runtimes, "roles": roles, "rules": map[string]bool{"challenge_required": false}} {
		b, err := protocol.Marshal(value)
		if err != nil {
			return f, err
		}
		config.Set(key, b)
	}
	fill(&config, "workflow_kit", "{}")
	b, err := protocol.Marshal(w.state)
	if err == nil {
		err = json.Unmarshal(b, &state)
	}
	if err != nil {
		return f, err
	}
	const turn = "turn_0000000000000001"
	result := map[string]any{"schema_version": protocol.ResultVersion, "run_id": w.state.ID(), "turn_id": turn, "role": role, "runtime_id": runtime,
		"status": protocol.ResultCompleted, "summary": "It asks.", "decisions": []any{}, "objections": []any{}, "files_changed": files,
		"verification": map[string]any{"status": checked, "commands": []string{}, "evidence_summary": "as the fixture says"},
		"artifact":     map[string]any{"type": map[bool]string{true: protocol.ArtifactWorkspace, false: protocol.ArtifactReview}[len(files) > 0]}, "proposed_next_role": protocol.Human, "run_completion_request": completion}
	if !completion {
		result["phase_transition_request"] = in.Request
	}
	put := func(key string, v any) {
		if err == nil {
			setup[key], err = protocol.Marshal(v)
		}
	}
	for key, v := range map[string]any{"phase": in.Phase, "status": protocol.RunActive, "active_turns": map[string]any{turn: protocol.Turn{TurnID: turn, RunID: w.state.ID(), AssignedRole: role, Status: protocol.TurnRunning, Attempt: 1, RuntimeID: runtime, AssignedSequence: 1}}} {
		b, e := protocol.Marshal(v)
		err = errors.Join(err, e)
		state.Set(key, b)
	}
	put("config", config)
	put("state", state)
	put("turn_result", result)
	f = w.fixture
	f.Input.Args = nil
	if err == nil {
		f.Setup, err = protocol.Marshal(setup)
	}
	return f, err
}
