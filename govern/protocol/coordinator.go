package protocol

import "encoding/json"

// Files of a run over several repositories, relative to its workspace, with slashes. The history has everything; the others are made
// from it.
const (
	CoordinatorConfigFile   = "agentxchain-multi.json"
	CoordinatorDir          = Dir + "/multirepo"
	CoordinatorStateFile    = CoordinatorDir + "/state.json"
	CoordinatorHistoryFile  = CoordinatorDir + "/history.jsonl"
	CoordinatorLedgerFile   = CoordinatorDir + "/decision-ledger.jsonl"
	BarriersFile            = CoordinatorDir + "/barriers.json"
	BarrierLedgerFile       = CoordinatorDir + "/barrier-ledger.jsonl"
	CoordinatorContextDir   = CoordinatorDir + "/context"
	CoordinatorBaselinesDir = CoordinatorDir + "/baselines"
	CoordinatorHandoffDir   = CoordinatorDir + "/handoffs"
	CoordinatorHookAudit    = CoordinatorDir + "/hook-audit.jsonl"
	CoordinatorAnnotations  = CoordinatorDir + "/hook-annotations.jsonl"
)

// CoordinatorHookPhases are the points at which hooks of agentxchain-multi.json run. after_acceptance and on_escalation can only advise.
func CoordinatorHookPhases() []string {
	return []string{HookBeforeAssignment, HookAfterAcceptance, HookBeforeGate, HookOnEscalation}
}

// CoordinatorContextName is the name, without extension, of the files of a bundle and a context folder that describe the other repositories.
const CoordinatorContextName = "COORDINATOR_CONTEXT"

// CoordinatorVersion is the version of the coordinator's files.
const CoordinatorVersion = "0.1"

// InitiativeGate is the gate at the end of a run over several repositories.
const InitiativeGate = "initiative_ship"

// BarrierType says when a workstream is done.
type BarrierType string

// The types of barriers.
const (
	BarrierAllAccepted BarrierType = "all_repos_accepted"
	BarrierOrdered     BarrierType = "ordered_repo_sequence"
	BarrierAlignment   BarrierType = "interface_alignment"
	BarrierDecisions   BarrierType = "named_decisions"
	BarrierHuman       BarrierType = "shared_human_gate"
)

// BarrierTypes lists the types of barriers.
func BarrierTypes() []BarrierType {
	return []BarrierType{BarrierAllAccepted, BarrierOrdered, BarrierAlignment, BarrierDecisions, BarrierHuman}
}

// BarrierStatus is how far a barrier is.
type BarrierStatus string

// The statuses of a barrier.
const (
	BarrierPending   BarrierStatus = "pending"
	BarrierPartly    BarrierStatus = "partially_satisfied"
	BarrierSatisfied BarrierStatus = "satisfied"
)

// Barrier is an entry of barriers.json.
type Barrier struct {
	WorkstreamID      string              `json:"workstream_id" doc:"the workstream that it completes"`
	Type              BarrierType         `json:"type" doc:"when it is satisfied"`
	Status            BarrierStatus       `json:"status" doc:"pending, partially_satisfied or satisfied"`
	RequiredRepos     []string            `json:"required_repos" doc:"repositories that have to deliver"`
	SatisfiedRepos    []string            `json:"satisfied_repos" doc:"those that have delivered"`
	RequiredDecisions map[string][]string `json:"required_decision_ids_by_repo" doc:"decisions that each repository has to record, or null"`
	AlignmentIDs      map[string][]string `json:"alignment_decision_ids" doc:"the same for interface_alignment, or null"`
	ApprovedAt        Time                `json:"approved_at,omitzero" doc:"when a person approved it"`
	CreatedAt         Time                `json:"created_at,omitzero" doc:"when the run began"`
	Extra             Extra               `json:"-"`
}

func (b *Barrier) UnmarshalJSON(data []byte) error { return readKeep(data, b) }
func (b Barrier) MarshalJSON() ([]byte, error)     { return writeKeep(b) }

// CoordinatorGate is a gate of a run over several repositories that waits for a person.
type CoordinatorGate struct {
	Type          string   `json:"gate_type" doc:"phase_transition, run_completion or barrier"`
	Gate          string   `json:"gate" doc:"its id"`
	From          string   `json:"from,omitempty" doc:"phase that ends"`
	To            string   `json:"to,omitempty" doc:"phase that begins"`
	RequiredRepos []string `json:"required_repos" doc:"repositories that were checked"`
	HumanBarriers []string `json:"human_barriers" doc:"barriers that the approval satisfies"`
	RequestedAt   Time     `json:"requested_at" doc:"when it was requested"`
}

