package qwen

import (
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/usagescan"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var _ adapter.SessionSums = Adapter{}

// UsageStores is the folder with a folder for each project.
func (Adapter) UsageStores(h adapter.Host) []adapter.UsageStore {
	root := path.Join(cmp.Or(h.Getenv("QWEN_RUNTIME_DIR"), h.Getenv("QWEN_HOME"), path.Join(h.Home, ".qwen")), "projects")
	return []adapter.UsageStore{usagescan.Projects(root, "chats", ".jsonl")}
}

// StatesSessionSums implements adapter.SessionSums: the usage of a result is that of the session, with sub-agents and with what
// Qwen does in the background.
func (Adapter) StatesSessionSums() {}

// UsageVersion implements adapter.UsageLog.
func (Adapter) UsageVersion() int { return 2 }

// NewUsageScanner implements adapter.UsageLog.
func (Adapter) NewUsageScanner(_ context.Context, _ adapter.Host, f adapter.UsageFile) adapter.UsageScanner {
	return usagescan.New(&usageLog{session: strings.TrimSuffix(path.Base(f.Rel), ".jsonl")})
}

// usageLog reads chats. Qwen notes every answer of a model as telemetry, those to sub-agents and to side requests too, and
// the conversation's own once more in the message. A message counts where there is no telemetry for it.
type usageLog struct {
	session string
	names   usagescan.Names
	mem     usageMemory
}

type usageMemory struct {
	Answers  []usage `json:",omitempty"` // of the conversation, whose message has not come yet
	Messages []usage `json:",omitempty"` // that were counted and whose telemetry has not come yet
}

// usage are Qwen's counts. Cached tokens are part of Prompt; thoughts are part of Output where Total says so.
type usage struct{ Prompt, Output, Cached, Thoughts, Total int64 }

var typePrefixes = [][]byte{[]byte(`"assistant"`), []byte(`"system"`)}

func (*usageLog) Worth(head []byte) bool {
	is, known := usagescan.TypeOf(head, "", typePrefixes)
	return is || !known
}

func (l *usageLog) Memory() any { return &l.mem }

const (
	uType = iota
	uTimestamp
	uSession
	uCwd
	uModel
	uUUID
	uMetadata
	uEvent
	uForked
	uFields
)

var usageLineKeys = jsonscan.NewKeySet("type", "timestamp", "sessionId", "cwd", "model", "uuid", "usageMetadata", "systemPayload.uiEvent", "forkedFrom")

var metadataKeys = jsonscan.NewKeySet("promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount", "thoughtsTokenCount", "totalTokenCount")

const (
	eName = iota
	eResponse
	eModel
	ePrompt
	eOutput
	eCached
	eThoughts
	eTotal
	eSubAgent
	eFields
)

var eventKeys = jsonscan.NewKeySet(`event\.name`, "response_id", "model", "input_token_count", "output_token_count", "cached_content_token_count",
	"thoughts_token_count", "total_token_count", "subagent_name")

func (l *usageLog) Line(line []byte, give func(*adapter.UsageRecord)) bool {
	var f [uFields]jsonscan.Value
	if jsonscan.Fields(line, f[:], usageLineKeys) != nil {
		return false
	}
	r := adapter.UsageRecord{Time: usagescan.Millis(f[uTimestamp]), Session: cmp.Or(l.names.Of(f[uSession]), l.session), Project: l.names.Of(f[uCwd]), Copied: f[uForked].Exists()}
	if r.Time == 0 {
		return true
	}
	var t [eFields]jsonscan.Value
	if f[uEvent].Fields(t[:], eventKeys) && t[eName].IsStr("qwen-code.api_response") {
		u := usage{usagescan.Count(t[ePrompt]), usagescan.Count(t[eOutput]), usagescan.Count(t[eCached]), usagescan.Count(t[eThoughts]), usagescan.Count(t[eTotal])}
		r.Model, r.SubAgent = l.names.Of(t[eModel]), t[eSubAgent].Kind() == jsonscan.String
		if id := t[eResponse].Str(); id != "" {
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
	if f[uType].IsStr("assistant") && f[uMetadata].Fields(t[:metadataKeys.Len()], metadataKeys) {
		u := usage{usagescan.Count(t[0]), usagescan.Count(t[1]), usagescan.Count(t[2]), usagescan.Count(t[3]), usagescan.Count(t[4])}
		if take(&l.mem.Answers, u) {
			return true
		}
		keep(&l.mem.Messages, u)
		r.Model = l.names.Of(f[uModel])
		if id := f[uUUID].Str(); id != "" {
			r.Key = new(usagescan.Hash).Text("qwen message").Text(id).Key()
		}
		u.into(&r, give)
	}
	return true
}

// waiting is how many answers or messages can wait for their other half. They stand close together.
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

func (u usage) into(r *adapter.UsageRecord, give func(*adapter.UsageRecord)) {
	r.CacheRead = min(u.Cached, u.Prompt)
	r.Input = u.Prompt - r.CacheRead
	r.Output, r.Thinking = u.Output, u.Thoughts
	if u.Total > 0 && u.Prompt+u.Output+u.Thoughts == u.Total {
		r.Output += u.Thoughts // Google's way of counting
	}
	r.Thinking = min(r.Thinking, r.Output)
	if r.Tokens() > 0 {
		give(r)
	}
}
