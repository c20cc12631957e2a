package pi

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// question is a dialog that Pi waits for.
type question struct {
	id     string
	method string // select, confirm, input, editor; empty for the gate's
	tool   string
	call   string
}

// reply is the answer to a dialog.
type reply struct {
	Type      string  `json:"type"`
	ID        string  `json:"id"`
	Value     *string `json:"value,omitempty"`
	Confirmed *bool   `json:"confirmed,omitempty"`
	Cancelled bool    `json:"cancelled,omitempty"`
}

func answerTo(q question) reply { return reply{Type: "extension_ui_response", ID: q.id} }

type gateForm struct {
	_               jsonscan.Camel
	ID, Tool, Input jsonscan.Value
}

var gateShape jsonscan.Shape[gateForm]

// dialog handles what an extension shows or asks. A dialog waits for its reply; everything else does not.
func (p *parser) dialog(s *cliagent.Sink) bool {
	q := question{id: p.v.ID.Str(), method: p.v.Method.Str()}
	title := p.v.Title.Str()
	switch q.method {
	case "notify":
		if why, ok := strings.CutPrefix(p.v.Message.Str(), gateFault); ok {
			s.Fail(unattached(why))
			return true
		}
		level := execution.DebugInfo
		if kind := p.v.NotifyType.Str(); kind == "warning" || kind == "error" {
			level = execution.DebugWarn
		}
		s.Emit(execution.Debug{Level: level, Message: "pi: " + p.v.Message.Str()})
		return true
	case "setStatus", "setWidget", "setTitle", "set_editor_text":
		return true
	case "select", "confirm", "input", "editor":
	default:
		return false
	}
	if q.id == "" {
		return false
	}
	if !p.running || p.aborted {
		r := answerTo(q)
		r.Cancelled = true
		send(s, r)
		return true
	}
	if q.method == "input" && title == gateTitle {
		return p.permit(q, s)
	}
	id := execution.QuestionID(q.id)
	p.questions.Add(id, q)
	switch q.method {
	case "confirm":
		s.Emit(execution.ApprovalRequired{ID: id, Action: title, Detail: p.v.Message.Str(), Risk: execution.RiskMedium})
	case "select":
		var options []string
		for _, o := range p.v.Options.Array {
			options = append(options, o.Str())
		}
		s.Emit(execution.InputRequired{ID: id, Question: title, Context: "one of: " + strings.Join(options, ", "), Source: execution.InputFromAgent})
	case "input":
		s.Emit(execution.InputRequired{ID: id, Question: title, Context: p.v.Placeholder.Str(), Source: execution.InputFromAgent})
	case "editor":
		s.Emit(execution.InputRequired{ID: id, Question: title, Context: p.v.Prefill.Str(), Source: execution.InputFromAgent})
	}
	return true
}

// unattached is the error about MCP servers of the run that Pi did not accept; one without registerMcpServer gives no reason.
func unattached(why string) *execution.Error {
	if why != "" {
		return execution.Errorf(execution.CodeValidation, "pi does not accept the MCP servers of the run: %s", why)
	}
	e := &execution.Error{Code: execution.CodeCapability, Agent: name, Capability: "mcp", Message: "this release of pi accepts no MCP servers of a run; 1.0 and later do"}
	return e.WithHint("%s", install)
}

// permit asks whether a tool may run.
func (p *parser) permit(q question, s *cliagent.Sink) bool {
	var v gateForm
	asked, err := jsonscan.Parse([]byte(p.v.Placeholder.Str()))
	if err != nil || !gateShape.From(asked, &v) {
		return false
	}
	q.method, q.tool, q.call = "", v.Tool.Str(), v.ID.Str()
	p.calls.Called(p.calls.Start(q.call, q.tool, "", s), v.Input, s)
	id := execution.QuestionID(q.id)
	p.questions.Add(id, q)
	action, risk := "use the tool "+q.tool, execution.RiskMedium
	switch {
	case q.tool == "bash" || q.tool == "powershell":
		action, risk = "run a command", execution.RiskHigh
	case q.tool == "write" || q.tool == "edit":
		action = "change files"
	case slices.Contains(reading, q.tool):
		action, risk = "read files", execution.RiskLow
	}
	input := v.Input
	detail := input.Get("command").Str()
	if detail == "" {
		detail = input.Get("path").Str()
	}
	if detail == "" {
		detail = q.tool
	}
	raw := slices.Clone(json.RawMessage(input.Raw()))
	s.Emit(execution.ApprovalRequired{ID: id, Action: action, Detail: detail, ToolName: q.tool, ToolCallID: q.call, Input: raw, Risk: risk, Use: tools.Use(q.tool, raw), Editable: true})
	return true
}

// answer answers a dialog.
func (p *parser) answer(a execution.Answer, s *cliagent.Sink) error {
	q, err := p.questions.Find(a.ID)
	if err != nil {
		return err
	}
	p.questions.Remove(a.ID)
	r := answerTo(q)
	d := a.Decision
	switch q.method {
	case "":
		verdict := struct {
			Allow  bool            `json:"allow"`
			Reason string          `json:"reason,omitempty"`
			Input  json.RawMessage `json:"input,omitempty"`
		}{d.Approve, d.Reason, d.Input}
		b, err := json.Marshal(verdict)
		if err != nil {
			return execution.Errorf(execution.CodeValidation, "the changed input is not JSON: %v", err)
		}
		text := string(b)
		r.Value = &text
	case "confirm":
		r.Confirmed = &d.Approve
	default:
		if d.Text == "" && !d.Approve {
			r.Cancelled = true
		} else {
			r.Value = &d.Text
		}
	}
	if q.method == "" && !d.Approve {
		p.calls.Settled(q.call)
	}
	send(s, r)
	return nil
}
