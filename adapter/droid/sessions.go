package droid

import (
	"cmp"
	"context"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/adapter/kit/usagescan"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var (
	_ adapter.SessionStore = Adapter{}
	_ adapter.UsageLog     = Adapter{}
)

const (
	suffix  = ".jsonl"
	sidecar = ".settings.json"
)

// sessions is Droid's store: sessions/<directory>/<session>.jsonl, with the model and the tokens in
// <session>.settings.json.
var sessions = sessionfile.New(sessionfile.Format{
	Agent: name,
	Roots: func(h adapter.Host) []string { return []string{sessionRoot(h)} },
	List:  listSessions,
	Decode: func(b *sessionfile.Builder, c *sessionfile.Conversation) sessionfile.Decoder {
		return &decoder{b: b, c: c}
	},
	Describe: describe,
})

func sessionRoot(h adapter.Host) string { return home.Path(h, "sessions") }

func listSessions(l *sessionfile.Lister) {
	root := sessionRoot(l.Host)
	if !l.Root(root) {
		return
	}
	for _, e := range l.Dir(root) {
		if add(l, e); !strings.HasSuffix(e.Name, suffix) && l.Enter(e) {
			for _, file := range l.Dir(e.Path) {
				add(l, file)
			}
		}
	}
}

func add(l *sessionfile.Lister, e sessionfile.Entry) {
	if id, ok := strings.CutSuffix(e.Name, suffix); ok && id != "" {
		l.Add(history.File{ID: id}, e)
	}
}

// recordForm has the members of a session's records.
type recordForm struct {
	_                                                         jsonscan.Camel
	Type, ID, ParentID, Timestamp, Title, Cwd, Reason, Parent jsonscan.Value
	SummaryText, IsSessionTitleManuallySet                    jsonscan.Value
	Message                                                   struct {
		_                                  jsonscan.Camel
		Role, Content, Visibility, ModelID jsonscan.Value
	}
}

// settingsForm is a session's settings, with what it used in all.
type settingsForm struct {
	_          jsonscan.Camel
	Model      jsonscan.Value
	TokenUsage struct {
		_                                                                               jsonscan.Camel
		Whole                                                                           jsonscan.Value `scan:"."`
		InputTokens, OutputTokens, CacheCreationTokens, CacheReadTokens, ThinkingTokens jsonscan.Value
	}
}

var (
	recordShape   jsonscan.Shape[recordForm]
	settingsShape jsonscan.Shape[settingsForm]
)

// usage returns the tokens of all calls of the session.
func (f *settingsForm) usage() execution.Usage {
	t := &f.TokenUsage
	u := execution.Usage{Input: t.InputTokens.Count(), Output: t.OutputTokens.Count(), Thinking: t.ThinkingTokens.Count(), Cached: t.CacheReadTokens.Count(),
		CacheWrite: t.CacheCreationTokens.Count()}
	u.Thinking = min(u.Thinking, u.Output)
	return u.WithTotal()
}

const maxSettings = 1 << 20

// describe reads the settings of a session.
func describe(b *sessionfile.Builder) {
	text, err := sessionfile.ReadFile(b.Host, strings.TrimSuffix(b.File.Path, suffix)+sidecar, maxSettings)
	var v settingsForm
	if err == nil && settingsShape.Into(text, &v) {
		b.Summary.Model = cmp.Or(v.Model.Str(), b.Summary.Model)
	}
}

// decoder reads Droid's records: a tree of messages in the form of the Messages API.
type decoder struct {
	b *sessionfile.Builder
	c *sessionfile.Conversation
}

// Line reads a record.
func (d *decoder) Line(text []byte) bool {
	var v recordForm
	if !recordShape.Into(text, &v) {
		return false
	}
	at := sessionfile.Time(v.Timestamp)
	d.b.At(at)
	switch kind := v.Type.Str(); kind {
	case "session_start":
		d.b.Summary.Cwd = cmp.Or(v.Cwd.Str(), d.b.Summary.Cwd)
		d.b.Summary.Parent = cmp.Or(v.Parent.Str(), d.b.Summary.Parent)
		from := sessionfile.TitleFromAgent
		if v.IsSessionTitleManuallySet.IsTrue() {
			from = sessionfile.TitleFromUser
		}
		d.b.Title(from, v.Title.Str())
	case "message":
		d.c.Link(v.ID.Str(), v.ParentID.Str(), d.message(&v), true)
	case "compaction_state":
		d.b.Event(execution.ContextCompacted{Summary: v.SummaryText.Str()})
		d.c.Link(v.ID.Str(), v.ParentID.Str(), d.c.Note(v.ID.Str(), "the context was compacted", at), false)
	case "agent_turn_outcome":
		switch v.Reason.Str() {
		case "completed":
			d.b.TurnEnd(execution.TurnCompleted)
		case "cancelled", "aborted", "interrupted":
			d.b.TurnEnd(execution.TurnInterrupted)
		default:
			d.b.TurnEnd(execution.TurnFailed)
		}
	case "todo_state", "session_end":
	default:
		d.b.Unknown(kind)
	}
	return true
}

