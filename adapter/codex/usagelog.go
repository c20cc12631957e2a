package codex

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

// UsageStores returns the folders of rollouts, including archived ones; old ones may be compressed.
func (Adapter) UsageStores(h adapter.Host) []history.UsageStore {
	home := cmp.Or(h.Getenv("CODEX_HOME"), path.Join(h.Home, ".codex"))
	var stores []history.UsageStore
	for _, dir := range []string{"sessions", "archived_sessions"} {
		stores = append(stores, history.UsageStore{Root: path.Join(home, dir), Unpack: unpack,
			Match: func(rel string) bool { return strings.HasSuffix(rel, ".jsonl") || strings.HasSuffix(rel, packedSuffix) }})
	}
	return stores
}

// UsageVersion implements adapter.UsageLog.
func (Adapter) UsageVersion() int { return 1 }

// NewUsageScanner implements adapter.UsageLog.
func (Adapter) NewUsageScanner(_ context.Context, _ adapter.Host, f history.UsageFile) adapter.UsageScanner {
	return usagescan.New(&usageLog{mem: usageMemory{Session: strings.TrimSuffix(path.Base(f.Rel), ".jsonl")}})
}

// usageLog reads rollouts. Codex repeats running totals: an unchanged total is not a call. Newer versions state each
// call twice, first by response. A fork may repeat its parent's rollout, with old or new times, or omit it while its
// totals continue.
type usageLog struct {
	names usagescan.Names
	mem   usageMemory
}

type usageMemory struct {
	Session  string
	Fork     string `json:",omitempty"`
	Project  string `json:",omitempty"`
	Model    string `json:",omitempty"`
	SubAgent bool   `json:",omitempty"`
	Begun    bool   `json:",omitempty"` // the rollout's own session_meta was seen; others belong to repeated parts
	Chain    [2]uint64
	Total    *loggedTokens `json:",omitempty"`
}

// loggedTokens are Codex's counts: Input includes cached tokens, read and written, and Output includes reasoning.
type loggedTokens struct{ Input, Cached, Written, Output, Reasoning int64 }

func (t loggedTokens) sub(u loggedTokens) loggedTokens {
	return loggedTokens{t.Input - u.Input, t.Cached - u.Cached, t.Written - u.Written, t.Output - u.Output, t.Reasoning - u.Reasoning}
}

// under reports whether no count of t exceeds that of u.
func (t loggedTokens) under(u loggedTokens) bool {
	return t.Input <= u.Input && t.Cached <= u.Cached && t.Written <= u.Written && t.Output <= u.Output && t.Reasoning <= u.Reasoning
}

// Relevant reads the type of a line, and that of an event: both precede large members.
func (*usageLog) Relevant(head []byte) bool {
	kind, ok := jsonscan.Peek(head, "type", "")
	if !ok {
		return true
	}
	switch {
	case bytes.HasPrefix(kind, []byte(`"event_msg"`)):
		payload, ok := jsonscan.Peek(head, "payload", "")
		if !ok {
			return true
		}
		kind, ok = jsonscan.Peek(payload, "type", "")
		return !ok || bytes.HasPrefix(kind, []byte(`"token_count"`))
	case bytes.HasPrefix(kind, []byte(`"token_usage_record"`)), bytes.HasPrefix(kind, []byte(`"turn_context"`)), bytes.HasPrefix(kind, []byte(`"session_meta"`)):
		return true
	}
	return false
}

func (l *usageLog) Memory() any { return &l.mem }

type usageLineForm struct {
	Type, Timestamp jsonscan.Value
	Payload         struct {
		Type, Model, Cwd, ID, ForkedFromID, ThreadSource, ResponseID, ThreadTokenUsage, Usage jsonscan.Value
		Source                                                                                struct{ Subagent jsonscan.Value }
		Info                                                                                  struct {
			TotalTokenUsage, LastTokenUsage,
			Model jsonscan.Value
		}
	}
}

var usageLineShape jsonscan.Shape[usageLineForm]

var tokenShape jsonscan.Shape[struct {
	InputTokens, CachedInputTokens, CacheWriteInputTokens, OutputTokens, ReasoningOutputTokens jsonscan.Value
}]