// The types of a CoordinatorGate.
const (
	GatePhase      = "phase_transition"
	GateCompletion = "run_completion"
	GateBarrier    = "barrier"
)

// RepoRun is the run of a repository.
type RepoRun struct {
	RunID       string `json:"run_id" doc:"the run"`
	Status      string `json:"status,omitempty" doc:"linked, initialized, blocked, paused or completed"`
	Phase       string `json:"phase,omitempty" doc:"its phase"`
	Initialized bool   `json:"initialized_by_coordinator" doc:"whether multi init started it"`
}

// CoordinatorState is state.json of a run over several repositories.
type CoordinatorState struct {
	SchemaVersion string           `json:"schema_version" doc:"0.1"`
	SuperRunID    string           `json:"super_run_id" doc:"the run over all repositories"`
	ProjectID     string           `json:"project_id" doc:"project.id of agentxchain-multi.json"`
	Status        string           `json:"status" doc:"active, paused (a gate waits), blocked or completed"`
	Phase         string           `json:"phase" doc:"its phase"`
	RepoRuns      Ordered[RepoRun] `json:"repo_runs" doc:"the runs of the repositories, by id"`
	PendingGate   *CoordinatorGate `json:"pending_gate" doc:"gate that waits for a person, or null"`
	GateStatus    Ordered[string]  `json:"phase_gate_status" doc:"gates that passed, by id"`
	BlockedReason string           `json:"blocked_reason,omitempty" doc:"why it is blocked"`
	CreatedAt     Time             `json:"created_at" doc:"when it began"`
	UpdatedAt     Time             `json:"updated_at" doc:"time of the last line of the history"`
	CompletedAt   Time             `json:"completed_at,omitzero" doc:"when it ended"`
	HistoryHead   string           `json:"history_sha256,omitempty" doc:"Drawbar only: SHA-256 of the last line of the history without its newline"`
}

// The statuses of a CoordinatorState.
const (
	CoordinatorActive    = "active"
	CoordinatorPaused    = "paused"
	CoordinatorBlocked   = "blocked"
	CoordinatorCompleted = "completed"
)

// The types of lines of a coordinator's history.
const (
	SuperRunStarted      = "run_initialized"
	SuperTurnDispatched  = "turn_dispatched"
	SuperProjection      = "acceptance_projection"
	SuperPhaseRequested  = "phase_transition_requested"
	SuperPhaseApproved   = "phase_transition_approved"
	SuperEndRequested    = "run_completion_requested"
	SuperCompleted       = "run_completed"
	SuperResynced        = "state_resynced"
	SuperBarrierAsked    = "barrier_approval_requested" // Drawbar only
	SuperBarrierApproved = "barrier_approved"           // Drawbar only
	SuperResumed         = "run_resumed"                // Drawbar only
)

// CoordinatorEvent is a line of a coordinator's history.
type CoordinatorEvent struct {
	Type       string `json:"type" doc:"what happened"`
	Timestamp  Time   `json:"timestamp" doc:"when"`
	SuperRunID string `json:"super_run_id" doc:"the run over all repositories"`
	ProjectID  string `json:"project_id,omitempty" doc:"run_initialized: project.id of agentxchain-multi.json"`

	RepoRuns Ordered[RepoRun] `json:"repo_runs,omitzero" doc:"run_initialized, run_resumed: the runs of the repositories"`

	Phase         string          `json:"phase,omitempty" doc:"run_initialized, Drawbar only: the first phase"`
	ProjectionRef string          `json:"projection_ref,omitempty" doc:"acceptance_projection: its id"`
	WorkstreamID  string          `json:"workstream_id,omitempty" doc:"workstream of the turn"`
	RepoID        string          `json:"repo_id,omitempty" doc:"repository of the turn"`
	RepoRunID     string          `json:"repo_run_id,omitempty" doc:"run of the repository"`
	RepoTurnID    string          `json:"repo_turn_id,omitempty" doc:"the turn"`
	Role          string          `json:"role,omitempty" doc:"role of the turn"`
	ContextRef    string          `json:"context_ref,omitempty" doc:"turn_dispatched: what the turn was told of the other repositories"`
	Preparing     bool            `json:"preparing,omitempty" doc:"turn_dispatched, Drawbar only: the repository was in an earlier phase than the workstream"`
	Summary       string          `json:"summary,omitempty" doc:"acceptance_projection: summary of the result"`
	FilesChanged  []string        `json:"files_changed,omitempty" doc:"acceptance_projection: files of the turn, relative to the repository"`
	Decisions     []Decision      `json:"decisions,omitempty" doc:"acceptance_projection: decisions of the turn"`
	Verification  json.RawMessage `json:"verification,omitempty" doc:"acceptance_projection: the turn's account of its checks"`
	Commit        string          `json:"commit,omitempty" doc:"acceptance_projection, Drawbar only: the turn's commit"`

	Gate          string   `json:"gate,omitempty" doc:"gate that was requested or approved"`
	From          string   `json:"from,omitempty" doc:"phase that ends"`
	To            string   `json:"to,omitempty" doc:"phase that begins"`
	RequiredRepos []string `json:"required_repos,omitempty" doc:"repositories that were checked"`
	HumanBarriers []string `json:"human_barriers,omitempty" doc:"barriers that the approval satisfies"`
	By            *Person  `json:"approved_by,omitempty" doc:"Drawbar only: who approved or resumed; absent if no person was needed"`
	Comment       string   `json:"comment,omitempty" doc:"Drawbar only: comment of that person"`

	Acknowledged []string `json:"acknowledged_turns,omitempty" doc:"run_resumed: turns that wrote outside their repository; they do not count"`

	ResyncedRepos []string `json:"resynced_repos,omitempty" doc:"state_resynced: repositories whose state was taken over"`
	BlockedReason *string  `json:"blocked_reason,omitempty" doc:"state_resynced: why the run is blocked since; null or absent if it is not"`
	Prev          string   `json:"prev_sha256,omitempty" doc:"Drawbar only: SHA-256 of the line before without its newline, or of nothing"`
	Extra         Extra    `json:"-"`
}

