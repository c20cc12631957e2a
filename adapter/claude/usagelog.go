package claude

import (
	"bytes"
	"context"
	"path"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/usagescan"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var _ adapter.UsageLog = Adapter{}

// UsageStores are the project folders of the configuration directory. Without CLAUDE_CONFIG_DIR, which may name several
// with commas between them, earlier versions kept them below the XDG directory.
func (Adapter) UsageStores(h adapter.Host) []adapter.UsageStore {
	var dirs []string
	for dir := range strings.SplitSeq(h.Getenv("CLAUDE_CONFIG_DIR"), ",") {
		if dir = strings.TrimSpace(dir); path.IsAbs(strings.ReplaceAll(dir, `\`, "/")) || strings.Contains(dir, ":") {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		xdg := h.Getenv("XDG_CONFIG_HOME")
		if !path.IsAbs(xdg) {
			xdg = path.Join(h.Home, ".config")
		}
		dirs = []string{path.Join(h.Home, ".claude"), path.Join(xdg, "claude")}
	}
	stores := make([]adapter.UsageStore, 0, len(dirs))
	for _, dir := range dirs {
		stores = append(stores, adapter.UsageStore{Root: path.Join(dir, "projects"),
			Match: func(rel string) bool { return strings.HasSuffix(rel, ".jsonl") }})
	}
	return stores
}

// UsageVersion implements adapter.UsageLog.
func (Adapter) UsageVersion() int { return 2 }

// NewUsageScanner implements adapter.UsageLog.
func (Adapter) NewUsageScanner(_ context.Context, _ adapter.Host, f adapter.UsageFile) adapter.UsageScanner {
	session := strings.TrimSuffix(path.Base(f.Rel), ".jsonl")
	return usagescan.New(&usageLog{session: session})
}

// usageLog reads session files. Claude writes a line for each block of an answer and repeats the usage so far in every one:
// lines with the same message and request are one call, and the one with the most tokens is its last. Files of sub-agents
// and side conversations repeat lines of the main one under other request ids.
type usageLog struct {
	session string // of lines that name none
	names   usagescan.Names
	rec     adapter.UsageRecord
	mem     usageMemory
}

// usageMemory is what a cost statement is held against.
type usageMemory struct {
	Born    int64 `json:",omitempty"` // the first time that the file states: what a fork repeats is older
	Time    int64
	Project string
	Stated  map[string]statedSum `json:",omitempty"` // by model, as of the last statement
}

type statedSum struct{ Input, Output, CacheRead, CacheWrite, Cost float64 }

// Types of lines that carry no usage, by how often large ones occur. Others are read.
var usageless = [][]byte{[]byte(`"user"`), []byte(`"attachment"`), []byte(`"api-request-blob"`), []byte(`"api-request"`),
	[]byte(`"api-request-shape"`), []byte(`"file-history-snapshot"`), []byte(`"system"`), []byte(`"queue-operation"`), []byte(`"summary"`),
	[]byte(`"last-prompt"`)}

// Worth finds the type of lines that hold what users and tools say before what they say; answers have theirs behind it.
func (l *usageLog) Worth(head []byte) bool {
	is, _ := usagescan.TypeOf(head, "message", usageless)
	return !is || l.mem.Born == 0
}

func (l *usageLog) Memory() any { return &l.mem }

const (
	uType = iota
	uTimestamp
	uSession
	uRequest
	uSidechain
	uCwd
	uCost
	uID
	uModel
	uUsage
	uInput
	uOutput
	uCacheRead
	uCacheWrite
	uWrite5m
	uWrite1h
	uThinking
	uSpeed
	uIterations
	uProgress
	uModelUsage
	uGuessed
	uFields
)

// One pass over a line finds all.
var usageLineKeys = jsonscan.NewKeySet("type", "timestamp", "sessionId", "requestId", "isSidechain", "cwd", "costUSD", "message.id",
	"message.model", "message.usage", "message.usage.input_tokens", "message.usage.output_tokens", "message.usage.cache_read_input_tokens",
	"message.usage.cache_creation_input_tokens", "message.usage.cache_creation.ephemeral_5m_input_tokens",
	"message.usage.cache_creation.ephemeral_1h_input_tokens", "message.usage.output_tokens_details.thinking_tokens", "message.usage.speed",
	"message.usage.iterations", "data.message", "modelUsage", "hasUnknownModelCost")

func (l *usageLog) Line(line []byte, give func(*adapter.UsageRecord)) bool {
	var f [uFields]jsonscan.Value
	if jsonscan.Fields(line, f[:], usageLineKeys) != nil {
		return false
	}
	if l.mem.Born == 0 {
		l.mem.Born = usagescan.Millis(f[uTimestamp])
	}
	switch {
	case f[uUsage].Kind() == jsonscan.Object:
		l.call(&f, give)
	case f[uProgress].Kind() == jsonscan.Object:
		// A sub-agent's answer as its parent was told of it.
		session, cwd := f[uSession], f[uCwd]
		if f[uProgress].Fields(f[:], usageLineKeys); f[uUsage].Kind() == jsonscan.Object {
			if !f[uSession].Exists() {
				f[uSession] = session
			}
			if !f[uCwd].Exists() {
				f[uCwd] = cwd
			}
			l.call(&f, give)
		}
	case f[uModelUsage].Kind() == jsonscan.Object && f[uType].IsStr("cost-state"):
		l.statement(&f, give)
	}
	return true
}

func (l *usageLog) call(f *[uFields]jsonscan.Value, give func(*adapter.UsageRecord)) {
	l.rec = adapter.UsageRecord{Time: usagescan.Millis(f[uTimestamp]), Model: l.names.Of(f[uModel]), Session: l.names.Of(f[uSession]), Project: l.names.Of(f[uCwd])}
	r := &l.rec
	if r.Time == 0 {
		return
	}
	if r.Session == "" {
		r.Session = l.session
	}
	r.SubAgent, _ = f[uSidechain].Bool()
	r.Copied = r.Time < l.mem.Born
	l.mem.Time = max(l.mem.Time, r.Time)
	if r.Project != "" {
		l.mem.Project = r.Project
	}
	r.Input, r.Output, r.CacheRead = usagescan.Count(f[uInput]), usagescan.Count(f[uOutput]), usagescan.Count(f[uCacheRead])
	r.CacheWrite1h = usagescan.Count(f[uWrite1h])
	r.CacheWrite = max(usagescan.Count(f[uWrite5m]), usagescan.Count(f[uCacheWrite])-r.CacheWrite1h, 0)
	r.Thinking = min(usagescan.Count(f[uThinking]), r.Output)
	if f[uSpeed].IsStr("fast") && r.Model != "" {
		r.Model = l.names.OfBytes(append([]byte(r.Model), "-fast"...)) // another price
	}
	if usd, ok := f[uCost].Float(); ok && usd >= 0 {
		r.Stated, r.Cost = true, usd
	}
	id, request := plain(f[uID]), plain(f[uRequest])
	if len(id) > 0 {
		h := new(usagescan.Hash).Text("claude").Bytes(id)
		if len(request) > 0 {
			h.Bytes(request)
		} else {
			// A gateway without request ids may give every answer the same id: only equal prompts are the same call.
			h.Text(r.Session).Int(r.Input).Int(r.CacheRead).Int(r.CacheWrite + r.CacheWrite1h)
		}
		r.Key = h.Key()
		r.Twin = new(usagescan.Hash).Text("twin").Text(r.Session).Bytes(id).Sum()
	}
	if r.Tokens() > 0 || r.Cost > 0 {
		give(r)
	}
	if f[uIterations].Kind() == jsonscan.Array && len(f[uIterations].Raw()) > len("[]") {
		l.advice(f[uIterations], *r, id, request, give)
	}
}

const (
	tType = iota
	tModel
	tInput
	tOutput
	tCacheRead
	tCacheWrite
	tWrite5m
	tWrite1h
	tFields
)

var iterationKeys = jsonscan.NewKeySet("type", "model", "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
	"cache_creation.ephemeral_5m_input_tokens", "cache_creation.ephemeral_1h_input_tokens")

// advice are calls of another model inside a call, whose tokens are not in the call's own.
func (l *usageLog) advice(iterations jsonscan.Value, of adapter.UsageRecord, id, request []byte, give func(*adapter.UsageRecord)) {
	iterations.Array(func(i int, v jsonscan.Value) bool {
		var t [tFields]jsonscan.Value
		if v.Fields(t[:], iterationKeys); !t[tType].IsStr("advisor_message") {
			return true
		}
		r := adapter.UsageRecord{Time: of.Time, Model: l.names.Of(t[tModel]), Session: of.Session, Project: of.Project, SubAgent: of.SubAgent, Copied: of.Copied,
			Input: usagescan.Count(t[tInput]), Output: usagescan.Count(t[tOutput]), CacheRead: usagescan.Count(t[tCacheRead]),
			CacheWrite1h: usagescan.Count(t[tWrite1h])}
		r.CacheWrite = max(usagescan.Count(t[tWrite5m]), usagescan.Count(t[tCacheWrite])-r.CacheWrite1h, 0)
		if len(id) > 0 {
			r.Key = new(usagescan.Hash).Text("claude advice").Bytes(id).Bytes(request).Int(int64(i)).Key()
			r.Twin = new(usagescan.Hash).Text("advice twin").Text(r.Session).Bytes(id).Int(int64(i)).Sum()
		}
		if r.Tokens() > 0 {
			give(&r)
		}
		return true
	})
}

var modelSumKeys = jsonscan.NewKeySet("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "costUSD")

// statement reads what Claude says the session cost so far, by model, when a process ends. It goes on over resumes; a fork's
// first one holds what was copied too.
func (l *usageLog) statement(f *[uFields]jsonscan.Value, give func(*adapter.UsageRecord)) {
	session := l.names.Of(f[uSession])
	if session == "" {
		session = l.session
	}
	now := map[string]statedSum{}
	f[uModelUsage].Object(func(name []byte, v jsonscan.Value) bool {
		var t [5]jsonscan.Value
		v.Fields(t[:], modelSumKeys)
		var n [5]float64
		for i := range n {
			n[i], _ = t[i].Float()
		}
		sum := statedSum{n[0], n[1], n[2], n[3], n[4]}
		model := l.names.OfBytes(name)
		now[model] = sum
		if before := l.mem.Stated[model]; before.Cost <= sum.Cost && before.Input <= sum.Input && before.Output <= sum.Output {
			sum = statedSum{sum.Input - before.Input, sum.Output - before.Output, sum.CacheRead - before.CacheRead, sum.CacheWrite - before.CacheWrite, sum.Cost - before.Cost}
		}
		r := adapter.UsageRecord{Statement: true, Stated: true, Time: l.mem.Time, Session: session, Project: l.mem.Project, Model: model,
			Input: whole(sum.Input), Output: whole(sum.Output), CacheRead: whole(sum.CacheRead), CacheWrite: whole(sum.CacheWrite), Cost: sum.Cost}
		if guessed, _ := f[uGuessed].Bool(); !guessed && r.Cost >= 0 && r.Time > 0 && (r.Tokens() > 0 || r.Cost > 0) {
			give(&r)
		}
		return true
	})
	l.mem.Stated = now
}

func whole(n float64) int64 {
	if n >= 0 && n < 1<<50 {
		return int64(n)
	}
	return 0
}

// plain is an id as it stands in the line: two lines of Claude spell it alike.
func plain(v jsonscan.Value) []byte {
	if v.Kind() != jsonscan.String {
		return nil
	}
	return bytes.Trim(v.Raw(), `"`)
}
