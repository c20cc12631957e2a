package protocol

import (
	"encoding/json"
	"slices"
	"strings"
)

// Config is agentxchain.json. Values that may be absent are pointers if absent differs from zero. Unknown keys are in
// Extra, here and in roles and runtimes. charter.Keys describes every key and its values.
type Config struct {
	SchemaVersion            ConfigSchemaVersion `json:"schema_version,omitempty"`
	Template                 string              `json:"template,omitempty"`
	Project                  Project             `json:"project"`
	Roles                    Ordered[Role]       `json:"roles"`
	Runtimes                 Ordered[Runtime]    `json:"runtimes"`
	Routing                  *Ordered[Phase]     `json:"routing,omitempty"`
	Gates                    *Ordered[Gate]      `json:"gates,omitempty"`
	Hooks                    Ordered[[]Hook]     `json:"hooks,omitzero"`
	Notifications            json.RawMessage     `json:"notifications,omitempty"`
	Schedules                json.RawMessage     `json:"schedules,omitempty"`
	Budget                   *Budget             `json:"budget,omitempty"`
	Policies                 []Policy            `json:"policies,omitempty"`
	ApprovalPolicy           *ApprovalPolicy     `json:"approval_policy,omitempty"`
	Timeouts                 *Timeouts           `json:"timeouts,omitempty"`
	WorkflowKit              *WorkflowKit        `json:"workflow_kit,omitempty"`
	Retention                json.RawMessage     `json:"retention,omitempty"`
	Rules                    Rules               `json:"rules,omitzero"`
	Prompts                  Ordered[string]     `json:"prompts,omitzero"`
	Files                    json.RawMessage     `json:"files,omitempty"`
	RunLoop                  *RunLoop            `json:"run_loop,omitempty"`
	MissionPlanner           json.RawMessage     `json:"mission_planner,omitempty"`
	Workspace                string              `json:"workspace,omitempty"`
	Checkpoint               *CheckpointRules    `json:"checkpoint,omitempty"`
	Anchor                   []string            `json:"anchor,omitempty"`
	Record                   string              `json:"record,omitempty"`
	RecordRemote             string              `json:"record_remote,omitempty"`
	RecordRefs               string              `json:"record_refs,omitempty"`
	Adapters                 Ordered[Adapter]    `json:"adapters,omitzero"`
	IntentCoverageMode       string              `json:"intent_coverage_mode,omitempty"`
	GateSemanticCoverageMode string              `json:"gate_semantic_coverage_mode,omitempty"`
	Extra                    Extra               `json:"-"`
}

// CheckpointRules say how the commit of an accepted turn is made.
type CheckpointRules struct {
	Sign  *bool  `json:"sign,omitempty"`  // nil: if the user's git signs
	Hooks string `json:"hooks,omitempty"` // CommitHooksRun, CommitHooksSkip or empty
}

// What happens to git's pre-commit hook when a turn is accepted; skip if nothing is said.
const (
	CommitHooksRun  = "run"
	CommitHooksSkip = "skip"
)

// RunsCommitHooks reports whether git's pre-commit hook checks the files of a turn.
func (c *Config) RunsCommitHooks() bool {
	return c.Checkpoint != nil && c.Checkpoint.Hooks == CommitHooksRun
}

// Signs reports whether checkpoints are signed; nil if the user's git decides.
func (c *Config) Signs() *bool {
	if c.Checkpoint == nil {
		return nil
	}
	return c.Checkpoint.Sign
}

// Where a record is.
const (
	RecordLocal  = "local"
	RecordBranch = "branch"
)

// ConfigSchemaVersion reads "1.0" and the number 4, which are equivalent.
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
	var p Config
	if err := readKeep(data, &p); err != nil {
		return err
	}
	*c = p
	return nil
}

func (c Config) MarshalJSON() ([]byte, error) { return writeKeep(c) }

// Phases are the phases in their order: those of routing, or the protocol's three without routing.
func (c *Config) Phases() []string {
	if c.Routing == nil {
		return []string{"planning", "implementation", "qa"}
	}
	return c.Routing.Keys()
}

