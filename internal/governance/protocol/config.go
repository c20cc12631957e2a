package protocol

import (
	"encoding/json"
	"slices"
	"strings"
)

// Config is agentxchain.json. Values that may be absent are pointers where absent differs from zero. Keys that this version
// does not know are in Extra, here and in roles and runtimes.
type Config struct {
	SchemaVersion  ConfigSchemaVersion `json:"schema_version,omitempty"`
	Template       string              `json:"template,omitempty"`
	Project        Project             `json:"project"`
	Roles          Ordered[Role]       `json:"roles"`
	Runtimes       Ordered[Runtime]    `json:"runtimes"`
	Routing        *Ordered[Phase]     `json:"routing,omitempty"`
	Gates          *Ordered[Gate]      `json:"gates,omitempty"`
	Hooks          Ordered[[]Hook]     `json:"hooks,omitzero"`
	Notifications  json.RawMessage     `json:"notifications,omitempty"`
	Schedules      json.RawMessage     `json:"schedules,omitempty"`
	Budget         *Budget             `json:"budget,omitempty"`
	Policies       []Policy            `json:"policies,omitempty"`
	ApprovalPolicy *ApprovalPolicy     `json:"approval_policy,omitempty"`
	Timeouts       *Timeouts           `json:"timeouts,omitempty"`
	WorkflowKit    *WorkflowKit        `json:"workflow_kit,omitempty"`
	Retention      json.RawMessage     `json:"retention,omitempty"`
	Rules          Rules               `json:"rules,omitzero"`
	Prompts        Ordered[string]     `json:"prompts,omitzero"`
	Files          json.RawMessage     `json:"files,omitempty"`
	RunLoop        *RunLoop            `json:"run_loop,omitempty"`
	MissionPlanner json.RawMessage     `json:"mission_planner,omitempty"`
	// Workspace is Drawbar's own: "shared" (the default, the protocol's) or "worktree".
	Workspace string `json:"workspace,omitempty"`
	// Adapters declares custom adapters of the first edition.
	Adapters json.RawMessage `json:"adapters,omitempty"`
	// IntentCoverageMode and GateSemanticCoverageMode are read by the original without being in its schema.
	IntentCoverageMode       string `json:"intent_coverage_mode,omitempty"`
	GateSemanticCoverageMode string `json:"gate_semantic_coverage_mode,omitempty"`
	Extra                    Extra  `json:"-"`
}

// ConfigSchemaVersion reads "1.0" and the number 4, which mean the same.
type ConfigSchemaVersion string

// UnmarshalJSON reads a string or a number.
func (v *ConfigSchemaVersion) UnmarshalJSON(data []byte) error {
	if Kind(data) == "number" {
		if string(data) == "4" {
			*v = ConfigVersion
			return nil
		}
		*v = ConfigSchemaVersion(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(v))
}

// UnmarshalJSON keeps unknown keys.
func (c *Config) UnmarshalJSON(data []byte) error {
	type plain Config
	var p plain
	if err := unmarshalKeep(data, &p, &p.Extra); err != nil {
		return err
	}
	*c = Config(p)
	return nil
}

// MarshalJSON writes unknown keys back.
func (c Config) MarshalJSON() ([]byte, error) {
	type plain Config
	return marshalKeep(plain(c), c.Extra)
}

// Phases are the phases in their order: that of routing, or the three of the protocol when there is none.
func (c *Config) Phases() []string {
	if c.Routing == nil {
		return []string{"planning", "implementation", "qa"}
	}
	return c.Routing.Keys()
}

// Phase is the routing of a phase; false when routing does not name it.
func (c *Config) Phase(name string) (Phase, bool) {
	if c.Routing == nil {
		return Phase{}, false
	}
	return c.Routing.Get(name)
}

// Gate is a declared gate.
func (c *Config) Gate(id string) (Gate, bool) {
	if c.Gates == nil {
		return Gate{}, false
	}
	return c.Gates.Get(id)
}

// RuntimeOf is the runtime of a role, with its id; false when either is not declared. A role of the first edition carries
// its runtime in itself.
func (c *Config) RuntimeOf(role string) (string, Runtime, bool) {
	r, ok := c.Roles.Get(role)
	if !ok {
		return "", Runtime{}, false
	}
	rt, ok := c.Runtimes.Get(r.RuntimeID())
	return r.RuntimeID(), rt, ok
}

// Project names what is governed.
type Project struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	Goal          string `json:"goal,omitempty"`
	DefaultBranch string `json:"default_branch,omitempty"`
	Extra         Extra  `json:"-"`
}

