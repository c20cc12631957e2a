package coordinator

import (
	"fmt"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// derived is everything that follows from the history.
type derived struct {
	state       *protocol.CoordinatorState // nil before the first run
	barriers    protocol.Ordered[protocol.Barrier]
	run         []protocol.CoordinatorEvent // the events of the last run
	decisions   []decision                  // of all runs
	transitions []transition                // of all runs
}

// decision is a line of the coordinator's decision-ledger.jsonl.
type decision struct {
	ID            string        `json:"id"`
	Timestamp     protocol.Time `json:"timestamp"`
	SuperRunID    string        `json:"super_run_id"`
	Role          string        `json:"role"`
	Phase         string        `json:"phase"`
	Category      string        `json:"category"`
	Statement     string        `json:"statement"`
	RepoID        string        `json:"repo_id,omitempty"`
	RepoRunID     string        `json:"repo_run_id,omitempty"`
	RepoTurnID    string        `json:"repo_turn_id,omitempty"`
	WorkstreamID  string        `json:"workstream_id,omitempty"`
	Gate          string        `json:"gate,omitempty"`
	From          string        `json:"from,omitempty"`
	To            string        `json:"to,omitempty"`
	ContextRef    string        `json:"context_ref,omitempty"`
	ProjectionRef string        `json:"projection_ref,omitempty"`
}

// transition is a line of barrier-ledger.jsonl.
type transition struct {
	Type      string                 `json:"type"`
	Timestamp protocol.Time          `json:"timestamp"`
	BarrierID string                 `json:"barrier_id"`
	Previous  protocol.BarrierStatus `json:"previous_status"`
	New       protocol.BarrierStatus `json:"new_status"`
	Causation causation              `json:"causation"`
}

// causation says why a barrier changed.
type causation struct {
	SuperRunID   string               `json:"super_run_id"`
	WorkstreamID string               `json:"workstream_id"`
	RepoID       string               `json:"repo_id,omitempty"`
	BarrierType  protocol.BarrierType `json:"barrier_type"`
	GateType     string               `json:"gate_type,omitempty"`
	Gate         string               `json:"gate,omitempty"`
	ApprovedBy   string               `json:"approved_by,omitempty"`
}

// gateRef is the approved gate that changed a barrier; zero if an accepted turn did.
type gateRef struct{ kind, id string }

// fold makes everything from the history.
func fold(c *protocol.CoordinatorConfig, events []protocol.CoordinatorEvent) derived {
	var d derived
	for _, e := range events {
		d.apply(c, e)
	}
	return d
}

func (d *derived) apply(c *protocol.CoordinatorConfig, e protocol.CoordinatorEvent) {
	if e.Type == protocol.SuperRunStarted {
		d.begin(c, e)
		return
	}
	if d.state == nil || e.SuperRunID != d.state.SuperRunID {
		return // it belongs to an unknown run
	}
	s := d.state
	s.UpdatedAt = e.Timestamp
	d.run = append(d.run, e)
	switch e.Type {
	case protocol.SuperTurnDispatched:
		d.decide(e, "dispatch", "dispatched %s in %s for workstream %s", e.Role, e.RepoID, e.WorkstreamID)
	case protocol.SuperProjection:
		for _, x := range Evaluate(c, e.WorkstreamID, &d.barriers, d.run) {
			d.moved(e, x, gateRef{})
		}
	case protocol.SuperPhaseRequested:
		s.PendingGate = gateOf(protocol.GatePhase, e)
		d.decide(e, "phase_transition", "requested the transition from %s to %s", e.From, e.To)
	case protocol.SuperEndRequested:
		s.PendingGate = gateOf(protocol.GateCompletion, e)
		d.decide(e, "completion", "requested the gate %s", e.Gate)
	case protocol.SuperBarrierAsked:
		s.PendingGate = gateOf(protocol.GateBarrier, e)
		d.decide(e, "barrier", "requested approval of the barrier %s", e.Gate)
	case protocol.SuperPhaseApproved:
		d.approved(e, protocol.GatePhase)
		s.Phase = e.To
		d.decide(e, "phase_transition", "approved the transition from %s to %s", e.From, e.To)
	case protocol.SuperCompleted:
		d.approved(e, protocol.GateCompletion)
		s.CompletedAt = e.Timestamp
		d.decide(e, "completion", "approved the gate %s: the run is completed", e.Gate)
	case protocol.SuperBarrierApproved:
		d.approved(e, protocol.GateBarrier)
		d.decide(e, "barrier", "approved the barrier %s", e.Gate)
	case protocol.SuperResynced:
		if s.BlockedReason = ""; e.BlockedReason != nil {
			s.BlockedReason = *e.BlockedReason
		}
	case protocol.SuperResumed:
		s.BlockedReason, s.RepoRuns = "", e.RepoRuns.Clone()
		d.decide(e, "recovery", "resumed the run")
	}
	switch {
	case !s.CompletedAt.IsZero():
		s.Status = protocol.CoordinatorCompleted
	case s.BlockedReason != "":
		s.Status = protocol.CoordinatorBlocked
	case s.PendingGate != nil:
		s.Status = protocol.CoordinatorPaused
	default:
		s.Status = protocol.CoordinatorActive
	}
}

func (d *derived) begin(c *protocol.CoordinatorConfig, e protocol.CoordinatorEvent) {
	phase := e.Phase
	if phases := c.Workstreams.Keys(); phase == "" && len(phases) > 0 { // the original begins in the phase of the first workstream
		phase = c.Workstreams.At(phases[0]).Phase
	}
	d.state = &protocol.CoordinatorState{SchemaVersion: protocol.CoordinatorVersion, SuperRunID: e.SuperRunID, ProjectID: e.ProjectID,
		Status: protocol.CoordinatorActive, Phase: phase, RepoRuns: e.RepoRuns.Clone(), CreatedAt: e.Timestamp, UpdatedAt: e.Timestamp}
	d.run = []protocol.CoordinatorEvent{e}
	d.barriers = Barriers(c, d.state.RepoRuns.Has, e.Timestamp)
	d.decide(e, "initialization", "started a run of %s over %d repositories", e.ProjectID, e.RepoRuns.Len())
}

// approved closes the pending gate.
func (d *derived) approved(e protocol.CoordinatorEvent, kind string) {
	s := d.state
	human := e.HumanBarriers
	if s.PendingGate != nil && len(human) == 0 {
		human = s.PendingGate.HumanBarriers
	}
	for _, id := range human {
		b, ok := d.barriers.Get(id)
		if !ok || b.Status == protocol.BarrierSatisfied {
			continue
		}
		x := govern.BarrierEffect{BarrierID: id, Previous: b.Status, New: protocol.BarrierSatisfied}
		b.Status, b.ApprovedAt = protocol.BarrierSatisfied, e.Timestamp
		d.barriers.Set(id, b)
		d.moved(e, x, gateRef{kind, e.Gate})
	}
	s.PendingGate = nil
	s.GateStatus.Set(e.Gate, "passed")
}

func gateOf(kind string, e protocol.CoordinatorEvent) *protocol.CoordinatorGate {
	return &protocol.CoordinatorGate{Type: kind, Gate: e.Gate, From: e.From, To: e.To, RequiredRepos: notNil(e.RequiredRepos), HumanBarriers: notNil(e.HumanBarriers),
		RequestedAt: e.Timestamp}
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (d *derived) decide(e protocol.CoordinatorEvent, category, format string, args ...any) {
	d.decisions = append(d.decisions, decision{ID: fmt.Sprintf("DEC-COORD-%03d", len(d.decisions)+1), Timestamp: e.Timestamp, SuperRunID: e.SuperRunID,
		Role: "coordinator", Phase: d.state.Phase, Category: category, Statement: fmt.Sprintf(format, args...), RepoID: e.RepoID, RepoRunID: e.RepoRunID,
		RepoTurnID: e.RepoTurnID, WorkstreamID: e.WorkstreamID, Gate: e.Gate, From: e.From, To: e.To, ContextRef: e.ContextRef, ProjectionRef: e.ProjectionRef})
}

func (d *derived) moved(e protocol.CoordinatorEvent, x govern.BarrierEffect, by gateRef) {
	b := d.barriers.At(x.BarrierID)
	why := causation{SuperRunID: e.SuperRunID, WorkstreamID: b.WorkstreamID, RepoID: e.RepoID, BarrierType: b.Type, GateType: by.kind, Gate: by.id}
	if by.id != "" {
		why.ApprovedBy = "human"
	}
	d.transitions = append(d.transitions, transition{Type: "barrier_transition", Timestamp: e.Timestamp, BarrierID: x.BarrierID, Previous: x.Previous, New: x.New,
		Causation: why})
}
