package claude

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// question is an open permission question, or one of the AskUserQuestion tool.
type question struct {
	request string
	call    string // the tool call it belongs to
	name    string
	input   json.RawMessage
	asks    bool // it expects text
}

type askForm struct {
	RequestID jsonscan.Value
	Request   struct {
		Subtype, ToolName, DisplayName, Input, Description, ToolUseID, AgentID jsonscan.Value
		MCPServer                                                              struct{ Name jsonscan.Value }
	}
}

var askShape jsonscan.Shape[askForm]

// controlRequest handles a request of Claude. An unknown request gets an error reply, because Claude waits.
func (p *parser) controlRequest(line []byte, s *cliagent.Sink) bool {
	var v askForm
	if !askShape.Into(line, &v) || v.RequestID.Kind() != jsonscan.String {
		return false
	}
	if !v.Request.Subtype.IsStr("can_use_tool") {
		s.Write(respond(v.RequestID.Str(), nil, fmt.Sprintf("the request %q is not supported", v.Request.Subtype.Str())))
		return false
	}
	p.ensureTurn(s)
	q := &question{request: v.RequestID.Str(), call: v.Request.ToolUseID.Str(), name: v.Request.ToolName.Str(),
		input: bytes.Clone(v.Request.Input.Raw())}
	if q.input == nil {
		q.input = json.RawMessage("{}")
	}
	parent := p.tasks[v.Request.AgentID.Str()]
	// A sub-agent's question can arrive before the line of its call.
	if q.call != "" && q.name != "AskUserQuestion" {
		c := p.Calls.Start(q.call, q.name, parent, s)
		parent = c.Parent
		p.Calls.Called(c, v.Request.Input, s)
	}
	id := execution.QuestionID(q.request)
	p.questions.Add(id, q)
	if q.name == "AskUserQuestion" {
		q.asks = true
		text, options := asked(v.Request.Input)
		s.EmitFrom(parent, execution.InputRequired{ID: id, Question: text, Context: options, Source: execution.InputFromAgent})
		return true
	}
	action := cmp.Or(v.Request.DisplayName.Str(), q.name)
	if c := p.Calls.Open(q.call); c != nil && c.MCP {
		action = c.Server + ": " + action
	}
	s.EmitFrom(parent, execution.ApprovalRequired{ID: id, Action: action, Detail: detail(v.Request.Input, v.Request.Description.Str()),
		ToolName: q.name, ToolCallID: q.call, Input: q.input, Risk: risk(q.name), Use: tools.Use(q.name, q.input), Editable: true})
	return true
}

// asked formats the questions of AskUserQuestion and their options.
func asked(input jsonscan.Value) (text, options string) {
	var questions, lines []string
	for _, q := range input.Get("questions").Array {
		question := q.Get("question").Str()
		questions = append(questions, question)
		lines = append(lines, question)
		for _, o := range q.Get("options").Array {
			option := "- " + o.Get("label").Str()
			if d := o.Get("description").Str(); d != "" {
				option += ": " + d
			}
			lines = append(lines, option)
		}
	}
	return strings.Join(questions, "\n"), strings.Join(lines, "\n")
}

// detail returns what a person needs to see of a call: the command, the file, the URL.
func detail(input jsonscan.Value, description string) string {
	for _, key := range []string{"command", "file_path", "notebook_path", "url", "plan"} {
		if text := input.Get(key).Str(); text != "" {
			return text
		}
	}
	if description == "" {
		return string(input.Raw())
	}
	return description
}

func risk(tool string) execution.RiskLevel {
	switch tool {
	case "Bash", "PowerShell":
		return execution.RiskHigh
	case "Read", "Glob", "Grep", "LS", "WebSearch", "WebFetch", "ExitPlanMode":
		return execution.RiskLow
	}
	return execution.RiskMedium
}