// Phase is the routing of a phase; false if routing does not name it.
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

// RuntimeOf is the runtime of a role, with its id; false if either is not declared. A role of the first edition
// contains its runtime.
func (c *Config) RuntimeOf(role string) (string, Runtime, bool) {
	r, ok := c.Roles.Get(role)
	if !ok {
		return "", Runtime{}, false
	}
	rt, ok := c.Runtimes.Get(r.RuntimeID())
	return r.RuntimeID(), rt, ok
}

// Project describes the governed project.
type Project struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	Goal          string `json:"goal,omitempty"`
	DefaultBranch string `json:"default_branch,omitempty"`
	Extra         Extra  `json:"-"`
}

func (p *Project) UnmarshalJSON(data []byte) error { return readKeep(data, p) }
func (p Project) MarshalJSON() ([]byte, error)     { return writeKeep(p) }

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

// FirstEdition reports whether the role follows specification 000.
func (r Role) FirstEdition() bool { return r.Adapter != "" }

// RuntimeID is the id of the role's runtime. Normalizing a configuration assigns one to roles of the first edition.
func (r Role) RuntimeID() string { return r.Runtime }

func (r *Role) UnmarshalJSON(data []byte) error { return readKeep(data, r) }
func (r Role) MarshalJSON() ([]byte, error)     { return writeKeep(r) }

// Adapter is one entry of adapters, a custom adapter: a JavaScript module with the adapter's class, or a program that
// speaks the same protocol. A role's adapter or a runtime's type names it.
type Adapter struct {
	Module    string          `json:"module,omitempty"` // relative to the project
	Command   Words           `json:"command,omitzero"`
	CWD       string          `json:"cwd,omitempty"`
	Env       Ordered[string] `json:"env,omitzero"`
	TimeoutMS *int            `json:"timeout_ms,omitempty"`
	Extra     Extra           `json:"-"`
}

func (a *Adapter) UnmarshalJSON(data []byte) error { return readKeep(data, a) }
func (a Adapter) MarshalJSON() ([]byte, error)     { return writeKeep(a) }

// Phase is one entry of routing.
type Phase struct {
	EntryRole          string          `json:"entry_role,omitempty"`
	AllowedNextRoles   []string        `json:"allowed_next_roles,omitempty"`
	ExitGate           string          `json:"exit_gate,omitempty"`
	MaxConcurrentTurns json.RawMessage `json:"max_concurrent_turns,omitempty"`
	TimeoutMinutes     *float64        `json:"timeout_minutes,omitempty"`
	TimeoutAction      string          `json:"timeout_action,omitempty"`
	Extra              Extra           `json:"-"`
}

// Concurrency is how many turns may be active at once: 1 without a valid value.
func (p Phase) Concurrency() int {
	var n int
	if json.Unmarshal(p.MaxConcurrentTurns, &n) != nil || n < 1 {
		return 1
	}
	return n
}

func (p *Phase) UnmarshalJSON(data []byte) error { return readKeep(data, p) }
func (p Phase) MarshalJSON() ([]byte, error)     { return writeKeep(p) }

// Gate is one entry of gates.
type Gate struct {
	RequiresFiles            []string     `json:"requires_files,omitempty"`
	RequiresVerificationPass bool         `json:"requires_verification_pass,omitempty"`
	RequiresHumanApproval    bool         `json:"requires_human_approval,omitempty"`
	Credentialed             bool         `json:"credentialed,omitempty"`
	GateActions              []GateAction `json:"gate_actions,omitempty"`
	Approvers                []string     `json:"approvers,omitempty"`
	MinApprovals             *int         `json:"min_approvals,omitempty"`
	Extra                    Extra        `json:"-"`
}

// AsksPerson reports whether a person decides on the gate.
func (g *Gate) AsksPerson() bool { return g.RequiresHumanApproval || g.Credentialed || g.OnlyPerson() }

// OnlyPerson reports whether the gate names who decides, or how many: no policy replaces them.
func (g *Gate) OnlyPerson() bool { return len(g.Approvers) > 0 || g.Approvals() > 1 }