// UnmarshalJSON keeps unknown keys.
func (p *Project) UnmarshalJSON(data []byte) error {
	type plain Project
	return unmarshalKeep(data, (*plain)(p), &p.Extra)
}

// MarshalJSON writes unknown keys back.
func (p Project) MarshalJSON() ([]byte, error) {
	type plain Project
	return marshalKeep(plain(p), p.Extra)
}

// Role is one entry of roles. Adapter and AdapterConfig make it a role of the first edition.
type Role struct {
	Title             string    `json:"title,omitempty"`
	Mandate           string    `json:"mandate,omitempty"`
	WriteAuthority    Authority `json:"write_authority,omitempty"`
	Runtime           string    `json:"runtime,omitempty"`
	DecisionAuthority *int      `json:"decision_authority,omitempty"`
	DeclaredFileScope []string  `json:"declared_file_scope,omitempty"`

	Adapter       string          `json:"adapter,omitempty"`
	AdapterConfig json.RawMessage `json:"adapter_config,omitempty"`
	Extra         Extra           `json:"-"`
}

// FirstEdition reports whether the role is one of specification 000: its rules apply to this role only.
func (r Role) FirstEdition() bool { return r.Adapter != "" }

// RuntimeID is the id of the role's runtime. Normalizing a configuration gives roles of the first edition one.
func (r Role) RuntimeID() string { return r.Runtime }

// UnmarshalJSON keeps unknown keys.
func (r *Role) UnmarshalJSON(data []byte) error {
	type plain Role
	return unmarshalKeep(data, (*plain)(r), &r.Extra)
}

// MarshalJSON writes unknown keys back.
func (r Role) MarshalJSON() ([]byte, error) {
	type plain Role
	return marshalKeep(plain(r), r.Extra)
}

// What happens to an agent's questions for permission (Runtime.Approve).
const (
	ApprovePrompt = "prompt"
	ApproveYolo   = "yolo"
	ApproveDeny   = "deny"
)

// Runtime is one entry of runtimes: how a role is carried out. Which fields count depends on Type.
type Runtime struct {
	Type         string               `json:"type,omitempty"`
	Capabilities *RuntimeCapabilities `json:"capabilities,omitempty"`

	// local_cli, and mcp over stdio.
	Command         Words    `json:"command,omitzero"`
	Args            []string `json:"args,omitempty"`
	CWD             string   `json:"cwd,omitempty"`
	PromptTransport string   `json:"prompt_transport,omitempty"`
	// Watchdogs, in milliseconds; nil falls back to run_loop and then to 180000, 30000 and 60000.
	StartupWatchdogMS   *int `json:"startup_watchdog_ms,omitempty"`
	StartupHeartbeatMS  *int `json:"startup_heartbeat_ms,omitempty"`
	LivenessHeartbeatMS *int `json:"liveness_heartbeat_ms,omitempty"`

	// Drawbar's own: an adapter in a role. Session "role" keeps one conversation per role.
	Agent   string `json:"agent,omitempty"`
	Model   string `json:"model,omitempty"`
	Session string `json:"session,omitempty"`
	// Approve says what happens when the agent asks for a permission: "prompt" (default) asks the person at the terminal and blocks the
	// turn where there is none, "yolo" allows everything without asking, "deny" refuses everything.
	Approve       string   `json:"approve,omitempty"`
	ResultMode    string   `json:"result,omitempty"` // "staged" (default) or "structured"
	Thinking      string   `json:"thinking,omitempty"`
	Sandbox       string   `json:"sandbox,omitempty"`
	BudgetUSD     *float64 `json:"budget_usd,omitempty"`
	IdleTimeoutMS *int     `json:"idle_timeout_ms,omitempty"`

	// Env is given by roles of the first edition: ${VAR} is expanded from the process's environment and never written.
	Env Ordered[string] `json:"env,omitzero"`
	// GraceMS is the time between TERM and KILL; nil is 10000, 5000 in the first edition.
	GraceMS *int `json:"-"`
	// TimeoutMS is the first edition's timeout of a turn, and remote_agent's.
	TimeoutMS *int `json:"timeout_ms,omitempty"`
	// PollIntervalMS is the first edition's, of manual.
	PollIntervalMS *int  `json:"poll_interval_ms,omitempty"`
	Extra          Extra `json:"-"`
}

// Permission is the Approve that applies to an agent; empty for every other type.
func (r Runtime) Permission() string {
	switch {
	case r.Type != RuntimeAgent:
		return ""
	case r.Approve == "":
		return ApprovePrompt
	}
	return r.Approve
}

