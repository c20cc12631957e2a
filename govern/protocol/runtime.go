package protocol

import "encoding/json"

// What happens to an agent's questions for permission (Runtime.Approve).
const (
	ApprovePrompt = "prompt"
	ApproveYolo   = "yolo"
	ApproveDeny   = "deny"
)

// Runtime is one entry of runtimes: how a role is carried out. Which fields count depends on Type.
type Runtime struct {
	// how the work is done: manual, local_cli, api_proxy, mcp, remote_agent or agent
	Type string `json:"type,omitempty"`
	// what this runtime can do, where it differs from its type
	Capabilities *RuntimeCapabilities `json:"capabilities,omitempty"`

	// local_cli, mcp: the program, with its arguments when it is a list
	Command Words `json:"command,omitzero"`
	// local_cli, mcp: arguments, when command is a string
	Args []string `json:"args,omitempty"`
	// local_cli, mcp: folder it runs in, relative to the project (absent: where the turn works)
	CWD string `json:"cwd,omitempty"`
	// local_cli: argv, stdin or dispatch_bundle_only (absent: argv with {prompt} in the command, else the bundle only)
	PromptTransport string `json:"prompt_transport,omitempty"`
	// local_cli, agent: as in run_loop, in milliseconds (absent: that of run_loop)
	StartupWatchdogMS *int `json:"startup_watchdog_ms,omitempty"`
	// local_cli, agent: as in run_loop, in milliseconds (absent: that of run_loop)
	StartupHeartbeatMS *int `json:"startup_heartbeat_ms,omitempty"`
	// local_cli, agent: as in run_loop, in milliseconds (absent: that of run_loop)
	LivenessHeartbeatMS *int `json:"liveness_heartbeat_ms,omitempty"`

	// Drawbar's own: an adapter in a role.

	// agent: an adapter of Drawbar, as in drawbar agents
	Agent string `json:"agent,omitempty"`
	// agent, api_proxy: the model (absent: the agent's own default; api_proxy must have it)
	Model string `json:"model,omitempty"`
	// agent: one conversation per role, or a new one per turn: role or turn (absent: turn)
	Session string `json:"session,omitempty"`
	// agent asks for a permission: prompt (a person, else the turn is blocked), yolo (allow) or deny (absent: prompt)
	Approve string `json:"approve,omitempty"`
	// agent: staged (a file it writes) or structured (its output) (absent: staged)
	ResultMode string `json:"result,omitempty"`
	// agent: how hard it is to think: low, medium, high or max (absent: the agent's own)
	Thinking string `json:"thinking,omitempty"`
	// agent: which sandbox of its own it works in: read-only, workspace-write or none (absent: its default)
	Sandbox string `json:"sandbox,omitempty"`
	// agent: limit of a turn in US dollars, more than 0 (absent: none)
	BudgetUSD *float64 `json:"budget_usd,omitempty"`
	// agent: limit of silence in milliseconds (absent: stale_turn_threshold_ms of run_loop)
	IdleTimeoutMS *int `json:"idle_timeout_ms,omitempty"`

	// local_cli, agent: further variables; ${VAR} is taken from the environment and never written
	Env Ordered[string] `json:"env,omitzero"`
	// GraceMS is the time between TERM and KILL; nil is 10000, 5000 in the first edition.
	GraceMS *int `json:"-"`
	// local_cli, agent: limit of a turn; remote_agent: of a request; milliseconds (absent: timeouts, else 1200000)
	TimeoutMS *int `json:"timeout_ms,omitempty"`
	// manual: how often the staged file is looked for, in milliseconds (absent: 2000)
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
func (r *Runtime) UnmarshalJSON(data []byte) error { return readKeep(data, r) }
func (r Runtime) MarshalJSON() ([]byte, error)     { return writeKeep(r) }

// RuntimeCapabilities override what a runtime's type can do.
type RuntimeCapabilities struct {
	CanWriteFiles   string `json:"can_write_files,omitempty"`  // how it writes: direct, proposal_only, tool_defined or unknown
	ProposalSupport string `json:"proposal_support,omitempty"` // whether it proposes: none, optional, native, tool_defined or unknown
	// whether its roles may own files of the kit: yes, no, proposal_apply_required, tool_defined or unknown
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