// Approvals is the number of people who must approve.
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

func (g *Gate) UnmarshalJSON(data []byte) error { return readKeep(data, g) }
func (g Gate) MarshalJSON() ([]byte, error)     { return writeKeep(g) }

// GateAction is a shell command that runs when a person approves the gate.
type GateAction struct {
	Run       string `json:"run"`
	Label     string `json:"label,omitempty"`
	TimeoutMS *int   `json:"timeout_ms,omitempty"`
}

// Hook is one entry of a hook phase.
type Hook struct {
	Name      string          `json:"name"`
	Type      string          `json:"type"`
	Command   []string        `json:"command,omitempty"`
	URL       string          `json:"url,omitempty"`
	Method    string          `json:"method,omitempty"`
	Headers   Ordered[string] `json:"headers,omitzero"`
	TimeoutMS int             `json:"timeout_ms"`
	Mode      string          `json:"mode"`
	Env       Ordered[string] `json:"env,omitzero"`
}

// Budget is the budget of a run, in US dollars.
type Budget struct {
	PerTurnMaxUSD *float64          `json:"per_turn_max_usd,omitempty"`
	PerRunMaxUSD  *float64          `json:"per_run_max_usd,omitempty"`
	OnExceed      string            `json:"on_exceed,omitempty"`
	CostRates     Ordered[CostRate] `json:"cost_rates,omitzero"`
	Extra         Extra             `json:"-"`
}

func (b *Budget) UnmarshalJSON(data []byte) error { return readKeep(data, b) }
func (b Budget) MarshalJSON() ([]byte, error)     { return writeKeep(b) }

// CostRate is the price of a model, in US dollars per million tokens.
type CostRate struct {
	InputPer1M  float64 `json:"input_per_1m"`
	OutputPer1M float64 `json:"output_per_1m"`
}

// USD is the price of tokens; negative counts are 0.
func (r CostRate) USD(input, output int64) float64 {
	return (float64(max(0, input))*r.InputPer1M + float64(max(0, output))*r.OutputPer1M) / 1e6
}

// Policy is one entry of policies.
type Policy struct {
	ID      string          `json:"id"`
	Rule    string          `json:"rule"`
	Action  string          `json:"action"`
	Params  json.RawMessage `json:"params,omitempty"`
	Scope   *PolicyScope    `json:"scope,omitempty"`
	Message string          `json:"message,omitempty"`
}

// PolicyScope limits a policy to phases and roles; an empty list means all.
type PolicyScope struct {
	Phases []string `json:"phases,omitempty"`
	Roles  []string `json:"roles,omitempty"`
}

// ApprovalPolicy lists the gates that may pass without the person whom they require.
type ApprovalPolicy struct {
	PhaseTransitions *TransitionPolicy `json:"phase_transitions,omitempty"`
	RunCompletion    *CompletionPolicy `json:"run_completion,omitempty"`
}

// TransitionPolicy is the part for phases: the first matching rule applies.
type TransitionPolicy struct {
	Default string           `json:"default,omitempty"`
	Rules   []TransitionRule `json:"rules,omitempty"`
}

// TransitionRule is one rule; an empty FromPhase or ToPhase matches any.
type TransitionRule struct {
	FromPhase string        `json:"from_phase,omitempty"`
	ToPhase   string        `json:"to_phase,omitempty"`
	Action    string        `json:"action"`
	When      *ApprovalWhen `json:"when,omitempty"`
}

// CompletionPolicy is the part for the end of the run.
type CompletionPolicy struct {
	Action string        `json:"action"`
	When   *ApprovalWhen `json:"when,omitempty"`
}

// ApprovalWhen are the conditions of a rule; unless all hold, a person is asked.
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
	Action          string   `json:"action,omitempty"`
}

// WorkflowKit names the artifacts of phases. A present one without phases opts out of the default kit.
type WorkflowKit struct {
	Phases Ordered[KitPhase] `json:"phases,omitzero"`
	Extra  Extra             `json:"-"`
}

