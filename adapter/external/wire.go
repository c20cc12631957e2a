package external

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonrpc"
)

// ProtocolVersion is the version of the protocol that this package speaks.
const ProtocolVersion = 1

// The methods.
const (
	methodInitialize = "initialize"
	methodNegotiate  = "negotiate"
	methodExecute    = "execute"
	methodMessage    = "message"
	methodAnswer     = "answer"
	methodInterrupt  = "interrupt"
	methodEndInput   = "endInput"
	methodEvent      = "event"
)

// codeFailed is the JSON-RPC code of a request that the other side could not carry out.
const codeFailed = -32000

// message is a line of either side.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *fault          `json:"error,omitempty"`
}

// fault is why a request failed. Data.Code is an error code of package execution, if the program knows one.
type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    reason `json:"data"`
}

// reason is what a fault says for programs.
type reason struct {
	Code execution.ErrorCode `json:"code"`
	Hint string              `json:"hint,omitempty"`
}

// faultOf returns the fault of an error.
func faultOf(code int, err error) *jsonrpc.Error {
	f := &jsonrpc.Error{Code: code, Message: err.Error()}
	if e, ok := errors.AsType[*execution.Error](err); ok {
		f.Message, f.Data = e.Message, reason{e.Code, e.Hint}
	}
	return f
}

func (f *fault) code() execution.ErrorCode {
	if f.Data.Code.Valid() {
		return f.Data.Code
	}
	return execution.CodeAgentCrash
}

// read decodes a line; ok is false unless it is a message of JSON-RPC 2.0.
func read(line []byte) (m message, ok bool) {
	if json.Unmarshal(line, &m) != nil || m.Version != jsonrpc.Version {
		return m, false
	}
	return m, m.Method != "" || len(m.ID) > 0
}

func (m message) replies() bool { return m.Method == "" }

type initializeParams struct {
	ProtocolVersion int    `json:"protocolVersion"`
	Client          client `json:"client"`
	Detect          bool   `json:"detect,omitempty"` // Introduction.Found is wanted
}

type client struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

func initialize(id any, detect bool) []byte {
	return jsonrpc.Message{Version: jsonrpc.Version, ID: id, Method: methodInitialize,
		Params: initializeParams{ProtocolVersion, client{"drawbar", execution.SchemaVersion}, detect}}.Line()
}

// Introduction is a program's reply to initialize.
type Introduction struct {
	ProtocolVersion int                    `json:"protocolVersion"`
	Agent           Agent                  `json:"agent"`
	Capabilities    execution.Capabilities `json:"capabilities"`
	// Conformance lists the scenarios of the conformance suite that the program plays when it gets the message
	// "conformance: SCENARIO". Checks that need another one are skipped.
	Conformance []string `json:"conformance,omitempty"`
	// Found is what the program's machine has of the agent, if it was asked and looked.
	Found *Found `json:"found,omitempty"`
}

// Found is what a machine has of an agent.
type Found struct {
	Installed bool              `json:"installed"`
	Path      string            `json:"path,omitempty"`
	Version   string            `json:"version,omitempty"`
	Notes     string            `json:"notes,omitempty"`
	Login     adapter.AuthState `json:"login"`
}

// Agent describes the agent behind a program.
type Agent struct {
	Name         string            `json:"name"` // that of the program: drawbar-adapter-NAME
	DisplayName  string            `json:"displayName,omitempty"`
	Version      string            `json:"version,omitempty"` // of the agent
	Docs         string            `json:"documentation,omitempty"`
	DefaultModel string            `json:"defaultModel,omitempty"`
	Models       []execution.Model `json:"models,omitempty"`
	Keys         []string          `json:"keys,omitempty"` // variables of the agent's login, kept in a minimal environment
}

