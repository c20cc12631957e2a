package protocol

import (
	"encoding/json"
	"slices"
	"strings"
)

// Config is agentxchain.json. Values that may be absent are pointers where absent differs from zero. Keys that this version
// does not know are in Extra, here and in roles and runtimes.
type Config struct {
	// "1.0"; the number 4 means the same
	SchemaVersion ConfigSchemaVersion `json:"schema_version,omitempty"`
	// the template that the project was made from (absent: generic)
	Template string `json:"template,omitempty"`
	// what is governed
	Project Project `json:"project"`
	// who takes turns, by role id (a-z, 0-9, _ and -)
	Roles Ordered[Role] `json:"roles"`
	// how roles are carried out, by runtime id
	Runtimes Ordered[Runtime] `json:"runtimes"`
	// the phases, in the order they stand here (absent: planning, implementation, qa)
	Routing *Ordered[Phase] `json:"routing,omitempty"`
	// what must hold before a phase ends, by gate id
	Gates *Ordered[Gate] `json:"gates,omitempty"`
	// what runs beside a turn, by hook phase; at most eight hooks each
	Hooks Ordered[[]Hook] `json:"hooks,omitzero"`
	// webhooks, approval reminders and local notices; checked, but nobody is notified yet
	Notifications json.RawMessage `json:"notifications,omitempty"`
	// runs that start by themselves, by id; checked, but nothing starts them yet
	Schedules json.RawMessage `json:"schedules,omitempty"`
	// what a run may cost (absent: no limit)
	Budget *Budget `json:"budget,omitempty"`
	// limits that turns are held to
	Policies []Policy `json:"policies,omitempty"`
	// which gates that ask for a person may pass without one (absent: none)
	ApprovalPolicy *ApprovalPolicy `json:"approval_policy,omitempty"`
	// limits in minutes; a limit that is not given does not hold
	Timeouts *Timeouts `json:"timeouts,omitempty"`
	// the files that phases bring; {} opts out of the default ones
	WorkflowKit *WorkflowKit `json:"workflow_kit,omitempty"`
	// how records are kept: always appended to
	Retention json.RawMessage `json:"retention,omitempty"`
	// rules of every run
	Rules Rules `json:"rules,omitzero"`
	// the prompt file of each role, relative to the project (absent: `.agentxchain/prompts/<role>.md`)
	Prompts Ordered[string] `json:"prompts,omitzero"`
	// kept for other tools
	Files json.RawMessage `json:"files,omitempty"`
	// settings of a run of many turns
	RunLoop *RunLoop `json:"run_loop,omitempty"`
	// kept for other tools
	MissionPlanner json.RawMessage `json:"mission_planner,omitempty"`
	// Drawbar's own: where turns work: shared (the project) or worktree (a git worktree each) (absent: shared)
	Workspace string `json:"workspace,omitempty"`
	// custom adapters of the first edition, by name
	Adapters json.RawMessage `json:"adapters,omitempty"`
	// whether a result has to cover every item of its intent: strict or lenient (absent: strict for p0)
	IntentCoverageMode string `json:"intent_coverage_mode,omitempty"`
	// strict, or anything else for off (absent: strict); kept for other tools
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
	var p Config
	if err := readKeep(data, &p); err != nil {
		return err
	}
	*c = p
	return nil
}

func (c Config) MarshalJSON() ([]byte, error) { return writeKeep(c) }

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
	ID            string `json:"id"`                       // short name of the project
	Name          string `json:"name"`                     // name of the project
	Goal          string `json:"goal,omitempty"`           // what the project is for, at most 500 characters; every turn's context has it
	DefaultBranch string `json:"default_branch,omitempty"` // branch that work ends on (absent: main)
	Extra         Extra  `json:"-"`
}

func (p *Project) UnmarshalJSON(data []byte) error { return readKeep(data, p) }
func (p Project) MarshalJSON() ([]byte, error)     { return writeKeep(p) }