// Permissions are the modes of the roles that agents carry out, by role.
func (c *Config) Permissions() Ordered[string] {
	var all Ordered[string]
	for id := range c.Roles.All() {
		if _, rt, ok := c.RuntimeOf(id); ok && rt.Permission() != "" {
			all.Set(id, rt.Permission())
		}
	}
	return all
}

// UnmarshalJSON keeps unknown keys: those of the runtimes that are validated and refused are among them.
func (r *Runtime) UnmarshalJSON(data []byte) error {
	type plain Runtime
	return unmarshalKeep(data, (*plain)(r), &r.Extra)
}

// MarshalJSON writes unknown keys back.
func (r Runtime) MarshalJSON() ([]byte, error) {
	type plain Runtime
	return marshalKeep(plain(r), r.Extra)
}

// RuntimeCapabilities override what a runtime's type can do.
type RuntimeCapabilities struct {
	CanWriteFiles             string `json:"can_write_files,omitempty"`
	ProposalSupport           string `json:"proposal_support,omitempty"`
	WorkflowArtifactOwnership string `json:"workflow_artifact_ownership,omitempty"`
}

// Words is a command: a string or an array of strings in JSON. It is written in the form it was read in.
type Words struct {
	List   []string
	String bool // read as one string
}

// UnmarshalJSON reads a string or an array of strings.
func (w *Words) UnmarshalJSON(data []byte) error {
	if Kind(data) == "string" {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*w = Words{List: []string{s}, String: true}
		return nil
	}
	*w = Words{}
	return json.Unmarshal(data, &w.List)
}

// MarshalJSON writes the form that was read.
func (w Words) MarshalJSON() ([]byte, error) {
	if w.String && len(w.List) == 1 {
		return Marshal(w.List[0])
	}
	return Marshal(w.List)
}

// IsZero reports whether there is no command.
func (w Words) IsZero() bool { return len(w.List) == 0 }

// Phase is one entry of routing.
type Phase struct {
	EntryRole          string          `json:"entry_role,omitempty"`
	AllowedNextRoles   []string        `json:"allowed_next_roles,omitempty"`
	ExitGate           string          `json:"exit_gate,omitempty"`
	MaxConcurrentTurns json.RawMessage `json:"max_concurrent_turns,omitempty"` // an integer of 1 to 4; Concurrency reads it
	TimeoutMinutes     *float64        `json:"timeout_minutes,omitempty"`
	TimeoutAction      string          `json:"timeout_action,omitempty"`
	Extra              Extra           `json:"-"`
}

// Concurrency is how many turns may be active at once: 1 where nothing usable is said.
func (p Phase) Concurrency() int {
	var n int
	if json.Unmarshal(p.MaxConcurrentTurns, &n) != nil || n < 1 {
		return 1
	}
	return n
}

// UnmarshalJSON keeps unknown keys.
func (p *Phase) UnmarshalJSON(data []byte) error {
	type plain Phase
	return unmarshalKeep(data, (*plain)(p), &p.Extra)
}

// MarshalJSON writes unknown keys back.
func (p Phase) MarshalJSON() ([]byte, error) {
	type plain Phase
	return marshalKeep(plain(p), p.Extra)
}

// Gate is one entry of gates.
type Gate struct {
	RequiresFiles            []string     `json:"requires_files,omitempty"`
	RequiresVerificationPass bool         `json:"requires_verification_pass,omitempty"`
	RequiresHumanApproval    bool         `json:"requires_human_approval,omitempty"`
	Credentialed             bool         `json:"credentialed,omitempty"`
	GateActions              []GateAction `json:"gate_actions,omitempty"`
	Approvers                []string     `json:"approvers,omitempty"`     // Drawbar's own: names or emails; nobody else decides
	MinApprovals             *int         `json:"min_approvals,omitempty"` // Drawbar's own: how many people have to agree
	Extra                    Extra        `json:"-"`
}

// AsksPerson reports whether a person decides on the gate.
func (g *Gate) AsksPerson() bool { return g.RequiresHumanApproval || g.Credentialed || g.OnlyPerson() }

// OnlyPerson reports whether the gate names who decides, or how many: nothing stands in for them.
func (g *Gate) OnlyPerson() bool { return len(g.Approvers) > 0 || g.Approvals() > 1 }

// Approvals is how many people have to agree.
func (g *Gate) Approvals() int {
	if g.MinApprovals == nil {
		return 1
	}
	return max(1, *g.MinApprovals)
}

