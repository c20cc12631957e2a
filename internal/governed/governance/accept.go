package governance

import (
	"encoding/json"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
)

// ResolutionHumanMerge accepts a conflicted turn as a person merged it.
const ResolutionHumanMerge = "human_merge"

// acceptable returns why the turn cannot be accepted, if it cannot.
func (s *step) acceptable(turn string) *Refused {
	for _, h := range accepted(s.run.History) {
		if h.TurnID == turn {
			return refuse(CodeAlreadyAccepted, NextCommand(s.run), "turn %s was already accepted", turn).with("turn_id", turn)
		}
	}
	_, r := s.active(turn)
	return r
}

// acceptance is the data of an AcceptTurn under evaluation.
type acceptance struct {
	AcceptTurn
	turn     *protocol.Turn
	role     protocol.Role
	runtime  protocol.Runtime
	result   *protocol.TurnResult
	files    []string
	cost     *protocol.Cost
	conflict *protocol.Conflict
	forward  []string // files that the same role changed again
}

func (in AcceptTurn) apply(s *step) *Refused {
	if r := s.acceptable(in.TurnID); r != nil {
		return r
	}
	if s.st.Status != protocol.RunActive && s.st.Status != protocol.RunBlocked {
		return refuse(CodeInvalidTransition, NextCommand(s.run), "cannot accept a turn: the run is %s", s.st.Status)
	}
	a, r := s.acceptance(in)
	if r != nil {
		return r
	}
	if faults := append(objectionFaults(s.run.Config, a.turn.AssignedRole, a.result), reviewFaults(a.turn, a.result)...); len(faults) > 0 {
		s.notAccepted(a.turn, CodeProtocolError, protocol.StageProtocol, faults)
		return nil
	}
	if faults := overrideFaults(s.run, a.turn.AssignedRole, a.result.Decisions); len(faults) > 0 {
		s.notAccepted(a.turn, CodeOverride, "", faults)
		return nil
	}
	if s.policies(a) || s.conflicts(a) {
		return nil
	}
	a.Changes = append(a.Changes, s.renumber(a.result)...)
	a.Changes = append(a.Changes, s.judged(a)...)
	s.commit(a)
	return nil
}

// acceptance collects what an acceptance depends on. A result that was not validated, or that belongs to another turn,
// is refused.
func (s *step) acceptance(in AcceptTurn) (*acceptance, *Refused) {
	t := s.st.ActiveTurns.At(in.TurnID)
	a := &acceptance{AcceptTurn: in, turn: t, role: s.run.Config.Roles.At(t.AssignedRole), result: in.Result.Result()}
	if a.result == nil {
		return nil, refuse(CodeNotValidated, "drawbar govern accept --turn "+t.TurnID, "the result of the turn %s has not been validated", t.TurnID)
	}
	r := a.result
	if r.TurnID != t.TurnID || r.RunID != s.st.ID() || r.Role != t.AssignedRole || r.RuntimeID != t.RuntimeID {
		return nil, refuse(CodeForeignResult, turnCommand(s.st, t), "the result belongs to turn %s of %s, not to %s of %s", r.TurnID, r.Role, t.TurnID,
			t.AssignedRole)
	}
	a.runtime, _ = s.run.runtime(t.RuntimeID)
	a.files = creditedFiles(in.Files, r)
	a.cost = in.Cost
	if a.cost == nil {
		a.cost = t.Cost
	}
	if a.cost == nil {
		a.cost = r.Cost
	}
	if a.AdapterMeta == nil {
		a.AdapterMeta = r.AdapterMeta
	}
	if a.cost != nil && a.AdapterMeta != nil {
		a.cost = new(Price(s.run.Config, a.AdapterMeta.Model, *a.cost))
	}
	return a, nil
}

// creditedFiles are the turn's files: without those of the orchestrator, plus the verification's outputs that it keeps.
func creditedFiles(observed []string, r *protocol.TurnResult) []string {
	list := observed
	if list == nil {
		list = r.FilesChanged
	}
	files := []string{}
	put := func(p string) {
		if p != "" && !protocol.Operational(p) && !slices.Contains(files, p) {
			files = append(files, p)
		}
	}
	for _, p := range list {
		put(p)
	}
	for _, p := range r.Verification.ProducedFiles {
		if p.Disposition == "artifact" {
			put(p.Path)
		}
	}
	return files
}

