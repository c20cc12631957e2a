package qwen

import (
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/usagescan"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var _ adapter.SessionSums = Adapter{}

// UsageStores returns the folder of the projects' folders.
func (Adapter) UsageStores(h adapter.Host) []history.UsageStore {
	root := path.Join(cmp.Or(h.Getenv("QWEN_RUNTIME_DIR"), h.Getenv("QWEN_HOME"), path.Join(h.Home, ".qwen")), "projects")
	return []history.UsageStore{usagescan.Projects(root, "chats", ".jsonl")}
}

// StatesSessionSums implements adapter.SessionSums: a result's usage is that of the session, including sub-agents and
// background work.
func (Adapter) StatesSessionSums() {}

// UsageVersion implements adapter.UsageLog.
func (Adapter) UsageVersion() int { return 2 }

// NewUsageScanner implements adapter.UsageLog.
func (Adapter) NewUsageScanner(_ context.Context, _ adapter.Host, f history.UsageFile) adapter.UsageScanner {
	return usagescan.New(&usageLog{session: strings.TrimSuffix(path.Base(f.Rel), ".jsonl")})
}

// usageLog reads chats. Qwen logs every answer of a model as telemetry, including those to sub-agents and side
// requests, and the conversation's answers again in the messages. A message counts if it has no telemetry.
type usageLog struct {
	session string
	names   usagescan.Names
	mem     usageMemory
}

type usageMemory struct {
	Answers  []usage `json:",omitempty"` // of the conversation, whose message has not come yet
	Messages []usage `json:",omitempty"` // counted, without telemetry so far
}

// usage is Qwen's counts. Prompt includes cached tokens; Output includes thinking if Total says so.
type usage struct{ Prompt, Output, Cached, Thoughts, Total int64 }

var typePrefixes = [][]byte{[]byte(`"assistant"`), []byte(`"system"`)}

func (*usageLog) Relevant(head []byte) bool {
	is, known := usagescan.TypeOf(head, "", typePrefixes)
	return is || !known
}

func (l *usageLog) Memory() any { return &l.mem }

type usageLineForm struct {
	_                                                        jsonscan.Camel
	Type, Timestamp, SessionID, Cwd, Model, UUID, ForkedFrom jsonscan.Value
	UsageMetadata                                            countsForm
	SystemPayload                                            struct{ UIEvent jsonscan.Value }
}

var usageLineShape jsonscan.Shape[usageLineForm]

// countsForm are the tokens of a message.
type countsForm struct {
	Whole                                                                                                jsonscan.Value `scan:"."`
	PromptTokenCount, CandidatesTokenCount, ThoughtsTokenCount, TotalTokenCount, CachedContentTokenCount jsonscan.Value
}

type eventForm struct {
	ResponseID, Model, InputTokenCount, OutputTokenCount, CachedContentTokenCount, ThoughtsTokenCount jsonscan.Value
	TotalTokenCount, SubagentName                                                                     jsonscan.Value
	EventName                                                                                         jsonscan.Value `scan:"event\\.name"`
}

var eventShape jsonscan.Shape[eventForm]

func (l *usageLog) Line(line []byte, give func(*history.UsageRecord)) bool {
	var f usageLineForm
	if !usageLineShape.Into(line, &f) {
		return false
	}
	r := history.UsageRecord{Time: usagescan.Millis(f.Timestamp), Session: cmp.Or(l.names.Of(f.SessionID), l.session),
		Project: l.names.Of(f.Cwd), Copied: f.ForkedFrom.Exists()}
	if r.Time == 0 {
		return true
	}
	var t eventForm
	if eventShape.From(f.SystemPayload.UIEvent, &t) && t.EventName.IsStr("qwen-code.api_response") {
		u := usage{t.InputTokenCount.Count(), t.OutputTokenCount.Count(), t.CachedContentTokenCount.Count(),
			t.ThoughtsTokenCount.Count(), t.TotalTokenCount.Count()}
		r.Model, r.SubAgent = l.names.Of(t.Model), t.SubagentName.Kind() == jsonscan.String
		if id := t.ResponseID.Str(); id != "" {
			r.Key = new(usagescan.Hash).Text("qwen").Text(id).Key()
		}
		if !r.SubAgent {
			if take(&l.mem.Messages, u) {
				return true
			}
			keep(&l.mem.Answers, u)
		}
		u.into(&r, give)
	}
	if m := &f.UsageMetadata; f.Type.IsStr("assistant") && m.Whole.Kind() == jsonscan.Object {
		u := usage{m.PromptTokenCount.Count(), m.CandidatesTokenCount.Count(),
			m.CachedContentTokenCount.Count(), m.ThoughtsTokenCount.Count(), m.TotalTokenCount.Count()}
		if take(&l.mem.Answers, u) {
			return true
		}
		keep(&l.mem.Messages, u)
		r.Model = l.names.Of(f.Model)
		if id := f.UUID.Str(); id != "" {
			r.Key = new(usagescan.Hash).Text("qwen message").Text(id).Key()
		}
		u.into(&r, give)
	}
	return true
}

// waiting is how many answers or messages can wait for their counterpart, which is always close.
const waiting = 16

func keep(list *[]usage, u usage) {
	if *list = append(*list, u); len(*list) > waiting {
		*list = append((*list)[:0], (*list)[1:]...)
	}
}

func take(list *[]usage, u usage) bool {
	for i, v := range *list {
		if v == u {
			*list = append((*list)[:i], (*list)[i+1:]...)
			return true
		}
	}
	return false
}

func (u usage) into(r *history.UsageRecord, give func(*history.UsageRecord)) {
	r.CacheRead = min(u.Cached, u.Prompt)
	r.Input = u.Prompt - r.CacheRead
	r.Output, r.Thinking = u.Output, u.Thoughts
	if u.Total > 0 && u.Prompt+u.Output+u.Thoughts == u.Total {
		r.Output += u.Thoughts // Google's field names
	}
	r.Thinking = min(r.Thinking, r.Output)
	if r.Tokens() > 0 {
		give(r)
	}
}