// Approver reports whether a person may decide on the gate, by name or email.
func (g *Gate) Approver(p Person) bool {
	if len(g.Approvers) == 0 {
		return true
	}
	return slices.ContainsFunc(g.Approvers, func(a string) bool {
		a = strings.TrimSpace(a)
		return a != "" && (strings.EqualFold(a, p.Email) || a == p.Name || strings.EqualFold(a, p.String()))
	})
}

// UnmarshalJSON keeps unknown keys.
func (g *Gate) UnmarshalJSON(data []byte) error {
	type plain Gate
	return unmarshalKeep(data, (*plain)(g), &g.Extra)
}

// MarshalJSON writes unknown keys back.
func (g Gate) MarshalJSON() ([]byte, error) {
	type plain Gate
	return marshalKeep(plain(g), g.Extra)
}

// GateAction is a shell line that runs when a person approves the gate.
type GateAction struct {
	Run       string `json:"run"`
	Label     string `json:"label,omitempty"`
	TimeoutMS *int   `json:"timeout_ms,omitempty"` // 1000 to 3600000; nil is 900000
}

// Hook is one entry of a hook phase.
type Hook struct {
	Name      string          `json:"name"`
	Type      string          `json:"type"` // process or http
	Command   []string        `json:"command,omitempty"`
	URL       string          `json:"url,omitempty"`
	Method    string          `json:"method,omitempty"`
	Headers   Ordered[string] `json:"headers,omitzero"`
	TimeoutMS int             `json:"timeout_ms"`
	Mode      string          `json:"mode"` // blocking or advisory
	Env       Ordered[string] `json:"env,omitzero"`
}

// Budget is what a run may cost, in US dollars.
type Budget struct {
	PerTurnMaxUSD *float64          `json:"per_turn_max_usd,omitempty"`
	PerRunMaxUSD  *float64          `json:"per_run_max_usd,omitempty"`
	OnExceed      string            `json:"on_exceed,omitempty"` // pause_and_escalate (default) or warn
	CostRates     Ordered[CostRate] `json:"cost_rates,omitzero"`
	Extra         Extra             `json:"-"`
}

// UnmarshalJSON keeps unknown keys.
func (b *Budget) UnmarshalJSON(data []byte) error {
	type plain Budget
	return unmarshalKeep(data, (*plain)(b), &b.Extra)
}

// MarshalJSON writes unknown keys back.
func (b Budget) MarshalJSON() ([]byte, error) {
	type plain Budget
	return marshalKeep(plain(b), b.Extra)
}

// CostRate is the price of a model, in US dollars per million tokens.
type CostRate struct {
	InputPer1M  float64 `json:"input_per_1m"`
	OutputPer1M float64 `json:"output_per_1m"`
}

// Policy is one entry of policies.
type Policy struct {
	ID      string          `json:"id"`
	Rule    string          `json:"rule"`
	Action  string          `json:"action"` // block, warn or escalate
	Params  json.RawMessage `json:"params,omitempty"`
	Scope   *PolicyScope    `json:"scope,omitempty"`
	Message string          `json:"message,omitempty"`
}

// PolicyScope limits a policy to phases and roles; an empty list means all.
type PolicyScope struct {
	Phases []string `json:"phases,omitempty"`
	Roles  []string `json:"roles,omitempty"`
}

// ApprovalPolicy says which gates that ask for a person may pass without one.
type ApprovalPolicy struct {
	PhaseTransitions *TransitionPolicy `json:"phase_transitions,omitempty"`
	RunCompletion    *CompletionPolicy `json:"run_completion,omitempty"`
}

// TransitionPolicy is the part for phases: the first rule that matches wins.
type TransitionPolicy struct {
	Default string           `json:"default,omitempty"`
	Rules   []TransitionRule `json:"rules,omitempty"`
}

// TransitionRule is one rule; an empty FromPhase or ToPhase matches any.
type TransitionRule struct {
	FromPhase string        `json:"from_phase,omitempty"`
	ToPhase   string        `json:"to_phase,omitempty"`
	Action    string        `json:"action"` // auto_approve or require_human
	When      *ApprovalWhen `json:"when,omitempty"`
}

// CompletionPolicy is the part for the end of the run.
type CompletionPolicy struct {
	Action string        `json:"action"`
	When   *ApprovalWhen `json:"when,omitempty"`
}

// ApprovalWhen are the conditions of a rule; unmet means a person is asked.
type ApprovalWhen struct {
	GatePassed        *bool    `json:"gate_passed,omitempty"`
	RolesParticipated []string `json:"roles_participated,omitempty"`
	AllPhasesVisited  *bool    `json:"all_phases_visited,omitempty"`
	CredentialedGate  *bool    `json:"credentialed_gate,omitempty"`
}