// notAccepted records that a result cannot be accepted: the turn becomes failed_acceptance and the event says why.
func (s *step) notAccepted(t *protocol.Turn, code string, stage protocol.Stage, errs []string) {
	s.failTurn(t, protocol.TurnFailedAcceptance, code)
	payload := map[string]any{"code": code, "errors": errs, "attempt": t.Attempt}
	if stage != "" {
		payload["stage"], payload["error_class"] = stage, stage.Class()
	}
	s.emit("acceptance_failed", eventOf(t), payload)
	s.add(NotAccepted{Code: code, Errors: errs})
}

func (in FailAcceptance) apply(s *step) *Refused {
	t, r := s.active(in.TurnID)
	if r != nil {
		return r
	}
	if in.Code == "" {
		return refuse(CodeInvalidInput, turnCommand(s.st, t), "a failed acceptance needs a code")
	}
	errs := in.Errors
	if errs == nil {
		errs = []string{}
	}
	s.notAccepted(t, in.Code, in.Stage, errs)
	return nil
}

// commit accepts the turn.
func (s *step) commit(a *acceptance) {
	t, r := a.turn, a.result
	if t.DispatchedAt.IsZero() {
		// A result that was staged without a dispatch: the record must show a dispatch before the acceptance.
		t.DispatchedAt = s.now
		s.emit("turn_dispatched", eventOf(t), map[string]any{"runtime_id": t.RuntimeID, "attempt": t.Attempt, "deadline_at": t.DeadlineAt})
	}
	s.st.TurnSequence++
	h := s.historyEntry(a)
	s.announce(a, h)
	s.record(a, h)
	s.st.ActiveTurns.Delete(t.TurnID)
	booked := 0.0
	if t.Cost != nil {
		booked = t.Cost.USD
	}
	s.spend(t.TurnID, a.cost, booked)
	s.st.LastCompletedTurnID = &t.TurnID
	s.st.LastCompletedTurn = &protocol.CompletedTurn{TurnID: t.TurnID, Role: t.AssignedRole, Phase: h.Phase}
	if a.IntegrationRef != "" {
		s.st.AcceptedIntegration = &a.IntegrationRef
	}
	if a.Session != "" {
		s.st.Sessions.Set(t.AssignedRole, a.Session)
	}
	s.st.NextRecommendedRole = s.recommend(r)
	s.resolveRaised(t.TurnID, "turn_accepted")
	s.add(Archive{t.TurnID})
	s.delegate(a)
	s.proceed(a)
}

