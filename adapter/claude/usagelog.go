package claude

import (
	"bytes"
	"context"
	"path"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/usagescan"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var _ adapter.UsageLog = Adapter{}

// UsageStores returns the project folders of the configuration directory. Without CLAUDE_CONFIG_DIR, which may list
// several separated by commas, earlier versions kept them below the XDG directory.
func (Adapter) UsageStores(h adapter.Host) []history.UsageStore {
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
	stores := make([]history.UsageStore, 0, len(dirs))
	for _, dir := range dirs {
		stores = append(stores, history.UsageStore{Root: path.Join(dir, "projects"),
			Match: func(rel string) bool { return strings.HasSuffix(rel, ".jsonl") }})
	}
	return stores
}

// UsageVersion implements adapter.UsageLog.
func (Adapter) UsageVersion() int { return 2 }

// NewUsageScanner implements adapter.UsageLog.
func (Adapter) NewUsageScanner(_ context.Context, _ adapter.Host, f history.UsageFile) adapter.UsageScanner {
	session := strings.TrimSuffix(path.Base(f.Rel), ".jsonl")
	return usagescan.New(&usageLog{session: session})
}

// usageLog reads session files. Claude writes a line per block of an answer and repeats the usage so far in each:
// lines with the same message and request are one call, and the one with the most tokens is its last. Files of
// sub-agents and side conversations repeat lines of the main one under other request ids.
type usageLog struct {
	session string // for lines without one
	names   usagescan.Names
	rec     history.UsageRecord
	mem     usageMemory
}

// usageMemory is the state that a cost statement is compared with.
type usageMemory struct {
	Born    int64 `json:",omitempty"` // the file's first time: copied lines of a fork are older
	Time    int64
	Project string
	Stated  map[string]statedSum `json:",omitempty"` // by model, as of the last statement
}

type statedSum struct{ Input, Output, CacheRead, CacheWrite, Cost float64 }

// Types of lines without usage, ordered by the frequency of large ones. Others are read.
var usageless = [][]byte{[]byte(`"user"`), []byte(`"attachment"`), []byte(`"api-request-blob"`), []byte(`"api-request"`),
	[]byte(`"api-request-shape"`), []byte(`"file-history-snapshot"`), []byte(`"system"`), []byte(`"queue-operation"`), []byte(`"summary"`),
	[]byte(`"last-prompt"`)}

// The type of users' and tools' lines precedes their content; that of answers follows it.
func (l *usageLog) Relevant(head []byte) bool {
	is, _ := usagescan.TypeOf(head, "message", usageless)
	return !is || l.mem.Born == 0
}

func (l *usageLog) Memory() any { return &l.mem }

// One pass over a line finds all.
type usageLineForm struct {
	_                                                                                        jsonscan.Camel
	Type, Timestamp, SessionID, RequestID, IsSidechain, Cwd, ModelUsage, HasUnknownModelCost jsonscan.Value
	CostUSD                                                                                  jsonscan.Value `scan:"costUSD"`
	Message                                                                                  struct {
		ID, Model jsonscan.Value
		Usage     struct {
			_                                                                                            jsonscan.Snake
			InputTokens, OutputTokens, CacheReadInputTokens, CacheCreationInputTokens, Speed, Iterations jsonscan.Value
			Whole                                                                                        jsonscan.Value `scan:"."`
			CacheCreation                                                                                struct {
				Ephemeral5mInputTokens jsonscan.Value `scan:"ephemeral_5m_input_tokens"`
				Ephemeral1hInputTokens jsonscan.Value `scan:"ephemeral_1h_input_tokens"`
			}
			OutputTokensDetails struct{ ThinkingTokens jsonscan.Value }
		}
	}
	Data struct{ Message jsonscan.Value }
}

var usageLineShape jsonscan.Shape[usageLineForm]

func (l *usageLog) Line(line []byte, give func(*history.UsageRecord)) bool {
	var f usageLineForm
	if !usageLineShape.Into(line, &f) {
		return false
	}
	if l.mem.Born == 0 {
		l.mem.Born = usagescan.Millis(f.Timestamp)
	}
	switch {
	case f.Message.Usage.Whole.Kind() == jsonscan.Object:
		l.call(&f, give)
	case f.Data.Message.Kind() == jsonscan.Object:
		// A sub-agent's answer as reported to its parent.
		session, cwd := f.SessionID, f.Cwd
		if usageLineShape.From(f.Data.Message, &f); f.Message.Usage.Whole.Kind() == jsonscan.Object {
			if !f.SessionID.Exists() {
				f.SessionID = session
			}
			if !f.Cwd.Exists() {
				f.Cwd = cwd
			}
			l.call(&f, give)
		}
	case f.ModelUsage.Kind() == jsonscan.Object && f.Type.IsStr("cost-state"):
		l.statement(&f, give)
	}
	return true
}

func (l *usageLog) call(f *usageLineForm, give func(*history.UsageRecord)) {
	l.rec = history.UsageRecord{Time: usagescan.Millis(f.Timestamp), Model: l.names.Of(f.Message.Model),
		Session: l.names.Of(f.SessionID), Project: l.names.Of(f.Cwd)}
	r := &l.rec
	if r.Time == 0 {
		return
	}
	if r.Session == "" {
		r.Session = l.session
	}
	r.SubAgent, _ = f.IsSidechain.Bool()
	r.Copied = r.Time < l.mem.Born
	l.mem.Time = max(l.mem.Time, r.Time)
	if r.Project != "" {
		l.mem.Project = r.Project
	}
	r.Input, r.Output, r.CacheRead = f.Message.Usage.InputTokens.Count(), f.Message.Usage.OutputTokens.Count(),
		f.Message.Usage.CacheReadInputTokens.Count()
	r.CacheWrite1h = f.Message.Usage.CacheCreation.Ephemeral1hInputTokens.Count()
	r.CacheWrite = max(f.Message.Usage.CacheCreation.Ephemeral5mInputTokens.Count(),
		f.Message.Usage.CacheCreationInputTokens.Count()-r.CacheWrite1h, 0)
	r.Thinking = min(f.Message.Usage.OutputTokensDetails.ThinkingTokens.Count(), r.Output)
	if f.Message.Usage.Speed.IsStr("fast") && r.Model != "" {
		r.Model = l.names.OfBytes(append([]byte(r.Model), "-fast"...)) // a different price
	}
	if usd, ok := f.CostUSD.Float(); ok && usd >= 0 {
		r.Stated, r.Cost = true, usd
	}
	id, request := plain(f.Message.ID), plain(f.RequestID)
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
	if f.Message.Usage.Iterations.Kind() == jsonscan.Array && len(f.Message.Usage.Iterations.Raw()) > len("[]") {
		l.advice(f.Message.Usage.Iterations, *r, id, request, give)
	}
}

type iterationForm struct {
	Type, Model, InputTokens, OutputTokens, CacheReadInputTokens, CacheCreationInputTokens jsonscan.Value
	CacheCreation                                                                          struct {
		Ephemeral5mInputTokens jsonscan.Value `scan:"ephemeral_5m_input_tokens"`
		Ephemeral1hInputTokens jsonscan.Value `scan:"ephemeral_1h_input_tokens"`
	}
}

var iterationShape jsonscan.Shape[iterationForm]

// advice are calls of another model inside a call, whose tokens the call's own exclude.
func (l *usageLog) advice(iterations jsonscan.Value, of history.UsageRecord, id, request []byte, give func(*history.UsageRecord)) {
	iterations.Array(func(i int, v jsonscan.Value) bool {
		var t iterationForm
		if iterationShape.From(v, &t); !t.Type.IsStr("advisor_message") {
			return true
		}
		r := history.UsageRecord{Time: of.Time, Model: l.names.Of(t.Model), Session: of.Session, Project: of.Project,
			SubAgent: of.SubAgent, Copied: of.Copied,
			Input: t.InputTokens.Count(), Output: t.OutputTokens.Count(), CacheRead: t.CacheReadInputTokens.Count(),
			CacheWrite1h: t.CacheCreation.Ephemeral1hInputTokens.Count()}
		r.CacheWrite = max(t.CacheCreation.Ephemeral5mInputTokens.Count(), t.CacheCreationInputTokens.Count()-r.CacheWrite1h, 0)
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

var modelSumShape jsonscan.Shape[struct {
	_                                                                         jsonscan.Camel
	InputTokens, OutputTokens, CacheReadInputTokens, CacheCreationInputTokens jsonscan.Value
	CostUSD                                                                   jsonscan.Value `scan:"costUSD"`
}]

// statement reads the session's cost so far by model, which Claude states when a process ends. It continues over
// resumed sessions; a fork's first one includes what was copied.
func (l *usageLog) statement(f *usageLineForm, give func(*history.UsageRecord)) {
	session := l.names.Of(f.SessionID)
	if session == "" {
		session = l.session
	}
	now := map[string]statedSum{}
	f.ModelUsage.Object(func(name []byte, v jsonscan.Value) bool {
		t, _ := modelSumShape.Of(v)
		number := func(v jsonscan.Value) float64 { n, _ := v.Float(); return n }
		sum := statedSum{number(t.InputTokens), number(t.OutputTokens), number(t.CacheReadInputTokens), number(t.CacheCreationInputTokens),
			number(t.CostUSD)}
		model := l.names.OfBytes(name)
		now[model] = sum
		if before := l.mem.Stated[model]; before.Cost <= sum.Cost && before.Input <= sum.Input && before.Output <= sum.Output {
			sum = statedSum{sum.Input - before.Input, sum.Output - before.Output, sum.CacheRead - before.CacheRead, sum.CacheWrite - before.CacheWrite, sum.Cost - before.Cost}
		}
		r := history.UsageRecord{Statement: true, Stated: true, Time: l.mem.Time, Session: session, Project: l.mem.Project, Model: model,
			Input: whole(sum.Input), Output: whole(sum.Output), CacheRead: whole(sum.CacheRead), CacheWrite: whole(sum.CacheWrite), Cost: sum.Cost}
		if guessed, _ := f.HasUnknownModelCost.Bool(); !guessed && r.Cost >= 0 && r.Time > 0 && (r.Tokens() > 0 || r.Cost > 0) {
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

// plain returns an id verbatim: Claude always spells it alike.
func plain(v jsonscan.Value) []byte {
	if v.Kind() != jsonscan.String {
		return nil
	}
	return bytes.Trim(v.Raw(), `"`)
}
