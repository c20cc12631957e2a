package execution

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// RunOptions are the options of a run (agent-mux specification, RunOptions), without the callbacks, which are
// in package agent. Zero values mean "not stated".
type RunOptions struct {
	Agent                string            `json:"agent,omitempty"`
	Command              []string          `json:"command,omitempty"` // program and arguments, for an adapter without a program of its own; no shell
	Model                string            `json:"model,omitempty"`
	SystemPromptMode     SystemPromptMode  `json:"systemPromptMode,omitempty"` // default prepend
	ThinkingEffort       ThinkingEffort    `json:"thinkingEffort,omitempty"`
	ThinkingBudgetTokens int               `json:"thinkingBudgetTokens,omitempty"` // >= 1024; wins over the effort
	ThinkingOverride     map[string]any    `json:"thinkingOverride,omitempty"`
	Temperature          *float64          `json:"temperature,omitempty"` // 0..2
	TopP                 *float64          `json:"topP,omitempty"`        // 0..1
	TopK                 int               `json:"topK,omitempty"`        // >= 1
	MaxTokens            int               `json:"maxTokens,omitempty"`
	MaxOutputTokens      int               `json:"maxOutputTokens,omitempty"` // wins over maxTokens
	SessionID            string            `json:"sessionId,omitempty"`       // the agent's session to resume
	ForkSessionID        string            `json:"forkSessionId,omitempty"`
	NoSession            bool              `json:"noSession,omitempty"` // leave no session to resume
	Stream               StreamMode        `json:"stream,omitempty"`    // default auto
	OutputFormat         OutputFormat      `json:"outputFormat,omitempty"`
	OutputSchema         json.RawMessage   `json:"outputSchema,omitempty"` // a JSON Schema that the final answer must satisfy
	Interactive          bool              `json:"interactive,omitempty"`  // keep the conversation open for messages and answers
	NonInteractive       bool              `json:"nonInteractive,omitempty"`
	Cwd                  string            `json:"cwd,omitempty"` // absolute
	Env                  map[string]string `json:"env,omitempty"`
	Environment          EnvironmentMode   `json:"environment,omitempty"`       // default inherit
	TimeoutMs            int64             `json:"timeout,omitempty"`           // ms; 0 is none
	InactivityTimeoutMs  int64             `json:"inactivityTimeout,omitempty"` // ms; 0 is none
	GracePeriodMs        *int64            `json:"gracePeriodMs,omitempty"`     // TERM to KILL; default 5000
	MaxTurns             int               `json:"maxTurns,omitempty"`
	MaxBudgetUSD         *float64          `json:"maxBudgetUsd,omitempty"` // >= 0
	ApprovalMode         ApprovalMode      `json:"approvalMode,omitempty"` // default prompt
	AllowTools           []string          `json:"allowTools,omitempty"`   // rules of tool calls that are allowed without a question; see agent/toolrule
	DenyTools            []string          `json:"denyTools,omitempty"`    // rules of tool calls that are denied, in every approval mode
	Sandbox              SandboxMode       `json:"sandbox,omitempty"`      // default: implied by the approval mode
	Skills               []string          `json:"skills,omitempty"`
	AgentsDoc            string            `json:"agentsDoc,omitempty"`
	MCPServers           []MCPServer       `json:"mcpServers,omitempty"`
	KeepRetrying         bool              `json:"keepRetrying,omitempty"` // let the agent retry model calls whose credentials are refused
	RetryPolicy          *RetryPolicy      `json:"retryPolicy,omitempty"`
	RunID                RunID             `json:"runId,omitempty"`
	Tags                 []string          `json:"tags,omitempty"`
	ProjectID            string            `json:"projectId,omitempty"`
	Profile              string            `json:"profile,omitempty"`
	CollectEvents        bool              `json:"collectEvents,omitempty"`
	Debug                bool              `json:"debug,omitempty"` // emit unrecognized lines as log events
	Invocation           Invocation        `json:"invocation,omitempty"`
}

// SystemPromptMode says how the system prompt combines with the agent's own.
type SystemPromptMode string

// The system prompt modes.
const (
	SystemPromptPrepend SystemPromptMode = "prepend"
	SystemPromptAppend  SystemPromptMode = "append"
	SystemPromptReplace SystemPromptMode = "replace"
)

var systemPromptModes = []SystemPromptMode{SystemPromptPrepend, SystemPromptAppend, SystemPromptReplace}

