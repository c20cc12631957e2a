package gemini

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/usagescan"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var _ adapter.UsageLog = Adapter{}

// UsageStores returns the folder of the projects' folders.
func (Adapter) UsageStores(h adapter.Host) []history.UsageStore {
	root := path.Join(cmp.Or(h.Getenv("GEMINI_CLI_HOME"), h.Home), ".gemini", "tmp")
	return []history.UsageStore{usagescan.Projects(root, "chats", ".jsonl", ".json")}
}

// UsageVersion implements adapter.UsageLog.
func (Adapter) UsageVersion() int { return 1 }

// NewUsageScanner implements adapter.UsageLog. The project is the directory that Gemini notes beside its chats.
func (Adapter) NewUsageScanner(_ context.Context, h adapter.Host, f history.UsageFile) adapter.UsageScanner {
	l := &usageLog{session: strings.TrimSuffix(strings.TrimSuffix(path.Base(f.Rel), "l"), ".json")}
	slug, rest, _ := strings.Cut(f.Rel, "/")
	l.project = string(bytes.TrimSpace(usagescan.Sidecar(h, f, slug+"/.project_root")))
	if part := strings.Split(rest, "/"); len(part) > 2 {
		l.subAgent, l.session = true, part[1] // a sub-agent's chat is in a folder of its parent's session
	}
	if strings.HasSuffix(f.Rel, ".json") {
		return usagescan.NewWhole(l)
	}
	return usagescan.New(l)
}

// usageLog reads chats. A message is rewritten when it grows: it counts once, by its id, with its last tokens.
// Rewritten histories have no tokens.
type usageLog struct {
	session, project string
	subAgent         bool
	names            usagescan.Names
	mem              struct{ Session string }
}

func (*usageLog) Relevant(head []byte) bool {
	kind, ok := jsonscan.Peek(head, "type", "")
	return !ok || bytes.HasPrefix(kind, []byte(`"gemini"`))
}

func (l *usageLog) Memory() any { return &l.mem }

type usageLineForm struct {
	_                                                       jsonscan.Camel
	Type, Timestamp, ID, Model, Tokens, SessionID, Messages jsonscan.Value
	Set                                                     struct{ Messages jsonscan.Value } `scan:"$set"`
}

var usageLineShape jsonscan.Shape[usageLineForm]

type tokenForm struct{ Input, Output, Cached, Thoughts, Tool jsonscan.Value }

var tokenShape jsonscan.Shape[tokenForm]

func (l *usageLog) Line(line []byte, give func(*history.UsageRecord)) bool {
	var f usageLineForm
	if !usageLineShape.Into(line, &f) {
		return false
	}
	if s := l.names.Of(f.SessionID); s != "" && !l.subAgent {
		l.mem.Session = s
	}
	for _, messages := range []jsonscan.Value{f.Messages, f.Set.Messages} {
		messages.Array(func(_ int, m jsonscan.Value) bool {
			var f usageLineForm
			if usageLineShape.From(m, &f) {
				l.message(&f, give)
			}
			return true
		})
	}
	l.message(&f, give)
	return true
}

func (l *usageLog) message(f *usageLineForm, give func(*history.UsageRecord)) {
	var t tokenForm
	if !f.Type.IsStr("gemini") || !tokenShape.From(f.Tokens, &t) {
		return
	}
	r := history.UsageRecord{Time: usagescan.Millis(f.Timestamp), Model: l.names.Of(f.Model), Session: cmp.Or(l.mem.Session, l.session),
		Project: l.project, SubAgent: l.subAgent}
	input := t.Input.Count()
	r.CacheRead = min(t.Cached.Count(), input)
	r.Input = input - r.CacheRead + t.Tool.Count() // prompts of tools are counted separately
	r.Thinking = t.Thoughts.Count()
	r.Output = t.Output.Count() + r.Thinking
	if id := f.ID.Str(); id != "" {
		r.Key = new(usagescan.Hash).Text("gemini").Text(id).Key()
	}
	if r.Time > 0 && r.Tokens() > 0 {
		give(&r)
	}
}