// IsName reports whether an agent can have a name.
func IsName(name string) bool {
	return len(name) > 0 && len(name) <= 64 && name[0] >= 'a' && name[0] <= 'z' && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// readIntroduction decodes and checks a reply to initialize. With strict, unknown members are an error, too.
func readIntroduction(b []byte, strict bool) (in Introduction, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(&in); err != nil {
		return in, fmt.Errorf("its reply to initialize cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	caps := in.Capabilities.Agent
	hooks := execution.Capabilities{}.Stated().Agent.RuntimeHooks
	switch {
	case in.ProtocolVersion != ProtocolVersion:
		return in, fmt.Errorf("it speaks version %d of the protocol, this Drawbar version %d: update the older one", in.ProtocolVersion, ProtocolVersion)
	case !IsName(in.Agent.Name):
		return in, fmt.Errorf("its reply to initialize has the agent name %.80q; want lower-case letters, digits and -", in.Agent.Name)
	case in.Capabilities.Stated().Agent.RuntimeHooks != hooks:
		return in, fmt.Errorf("it declares runtimeHooks, which an external adapter cannot have")
	case caps.Plugins:
		return in, fmt.Errorf("it declares supportsPlugins, which an external adapter cannot have")
	case caps.TakesCommand:
		return in, fmt.Errorf("it declares takesCommand, which an external adapter cannot have")
	}
	if err := in.Capabilities.Validate(); err != nil {
		return in, fmt.Errorf("its reply to initialize has %w", err)
	}
	return in, nil
}

type requestParams struct {
	Request execution.Request `json:"request"`
}

// reasonsReply is a reply to negotiate. Capabilities are those of this run, if they are fewer than those of the agent.
type reasonsReply struct {
	Reasons      []execution.Reason      `json:"reasons"`
	Capabilities *execution.Capabilities `json:"capabilities,omitempty"`
}

type messageParams struct {
	ID   execution.InputID `json:"inputId"`
	Text string            `json:"text"`
	When execution.When    `json:"when,omitempty"`
}

type answerParams struct {
	ID       execution.QuestionID `json:"id"`
	Decision execution.Decision   `json:"decision"`
}

// readResult decodes and checks a reply to execute.
func readResult(b []byte) (execution.Result, error) {
	var r execution.Result
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("its result cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	switch r.Status {
	case execution.StatusCompleted, execution.StatusNeedsClarification, execution.StatusAwaitingApproval, execution.StatusDeferred:
	case execution.StatusFailed, execution.StatusUnsupported:
		if r.Error == nil {
			return r, fmt.Errorf("its result has the status %s and no error", r.Status)
		}
		made := execution.NewResultError(r.Error.ErrorCode(), r.Error.Message)
		for k, v := range r.Error.Metadata {
			if _, have := made.Metadata[k]; !have {
				made.Metadata[k] = v
			}
		}
		r.Error = made
	default:
		return r, fmt.Errorf("its result has the status %.60q", r.Status)
	}
	if r.ExitReason != execution.ExitTurnLimit && r.ExitReason != execution.ExitInterrupted {
		r.ExitReason = "" // the others are known from the process
	}
	// The rest is what only Drawbar knows.
	return execution.Result{Status: r.Status, Output: r.Output, Continuation: r.Continuation, ApprovalRequest: r.ApprovalRequest,
		Error: r.Error, Metadata: r.Metadata, Model: r.Model, SessionID: r.SessionID, Usage: r.Usage, Cost: r.Cost,
		ExitReason: r.ExitReason, TurnCount: r.TurnCount, Retries: r.Retries}, nil
}

// readEvent decodes the parameters of an event.
func readEvent(b []byte) (execution.Event, error) {
	var e execution.Event
	if err := json.Unmarshal(b, &e); err != nil {
		return e, err
	}
	if e.Terminal() {
		return e, fmt.Errorf("the event %s is Drawbar's own: the reply to execute ends a run", e.Body.Type())
	}
	return execution.Event{Body: e.Body, Parent: e.Parent, Origin: e.Origin}, nil
}