// Role is one entry of roles. Adapter and AdapterConfig make it a role of the first edition.
type Role struct {
	Title          string    `json:"title,omitempty"`           // what the role is called
	Mandate        string    `json:"mandate,omitempty"`         // what the role is for
	WriteAuthority Authority `json:"write_authority,omitempty"` // what the role may write: authoritative, proposed or review_only
	Runtime        string    `json:"runtime,omitempty"`         // id of the runtime that carries the role out
	// weight when decisions are overridden, 0 to 99; a person has 100 (absent: not compared)
	DecisionAuthority *int     `json:"decision_authority,omitempty"`
	DeclaredFileScope []string `json:"declared_file_scope,omitempty"` // paths the role means to touch; overlaps are warned about

	Adapter       string          `json:"adapter,omitempty"`        // first edition: manual, local_cli, api_proxy, or a name in adapters
	AdapterConfig json.RawMessage `json:"adapter_config,omitempty"` // first edition: the settings of the adapter
	Extra         Extra           `json:"-"`
}

// FirstEdition reports whether the role is one of specification 000: its rules apply to this role only.
func (r Role) FirstEdition() bool { return r.Adapter != "" }

// RuntimeID is the id of the role's runtime. Normalizing a configuration gives roles of the first edition one.
func (r Role) RuntimeID() string { return r.Runtime }

func (r *Role) UnmarshalJSON(data []byte) error { return readKeep(data, r) }
func (r Role) MarshalJSON() ([]byte, error)     { return writeKeep(r) }

// Phase is one entry of routing.
type Phase struct {
	// the role that begins the phase
	EntryRole string `json:"entry_role,omitempty"`
	// roles that may take turns in it, or human (absent or empty: any role)
	AllowedNextRoles []string `json:"allowed_next_roles,omitempty"`
	// the gate that ends it (absent: none)
	ExitGate string `json:"exit_gate,omitempty"`
	// turns at the same time, an integer of 1 to 4 (absent: 1)
	MaxConcurrentTurns json.RawMessage `json:"max_concurrent_turns,omitempty"`
	// limit of this phase in minutes, 1 or more (absent: per_phase_minutes of timeouts)
	TimeoutMinutes *float64 `json:"timeout_minutes,omitempty"`
	// what happens then: escalate, warn or skip_phase (absent: action of timeouts)
	TimeoutAction string `json:"timeout_action,omitempty"`
	Extra         Extra  `json:"-"`
}

// Concurrency is how many turns may be active at once: 1 where nothing usable is said.
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
	// files that must be there and say what their rules ask for
	RequiresFiles            []string     `json:"requires_files,omitempty"`
	RequiresVerificationPass bool         `json:"requires_verification_pass,omitempty"` // the last turn's checks must have passed
	RequiresHumanApproval    bool         `json:"requires_human_approval,omitempty"`    // a person must agree
	Credentialed             bool         `json:"credentialed,omitempty"`               // never approved without a person
	GateActions              []GateAction `json:"gate_actions,omitempty"`               // shell lines that run when a person approves
	// Drawbar's own: names or emails, as git knows people, of those who may approve or decline (absent: anybody)
	Approvers    []string `json:"approvers,omitempty"`
	MinApprovals *int     `json:"min_approvals,omitempty"` // Drawbar's own: how many people have to approve, 1 to 20 (absent: 1)
	Extra        Extra    `json:"-"`
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

func (g *Gate) UnmarshalJSON(data []byte) error { return readKeep(data, g) }
func (g Gate) MarshalJSON() ([]byte, error)     { return writeKeep(g) }

// GateAction is a shell line that runs when a person approves the gate.
type GateAction struct {
	Run       string `json:"run"`                  // the line, for /bin/sh
	Label     string `json:"label,omitempty"`      // what to call it
	TimeoutMS *int   `json:"timeout_ms,omitempty"` // limit in milliseconds, 1000 to 3600000 (absent: 900000)
}

// Hook is one entry of a hook phase.
type Hook struct {
	Name      string          `json:"name"`              // unique in its phase (a-z, 0-9, _ and -)
	Type      string          `json:"type"`              // how it is asked: process or http
	Command   []string        `json:"command,omitempty"` // process: the program and its arguments
	URL       string          `json:"url,omitempty"`     // http: the address; the event is posted to it
	Method    string          `json:"method,omitempty"`  // http: POST, and nothing else
	Headers   Ordered[string] `json:"headers,omitzero"`  // http: request headers; ${VAR} is taken from env or the environment
	TimeoutMS int             `json:"timeout_ms"`        // limit in milliseconds, 100 to 30000
	Mode      string          `json:"mode"`              // whether its answer can stop the run: blocking or advisory
	Env       Ordered[string] `json:"env,omitzero"`      // process: variables of the program; http: values for headers
}

