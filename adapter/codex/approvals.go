package codex

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonrpc"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// asking holds the requests that Codex waits for.
type asking struct {
	questions cliagent.Questions[*question]
	requests  map[string]*request // by Codex's id
	asked     int                 // number of requests so far
	patches   map[string][]string // files of the open patches, by item
}

// request is a request of Codex. It may consist of several questions, each of which is one of the run's.
type request struct {
	id        json.RawMessage // verbatim
	kind      requestKind
	thread    *conversation
	questions []*question
	granted   json.RawMessage // permissions: what was requested
	call      string          // command: its item
	order     int
}

type requestKind int

const (
	askCommand requestKind = iota
	askPatch
	askPermissions
	askTool  // of an MCP server
	askInput // of the agent
	askForm  // of an MCP server
)

// question is one question of a request.
type question struct {
	request  *request
	id       execution.QuestionID
	key      string // its name within the request
	typ      string // form: the type of the value
	answered bool
	refused  bool
	text     string
}

// maxQuestions bounds the questions of one request; real ones have a handful.
const maxQuestions = 64

// request handles a request of Codex. An unknown request gets an error reply, because Codex waits.
func (p *appParser) request(s *cliagent.Sink) bool {
	r := &request{id: bytes.Clone(p.v.ID.Raw()), thread: p.of(p.names.Str(p.v.Params.ThreadID))}
	params := p.v.Params.Whole
	p.ensureStep(r.thread, s)
	var known bool
	switch method, _ := p.v.Method.Plain(); string(method) {
	case "item/commandExecution/requestApproval":
		known = p.askCommand(r, params, s)
	case "item/fileChange/requestApproval":
		known = p.askPatch(r, params, s)
	case "item/permissions/requestApproval":
		known = p.askPermissions(r, params, s)
	case "mcpServer/elicitation/request":
		known = p.elicit(r, params, s)
	case "item/tool/requestUserInput":
		known = p.askInput(r, params, s)
	}
	if !known {
		s.Write(jsonrpc.Message{ID: r.id, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client does not handle " + p.v.Method.Str()}}.Line())
		return false
	}
	p.asked++
	r.order = p.asked
	p.requests[string(r.id)] = r
	return true
}

// pose emits a question of a request. Its id is unique within the run, which may have several processes.
func (p *appParser) pose(r *request, key string) *question {
	id := p.v.Params.TurnID.Str()
	if id == "" {
		id = p.main.id
	}
	id += "/" + strings.Trim(string(r.id), `"`)
	if len(r.questions) > 0 {
		id += "/" + strconv.Itoa(len(r.questions)+1)
	}
	q := &question{request: r, id: execution.QuestionID(id), key: key}
	r.questions = append(r.questions, q)
	p.questions.Add(q.id, q)
	return q
}

var commandShape jsonscan.Shape[struct {
	_                            jsonscan.Camel
	ItemID, Command, Cwd, Reason jsonscan.Value
	NetworkApprovalContext       struct{ Host jsonscan.Value }
}]

func (p *appParser) askCommand(r *request, params jsonscan.Value, s *cliagent.Sink) bool {
	v, ok := commandShape.Of(params)
	if !ok {
		return false
	}
	r.kind, r.call = askCommand, v.ItemID.Str()
	e := execution.ApprovalRequired{ID: p.pose(r, "").id, Action: "run a command", Detail: v.Command.Str(), ToolName: toolShell, ToolCallID: r.call,
		Input: object(member{"command", v.Command}, member{"cwd", v.Cwd}, member{"reason", v.Reason}), Risk: execution.RiskHigh}
	e.Use = hooked.Use(toolShell, e.Input)
	if host := v.NetworkApprovalContext.Host.Str(); host != "" {
		e.Action, e.Detail, e.Use = "reach the network", host, execution.ToolUse{Kind: execution.ToolFetch}
	}
	p.from(r.thread, s).emit(e)
	return true
}

func (p *appParser) askPatch(r *request, params jsonscan.Value, s *cliagent.Sink) bool {
	if params.Kind() != jsonscan.Object {
		return false
	}
	r.kind, r.call = askPatch, params.Get("itemId").Str()
	detail := params.Get("reason").Str()
	if root := params.Get("grantRoot").Str(); root != "" {
		detail = strings.TrimSpace(detail + " (write below " + root + ")")
	}
	if detail == "" {
		detail = "apply a patch"
	}
	use := execution.ToolUse{Kind: execution.ToolEdit, Paths: p.patches[r.call]}
	if params.Get("grantRoot").Str() != "" {
		use = execution.ToolUse{} // it asks for more than this patch
	}
	p.from(r.thread, s).emit(execution.ApprovalRequired{ID: p.pose(r, "").id, Action: "change files", Detail: detail, ToolName: toolPatch,
		ToolCallID: r.call, Input: raw(params), Risk: execution.RiskMedium, Use: use})
	return true
}

func (p *appParser) askPermissions(r *request, params jsonscan.Value, s *cliagent.Sink) bool {
	asked := params.Get("permissions")
	if asked.Kind() != jsonscan.Object {
		return false
	}
	r.kind, r.granted = askPermissions, raw(asked)
	detail := params.Get("reason").Str()
	if detail == "" {
		detail = string(asked.Raw())
	}
	p.from(r.thread, s).emit(execution.ApprovalRequired{ID: p.pose(r, "").id, Action: "widen the sandbox", Detail: detail,
		Input: object(member{"permissions", asked}, member{"cwd", params.Get("cwd")}), Risk: execution.RiskHigh})
	return true
}

// elicit handles a question of an MCP server, or Codex's own about a call of the server's tool.
func (p *appParser) elicit(r *request, params jsonscan.Value, s *cliagent.Sink) bool {
	server, text := params.Get("serverName").Str(), params.Get("message").Str()
	mode, meta, o := params.Get("mode"), params.Get("_meta"), p.from(r.thread, s)
	r.kind = askTool
	switch {
	case params.Kind() != jsonscan.Object:
		return false
	case meta.Get("codex_approval_kind").IsStr("mcp_tool_call"):
		o.emit(execution.ApprovalRequired{ID: p.pose(r, "").id, Action: "call a tool of MCP server " + server, Detail: text,
			ToolName: meta.Get("tool_name").Str(), Input: raw(meta.Get("tool_params")), Risk: execution.RiskMedium,
			Use: execution.ToolUse{Kind: execution.ToolMCP, Server: server, Tool: meta.Get("tool_name").Str()}})
		return true
	case mode.IsStr("url"):
		o.emit(execution.ApprovalRequired{ID: p.pose(r, "").id, Action: "open an address for MCP server " + server,
			Detail: strings.TrimSpace(text + "\n" + params.Get("url").Str()), Input: object(member{"url", params.Get("url")}), Risk: execution.RiskMedium})
		return true
	}
	r.kind = askForm
	for name, property := range params.Get("requestedSchema").Get("properties").Object {
		if len(r.questions) == maxQuestions {
			break
		}
		q := p.pose(r, string(name))
		q.typ = property.Get("type").Str()
		title := property.Get("title").Str()
		if title == "" {
			title = q.key
		}
		o.emit(execution.InputRequired{ID: q.id, Question: strings.TrimSpace(text + "\n" + title), Context: formContext(server, property), Source: execution.InputFromTool})
	}
	if len(r.questions) == 0 {
		// A form without fields asks for yes or no.
		r.kind = askTool
		o.emit(execution.ApprovalRequired{ID: p.pose(r, "").id, Action: "confirm for MCP server " + server, Detail: text, Risk: execution.RiskMedium})
	}
	return true
}

// formContext describes a field: who asks, and the possible answers.
func formContext(server string, property jsonscan.Value) string {
	lines := []string{"asked by MCP server " + server}
	if d := property.Get("description").Str(); d != "" {
		lines = append(lines, d)
	}
	for _, option := range property.Get("enum").Array {
		lines = append(lines, "- "+option.Str())
	}
	return strings.Join(lines, "\n")
}

// askInput handles the agent's questions to a person; each is one of the run's.
func (p *appParser) askInput(r *request, params jsonscan.Value, s *cliagent.Sink) bool {
	r.kind = askInput
	o := p.from(r.thread, s)
	for _, asked := range params.Get("questions").Array {
		if len(r.questions) == maxQuestions {
			break
		}
		var lines []string
		for _, option := range asked.Get("options").Array {
			line := "- " + option.Get("label").Str()
			if d := option.Get("description").Str(); d != "" {
				line += ": " + d
			}
			lines = append(lines, line)
		}
		q := p.pose(r, asked.Get("id").Str())
		o.emit(execution.InputRequired{ID: q.id, Question: asked.Get("question").Str(), Context: strings.Join(lines, "\n"), Source: execution.InputFromAgent})
	}
	return len(r.questions) > 0
}

// answer sends a decision for its question. Codex gets the reply when the whole request is answered.
func (p *appParser) answer(a execution.Answer, s *cliagent.Sink) error {
	q, err := p.questions.Find(a.ID)
	if err != nil {
		return err
	}
	p.questions.Remove(a.ID)
	r, d := q.request, a.Decision
	q.answered, q.text = true, d.Text
	q.refused = !d.Approve && d.Text == ""
	if len(d.Input) > 0 {
		// Approval would run the original input, not the approved one.
		q.refused = true
		s.Emit(execution.ErrorEvent{Code: execution.CodeCapability, Recoverable: true,
			Message: "codex runs a tool with its own input only: the call was refused, because it was approved with another input"})
	}
	for _, other := range r.questions {
		if !other.answered {
			return nil
		}
	}
	delete(p.requests, string(r.id))
	result, err := r.result()
	if err != nil {
		s.Emit(execution.ErrorEvent{Code: execution.CodeValidation, Recoverable: true, Message: "the answer was passed on as a refusal: " + err.Error()})
	}
	s.Write(jsonrpc.Message{ID: r.id, Result: result}.Line())
	if f := r.thread.flows[r.call]; r.kind == askCommand && f != nil && !q.refused && (r.thread != p.main || p.running) {
		f.run(r.call, p.from(r.thread, s))
	}
	return nil
}

// result returns the reply to a request whose questions are all answered. An error is a refusal.
func (r *request) result() (any, error) {
	refused := r.questions[0].refused
	switch r.kind {
	case askCommand, askPatch:
		if refused {
			return map[string]any{"decision": "decline"}, nil
		}
		return map[string]any{"decision": "accept"}, nil
	case askPermissions:
		if refused {
			return map[string]any{"permissions": struct{}{}, "scope": "turn"}, nil
		}
		return map[string]any{"permissions": r.granted, "scope": "turn"}, nil
	case askInput:
		answers := map[string]any{}
		for _, q := range r.questions {
			texts := []string{}
			if !q.refused {
				texts = append(texts, q.text)
			}
			answers[q.key] = map[string]any{"answers": texts}
		}
		return map[string]any{"answers": answers}, nil
	case askForm:
		content, err := r.form()
		if err != nil || content == nil {
			return map[string]any{"action": "decline"}, err
		}
		return map[string]any{"action": "accept", "content": content}, nil
	}
	if refused {
		return map[string]any{"action": "decline"}, nil
	}
	return map[string]any{"action": "accept", "content": struct{}{}}, nil
}

// form returns the completed form, nil if a field was refused.
func (r *request) form() (map[string]any, error) {
	content := map[string]any{}
	for _, q := range r.questions {
		if q.refused {
			return nil, nil
		}
		var err error
		text := strings.TrimSpace(q.text)
		switch q.typ {
		case "integer":
			content[q.key], err = strconv.ParseInt(text, 10, 64)
		case "number":
			content[q.key], err = strconv.ParseFloat(text, 64)
		case "boolean":
			switch strings.ToLower(text) {
			case "yes", "y":
				text = "true"
			case "no", "n":
				text = "false"
			}
			content[q.key], err = strconv.ParseBool(text)
		case "array":
			content[q.key] = strings.Split(text, "\n")
		default:
			content[q.key] = q.text
		}
		if err != nil {
			return nil, execution.Errorf(execution.CodeValidation, "%s wants %s, have %q", q.key, q.typ, text)
		}
	}
	return content, nil
}

// resolved handles that Codex no longer waits: unanswered questions are withdrawn.
func (p *appParser) resolved(s *cliagent.Sink) bool {
	id := p.v.Params.RequestID
	if !id.Exists() {
		return false
	}
	if r := p.requests[string(id.Raw())]; r != nil {
		p.drop(r, s)
	}
	return true
}

// withdraw withdraws a thread's questions when its turn is over.
func (p *appParser) withdraw(c *conversation, s *cliagent.Sink) {
	for _, r := range slices.SortedFunc(maps.Values(p.requests), func(a, b *request) int { return a.order - b.order }) {
		if r.thread == c {
			p.drop(r, s)
		}
	}
}

func (p *appParser) drop(r *request, s *cliagent.Sink) {
	delete(p.requests, string(r.id))
	p.questions.Withdraw("codex no longer waits for an answer", s, func(q *question) bool { return q.request == r })
}
