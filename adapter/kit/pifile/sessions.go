package pifile

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

const suffix = ".jsonl"

// Sessions is the store of an agent: files <time>_<session>.jsonl in the root or in its folders, one per directory. The
// sub-agents of a session are files in a folder of its file's name, and may have such folders themselves.
func Sessions(agent string, root func(adapter.Host) string) sessionfile.Store {
	return sessionfile.New(sessionfile.Format{
		Agent: agent,
		Roots: func(h adapter.Host) []string { return []string{root(h)} },
		List: func(l *sessionfile.Lister) {
			if dir := root(l.Host); l.Root(dir) {
				list(l, dir, true)
			}
		},
		Decode: func(b *sessionfile.Builder, c *sessionfile.Conversation) sessionfile.Decoder {
			return &decoder{b: b, c: c, main: c == b.Main}
		},
		Subagent: func(_ adapter.Host, path string) history.Subagent {
			return history.Subagent{ID: strings.TrimSuffix(filepath.Base(path), suffix)}
		},
	})
}

// list adds the sessions of a directory, and of those in it if it is the root.
func list(l *sessionfile.Lister, dir string, root bool) {
	entries := l.Dir(dir)
	folders, taken := map[string]sessionfile.Entry{}, map[string]bool{}
	for _, e := range entries {
		if e.Dir {
			folders[e.Name] = e
		}
	}
	for _, e := range entries {
		if id := SessionID(e.Name); id != "" {
			folder := strings.TrimSuffix(e.Name, suffix)
			l.Add(history.File{ID: id, Parts: parts(l, folders[folder])}, e)
			taken[folder] = true
		}
	}
	for _, e := range entries {
		if root && !taken[e.Name] && !strings.HasSuffix(e.Name, suffix) && l.Enter(e) {
			list(l, e.Path, false)
		}
	}
}

// parts returns the files of the sub-agents in a folder, and of their own.
func parts(l *sessionfile.Lister, folder sessionfile.Entry) (paths []string) {
	if !folder.Dir || folder.Problem != "" {
		return nil
	}
	entries := l.Dir(folder.Path)
	paths = l.Parts(entries)
	for _, e := range entries {
		if e.Dir {
			paths = append(paths, parts(l, e)...)
		}
	}
	return paths
}

// SessionID returns the session in the name of its file, empty for another file.
func SessionID(file string) string {
	base, ok := strings.CutSuffix(filepath.Base(file), suffix)
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
	Usage, Model, ModelID, Title, Source, TitleSource                         jsonscan.Value
	Message                                                                   messageForm
}

type messageForm struct {
	_                                                                                    jsonscan.Camel
	Role, Content, Model, Usage, StopReason, ErrorMessage, ToolCallID, ToolName, IsError jsonscan.Value
	Command, Code, Output, Files, Attribution                                            jsonscan.Value
}

var entryShape jsonscan.Shape[entryForm]

// decoder reads entries: a tree, in which a conversation may return to an earlier entry.
type decoder struct {
	b    *sessionfile.Builder
	c    *sessionfile.Conversation
	main bool
}

// Line reads an entry.
func (d *decoder) Line(text []byte) bool {
	var v entryForm
	if !entryShape.Into(text, &v) {
		return false
	}
	id, at := v.ID.Str(), sessionfile.Time(v.Timestamp)
	d.b.At(at)
	var m *history.Message
	switch kind := v.Type.Str(); kind {
	case "title": // the first line, rewritten in place
		d.title(v.Source, v.Title)
		return true
	case "session":
		d.header(&v)
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
	case "reset_boundary":
		m = d.c.Note(id, "the context was cleared", at)
	case "usage", "model_usage":
		m = d.c.Note(id, "tokens used beside the conversation", at)
		d.use(m, v.Usage)
	case "custom_message":
		m = d.c.Note(id, PlainText(v.Content), at)
	case "session_info":
		d.title(jsonscan.Value{}, v.Name)
	case "title_change":
		d.title(v.Source, v.Title)
	case "model_change", "thinking_level_change", "service_tier_change", "mode_change", "context_edit", "custom", "label", "session_init",
		"ttsr_injection", "credential_pin":
	default:
		d.b.Unknown(kind)
	}
	// Every entry is the leaf of the tree for the moment; those without a message only connect others.
	d.c.Link(id, v.ParentID.Str(), m, true)
	return true
}

