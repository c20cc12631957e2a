package product

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

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
	if slices.Contains(wants, rep.Outcome) {
		return w.done()
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
	var setup, config, roles, state object
	err = errors.Join(decode(w.fixture.Setup, &setup), decode(w.raw, &config))
	const asker = "asker" // the requesting role if the fixture names none: unknown to the gate
	role, checked := in.Role, in.Verification
	authority, runtime, files := w.config.Roles.At(role).WriteAuthority, w.config.Roles.At(role).RuntimeID(), []string{}
	if role == "" {
		role, authority, runtime = asker, protocol.Authoritative, asker
	}
	artifact := protocol.ArtifactReview
	if authority == protocol.Authoritative {
		artifact, files = protocol.ArtifactWorkspace, append(files, "conformance.txt") // a developer's turn changes something
	}
	if checked == protocol.VerificationAttestedPass {
		checked = protocol.VerificationPass // a turn reports pass; attested_pass applies to a person's
	}
	manual := fields{"type": protocol.RuntimeManual}
	runtimes := fields{asker: manual}
	for id := range w.config.Runtimes.All() {
		runtimes[id] = manual
	}
	before, e := protocol.Marshal(w.state)
	const turn = "turn_0000000000000001"
	err = errors.Join(err, e, decode(before, &state), decode(config.At("roles"), &roles),
		set(&roles, fields{asker: fields{"title": "Asker", "mandate": "Ask.", "write_authority": protocol.Authoritative, "runtime": asker}}),
		set(&config, fields{"runtimes": runtimes, "roles": &roles, "rules": fields{"challenge_required": false}}),
		set(&state, fields{"phase": in.Phase, "status": protocol.RunActive, "active_turns": fields{turn: protocol.Turn{TurnID: turn, RunID: w.state.ID(),
			AssignedRole: role, Status: protocol.TurnRunning, Attempt: 1, RuntimeID: runtime, AssignedSequence: 1}}}))
	fill(&config, "workflow_kit", "{}")
	result := fields{"schema_version": protocol.ResultVersion, "run_id": w.state.ID(), "turn_id": turn, "role": role, "runtime_id": runtime,
		"status": protocol.ResultCompleted, "summary": "It asks.", "decisions": []any{}, "objections": []any{}, "files_changed": files,
		"verification": fields{"status": checked, "commands": []string{}, "evidence_summary": "as the fixture says"},
		"artifact":     fields{"type": artifact}, "proposed_next_role": protocol.Human, "run_completion_request": completion}
	if !completion {
		result["phase_transition_request"] = in.Request
	}
	err = errors.Join(err, set(&setup, fields{"config": &config, "state": &state, "turn_result": result}))
	f = w.fixture
	f.Input.Args = nil
	if err == nil {
		f.Setup, err = protocol.Marshal(&setup)
	}
	return f, err
}

// decode decodes an object that may be missing.
func decode(raw []byte, to *object) error {
	if !protocol.Is(raw) {
		return nil
	}
	return json.Unmarshal(raw, to)
}

// set sets keys of an object.
func set(o *object, values fields) error {
	for key, v := range values {
		b, err := protocol.Marshal(v)
		if err != nil {
			return err
		}
		o.Set(key, b)
	}
	return nil
}
