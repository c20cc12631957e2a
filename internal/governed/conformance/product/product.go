// Package product is Drawbar's own implementation of the protocol's fixtures: the code that governs real runs performs
// every operation, in a temporary project. It contains no rule of the protocol.
package product

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/conformance"
)

// fields is an answer in the form of a fixture's expected.
type fields map[string]any

// operation performs the operation of a fixture. Its error means that it could not be tried.
type operation func(ctx context.Context, w *world) (fields, error)

// operations are all operations, by their names in fixtures.
var operations = map[string]operation{
	"accept_turn":                 with(accept),
	"append_decision":             with(appendDecision),
	"approve_completion":          approveCompletion,
	"approve_transition":          approveTransition,
	"assign_turn":                 with(assign),
	"evaluate_phase_exit":         phaseExit,
	"evaluate_run_completion":     runCompletion,
	"initialize_run":              initialize,
	"inspect_dispatch_manifest":   inspectManifest,
	"resolve_blocked":             with(resolveBlocked),
	"project_repo_acceptance":     with(projectAcceptance),
	"run_hooks":                   runHooks,
	"transition_state":            with(changeState),
	"validate_coordinator_config": checkCoordinator,
	"validate_config":             with(checkConfig),
	"validate_event":              with(checkEvent),
	"validate_event_ordering":     with(checkOrder),
	"validate_turn_result":        checkResult,
	"verify_dispatch_manifest":    verifyManifest,
}

// surfaces are the claimed surfaces, and the others.
func surfaces() map[string]bool {
	claims := map[string]bool{}
	for _, s := range []string{
		"state_machine", "turn_result_validation", "gate_semantics", "decision_ledger", "history", "config_schema", "delegation",
		"decision_carryover", "parallel_turns", "event_lifecycle", "dispatch_manifest", "hook_audit",
		"coordinator",
	} {
		claims[s] = true
	}
	return claims
}

// Target is the implementation in this process.
func Target(version string) conformance.Local {
	return conformance.Local{
		Claims: conformance.Capabilities{
			Implementation: "drawbar", Version: version, ProtocolVersion: protocol.ProtocolVersion, Tiers: []int{1, 2, 3}, Surfaces: surfaces(),
			Adapter: conformance.AdapterSpec{Protocol: conformance.StdioProtocol, Command: []string{"drawbar", "govern", "conformance", "serve"}},
		},
		Run: Execute, Jobs: 2 * max(2, runtime.NumCPU()), // fixtures spend most of their time waiting
	}
}

// with decodes the operation's arguments for fn.
func with[A any](fn func(context.Context, *world, A) (fields, error)) operation {
	return func(ctx context.Context, w *world) (fields, error) {
		var args A
		if err := w.args(&args); err != nil {
			return nil, err
		}
		return fn(ctx, w, args)
	}
}

// Execute performs a fixture and judges the outcome.
func Execute(ctx context.Context, f conformance.Fixture) conformance.Answer {
	run, ok := operations[f.Input.Operation]
	if !ok {
		return conformance.Answer{Status: conformance.NotImplemented, Message: "unknown operation " + f.Input.Operation, Actual: []byte("null")}
	}
	actual, err := inWorld(ctx, f, run)
	if err != nil {
		return conformance.Errorf("%s: %v", f.ID, err)
	}
	return conformance.Judge(f, actual)
}

func inWorld(ctx context.Context, f conformance.Fixture, run operation) (actual fields, err error) {
	w, err := newWorld(f)
	if err != nil {
		return nil, fmt.Errorf("set the fixture up: %w", err)
	}
	defer func() { err = errors.Join(err, w.close()) }()
	return run(ctx, w)
}