func (e *CoordinatorEvent) UnmarshalJSON(data []byte) error { return readKeep(data, e) }
func (e CoordinatorEvent) MarshalJSON() ([]byte, error)     { return writeKeep(e) }

// CoordinatorContext is what a turn is told of the other repositories: COORDINATOR_CONTEXT.json of its bundle.
type CoordinatorContext struct {
	SchemaVersion string            `json:"schema_version" doc:"0.1"`
	SuperRunID    string            `json:"super_run_id" doc:"the run over all repositories"`
	WorkstreamID  string            `json:"workstream_id" doc:"workstream of the turn"`
	TargetRepoID  string            `json:"target_repo_id" doc:"repository of the turn"`
	ContextRef    string            `json:"context_ref" doc:"its folder in .agentxchain/multirepo/context of the workspace"`
	GeneratedAt   Time              `json:"generated_at" doc:"when it was written"`
	Preparing     bool              `json:"preparing,omitempty" doc:"Drawbar only: the repository is in an earlier phase than the workstream"`
	Upstream      []UpstreamResult  `json:"upstream_acceptances" doc:"accepted turns of the other repositories in the workstream and those it depends on"`
	Barriers      []UpstreamBarrier `json:"active_barriers" doc:"barriers of these workstreams that are not satisfied"`
	Followups     []string          `json:"required_followups" doc:"what the turn has to take into account"`
	Handoffs      []IntakeHandoff   `json:"intake_handoffs" doc:"intents of other repositories that the workstream works on"`
}

// IntakeHandoff is an intent that a repository has handed to a workstream: a file of CoordinatorHandoffDir.
type IntakeHandoff struct {
	SchemaVersion      string   `json:"schema_version" doc:"1.0"`
	SuperRunID         string   `json:"super_run_id" doc:"the run over all repositories"`
	IntentID           string   `json:"intent_id" doc:"the intent"`
	SourceRepo         string   `json:"source_repo" doc:"its repository"`
	SourceEventID      string   `json:"source_event_id" doc:"event that caused it"`
	SignalSource       *string  `json:"source_signal_source" doc:"source of that event, or null"`
	SignalCategory     *string  `json:"source_signal_category" doc:"category of that event, or null"`
	SourceEventRef     string   `json:"source_event_ref" doc:"file of that event, relative to the repository"`
	WorkstreamID       string   `json:"workstream_id" doc:"workstream that works on it"`
	Charter            *string  `json:"charter" doc:"the task"`
	AcceptanceContract []string `json:"acceptance_contract" doc:"acceptance criteria"`
	EvidenceRefs       []string `json:"evidence_refs" doc:"evidence, relative to the repository"`
	HandedOffAt        Time     `json:"handed_off_at" doc:"when"`
	HandedOffBy        string   `json:"handed_off_by" doc:"who"`
}

