package cline

import (
	"cmp"
	"context"
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

const suffix = ".messages.json"

// sessions is Cline's store: a folder per session with <session>.messages.json, <session>.json about it, and a
// <agent>.messages.json per sub-agent.
var sessions = sessionfile.New(sessionfile.Format{
	Agent: name,
	Roots: func(h adapter.Host) []string { return []string{sessionRoot(h)} },
	List:  listSessions,
	Decode: func(b *sessionfile.Builder, c *sessionfile.Conversation) sessionfile.Decoder {
		return &decoder{b: b, c: c, main: c == b.Main}
	},
	Describe: describe,
	Subagent: func(_ adapter.Host, path string) history.Subagent {
		return history.Subagent{ID: strings.TrimSuffix(filepath.Base(path), suffix)}
	},
	Whole: func(string) bool { return true },
})

func listSessions(l *sessionfile.Lister) {
	root := sessionRoot(l.Host)
	if !l.Root(root) {
		return
	}
	for _, folder := range l.Dir(root) {
		if !l.Enter(folder) {
			continue
		}
		var session *sessionfile.Entry
		var parts []string
		for _, e := range l.Dir(folder.Path) {
			switch id, ok := strings.CutSuffix(e.Name, suffix); {
			case !ok:
			case id == folder.Name:
				session = &e
			case e.Problem != "" || e.Dir:
				l.Problem(e.Path, "the sub-agent cannot be read: "+cmp.Or(e.Problem, "is a directory, not a file"))
			default:
				parts = append(parts, e.Path)
			}
		}
		if session != nil {
			l.Add(history.File{ID: folder.Name, Parts: parts}, *session)
		}
	}
}

// aboutForm are the members of the file about a session.
type aboutForm struct {
	Cwd, Model jsonscan.Value
	Started    jsonscan.Value `scan:"started_at"`
	Parent     jsonscan.Value `scan:"parent_session_id"`
	Metadata   struct{ Title jsonscan.Value }
}

// documentForm is a file of messages.
type documentForm struct {
	_         jsonscan.Camel
	Messages  jsonscan.Value
	UpdatedAt jsonscan.Value `scan:"updated_at"`
}

type messageForm struct {
	_                     jsonscan.Camel
	ID, Role, Content, Ts jsonscan.Value
	ModelInfo             struct{ ID jsonscan.Value }
	Metrics               metricsForm
	Metadata              struct{ DisplayRole jsonscan.Value }
}

// metricsForm are the tokens of a model call; input includes cached ones.
type metricsForm struct {
	_                                                                  jsonscan.Camel
	InputTokens, OutputTokens, CacheReadTokens, CacheWriteTokens, Cost jsonscan.Value
}

var (
	aboutShape    jsonscan.Shape[aboutForm]
	documentShape jsonscan.Shape[documentForm]
	messageShape  jsonscan.Shape[messageForm]
)

// usage returns the tokens of a model call and Cline's price, 0 if it states none.
func (f *metricsForm) usage() (u execution.Usage, usd float64) {
	u = execution.Usage{Output: f.OutputTokens.Count(), Cached: f.CacheReadTokens.Count(), CacheWrite: f.CacheWriteTokens.Count()}
	u.Input = max(0, f.InputTokens.Count()-u.Cached-u.CacheWrite)
	if price, ok := f.Cost.Float(); ok && price > 0 {
		usd = price
	}
	return u.WithTotal(), usd
}

// maxAbout bounds the file about a session.
const maxAbout = 1 << 20

// describe reads the file about a session.
func describe(b *sessionfile.Builder) {
	text, err := sessionfile.ReadFile(b.Host, strings.TrimSuffix(b.File.Path, suffix)+".json", maxAbout)
	var v aboutForm
	if err != nil || !aboutShape.Into(text, &v) {
		return
	}
	s := &b.Summary
	s.Cwd, s.Model, s.Parent = cmp.Or(v.Cwd.Str(), s.Cwd), cmp.Or(s.Model, v.Model.Str()), cmp.Or(v.Parent.Str(), s.Parent)
	b.At(sessionfile.Time(v.Started))
	b.Title(sessionfile.TitleFromAgent, v.Metadata.Title.Str())
}

// decoder reads a file of messages, whose form is the Messages API's.
type decoder struct {
	b    *sessionfile.Builder
	c    *sessionfile.Conversation
	main bool
}

// Line reads a file.
func (d *decoder) Line(text []byte) bool {
	var doc documentForm
	if !documentShape.Into(text, &doc) {
		return false
	}
	d.b.At(sessionfile.Time(doc.UpdatedAt))
	for _, e := range doc.Messages.Array {
		var v messageForm
		if messageShape.From(e, &v) {
			d.message(&v)
		}
	}
	return true
}

func (d *decoder) message(v *messageForm) {
	id, at := v.ID.Str(), sessionfile.Time(v.Ts)
	d.b.At(at)
	switch role := v.Role.Str(); role {
	case "user":
		if said := d.c.Results(id, v.Content, at, output); said != "" {
			d.c.Prompt(id, unwrapped(said), at)
		}
	case "assistant":
		if v.Metadata.DisplayRole.Exists() { // an error of the model API
			d.c.Note(id, sessionfile.Text(v.Content), at)
			return
		}
		m, called := d.c.Answer(id, v.Content, at)
		u, usd := v.Metrics.usage()
		if m.Model = v.ModelInfo.ID.Str(); m.Model != "" && d.main {
			d.b.Summary.Model = m.Model
		}
		if !u.IsZero() {
			m.TokenUsage = &u
		}
		if d.main {
			d.b.AddCost(usd)
			if !called {
				d.b.TurnEnd(execution.TurnCompleted)
			}
		}
	default:
		d.b.Unknown("message/" + role)
	}
}

// unwrapped returns a prompt without the tag that says in which mode the user was.
func unwrapped(said string) string {
	if rest, ok := strings.CutPrefix(said, "<user_input "); ok {
		if _, text, ok := strings.Cut(rest, ">"); ok {
			return strings.TrimSuffix(text, "</user_input>")
		}
	}
	return said
}

// output returns the output of a tool: a text, or a list of results with their success.
func output(b sessionfile.Block) (text string, failed bool) {
	failed = b.IsError.IsTrue()
	if b.Content.Kind() != jsonscan.Array {
		return sessionfile.Text(b.Content), failed
	}
	for _, e := range b.Content.Array {
		text = sessionfile.AddText(text, cmp.Or(sessionfile.Text(e.Get("result")), sessionfile.Text(e.Get("error")), sessionfile.Text(e)))
		if ok, stated := e.Get("success").Bool(); stated {
			failed = failed || !ok
		}
	}
	return text, failed
}

// UsageStores returns the folder of the sessions.
func (Adapter) UsageStores(h adapter.Host) []history.UsageStore {
	return []history.UsageStore{{Root: filepath.ToSlash(sessionRoot(h)),
		Match: func(rel string) bool { return strings.Count(rel, "/") == 1 && strings.HasSuffix(rel, suffix) },
		Enter: func(rel string) bool { return !strings.Contains(rel, "/") }}}
}

// UsageVersion implements adapter.UsageLog.
func (Adapter) UsageVersion() int { return 1 }

// NewUsageScanner implements adapter.UsageLog.
func (Adapter) NewUsageScanner(_ context.Context, h adapter.Host, f history.UsageFile) adapter.UsageScanner {
	session := path.Dir(f.Rel)
	l := &usageLog{session: session, sub: strings.TrimSuffix(path.Base(f.Rel), suffix) != session}
	var about aboutForm
	if aboutShape.Into(usagescan.Sidecar(h, f, session+"/"+session+".json"), &about) {
		l.project = about.Cwd.Str()
	}
	return usagescan.NewWhole(l)
}

// usageLog reads the model's messages, each of which is a call.
type usageLog struct {
	session, project string
	sub              bool
}

func (*usageLog) Relevant([]byte) bool { return true }

func (*usageLog) Memory() any { return nil }

func (l *usageLog) Line(text []byte, give func(*history.UsageRecord)) bool {
	var doc documentForm
	if !documentShape.Into(text, &doc) {
		return false
	}
	for _, e := range doc.Messages.Array {
		var v messageForm
		if !messageShape.From(e, &v) {
			continue
		}
		u, usd := v.Metrics.usage()
		r := history.UsageRecord{Time: usagescan.Millis(v.Ts), Session: l.session, Project: l.project, SubAgent: l.sub, Model: v.ModelInfo.ID.Str(),
			Input: u.Input, Output: u.Output, CacheRead: u.Cached, CacheWrite: u.CacheWrite, Stated: usd > 0, Cost: usd}
		if u.IsZero() || r.Time == 0 {
			continue
		}
		r.Key = new(usagescan.Hash).Text(name).Text(v.ID.Str()).Int(r.Time).Key()
		give(&r)
	}
	return true
}