// Budget is what a run may cost, in US dollars.
type Budget struct {
	// limit of one turn, more than 0; reserved when a turn is assigned (absent: none)
	PerTurnMaxUSD *float64 `json:"per_turn_max_usd,omitempty"`
	PerRunMaxUSD  *float64 `json:"per_run_max_usd,omitempty"` // limit of the run, more than 0 (absent: none)
	// what happens when it is spent: pause_and_escalate or warn (absent: pause_and_escalate)
	OnExceed  string            `json:"on_exceed,omitempty"`
	CostRates Ordered[CostRate] `json:"cost_rates,omitzero"` // prices by model, for turns whose runtime counts tokens and states no price
	Extra     Extra             `json:"-"`
}

func (b *Budget) UnmarshalJSON(data []byte) error { return readKeep(data, b) }
func (b Budget) MarshalJSON() ([]byte, error)     { return writeKeep(b) }

// CostRate is the price of a model, in US dollars per million tokens.
type CostRate struct {
	InputPer1M  float64 `json:"input_per_1m"`  // price of input; 0 while it is not set
	OutputPer1M float64 `json:"output_per_1m"` // price of output; 0 while it is not set
}

// Policy is one entry of policies.
type Policy struct {
	ID string `json:"id"` // unique name of the policy (a letter, then a-z, 0-9, _ and -)
	// max_turns_per_phase, max_total_turns, max_consecutive_same_role, max_cost_per_turn, require_status, require_reproducible_verification
	Rule    string          `json:"rule"`
	Action  string          `json:"action"`            // what happens when it does not hold: block, warn or escalate
	Params  json.RawMessage `json:"params,omitempty"`  // limit, limit_usd or allowed, as the rule wants
	Scope   *PolicyScope    `json:"scope,omitempty"`   // where it holds (absent: everywhere)
	Message string          `json:"message,omitempty"` // what to say when it does not hold
}

// PolicyScope limits a policy to phases and roles; an empty list means all.
type PolicyScope struct {
	Phases []string `json:"phases,omitempty"` // phases where it holds (absent: all)
	Roles  []string `json:"roles,omitempty"`  // roles for which it holds (absent: all)
}

// ApprovalPolicy says which gates that ask for a person may pass without one.
type ApprovalPolicy struct {
	PhaseTransitions *TransitionPolicy `json:"phase_transitions,omitempty"` // ends of phases (absent: a person decides)
	RunCompletion    *CompletionPolicy `json:"run_completion,omitempty"`    // the end of the run (absent: a person decides)
}

// TransitionPolicy is the part for phases: the first rule that matches wins.
type TransitionPolicy struct {
	// what happens when no rule matches: auto_approve or require_human (absent: require_human)
	Default string           `json:"default,omitempty"`
	Rules   []TransitionRule `json:"rules,omitempty"` // the first that matches counts
}

// TransitionRule is one rule; an empty FromPhase or ToPhase matches any.
type TransitionRule struct {
	FromPhase string        `json:"from_phase,omitempty"` // phase that ends (absent: any)
	ToPhase   string        `json:"to_phase,omitempty"`   // phase that begins (absent: any)
	Action    string        `json:"action"`               // what happens: auto_approve or require_human
	When      *ApprovalWhen `json:"when,omitempty"`       // conditions; one that does not hold means that a person is asked
}

// CompletionPolicy is the part for the end of the run.
type CompletionPolicy struct {
	Action string        `json:"action"`         // what happens: auto_approve or require_human
	When   *ApprovalWhen `json:"when,omitempty"` // conditions; one that does not hold means that a person is asked
}

// ApprovalWhen are the conditions of a rule; unmet means a person is asked.
type ApprovalWhen struct {
	GatePassed        *bool    `json:"gate_passed,omitempty"`        // the gate's other conditions hold
	RolesParticipated []string `json:"roles_participated,omitempty"` // roles with an accepted turn in this phase
	AllPhasesVisited  *bool    `json:"all_phases_visited,omitempty"` // every phase has been entered
	CredentialedGate  *bool    `json:"credentialed_gate,omitempty"`  // only false: credentialed gates always ask
}

