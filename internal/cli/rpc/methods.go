package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/control"
)

// Protocol is the version of the methods. A new minor version adds, a new major version changes.
const Protocol = "1.0"

// method is a method of the server.
type method struct {
	Name, Doc      string
	Params, Result reflect.Type
	call           func(ctx context.Context, s *server, params json.RawMessage) (result any, after func(), err error)
}

// paramsError is a mistake in the parameters.
type paramsError struct{ error }

// of makes a method of a function. Unknown parameters are refused, so that a misspelt one is not ignored.
func of[P, R any](name, doc string, f func(context.Context, *server, P) (R, error)) method {
	return after(name, doc, func(ctx context.Context, s *server, p P) (R, func(), error) {
		r, err := f(ctx, s, p)
		return r, nil, err
	})
}

func after[P, R any](name, doc string, f func(context.Context, *server, P) (R, func(), error)) method {
	return method{name, doc, reflect.TypeFor[P](), reflect.TypeFor[R](), func(ctx context.Context, s *server, params json.RawMessage) (any, func(), error) {
		var p P
		if len(params) > 0 && !bytes.Equal(bytes.TrimSpace(params), []byte("null")) {
			d := json.NewDecoder(bytes.NewReader(params))
			d.DisallowUnknownFields()
			if err := d.Decode(&p); err != nil {
				return nil, nil, &paramsError{fmt.Errorf("params: %s", strings.TrimPrefix(err.Error(), "json: "))}
			}
			if _, err := d.Token(); err != io.EOF {
				return nil, nil, &paramsError{fmt.Errorf("params: more than one value")}
			}
		}
		r, after, err := f(ctx, s, p)
		return r, after, err
	}}
}

// methods are all, in the order of the documentation. A function, because the handlers use the table.
func methods() []method {
	return []method{
		of("initialize", "Say who calls, and learn what the server can do. Optional.", initialize),
		of("agents.list", "List the agents with their capabilities.", agentsList),
		of("agents.detect", "Say whether an agent is installed and logged in.", agentsDetect),
		of("negotiate", "Say what an agent would do with a request. Nothing is started.", negotiate),
		after("run.start", "Start a run. Its events follow as notifications run.event; the last one is finished, with the result.", runStart),
		of("run.control", "Send a message to a live run, answer its question, interrupt, abort, pause or resume it, or ask how it is. Also for runs of other programs.", runControl),
		of("run.result", "Wait for the result of a run, live or on record.", runResult),
		of("runs.list", "List runs on record, the newest first.", runsList),
		of("runs.events", "The events of a run on record.", runsEvents),
		of("runs.waiting", "The request that continues a run which ended waiting for a person: add continuation.decision, or the answer as message.text, and start it.", runsWaiting),
		of("sessions.list", "List the conversations that agents keep on disk.", sessionsList),
		of("sessions.get", "One conversation, whole.", sessionsGet),
		of("govern.status", "The state of a governed project.", governStatus),
		of("govern.step", "Run one turn of a governed project. What happens meanwhile are notifications govern.notice.", governStep),
		of("govern.run", "Run turns until a person is needed, a limit is reached or the run ends.", governRun),
		of("govern.approve", "Approve the pending gate.", governApprove),
		of("govern.decline", "Send the turn of a gate back, with the reason.", governDecline),
	}
}

func find(name string) *method {
	list := methods()
	if i := slices.IndexFunc(list, func(m method) bool { return m.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// notification is a message of the server without an answer, callback one that the client answers.
type notification struct {
	Name, Doc string
	Params    reflect.Type
	Result    reflect.Type // of a callback; nil for a notification
}

// toClient are the messages of the server.
func toClient() []notification {
	return []notification{
		{"run.event", "An event of a run that this client started.", reflect.TypeFor[RunEvent](), nil},
		{"govern.notice", "Something that happened while a governed project was worked on.", reflect.TypeFor[GovernNotice](), nil},
		{"tool.call", "Run a tool of the request; the answer is its result. An error is told to the agent.", reflect.TypeFor[ToolCall](), reflect.TypeFor[execution.ToolResult]()},
	}
}

// RunEvent is the parameters of run.event.
type RunEvent struct {
	RunID execution.RunID `json:"runId"`
	Event execution.Event `json:"event"`
}

// ToolCall is the parameters of tool.call.
type ToolCall struct {
	RunID execution.RunID    `json:"runId"`
	Call  execution.ToolCall `json:"call"`
}

// Initialize is the parameters of initialize.
type Initialize struct {
	ClientName      string `json:"clientName,omitempty"`
	ProtocolVersion string `json:"protocolVersion,omitempty"` // that the client wants; another major version is refused
}

// Initialized is the result of initialize.
type Initialized struct {
	ProtocolVersion string   `json:"protocolVersion"`
	DrawbarVersion  string   `json:"drawbarVersion"`
	Methods         []string `json:"methods"`
}

func initialize(_ context.Context, s *server, p Initialize) (Initialized, error) {
	r := Initialized{ProtocolVersion: Protocol, DrawbarVersion: s.app.Version}
	major := func(v string) string { m, _, _ := strings.Cut(v, "."); return m }
	if p.ProtocolVersion != "" && major(p.ProtocolVersion) != major(Protocol) {
		return r, execution.Errorf(execution.CodeValidation, "this server speaks protocol %s, the client asks for %.20q", Protocol, p.ProtocolVersion).WithHint("use a client of the same major version")
	}
	for _, m := range methods() {
		r.Methods = append(r.Methods, m.Name)
	}
	return r, nil
}

// Control is the parameters of run.control.
type Control struct {
	RunID execution.RunID `json:"runId"`
	control.Call
}