// ThinkingEffort is how much the model thinks.
type ThinkingEffort string

// The thinking efforts.
const (
	EffortLow    ThinkingEffort = "low"
	EffortMedium ThinkingEffort = "medium"
	EffortHigh   ThinkingEffort = "high"
	EffortMax    ThinkingEffort = "max"
)

var thinkingEfforts = []ThinkingEffort{EffortLow, EffortMedium, EffortHigh, EffortMax}

// ApprovalMode says who answers permission questions: yolo approves all, deny refuses all, prompt asks the
// caller, and reads asks about all but reading files in the working directory.
type ApprovalMode string

// The approval modes.
const (
	ApprovalYolo   ApprovalMode = "yolo"
	ApprovalReads  ApprovalMode = "reads"
	ApprovalPrompt ApprovalMode = "prompt"
	ApprovalDeny   ApprovalMode = "deny"
)

var approvalModes = []ApprovalMode{ApprovalYolo, ApprovalReads, ApprovalPrompt, ApprovalDeny}

// SandboxMode limits what an agent's commands can access, if the agent has a sandbox of its own.
type SandboxMode string

// The sandbox modes: commands may read, may also write in the working directory, or run without a sandbox.
const (
	SandboxReadOnly  SandboxMode = "read-only"
	SandboxWorkspace SandboxMode = "workspace-write"
	SandboxNone      SandboxMode = "none"
)

var sandboxModes = []SandboxMode{SandboxReadOnly, SandboxWorkspace, SandboxNone}

// StreamMode is auto (stream what the agent streams), on (refuse an agent that cannot stream text) or off
// (complete messages only).
type StreamMode string

// The stream modes. In JSON, true and false are read as on and off.
const (
	StreamAuto StreamMode = "auto"
	StreamOn   StreamMode = "on"
	StreamOff  StreamMode = "off"
)

var streamModes = []StreamMode{StreamAuto, StreamOn, StreamOff}

// UnmarshalJSON reads the mode's name or a boolean.
func (m *StreamMode) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		*m = StreamOn
		return nil
	case "false":
		*m = StreamOff
		return nil
	}
	return json.Unmarshal(b, (*string)(m))
}

// OutputFormat is the output format requested from the agent.
type OutputFormat string

// The output formats.
const (
	FormatText  OutputFormat = "text"
	FormatJSON  OutputFormat = "json"
	FormatJSONL OutputFormat = "jsonl"
)

var outputFormats = []OutputFormat{FormatText, FormatJSON, FormatJSONL}

// EnvironmentMode says which environment variables the agent's process inherits.
type EnvironmentMode string

// The environment modes: inherit passes all but other agents' host markers, minimal an allow-list plus the
// adapter's own keys.
const (
	EnvironmentInherit EnvironmentMode = "inherit"
	EnvironmentMinimal EnvironmentMode = "minimal"
)

var environmentModes = []EnvironmentMode{EnvironmentInherit, EnvironmentMinimal}

// MCPServer is a Model Context Protocol server attached to the run.
type MCPServer struct {
	Name      string            `json:"name"`
	Transport MCPTransport      `json:"transport"`
	Command   string            `json:"command,omitempty"` // stdio
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	URL       string            `json:"url,omitempty"` // sse, streamable-http
	Headers   map[string]string `json:"headers,omitempty"`
}

// MCPTransport is how an MCP server is reached.
type MCPTransport string

// The MCP transports.
const (
	MCPStdio          MCPTransport = "stdio"
	MCPSSE            MCPTransport = "sse"
	MCPStreamableHTTP MCPTransport = "streamable-http"
)

var mcpTransports = []MCPTransport{MCPStdio, MCPSSE, MCPStreamableHTTP}

var mcpName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) })

// Validate reports all problems of a server as a VALIDATION_ERROR.
func (m MCPServer) Validate() error {
	var f faults
	m.validate("server", &f)
	return f.err("MCP server " + strconv.Quote(m.Name))
}