// Timeouts are limits in minutes; nil means none.
type Timeouts struct {
	PerTurnMinutes  *float64 `json:"per_turn_minutes,omitempty"`  // limit of one turn in minutes, 1 or more
	PerPhaseMinutes *float64 `json:"per_phase_minutes,omitempty"` // limit of one phase in minutes, 1 or more
	PerRunMinutes   *float64 `json:"per_run_minutes,omitempty"`   // limit of the whole run in minutes, 1 or more
	// what happens when a limit is reached: escalate or warn (absent: escalate)
	Action string `json:"action,omitempty"`
}

// WorkflowKit names the artifacts of phases. A present one without phases opts out of the default kit.
type WorkflowKit struct {
	Phases Ordered[KitPhase] `json:"phases,omitzero"` // the kit of each phase, by phase
	Extra  Extra             `json:"-"`
}

func (k *WorkflowKit) UnmarshalJSON(data []byte) error { return readKeep(data, k) }
func (k WorkflowKit) MarshalJSON() ([]byte, error)     { return writeKeep(k) }

// KitPhase is the kit of one phase.
type KitPhase struct {
	Template  string     `json:"template,omitempty"`  // a known set of artifacts, as listed for the workflow kit (absent: none)
	Artifacts []Artifact `json:"artifacts,omitempty"` // files; one of a template is replaced by its path
}

// Artifact is a file that a phase has to bring.
type Artifact struct {
	Path string `json:"path"` // path relative to the project
	// the rule its content is held to, as listed for the workflow kit (absent: none of its own)
	Semantics       string           `json:"semantics,omitempty"`
	SemanticsConfig *SemanticsConfig `json:"semantics_config,omitempty"` // settings of section_check
	OwnedBy         string           `json:"owned_by,omitempty"`         // the role that must have taken a turn for it (absent: any)
	Required        *bool            `json:"required,omitempty"`         // the gate needs it (absent: true)
}

// SemanticsConfig is the configuration of section_check.
type SemanticsConfig struct {
	RequiredSections []string `json:"required_sections,omitempty"` // headers that must be there with text, at least one
}

// Rules are the run's rules; nil means the default: challenge required, two attempts.
type Rules struct {
	ChallengeRequired *bool `json:"challenge_required,omitempty"`  // reviewers must raise at least one objection (absent: true)
	MaxTurnRetries    *int  `json:"max_turn_retries,omitempty"`    // attempts a turn has in total, 1 or more (absent: 2)
	MaxDeadlockCycles *int  `json:"max_deadlock_cycles,omitempty"` // kept for other tools, 0 or more (absent: 2)
	Extra             Extra `json:"-"`
}

func (r *Rules) UnmarshalJSON(data []byte) error { return readKeep(data, r) }
func (r Rules) MarshalJSON() ([]byte, error)     { return writeKeep(r) }

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
	// an agent that says nothing for so many milliseconds has not started (absent: 180000)
	StartupWatchdogMS *int `json:"startup_watchdog_ms,omitempty"`
	// how often a start that takes long is noted, in milliseconds (absent: 30000)
	StartupHeartbeatMS *int `json:"startup_heartbeat_ms,omitempty"`
	// how often progress is noted, in milliseconds (absent: 60000)
	LivenessHeartbeatMS *int `json:"liveness_heartbeat_ms,omitempty"`
	// a turn without progress for so many milliseconds has stalled (absent: 600000)
	StaleTurnThresholdMS *int `json:"stale_turn_threshold_ms,omitempty"`
	// turns before a run stops by itself, 1 or more (absent: 50)
	MaxTurns *int `json:"max_turns,omitempty"`
	// accepted turns with the same failing gate before a run stops (absent: 3)
	NonProgressThreshold *int  `json:"non_progress_threshold,omitempty"`
	Extra                Extra `json:"-"`
}

func (l *RunLoop) UnmarshalJSON(data []byte) error { return readKeep(data, l) }
func (l RunLoop) MarshalJSON() ([]byte, error)     { return writeKeep(l) }