// controlCancel withdraws a question.
func (p *parser) controlCancel(line []byte, s *cliagent.Sink) bool {
	v, _ := jsonscan.Parse(line)
	id := execution.QuestionID(v.Get("request_id").Str())
	if id == "" {
		return false
	}
	p.questions.Withdraw("the agent no longer waits for an answer", s, func(q *question) bool {
		named := q.request == string(id)
		if named {
			p.Calls.Settled(q.call) // the result lists the call as denied, although nobody denied it
		}
		return named
	})
	return true
}

var responseShape jsonscan.Shape[struct {
	Response struct{ Subtype, RequestID, Error jsonscan.Value }
}]

// controlResponse handles replies to our requests. It also gets repetitions of our own replies.
func (p *parser) controlResponse(line []byte, s *cliagent.Sink) bool {
	v, ok := responseShape.Read(line)
	if !ok || !v.Response.Subtype.Exists() {
		return false
	}
	if !v.Response.Subtype.IsStr("error") {
		return true
	}
	switch id := v.Response.RequestID.Str(); {
	case id == handshakeID:
		s.Fail(execution.Errorf(execution.CodeInternal, "claude refused the handshake: %s", v.Response.Error.Str()))
	case strings.HasPrefix(id, interruptID):
		s.Emit(execution.ErrorEvent{Code: execution.CodeInvalidStateTransition, Message: "interrupt: " + v.Response.Error.Str(),
			Recoverable: true})
	}
	return true
}

// answer sends a decision for its question.
func (p *parser) answer(a execution.Answer, s *cliagent.Sink) error {
	q, err := p.questions.Find(a.ID)
	if err != nil {
		return err
	}
	input, err := q.decide(a.Decision)
	if err != nil {
		return err
	}
	p.questions.Remove(a.ID)
	if input == nil {
		why := a.Decision.Reason
		if why == "" {
			why = "the permission was refused"
		}
		p.Calls.Settled(q.call)
		s.Write(respond(q.request, map[string]any{"behavior": "deny", "message": why}, ""))
		return nil
	}
	s.Write(respond(q.request, map[string]any{"behavior": "allow", "updatedInput": input}, ""))
	if c := p.Calls.Open(q.call); c != nil && c.Ready && !q.asks {
		changed, _ := jsonscan.Parse(input)
		p.Calls.Input(c, changed)
		p.Calls.Run(c, s)
	}
	return nil
}

// decide returns the input to run the tool with, nil for a denial.
func (q *question) decide(d execution.Decision) (json.RawMessage, error) {
	switch {
	case len(d.Input) > 0:
		var object map[string]json.RawMessage
		if err := json.Unmarshal(d.Input, &object); err != nil {
			return nil, execution.Errorf(execution.CodeValidation, "the input for %s is not a JSON object: %v", q.name, err)
		}
		return d.Input, nil
	case q.asks && d.Text != "":
		return q.withAnswers(d.Text)
	case d.Approve:
		return q.input, nil
	}
	return nil, nil
}

// withAnswers adds the answers to the input of AskUserQuestion. Several questions are answered by an object from
// question to answer, or by one line each; any other text answers all of them.
func (q *question) withAnswers(text string) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(q.input, &object); err != nil {
		return nil, execution.Errorf(execution.CodeInternal, "the input of %s is not a JSON object: %v", q.name, err)
	}
	v, _ := jsonscan.Parse(q.input)
	var questions []string
	for _, element := range v.Get("questions").Array {
		questions = append(questions, element.Get("question").Str())
	}
	answers := map[string]string{}
	if len(questions) < 2 || json.Unmarshal([]byte(text), &answers) != nil {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		answers = map[string]string{}
		for i, name := range questions {
			answers[name] = text
			if len(questions) > 1 && len(lines) == len(questions) {
				answers[name] = strings.TrimSpace(lines[i])
			}
		}
	}
	encoded, err := json.Marshal(answers)
	if err != nil {
		return nil, execution.Errorf(execution.CodeInternal, "encode the answers: %w", err)
	}
	object["answers"] = encoded
	return json.Marshal(object)
}