func (d *decoder) header(v *entryForm) {
	if d.main {
		d.b.Summary.Cwd = cmp.Or(v.Cwd.Str(), d.b.Summary.Cwd)
		d.b.Summary.ForkedFrom = cmp.Or(origin(v.ParentSession.Str()), d.b.Summary.ForkedFrom)
		d.title(v.TitleSource, v.Title)
	}
}

// origin returns the session that a fork names by its id or its file.
func origin(parent string) string {
	if strings.HasSuffix(parent, suffix) {
		return SessionID(parent)
	}
	return parent
}

// title proposes a title; one without a source is the user's.
func (d *decoder) title(source, title jsonscan.Value) {
	from := sessionfile.TitleFromUser
	if source.IsStr("auto") {
		from = sessionfile.TitleFromAgent
	}
	if d.main {
		d.b.Title(from, title.Str())
	}
}

// message reads a message of the conversation; system messages repeat the agent's own prompt.
func (d *decoder) message(id string, v *entryForm) *history.Message {
	at, said := sessionfile.Time(v.Timestamp), &v.Message
	switch role := said.Role.Str(); role {
	case "user":
		if d.main && said.Attribution.IsStr("agent") {
			return d.c.Note(id, PlainText(said.Content), at)
		}
		return d.c.Prompt(id, PlainText(said.Content), at)
	case "assistant":
		return d.answer(id, v)
	case "toolResult":
		r := d.c.Result(id, said.ToolCallID.Str(), at)
		r.ToolName = cmp.Or(r.ToolName, said.ToolName.Str())
		r.Output, r.IsError = PlainText(said.Content), said.IsError.IsTrue()
		return d.c.Find(id)
	case "bashExecution", "pythonExecution":
		return d.c.Note(id, "$ "+cmp.Or(said.Command.Str(), said.Code.Str())+"\n"+said.Output.Str(), at)
	case "custom", "hookMessage", "developer":
		return d.c.Note(id, PlainText(said.Content), at)
	case "fileMention":
		var paths []string
		for _, f := range said.Files.Array {
			paths = append(paths, f.Get("path").Str())
		}
		return d.c.Note(id, "files read: "+strings.Join(paths, ", "), at)
	case "system", "branchSummary", "compactionSummary":
	default:
		d.b.Unknown("message/" + role)
	}
	return nil
}

func (d *decoder) answer(id string, v *entryForm) *history.Message {
	said := &v.Message
	m := d.c.Message(id, history.RoleAssistant, sessionfile.Time(v.Timestamp))
	called := false
	for _, e := range said.Content.Array {
		var c Content
		ContentShape.From(e, &c)
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
	if m.Model = said.Model.Str(); m.Model != "" && d.main {
		d.b.Summary.Model = m.Model
	}
	d.use(m, said.Usage)
	switch reason := said.StopReason.Str(); {
	case reason == StopAborted:
		d.turnEnd(execution.TurnInterrupted)
	case reason == StopError: // it may be tried again
		m.Content = sessionfile.AddText(m.Content, said.ErrorMessage.Str())
	case !called:
		d.turnEnd(execution.TurnCompleted)
	}
	return m
}

func (d *decoder) turnEnd(reason execution.TurnEndReason) {
	if d.main {
		d.b.TurnEnd(reason)
	}
}

// use adds what a model call used, with the agent's price.
func (d *decoder) use(m *history.Message, usage jsonscan.Value) {
	u := SpentOf(usage)
	if u.IsZero() {
		return
	}
	m.TokenUsage = &u.Usage
	if d.main {
		d.b.AddCost(u.USD)
	}
}