// Timeouts are limits in minutes; nil means none.
type Timeouts struct {
	PerTurnMinutes  *float64 `json:"per_turn_minutes,omitempty"`
	PerPhaseMinutes *float64 `json:"per_phase_minutes,omitempty"`
	PerRunMinutes   *float64 `json:"per_run_minutes,omitempty"`
	Action          string   `json:"action,omitempty"` // escalate (default) or warn
}

// WorkflowKit names the artifacts of phases. A present one without phases opts out of the default kit.
type WorkflowKit struct {
	Phases Ordered[KitPhase] `json:"phases,omitzero"`
	Extra  Extra             `json:"-"`
}

// UnmarshalJSON keeps unknown keys.
func (k *WorkflowKit) UnmarshalJSON(data []byte) error {
	type plain WorkflowKit
	return unmarshalKeep(data, (*plain)(k), &k.Extra)
}

// MarshalJSON writes unknown keys back.
func (k WorkflowKit) MarshalJSON() ([]byte, error) {
	type plain WorkflowKit
	return marshalKeep(plain(k), k.Extra)
}

// KitPhase is the kit of one phase.
type KitPhase struct {
	Template  string     `json:"template,omitempty"`
	Artifacts []Artifact `json:"artifacts,omitempty"`
}

// Artifact is a file that a phase has to bring.
type Artifact struct {
	Path            string           `json:"path"`
	Semantics       string           `json:"semantics,omitempty"`
	SemanticsConfig *SemanticsConfig `json:"semantics_config,omitempty"`
	OwnedBy         string           `json:"owned_by,omitempty"`
	Required        *bool            `json:"required,omitempty"` // nil is true
}

// SemanticsConfig is the configuration of section_check.
type SemanticsConfig struct {
	RequiredSections []string `json:"required_sections,omitempty"`
}

// Rules are the run's rules; nil means the default: challenge required, two attempts.
type Rules struct {
	ChallengeRequired *bool `json:"challenge_required,omitempty"`
	MaxTurnRetries    *int  `json:"max_turn_retries,omitempty"`
	MaxDeadlockCycles *int  `json:"max_deadlock_cycles,omitempty"`
	Extra             Extra `json:"-"`
}

// UnmarshalJSON keeps unknown keys.
func (r *Rules) UnmarshalJSON(data []byte) error {
	type plain Rules
	return unmarshalKeep(data, (*plain)(r), &r.Extra)
}

// MarshalJSON writes unknown keys back.
func (r Rules) MarshalJSON() ([]byte, error) {
	type plain Rules
	return marshalKeep(plain(r), r.Extra)
}

// IsZero reports whether nothing is said.
func (r Rules) IsZero() bool {
	return r.ChallengeRequired == nil && r.MaxTurnRetries == nil && r.MaxDeadlockCycles == nil && r.Extra.Len() == 0
}

// Challenge reports whether reviewers must object.
func (r Rules) Challenge() bool { return r.ChallengeRequired == nil || *r.ChallengeRequired }

// Attempts is how often a turn may be tried, in total: max_turn_retries, whose name means attempts; at least 1.
func (r Rules) Attempts() int {
	if r.MaxTurnRetries == nil {
		return 2
	}
	return max(1, *r.MaxTurnRetries)
}

// RunLoop are the settings of a run of many turns. Watchdogs are milliseconds.
type RunLoop struct {
	StartupWatchdogMS    *int  `json:"startup_watchdog_ms,omitempty"`
	StartupHeartbeatMS   *int  `json:"startup_heartbeat_ms,omitempty"`
	LivenessHeartbeatMS  *int  `json:"liveness_heartbeat_ms,omitempty"`
	StaleTurnThresholdMS *int  `json:"stale_turn_threshold_ms,omitempty"`
	MaxTurns             *int  `json:"max_turns,omitempty"`
	NonProgressThreshold *int  `json:"non_progress_threshold,omitempty"`
	Extra                Extra `json:"-"`
}

// UnmarshalJSON keeps unknown keys.
func (l *RunLoop) UnmarshalJSON(data []byte) error {
	type plain RunLoop
	return unmarshalKeep(data, (*plain)(l), &l.Extra)
}

// MarshalJSON writes unknown keys back.
func (l RunLoop) MarshalJSON() ([]byte, error) {
	type plain RunLoop
	return marshalKeep(plain(l), l.Extra)
}
