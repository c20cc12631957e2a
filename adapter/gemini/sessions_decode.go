package gemini

import (
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

type sessionRecordForm struct {
	_                                                                                 jsonscan.Camel
	SessionID, StartTime, LastUpdated, Kind, Messages, Summary, ID, Type, ProjectHash jsonscan.Value
	Set                                                                               jsonscan.Value `scan:"$set"`
	RewindTo                                                                          jsonscan.Value `scan:"$rewindTo"`
}

var sessionRecordShape jsonscan.Shape[sessionRecordForm]

type sessionMessageForm struct {
	_                                                                jsonscan.Camel
	ID, Type, Timestamp, Content, Thoughts, Tokens, Model, ToolCalls jsonscan.Value
}

var sessionMessageShape jsonscan.Shape[sessionMessageForm]

type sessionTokenForm struct{ Input, Output, Cached, Thoughts, Tool jsonscan.Value }

var sessionTokenShape jsonscan.Shape[sessionTokenForm]

var sessionCallShape jsonscan.Shape[struct {
	_                                             jsonscan.Camel
	ID, Name, Args, Result, Status, ResultDisplay jsonscan.Value
}]

// sessionDecoder reads Gemini's records: messages that are rewritten when they grow, patches of the session, and
// rewinds. A resumed session restarts with a header and its messages in the model's form.
type sessionDecoder struct {
	b    *sessionfile.Builder
	c    *sessionfile.Conversation
	main bool
}

// Line reads a record.
func (d *sessionDecoder) Line(text []byte) bool {
	var v sessionRecordForm
	if !sessionRecordShape.Into(text, &v) {
		return false
	}
	switch {
	case v.RewindTo.Exists():
		d.rewind(v.RewindTo.Str())
	case v.Set.Exists():
		var set sessionRecordForm
		sessionRecordShape.From(v.Set, &set)
		d.patch(&set)
	case v.ID.Exists() && v.Type.Exists():
		line, err := jsonscan.Parse(text)
		if err != nil {
			return false
		}
		d.message(line)
	case v.SessionID.Exists() || v.ProjectHash.Exists():
		if id := v.SessionID.Str(); id != "" && d.main && strings.HasPrefix(id, d.b.File.ID) {
			d.b.Summary.SessionID, d.b.Summary.UnifiedID = id, sessionAgent+":"+id
		}
		d.b.At(sessionfile.Time(v.StartTime))
		d.patch(&v)
	default:
		d.b.Unknown("")
	}
	return true
}

// patch updates the session.
func (d *sessionDecoder) patch(v *sessionRecordForm) {
	d.b.At(sessionfile.Time(v.LastUpdated))
	if s := v.Summary.Str(); s != "" && d.main {
		d.b.Title(sessionfile.TitleFromAgent, s)
	}
	if v.Messages.Kind() != jsonscan.Array {
		return
	}
	// The list is the whole conversation: missing messages were removed.
	kept, calls := map[*history.Message]bool{}, map[string]bool{}
	for _, e := range v.Messages.Array {
		for _, m := range d.message(e) {
			kept[m] = true
			for _, t := range m.ToolCalls {
				calls[t.ToolCallID] = true
			}
		}
	}
	d.c.Each(func(m *history.Message) {
		m.Inactive = !kept[m] && (m.ToolResult == nil || !calls[m.ToolResult.ToolCallID])
	})
}

// rewind removes a message and everything after it, or all messages if it is missing.
func (d *sessionDecoder) rewind(id string) {
	found := false
	d.c.Each(func(m *history.Message) { found = found || m.ID == id })
	back := !found
	d.c.Each(func(m *history.Message) {
		if back = back || m.ID == id; back {
			m.Inactive = true
		}
	})
}

// message adds or updates a message, and returns the messages that it became.
func (d *sessionDecoder) message(value jsonscan.Value) []*history.Message {
	var v sessionMessageForm
	if !sessionMessageShape.From(value, &v) {
		return nil
	}
	id, at := v.ID.Str(), sessionfile.Time(v.Timestamp)
	d.b.At(at)
	switch kind := v.Type.Str(); kind {
	case "user":
		return d.user(id, v.Content, at)
	case "gemini":
		return d.answer(id, &v, at)
	case "info", "error", "warning":
		return []*history.Message{d.c.Note(id, sessionfile.Text(v.Content), at)}
	default:
		d.b.Unknown(kind)
	}
	return nil
}

// user handles a user message or the results of tools: both have the model's role user.
func (d *sessionDecoder) user(id string, content jsonscan.Value, at time.Time) []*history.Message {
	var out []*history.Message
	for _, e := range content.Array {
		r := e.Get("functionResponse")
		if r.Kind() != jsonscan.Object {
			continue
		}
		out = append(out, d.result(r, at))
	}
	text := sessionfile.Text(content)
	if len(out) > 0 && text == "" || strings.HasPrefix(text, "<session_context>") {
		return out
	}
	m := d.c.Find(id)
	if m == nil {
		m = d.c.Prompt(id, text, at)
	}
	return append(out, m)
}

// result handles the result of a tool. It is recorded twice: with its call, and in the model's form.
func (d *sessionDecoder) result(r jsonscan.Value, at time.Time) *history.Message {
	call := r.Get("id").Str()
	id := "result-" + call
	if m := d.c.Find(id); m != nil {
		return m
	}
	res := d.c.Result(id, call, at)
	if res.ToolName == "" {
		res.ToolName = r.Get("name").Str()
	}
	response := r.Get("response")
	if text := response.Get("error"); text.Exists() {
		res.Output, res.IsError = sessionfile.Text(text), true
	} else if text := response.Get("output"); text.Exists() {
		res.Output = sessionfile.Text(text)
	} else {
		res.Output = string(response.Raw())
	}
	return d.c.Find(id)
}

func (d *sessionDecoder) answer(id string, v *sessionMessageForm, at time.Time) []*history.Message {
	known := d.c.Find(id)
	m := d.c.Message(id, history.RoleAssistant, at)
	out := []*history.Message{m}
	// A message of a resumed session lacks its usage, model and calls; the known ones stay.
	if known == nil || v.Content.Kind() == jsonscan.String {
		m.Content = sessionText(v.Content)
	}
	var thoughts []string
	for _, t := range v.Thoughts.Array {
		thoughts = append(thoughts, strings.TrimSpace(t.Get("subject").Str()+" "+t.Get("description").Str()))
	}
	if len(thoughts) > 0 {
		m.Thinking = strings.Join(thoughts, "\n")
	}
	if model := v.Model.Str(); model != "" {
		m.Model = model
		if d.main {
			d.b.Summary.Model = model
		}
	}
	var t sessionTokenForm
	if sessionTokenShape.From(v.Tokens, &t) {
		u := execution.Usage{Cached: t.Cached.Count(), Thinking: t.Thoughts.Count()}
		u.Input = max(0, t.Input.Count()-u.Cached) + t.Tool.Count()
		u.Output = t.Output.Count() + u.Thinking
		u.Total = u.Input + u.Output + u.Cached
		m.TokenUsage = &u
	}
	for _, e := range v.ToolCalls.Array {
		call, ok := sessionCallShape.Of(e)
		if !ok {
			continue
		}
		d.c.Call(m, call.ID.Str(), call.Name.Str(), call.Args.Raw())
		for _, r := range call.Result.Array {
			if r := r.Get("functionResponse"); r.Kind() == jsonscan.Object {
				rm := d.result(r, at)
				rm.ToolResult.IsError = rm.ToolResult.IsError || call.Status.IsStr("error") || call.Status.IsStr("cancelled")
				out = append(out, rm)
			}
		}
	}
	for _, e := range v.Content.Array { // the model's form contains the calls
		if call := e.Get("functionCall"); call.Kind() == jsonscan.Object {
			d.c.Call(m, call.Get("id").Str(), call.Get("name").Str(), call.Get("args").Raw())
		}
	}
	return out
}

// sessionText returns the text of an answer without thinking.
func sessionText(content jsonscan.Value) string {
	if content.Kind() != jsonscan.Array {
		return sessionfile.Text(content)
	}
	var parts []string
	for _, e := range content.Array {
		if thought, _ := e.Get("thought").Bool(); thought {
			continue
		}
		if t := sessionfile.Text(e); t != "" {
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, "")
}
