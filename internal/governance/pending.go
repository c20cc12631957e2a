package governance

import "github.com/drawbar/drawbar/internal/governance/protocol"

func nextDelegation(st *protocol.State) *protocol.QueuedDelegation        { return nil }
func (s *step) warn(code, msg string)                                     {}
func (s *step) emit(t string, turn *protocol.EventTurn, p map[string]any) {}
func (s *step) eventTurn(id string) *protocol.EventTurn                   { return nil }
func (s *step) acceptable(id string) *Refused                             { return nil }

// Replay is the outcome of running a turn's evidence again.
type Replay struct {
	Overall  string            `json:"overall"` // match, mismatch or not_reproducible
	Reason   string            `json:"reason,omitempty"`
	Commands []ReplayedCommand `json:"commands,omitempty"`
}

// ReplayedCommand is one command of a Replay.
type ReplayedCommand struct {
	Command      string `json:"command"`
	DeclaredExit int    `json:"declared_exit_code"`
	ActualExit   int    `json:"actual_exit_code"`
	Matched      bool   `json:"matched"`
}

func later() *Refused {
	return refuse(CodeInvalidTransition, NextStatus, "no rule is known for this input")
}
func (s *step) start(StartRun) *Refused                    { return later() }
func (s *step) checkpointed(Checkpointed) *Refused         { return later() }
func (s *step) assign(AssignTurn) *Refused                 { return later() }
func (s *step) dispatched(Dispatched) *Refused             { return later() }
func (s *step) workerAttached(WorkerAttached) *Refused     { return later() }
func (s *step) firstOutput(FirstOutput) *Refused           { return later() }
func (s *step) accept(AcceptTurn) *Refused                 { return later() }
func (s *step) failAcceptance(FailAcceptance) *Refused     { return later() }
func (s *step) reject(RejectTurn) *Refused                 { return later() }
func (s *step) reissue(ReissueTurn) *Refused               { return later() }
func (s *step) dispatchFailed(DispatchFailed) *Refused     { return later() }
func (s *step) startFailed(StartFailed) *Refused           { return later() }
func (s *step) stalled(Stalled) *Refused                   { return later() }
func (s *step) approve(Approve) *Refused                   { return later() }
func (s *step) gateActionFailed(GateActionFailed) *Refused { return later() }
func (s *step) hookBlocked(HookBlocked) *Refused           { return later() }
func (s *step) policyEscalated(PolicyEscalated) *Refused   { return later() }
func (s *step) escalate(Escalate) *Refused                 { return later() }
func (s *step) unblock(Unblock) *Refused                   { return later() }
func (s *step) timedOut(TimedOut) *Refused                 { return later() }
func (s *step) skipPhase(SkipPhase) *Refused               { return later() }
func (s *step) operatorCommits(OperatorCommits) *Refused   { return later() }