// message reads a message. What Droid adds to a prompt is in a message of its own, or in reminders.
func (d *decoder) message(v *recordForm) *history.Message {
	id, at := v.ID.Str(), sessionfile.Time(v.Timestamp)
	switch role := v.Message.Role.Str(); role {
	case "user":
		said := d.c.Results(id, v.Message.Content, at, func(b sessionfile.Block) (string, bool) {
			return sessionfile.Text(b.Content), b.IsError.IsTrue()
		})
		switch {
		case v.Message.Visibility.IsStr("user_only"): // an error of the model API
			return d.c.Note(id, said, at)
		case said != "" && !strings.HasPrefix(id, "context-") && !strings.HasPrefix(said, "<system-reminder>"):
			return d.c.Prompt(id, said, at)
		}
		return d.firstResult(id, v.Message.Content)
	case "assistant":
		m, _ := d.c.Answer(id, v.Message.Content, at)
		if m.Model = v.Message.ModelID.Str(); m.Model != "" {
			d.b.Summary.Model = m.Model
		}
		return m
	default:
		d.b.Unknown("message/" + role)
	}
	return nil
}

func (d *decoder) firstResult(id string, content jsonscan.Value) *history.Message {
	for _, e := range content.Array {
		if call := e.Get("tool_use_id").Str(); call != "" {
			return d.c.Find(id + "/" + call)
		}
	}
	return nil
}

// UsageStores returns the folder of the sessions: the settings of each have the tokens of all its calls.
func (Adapter) UsageStores(h adapter.Host) []history.UsageStore {
	return []history.UsageStore{{Root: filepath.ToSlash(sessionRoot(h)),
		Match: func(rel string) bool { return strings.HasSuffix(rel, sidecar) && strings.Count(rel, "/") <= 1 },
		Enter: func(rel string) bool { return !strings.Contains(rel, "/") }}}
}

// UsageVersion implements adapter.UsageLog.
func (Adapter) UsageVersion() int { return 1 }

// NewUsageScanner implements adapter.UsageLog.
func (Adapter) NewUsageScanner(_ context.Context, h adapter.Host, f history.UsageFile) adapter.UsageScanner {
	stem := strings.TrimSuffix(f.Rel, sidecar)
	l := &usageLog{session: path.Base(stem)}
	l.project, l.began = beginning(h, path.Join(f.Root, stem+suffix))
	return usagescan.NewWhole(l)
}

// maxHead is how much of a session is searched for its first time.
const maxHead = 256 << 10

// beginning returns the directory and the first time in a session's file.
func beginning(h adapter.Host, file string) (project string, began int64) {
	r, err := sessionfile.Open(h, file, nil)
	if err != nil {
		return "", 0
	}
	defer r.Close()
	head, _ := io.ReadAll(io.LimitReader(r, maxHead))
	for line := range strings.Lines(string(head)) {
		var v recordForm
		if !recordShape.Into([]byte(line), &v) {
			continue
		}
		project = cmp.Or(project, v.Cwd.Str())
		if began = usagescan.Millis(v.Timestamp); began > 0 {
			break
		}
	}
	return project, began
}

// usageLog reads the settings of a session. They have a sum that grows, so that nothing is known of single calls: it counts at
// the session's beginning, lest a run that resumes the session is taken for all of it.
type usageLog struct {
	session, project string
	began            int64
}

func (*usageLog) Relevant([]byte) bool { return true }

func (*usageLog) Memory() any { return nil }

func (l *usageLog) Line(text []byte, give func(*history.UsageRecord)) bool {
	var v settingsForm
	if !settingsShape.Into(text, &v) {
		return false
	}
	u := v.usage()
	if u.IsZero() || l.began == 0 {
		return true
	}
	give(&history.UsageRecord{Time: l.began, Session: l.session, Project: l.project, Model: v.Model.Str(), Key: new(usagescan.Hash).Text(name).Text(l.session).Key(),
		Input: u.Input, Output: u.Output, Thinking: u.Thinking, CacheRead: u.Cached, CacheWrite: u.CacheWrite})
	return true
}