// UpstreamResult is an accepted turn of another repository.
type UpstreamResult struct {
	ProjectionRef string          `json:"projection_ref" doc:"its line in the coordinator's history"`
	WorkstreamID  string          `json:"workstream_id" doc:"its workstream"`
	RepoID        string          `json:"repo_id" doc:"its repository"`
	RepoTurnID    string          `json:"repo_turn_id" doc:"the turn"`
	Summary       string          `json:"summary" doc:"summary of the result"`
	Decisions     []Decision      `json:"decisions" doc:"its decisions"`
	FilesChanged  []string        `json:"files_changed" doc:"its files, relative to its repository"`
	Verification  json.RawMessage `json:"verification" doc:"its account of its checks, or null"`
}

// UpstreamBarrier is a barrier as a turn sees it.
type UpstreamBarrier struct {
	BarrierID         string              `json:"barrier_id" doc:"its id"`
	WorkstreamID      string              `json:"workstream_id" doc:"its workstream"`
	Type              BarrierType         `json:"type" doc:"when it is satisfied"`
	Status            BarrierStatus       `json:"status" doc:"how far it is"`
	RequiredDecisions map[string][]string `json:"required_decision_ids_by_repo" doc:"decisions that each repository has to record, or null"`
}

// CoordinatorLink is the part of a CoordinatorContext that says what a turn belongs to.
type CoordinatorLink struct {
	SuperRunID   string `json:"super_run_id" doc:"the run over all repositories"`
	WorkstreamID string `json:"workstream_id" doc:"workstream of the turn"`
	ContextRef   string `json:"context_ref" doc:"what the turn was told of the other repositories"`
	Preparing    bool   `json:"preparing,omitempty" doc:"the repository was in an earlier phase than the workstream"`
}

// CoordinatorConfig is agentxchain-multi.json.
type CoordinatorConfig struct {
	SchemaVersion string                         `json:"schema_version"`
	Project       Project                        `json:"project"`
	Repos         Ordered[CoordinatedRepo]       `json:"repos"`
	Workstreams   Ordered[Workstream]            `json:"workstreams"`
	Routing       Ordered[CoordinatorRoute]      `json:"routing"`
	Gates         Ordered[CoordinatorGateConfig] `json:"gates"`
	Hooks         Ordered[[]Hook]                `json:"hooks"` // CoordinatorHookPhases; their audit is CoordinatorHookAudit
}

// CoordinatedRepo is a repository of a CoordinatorConfig.
type CoordinatedRepo struct {
	Path          string `json:"path"`
	DefaultBranch string `json:"default_branch"`
	Required      *bool  `json:"required"` // nil is true
}

// Workstream is work in several repositories that ends at a barrier.
type Workstream struct {
	Phase              string           `json:"phase"`
	Repos              []string         `json:"repos"`
	EntryRepo          string           `json:"entry_repo"`
	DependsOn          []string         `json:"depends_on"`
	CompletionBarrier  BarrierType      `json:"completion_barrier"`
	InterfaceAlignment *DecisionsByRepo `json:"interface_alignment"`
	NamedDecisions     *DecisionsByRepo `json:"named_decisions"`
}

// DecisionsByRepo are the decisions that repositories have to record.
type DecisionsByRepo struct {
	ByRepo map[string][]string `json:"decision_ids_by_repo"`
}

// CoordinatorRoute is a phase of a CoordinatorConfig.
type CoordinatorRoute struct {
	EntryWorkstream string `json:"entry_workstream"`
}

// CoordinatorGateConfig is a gate of a CoordinatorConfig.
type CoordinatorGateConfig struct {
	HumanApproval *bool    `json:"requires_human_approval"` // nil is true
	RequiresRepos []string `json:"requires_repos"`
}

// Decisions are the decisions that a repository has to record in the workstream; nil if its barrier asks for none.
func (w Workstream) Decisions() map[string][]string {
	switch {
	case w.CompletionBarrier == BarrierAlignment && w.InterfaceAlignment != nil:
		return w.InterfaceAlignment.ByRepo
	case w.CompletionBarrier == BarrierDecisions && w.NamedDecisions != nil:
		return w.NamedDecisions.ByRepo
	}
	return nil
}

// BarrierID is the id of a workstream's barrier.
func BarrierID(workstream string) string { return workstream + "_completion" }

// Phases are the phases of the configuration, in order.
func (c *CoordinatorConfig) Phases() []string {
	if c.Routing.Len() > 0 {
		return c.Routing.Keys()
	}
	var list []string
	seen := map[string]bool{}
	for _, w := range c.Workstreams.All() {
		if w.Phase != "" && !seen[w.Phase] {
			seen[w.Phase] = true
			list = append(list, w.Phase)
		}
	}
	return list
}
