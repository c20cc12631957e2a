package prompt

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lazy"
)

// The files of a bundle.
const (
	AssignmentFile = "ASSIGNMENT.json"
	PromptFile     = "PROMPT.md"
	ContextFile    = "CONTEXT.md"
)

// defaultTimeoutMS is the default time limit of a turn of the first edition.
const defaultTimeoutMS = 1_200_000

// Assignment returns ASSIGNMENT.json as a value. A role of the first edition gets that edition's additional fields.
func Assignment(in Input) (protocol.Assignment, error) {
	t, r := in.turn(), in.role()
	a := protocol.Assignment{
		RunID: in.State.ID(), TurnID: in.TurnID, Phase: in.State.Phase, Role: in.roleID(), RuntimeID: in.runtimeID(),
		WriteAuthority: r.WriteAuthority, AcceptedIntegration: in.State.AcceptedIntegration,
		StagingResultPath: protocol.StagedFile(in.TurnID), ReservedPaths: protocol.ReservedPaths(),
		AllowedNextRoles: in.allowed(), Attempt: t.Attempt, DeadlineAt: t.DeadlineAt, AssignedSequence: t.AssignedSequence,
		IntakeContext: set(t.IntakeContext), ConflictContext: set(t.ConflictContext),
		DelegationContext: set(t.DelegationContext), DelegationReview: set(t.DelegationReview), Coordinator: set(t.Coordinator),
		AdvisoryWarnings: in.Warnings,
	}
	if b, ok := in.State.BudgetReservations.Get(in.TurnID); ok {
		a.BudgetReservationUSD = &b.ReservedUSD
	}
	for id, s := range in.State.ActiveTurns.All() {
		if id == in.TurnID || s == nil {
			continue
		}
		a.ActiveSiblings = append(a.ActiveSiblings, protocol.Sibling{TurnID: s.TurnID, Role: s.AssignedRole, Status: s.Status,
			AssignedSequence: s.AssignedSequence, DeclaredFileScope: in.Config.Roles.At(s.AssignedRole).DeclaredFileScope})
	}
	if !r.FirstEdition() {
		return a, nil
	}
	settings, err := withoutValues(r.AdapterConfig)
	if err != nil {
		return a, fmt.Errorf("adapter_config of role %s: %w", in.roleID(), err)
	}
	timeout := in.timeoutMS()
	a.SchemaVersion, a.Adapter, a.AdapterConfig, a.TimeoutMS = protocol.ResultVersion, r.Adapter, settings, &timeout
	a.ContextRef, a.PromptRef = "./"+ContextFile, "./"+PromptFile
	return a, nil
}

// timeoutMS is the time limit of a turn: the role's own, else the time until its deadline, else twenty minutes.
func (in *Input) timeoutMS() int64 {
	if ms := in.runtime().TimeoutMS; ms != nil {
		return int64(*ms)
	}
	var own struct {
		TimeoutMS *int64 `json:"timeout_ms"`
	}
	if json.Unmarshal(in.role().AdapterConfig, &own) == nil && own.TimeoutMS != nil {
		return *own.TimeoutMS
	}
	if t := in.turn(); !t.DeadlineAt.IsZero() && t.DeadlineAt.After(t.AssignedAt.Time) && !t.AssignedAt.IsZero() {
		return t.DeadlineAt.Sub(t.AssignedAt.Time).Milliseconds()
	}
	return defaultTimeoutMS
}

func set(raw json.RawMessage) json.RawMessage {
	if !protocol.Is(raw) {
		return nil
	}
	return raw
}

// a reference to an environment variable and nothing else
var envReference = lazy.Regexp(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)

// withoutValues copies an adapter's settings without the values of env and headers, at any depth. Names stay, and so
// does a value that is only ${NAME}. A literal value may be a secret and becomes empty.
func withoutValues(raw json.RawMessage) (json.RawMessage, error) {
	switch protocol.Kind(raw) {
	case "object":
	case "array":
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
		for i, v := range list {
			clean, err := withoutValues(v)
			if err != nil {
				return nil, err
			}
			list[i] = clean
		}
		return protocol.Marshal(list)
	case "nothing":
		return json.RawMessage("{}"), nil
	default:
		return raw, nil
	}
	var o protocol.Ordered[json.RawMessage]
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	for k, v := range o.All() {
		var err error
		if name := strings.ToLower(k); name == "env" || name == "headers" {
			v, err = withheld(v)
		} else {
			v, err = withoutValues(v)
		}
		if err != nil {
			return nil, err
		}
		o.Set(k, v)
	}
	return protocol.Marshal(o)
}

// withheld keeps the names of an object, and the values that only refer to a variable. Anything but an object is
// dropped.
func withheld(raw json.RawMessage) (json.RawMessage, error) {
	var o protocol.Ordered[json.RawMessage]
	if protocol.Kind(raw) != "object" {
		return json.RawMessage("{}"), nil
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	for k, v := range o.All() {
		var s string
		if json.Unmarshal(v, &s) != nil || !envReference().MatchString(s) {
			o.Set(k, json.RawMessage(`""`))
		}
	}
	return protocol.Marshal(o)
}