func readTokens(v jsonscan.Value) (loggedTokens, bool) {
	t, ok := tokenShape.Of(v)
	if !ok {
		return loggedTokens{}, false
	}
	return loggedTokens{t.InputTokens.Count(), t.CachedInputTokens.Count(), t.CacheWriteInputTokens.Count(),
		t.OutputTokens.Count(), t.ReasoningOutputTokens.Count()}, true
}

func (l *usageLog) Line(line []byte, give func(*history.UsageRecord)) bool {
	var f usageLineForm
	if !usageLineShape.Into(line, &f) {
		return false
	}
	switch {
	case f.Type.IsStr("session_meta"):
		l.meta(&f)
	case f.Type.IsStr("turn_context"):
		l.mem.Model = cmp.Or(l.names.Of(f.Payload.Model), l.mem.Model)
		l.mem.Project = cmp.Or(l.names.Of(f.Payload.Cwd), l.mem.Project)
	case f.Type.IsStr("token_usage_record"):
		if last, ok := readTokens(f.Payload.Usage); ok {
			total, ok := readTokens(f.Payload.ThreadTokenUsage)
			l.call(&f, total, ok, last, true, give)
		}
	case f.Type.IsStr("event_msg") && f.Payload.Type.IsStr("token_count"):
		total, hasTotal := readTokens(f.Payload.Info.TotalTokenUsage)
		last, hasLast := readTokens(f.Payload.Info.LastTokenUsage)
		l.call(&f, total, hasTotal, last, hasLast, give)
	}
	return true
}

func (l *usageLog) meta(f *usageLineForm) {
	if l.mem.Begun {
		return
	}
	l.mem.Begun = true
	l.mem.Session = cmp.Or(l.names.Of(f.Payload.ID), l.mem.Session)
	l.mem.Fork = l.names.Of(f.Payload.ForkedFromID)
	l.mem.Project = l.names.Of(f.Payload.Cwd)
	l.mem.SubAgent = f.Payload.Source.Subagent.Exists() && f.Payload.Source.Subagent.Kind() != jsonscan.Null || f.Payload.ThreadSource.IsStr("subagent")
}

func (l *usageLog) call(f *usageLineForm, total loggedTokens, hasTotal bool, last loggedTokens, hasLast bool,
	give func(*history.UsageRecord)) {
	before := l.mem.Total
	if hasTotal {
		if before != nil && *before == total {
			return
		}
		if l.mem.Total == nil {
			l.mem.Total = new(loggedTokens)
		} else {
			b := *before
			before = &b
		}
		*l.mem.Total = total
	}
	use := last
	if !hasLast {
		if use = total; before != nil && before.under(total) {
			use = total.sub(*before) // a smaller total restarted
		}
	}
	if use == (loggedTokens{}) {
		return
	}
	r := history.UsageRecord{Time: usagescan.Millis(f.Timestamp), Session: l.mem.Session, Fork: l.mem.Fork, Project: l.mem.Project,
		SubAgent: l.mem.SubAgent,
		Model:    cmp.Or(l.names.Of(f.Payload.Info.Model), l.names.Of(f.Payload.Model), l.mem.Model)}
	if r.Time == 0 {
		return
	}
	r.CacheRead = min(use.Cached, use.Input)
	r.CacheWrite = min(use.Written, use.Input-r.CacheRead)
	r.Input = use.Input - r.CacheRead - r.CacheWrite
	r.Output, r.Thinking = use.Output, min(use.Reasoning, use.Output)

	// A fork repeats the same sequence from the start, whatever its times.
	chain := usagescan.Resume(l.mem.Chain)
	for _, n := range []int64{use.Input, use.Cached, use.Written, use.Output, use.Reasoning, total.Input, total.Cached, total.Output} {
		chain.Int(n)
	}
	l.mem.Chain = chain.Parts()
	r.Key, r.InFamily = chain.Key(), true
	if response, ok := f.Payload.ResponseID.Plain(); ok && len(response) > 0 {
		r.Key, r.InFamily = new(usagescan.Hash).Text("codex").Bytes(response).Key(), false
	}
	give(&r)
}
