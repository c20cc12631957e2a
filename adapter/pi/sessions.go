package pi

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var _ adapter.SessionStore = Adapter{}

// sessions is Pi's store: sessions/--<directory>--/<time>_<session>.jsonl. In a folder that the user chose there are no
// folders of directories.
var sessions = sessionfile.New(sessionfile.Format{
	Agent: name,
	Roots: func(h adapter.Host) []string { return []string{sessionRoot(h)} },
	List:  listSessions,
	Decode: func(b *sessionfile.Builder, c *sessionfile.Conversation) sessionfile.Decoder {
		return &sessionDecoder{b: b, c: c}
	},
})

func sessionRoot(h adapter.Host) string {
	return cmp.Or(h.Getenv("PI_CODING_AGENT_SESSION_DIR"), home.Path(h, "sessions"))
}

func listSessions(l *sessionfile.Lister) {
	root := sessionRoot(l.Host)
	if !l.Root(root) {
		return
	}
	for _, e := range l.Dir(root) {
		if addSession(l, e); !strings.HasSuffix(e.Name, ".jsonl") && l.Enter(e) {
			for _, file := range l.Dir(e.Path) {
				addSession(l, file)
			}
		}
	}
}

func addSession(l *sessionfile.Lister, e sessionfile.Entry) {
	if id := sessionID(e.Name); id != "" {
		l.Add(adapter.SessionFile{ID: id}, e)
	}
}

// sessionID returns the session in a file's name, empty for another file.
func sessionID(file string) string {
	base, ok := strings.CutSuffix(filepath.Base(file), ".jsonl")
	_, id, named := strings.Cut(base, "_")
	if !ok || !named {
		return ""
	}
	return id
}

// entryForm has the members of a session's entries.
type entryForm struct {
	_                                                                         jsonscan.Camel
	Type, ID, ParentID, Timestamp, Cwd, ParentSession, Name, Summary, Content jsonscan.Value
	TokensBefore, Usage, Provider, Model, ModelID, Display                    jsonscan.Value
	Message                                                                   entryMessage
}

type entryMessage struct {
	_                                                                                    jsonscan.Camel
	Role, Content, Model, Usage, StopReason, ErrorMessage, ToolCallID, ToolName, IsError jsonscan.Value
	Command, Output, ExitCode                                                            jsonscan.Value
}

var entryShape jsonscan.Shape[entryForm]

// sessionDecoder reads Pi's entries: a tree, in which a conversation may return to an earlier entry.
type sessionDecoder struct {
	b *sessionfile.Builder
	c *sessionfile.Conversation
}

// Line reads an entry.
func (d *sessionDecoder) Line(text []byte) bool {
	var v entryForm
	if !entryShape.Into(text, &v) {
		return false
	}
	id, at := v.ID.Str(), sessionfile.Time(v.Timestamp)
	d.b.At(at)
	var m *adapter.SessionMessage
	switch kind := v.Type.Str(); kind {
	case "session":
		d.b.Summary.Cwd = cmp.Or(v.Cwd.Str(), d.b.Summary.Cwd)
		d.b.Summary.ForkedFrom = cmp.Or(sessionID(v.ParentSession.Str()), d.b.Summary.ForkedFrom)
		return true
	case "message":
		m = d.message(id, &v)
	case "compaction":
		d.b.Event(execution.ContextCompacted{Summary: v.Summary.Str()})
		m = d.c.Note(id, "the context was compacted", at)
		d.use(m, v.Usage)
	case "branch_summary":
		m = d.c.Note(id, "another branch of the conversation was summarized", at)
		d.use(m, v.Usage)
	case "usage":
		m = d.c.Note(id, "tokens used beside the conversation", at)
		d.use(m, v.Usage)
	case "custom_message":
		m = d.c.Note(id, plainText(v.Content), at)
	case "session_info":
		d.b.Title(sessionfile.TitleFromUser, v.Name.Str())
	case "model_change", "thinking_level_change", "context_edit", "custom", "label":
	default:
		d.b.Unknown(kind)
	}
	// Every entry is the leaf of the tree for the moment; those without a message only connect others.
	d.c.Link(id, v.ParentID.Str(), m, true)
	return true
}

// message reads a message of the conversation; system messages repeat Pi's own prompt.
func (d *sessionDecoder) message(id string, v *entryForm) *adapter.SessionMessage {
	at, said := sessionfile.Time(v.Timestamp), &v.Message
	switch role := said.Role.Str(); role {
	case "user":
		return d.c.Prompt(id, plainText(said.Content), at)
	case "assistant":
		return d.answer(id, v)
	case "toolResult":
		r := d.c.Result(id, said.ToolCallID.Str(), at)
		r.ToolName = cmp.Or(r.ToolName, said.ToolName.Str())
		r.Output, r.IsError = plainText(said.Content), said.IsError.IsTrue()
		return d.c.Find(id)
	case "bashExecution":
		return d.c.Note(id, "$ "+said.Command.Str()+"\n"+said.Output.Str(), at)
	case "custom":
		return d.c.Note(id, plainText(said.Content), at)
	case "system", "branchSummary", "compactionSummary":
	default:
		d.b.Unknown("message/" + role)
	}
	return nil
}

func (d *sessionDecoder) answer(id string, v *entryForm) *adapter.SessionMessage {
	said := &v.Message
	m := d.c.Message(id, adapter.RoleAssistant, sessionfile.Time(v.Timestamp))
	called := false
	for _, e := range said.Content.Array {
		var c contentForm
		contentShape.From(e, &c)
		switch c.Type.Str() {
		case "text":
			m.Content = sessionfile.AddText(m.Content, c.Text.Str())
		case "thinking":
			m.Thinking = sessionfile.AddText(m.Thinking, c.Thinking.Str())
		case "toolCall":
			called = true
			d.c.Call(m, e.Get("id").Str(), e.Get("name").Str(), e.Get("arguments").Raw())
		}
	}
	if m.Model = said.Model.Str(); m.Model != "" {
		d.b.Summary.Model = m.Model
	}
	d.use(m, said.Usage)
	switch reason := said.StopReason.Str(); {
	case reason == stopAborted:
		d.b.TurnEnd(execution.TurnInterrupted)
	case reason == stopError: // Pi may try again
		m.Content = sessionfile.AddText(m.Content, said.ErrorMessage.Str())
	case !called:
		d.b.TurnEnd(execution.TurnCompleted)
	}
	return m
}

// use adds what a model call used, with Pi's price.
func (d *sessionDecoder) use(m *adapter.SessionMessage, usage jsonscan.Value) {
	u := usageOf(usage)
	if u.IsZero() {
		return
	}
	m.TokenUsage = &u.Usage
	if u.usd > 0 {
		sum := u.usd
		if c := d.b.Summary.Cost; c != nil && c.TotalUSD != nil {
			sum += *c.TotalUSD
		}
		d.b.Summary.Cost = &execution.Cost{TotalUSD: &sum, Source: execution.CostFromAgent}
	}
}
