package protocol

import "encoding/json"

// How an agent's permission requests are handled (Runtime.Approve).
const (
	ApprovePrompt = "prompt"
	ApproveYolo   = "yolo"
	ApproveDeny   = "deny"
)

// Runtime is one entry of runtimes: how a role is performed. The relevant fields depend on Type.
type Runtime struct {
	Type         string               `json:"type,omitempty"`
	Capabilities *RuntimeCapabilities `json:"capabilities,omitempty"`

	Command             Words    `json:"command,omitzero"`
	Args                []string `json:"args,omitempty"`
	CWD                 string   `json:"cwd,omitempty"`
	PromptTransport     string   `json:"prompt_transport,omitempty"`
	StartupWatchdogMS   *int     `json:"startup_watchdog_ms,omitempty"`
	StartupHeartbeatMS  *int     `json:"startup_heartbeat_ms,omitempty"`
	LivenessHeartbeatMS *int     `json:"liveness_heartbeat_ms,omitempty"`

	// Drawbar's own: an adapter in a role.

	Agent         string   `json:"agent,omitempty"`
	Model         string   `json:"model,omitempty"`
	Session       string   `json:"session,omitempty"`
	Approve       string   `json:"approve,omitempty"`
	ResultMode    string   `json:"result,omitempty"`
	Thinking      string   `json:"thinking,omitempty"`
	Sandbox       string   `json:"sandbox,omitempty"`
	BudgetUSD     *float64 `json:"budget_usd,omitempty"`
	IdleTimeoutMS *int     `json:"idle_timeout_ms,omitempty"`

	// A model API (api_proxy).

	Provider            string       `json:"provider,omitempty"`
	AuthEnv             string       `json:"auth_env,omitempty"`
	BaseURL             string       `json:"base_url,omitempty"`
	MaxOutputTokens     *int         `json:"max_output_tokens,omitempty"`
	TimeoutSeconds      *float64     `json:"timeout_seconds,omitempty"`
	ContextWindowTokens *int         `json:"context_window_tokens,omitempty"`
	RetryPolicy         *RetryPolicy `json:"retry_policy,omitempty"`
	Preflight           *Preflight   `json:"preflight_tokenization,omitempty"`
	Temperature         *float64     `json:"-"` // first edition
	MaxRetries          *int         `json:"-"` // first edition

	// A server (mcp, remote_agent).

	Transport string          `json:"transport,omitempty"`
	ToolName  string          `json:"tool_name,omitempty"`
	URL       string          `json:"url,omitempty"`
	Headers   Ordered[string] `json:"headers,omitzero"`

	// A custom adapter.

	AdapterConfig json.RawMessage `json:"adapter_config,omitempty"`
	Adapter       *Adapter        `json:"-"` // what Type names; normalizing a configuration sets it

	Env            Ordered[string] `json:"env,omitzero"`
	GraceMS        *int            `json:"-"`
	TimeoutMS      *int            `json:"timeout_ms,omitempty"`
	PollIntervalMS *int            `json:"poll_interval_ms,omitempty"`
	Extra          Extra           `json:"-"`
}

// RetryPolicy says how the requests of a model API are repeated; it applies if Enabled. A nil field has its default.
type RetryPolicy struct {
	Enabled           bool     `json:"enabled"`
	MaxAttempts       *int     `json:"max_attempts,omitempty"`
	BaseDelayMS       *float64 `json:"base_delay_ms,omitempty"`
	MaxDelayMS        *float64 `json:"max_delay_ms,omitempty"`
	BackoffMultiplier *float64 `json:"backoff_multiplier,omitempty"`
	Jitter            string   `json:"jitter,omitempty"`
	RetryOn           []string `json:"retry_on,omitempty"`
}

// Preflight says whether a prompt is measured, and its context trimmed, before it is sent to a model.
type Preflight struct {
	Enabled            bool   `json:"enabled"`
	Tokenizer          string `json:"tokenizer,omitempty"`
	SafetyMarginTokens *int   `json:"safety_margin_tokens,omitempty"`
}

// Remote reports whether runtimes of a type reach no files of the project: they review and propose.
func Remote(runtimeType string) bool {
	return runtimeType == RuntimeAPIProxy || runtimeType == RuntimeRemoteAgent
}

// Permission is the effective Approve of an agent; empty for every other type.
func (r Runtime) Permission() string {
	switch {
	case r.Type != RuntimeAgent:
		return ""
	case r.Approve == "":
		return ApprovePrompt
	}
	return r.Approve
}

// Permissions are the modes of the roles with runtimes of type agent, by role.
func (c *Config) Permissions() Ordered[string] {
	var all Ordered[string]
	for id := range c.Roles.All() {
		if _, rt, ok := c.RuntimeOf(id); ok && rt.Permission() != "" {
			all.Set(id, rt.Permission())
		}
	}
	return all
}

// UnmarshalJSON keeps unknown keys.
func (r *Runtime) UnmarshalJSON(data []byte) error { return readKeep(data, r) }
func (r Runtime) MarshalJSON() ([]byte, error)     { return writeKeep(r) }

// RuntimeCapabilities override what a runtime's type can do.
type RuntimeCapabilities struct {
	CanWriteFiles             string `json:"can_write_files,omitempty"`
	ProposalSupport           string `json:"proposal_support,omitempty"`
	WorkflowArtifactOwnership string `json:"workflow_artifact_ownership,omitempty"`
}

// Words is a command: a string or an array of strings in JSON. It is written in the form in which it was read.
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