func (k *WorkflowKit) UnmarshalJSON(data []byte) error { return readKeep(data, k) }
func (k WorkflowKit) MarshalJSON() ([]byte, error)     { return writeKeep(k) }

// KitPhase is the kit of one phase.
type KitPhase struct {
	Template  string     `json:"template,omitempty"`
	Artifacts []Artifact `json:"artifacts,omitempty"`
}

// Artifact is a file that a phase has to produce.
type Artifact struct {
	Path            string           `json:"path"`
	Semantics       string           `json:"semantics,omitempty"`
	SemanticsConfig *SemanticsConfig `json:"semantics_config,omitempty"`
	OwnedBy         string           `json:"owned_by,omitempty"`
	Required        *bool            `json:"required,omitempty"`
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

func (r *Rules) UnmarshalJSON(data []byte) error { return readKeep(data, r) }
func (r Rules) MarshalJSON() ([]byte, error)     { return writeKeep(r) }

// IsZero reports whether no rule is set.
func (r Rules) IsZero() bool {
	return r.ChallengeRequired == nil && r.MaxTurnRetries == nil && r.MaxDeadlockCycles == nil && r.Extra.Len() == 0
}

// Challenge reports whether reviewers must object.
func (r Rules) Challenge() bool { return r.ChallengeRequired == nil || *r.ChallengeRequired }

// Attempts is how often a turn may be tried, in total: max_turn_retries, which counts attempts despite its name; at
// least 1.
func (r Rules) Attempts() int {
	if r.MaxTurnRetries == nil {
		return 2
	}
	return max(1, *r.MaxTurnRetries)
}

// RunLoop are the settings of a run of many turns. Watchdogs are milliseconds.
type RunLoop struct {
	StartupWatchdogMS    *int        `json:"startup_watchdog_ms,omitempty"`
	StartupHeartbeatMS   *int        `json:"startup_heartbeat_ms,omitempty"`
	LivenessHeartbeatMS  *int        `json:"liveness_heartbeat_ms,omitempty"`
	StaleTurnThresholdMS *int        `json:"stale_turn_threshold_ms,omitempty"`
	MaxTurns             *int        `json:"max_turns,omitempty"`
	NonProgressThreshold *int        `json:"non_progress_threshold,omitempty"`
	Continuous           *Continuous `json:"continuous,omitempty"`
	Extra                Extra       `json:"-"`
}

// Continuous says how a run of many turns continues by itself.
type Continuous struct {
	Ghosts *GhostRetry `json:"auto_retry_on_ghost,omitempty"`
	Extra  Extra       `json:"-"`
}

func (c *Continuous) UnmarshalJSON(data []byte) error { return readKeep(data, c) }
func (c Continuous) MarshalJSON() ([]byte, error)     { return writeKeep(c) }

// GhostRetry says whether a turn is reissued whose worker gave no sign of life.
type GhostRetry struct {
	Enabled  bool `json:"enabled"`
	Max      int  `json:"max_retries_per_run"`        // 0 is 3
	Cooldown *int `json:"cooldown_seconds,omitempty"` // nil is 5
}

// GhostRetries returns how many turns of a run are reissued because their workers gave no sign of life, and the seconds before each. enabled
// replaces the setting; nil keeps it.
func (l *RunLoop) GhostRetries(enabled *bool) (most, cooldown int) {
	var g GhostRetry
	if l != nil && l.Continuous != nil && l.Continuous.Ghosts != nil {
		g = *l.Continuous.Ghosts
	}
	if enabled != nil {
		g.Enabled = *enabled
	}
	if !g.Enabled {
		return 0, 0
	}
	most, cooldown = g.Max, 5
	if most == 0 {
		most = 3
	}
	if g.Cooldown != nil {
		cooldown = *g.Cooldown
	}
	return most, cooldown
}

func (l *RunLoop) UnmarshalJSON(data []byte) error { return readKeep(data, l) }
func (l RunLoop) MarshalJSON() ([]byte, error)     { return writeKeep(l) }