func (m MCPServer) validate(at string, f *faults) {
	if !mcpName().MatchString(m.Name) {
		f.addf(at+".name", strconv.Quote(m.Name), "1 to 64 letters, digits, - or _", "is not a valid server name")
	}
	f.add(oneOf(at+".transport", m.Transport, mcpTransports))
	switch m.Transport {
	case MCPStdio:
		if m.Command == "" {
			f.addf(at+".command", "", "a command", "is required for stdio")
		}
		if m.URL != "" || len(m.Headers) > 0 {
			f.addf(at+".url", strconv.Quote(m.URL), "no url and no headers", "belongs to http transports, not stdio")
		}
	case MCPSSE, MCPStreamableHTTP:
		if !strings.HasPrefix(m.URL, "http://") && !strings.HasPrefix(m.URL, "https://") {
			f.addf(at+".url", strconv.Quote(m.URL), "an http or https URL", "is required for "+string(m.Transport))
		}
		if m.Command != "" || len(m.Args) > 0 || len(m.Env) > 0 {
			f.addf(at+".command", strconv.Quote(m.Command), "no command, args or env", "belongs to stdio")
		}
	}
}

// Validate checks ranges, words and contradictions of the options. The error is a VALIDATION_ERROR that lists
// all problems; fields are named as in Request.Validate.
func (o RunOptions) Validate() error {
	var f faults
	o.validate(&f)
	return f.err("invalid run options")
}

func (o RunOptions) validate(f *faults) {
	for _, row := range options {
		row.check(o, f)
	}
	for i, word := range o.Command {
		switch {
		case i == 0 && strings.TrimSpace(word) == "":
			f.addf("run.command[0]", strconv.Quote(word), "the name or path of a program", "does not name a program")
		case strings.Contains(word, "\x00"):
			f.addf(fmt.Sprintf("run.command[%d]", i), "a word with NUL", "a word without NUL", "cannot be passed to a process")
		}
	}
	if strings.HasPrefix(o.SessionID, "-") || strings.HasPrefix(o.ForkSessionID, "-") {
		f.addf("run.sessionId", strconv.Quote(o.SessionID+o.ForkSessionID), "a session id", "begins with a dash")
	}
	if strings.HasPrefix(o.Model, "-") {
		f.addf("run.model", strconv.Quote(o.Model), "a model id", "begins with a dash")
	}
	if _, err := o.Invocation.Target(); err != nil {
		f.addf("run.invocation", strconv.Quote(string(o.Invocation)), "local, ssh:HOST[:DIR], docker:IMAGE or kubernetes:[NAMESPACE/]POD[:DIR]", err.Error())
	}
	if o.Cwd != "" && !absolute(o.Cwd) {
		f.addf("run.cwd", strconv.Quote(o.Cwd), "an absolute path", "is relative")
	}
	for k := range o.Env {
		if k == "" || strings.ContainsAny(k, "=\x00") {
			f.addf("run.env", strconv.Quote(k), "a name without = and NUL", "is not a valid variable name")
		} else if strings.Contains(o.Env[k], "\x00") {
			f.addf("run.env."+k, "a value with NUL", "a value without NUL", "cannot be passed to a process")
		}
	}
	if len(o.OutputSchema) > 0 {
		var schema map[string]any
		if json.Unmarshal(o.OutputSchema, &schema) != nil {
			f.addf("run.outputSchema", clip(string(o.OutputSchema), 40), "a JSON object", "is not a JSON Schema")
		}
	}
	seen := map[string]bool{}
	for i, m := range o.MCPServers {
		m.validate(fmt.Sprintf("run.mcpServers[%d]", i), f)
		if seen[m.Name] {
			f.addf(fmt.Sprintf("run.mcpServers[%d].name", i), strconv.Quote(m.Name), "", "is used twice")
		}
		seen[m.Name] = true
	}
	if o.RetryPolicy != nil {
		o.RetryPolicy.validate(f)
	}
	if o.RunID != "" {
		if _, err := ParseRunID(string(o.RunID)); err != nil {
			f.addf("run.runId", strconv.Quote(clip(string(o.RunID), 40)), "a ULID", err.Error())
		}
	}
}

// The bounds of options: a number beyond them is a mistake or an attempt to disable a limit.
const (
	MaxTimeout    = 30 * 24 * time.Hour // of a run and of inactivity
	MaxGrace      = 10 * time.Minute
	MaxTurnCount  = 1_000_000
	MaxTokenCount = 100_000_000
	MaxAttempts   = 100
	MaxRetryDelay = time.Hour
)

func duration(field string, ms int64, most time.Duration, f *faults) {
	if ms < 0 || ms > most.Milliseconds() {
		f.addf(field, strconv.FormatInt(ms, 10), fmt.Sprintf("0 to %d milliseconds", most.Milliseconds()), "is out of range")
	}
}