// historyEntry is the history line of the accepted turn.
func (s *step) historyEntry(a *acceptance) protocol.HistoryEntry {
	t, r := a.turn, a.result
	h := protocol.HistoryEntry{TurnID: t.TurnID, RunID: s.st.ID(), Role: t.AssignedRole, Phase: s.st.Phase, RuntimeID: t.RuntimeID,
		Status: string(r.Status), Summary: r.Summary, Decisions: r.Decisions, Objections: r.Objections, FilesChanged: a.files,
		ArtifactsCreated: r.ArtifactsCreated, Verification: r.Verification,
		NormalizedVerification: NormalizeVerification(r.Verification, a.runtime.Type), Artifact: r.Artifact, IntentID: r.IntentID,
		ObservedArtifact: a.Observed, ProposedNextRole: r.ProposedNextRole, PhaseTransitionRequest: r.PhaseTransitionRequest,
		RunCompletionRequest: r.Completion(), AssignedSequence: t.AssignedSequence, AcceptedSequence: s.st.TurnSequence, Attempt: t.Attempt,
		ConcurrentWith: t.ConcurrentWith, Cost: a.cost, AdapterMeta: a.AdapterMeta, StartedAt: t.StartedAt, AcceptedAt: s.now,
		DelegationsIssued: r.Delegations, DelegationContext: t.DelegationContext, DelegationReview: t.DelegationReview, Normalized: a.Changes}
	if id := t.Intent(); id != nil {
		h.IntentID = id
	}
	var link protocol.CoordinatorLink
	if json.Unmarshal(t.Coordinator, &link) == nil && link.SuperRunID != "" {
		h.Coordinator = &link
	}
	if h.StartedAt.IsZero() {
		h.StartedAt = t.AssignedAt
	}
	if !h.StartedAt.IsZero() {
		h.DurationMS = max(0, s.now.Sub(h.StartedAt.Time).Milliseconds())
	}
	h.Decisions, h.Objections = notNil(h.Decisions), notNil(h.Objections)
	h.ArtifactsCreated, h.ConcurrentWith = notNil(h.ArtifactsCreated), notNil(h.ConcurrentWith)
	if a.Replay != nil {
		h.VerificationReplay = raw(a.Replay)
	}
	if len(a.forward) > 0 {
		h.ForwardRevision = raw(map[string]any{"files": a.forward})
	}
	if a.conflict != nil {
		h.ConflictResolution = raw(map[string]any{"resolution": a.Resolution, "conflicting_files": a.conflict.ConflictingFiles,
			"accepted_since": a.conflict.AcceptedSince})
	}
	return h
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// announce emits the events of the acceptance: what normalization changed, then the acceptance, with the phase in which
// it happened.
func (s *step) announce(a *acceptance, h protocol.HistoryEntry) {
	turn := eventOf(a.turn)
	for _, c := range a.Changes {
		kind := "staged_result_auto_normalized"
		if c.Field == "artifact.type" {
			kind = "artifact_type_auto_normalized"
		}
		s.emit(kind, turn, map[string]any{"field": c.Field, "original_value": orNull(c.Original), "normalized_value": orNull(c.Normalized),
			"rationale": c.Rationale})
	}
	payload := map[string]any{"status": h.Status, "summary": h.Summary, "accepted_sequence": h.AcceptedSequence, "files_changed": len(h.FilesChanged),
		"decisions": len(h.Decisions), "objections": len(h.Objections), "proposed_next_role": h.ProposedNextRole, "attempt": h.Attempt}
	if a.cost != nil {
		payload["cost_usd"] = a.cost.USD
	}
	if len(a.Warnings) > 0 {
		payload["warnings"] = a.Warnings
	}
	s.emit("turn_accepted", turn, payload)
}

// record adds the acceptance to the record.
func (s *step) record(a *acceptance, h protocol.HistoryEntry) {
	s.run.History = append(slices.Clip(s.run.History), h)
	s.add(AppendHistory{h})
	s.recordDecisions(a.turn, h)
	s.recordObjections(h)
	if len(a.forward) > 0 {
		s.noteDecision("forward_revision_accepted", h.TurnID, map[string]any{"files": a.forward})
	}
	if a.conflict != nil {
		s.noteDecision("conflict_resolution_selected", h.TurnID, map[string]any{"resolution": a.Resolution})
		s.noteDecision("conflict_resolved", h.TurnID, map[string]any{"resolution": a.Resolution, "conflicting_files": a.conflict.ConflictingFiles})
		s.emit("conflict_resolved", eventOf(a.turn), map[string]any{"resolution": a.Resolution, "conflicting_files": a.conflict.ConflictingFiles})
	}
}

// recommend is the role that the turn proposes as next, if it may follow in the current or the requested phase;
// NextRole decides. It is empty if a person is next.
func (s *step) recommend(r *protocol.TurnResult) *string {
	if r.ProposedNextRole == protocol.Human || r.Status == protocol.ResultNeedsHuman || r.Status == protocol.ResultBlocked {
		return nil
	}
	if legalIn(s.run, s.st.Phase, r.ProposedNextRole) || r.Transition() != "" && legalIn(s.run, r.Transition(), r.ProposedNextRole) {
		return &r.ProposedNextRole
	}
	return nil
}

// NormalizeVerification classifies a turn's own account of its checks. A person's or a plain model's account is
// attested; commands that ran with only zero exit codes are reproducible.
func NormalizeVerification(v protocol.Verification, runtimeType string) protocol.NormalizedCheck {
	switch {
	case v.Status != protocol.VerificationPass:
		return protocol.NormalizedCheck{Status: or(v.Status, protocol.VerificationSkipped), Reason: "as reported"}
	case runtimeType == protocol.RuntimeManual || runtimeType == protocol.RuntimeAPIProxy:
		return protocol.NormalizedCheck{Status: protocol.VerificationAttestedPass, Reason: "a runtime of type " + runtimeType + " does not run commands"}
	case len(v.MachineEvidence) == 0:
		return protocol.NormalizedCheck{Status: protocol.VerificationNotReproducible, Reason: "there is no machine evidence"}
	case slices.ContainsFunc(v.MachineEvidence, func(e protocol.Evidence) bool { return e.ExitCode != 0 }):
		return protocol.NormalizedCheck{Status: protocol.VerificationNotReproducible, Reason: "not every command of the machine evidence ended with 0"}
	}
	return protocol.NormalizedCheck{Status: protocol.VerificationPass, Reason: "every command of the machine evidence ended with 0", Reproducible: true}
}
