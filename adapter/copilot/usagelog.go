package copilot

import (
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/usagescan"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var _ adapter.UsageLog = Adapter{}

// UsageStores returns the folder of the sessions' folders.
func (Adapter) UsageStores(h adapter.Host) []history.UsageStore {
	root := path.Join(cmp.Or(h.Getenv("COPILOT_HOME"), path.Join(h.Home, ".copilot")), "session-state")
	return []history.UsageStore{{Root: root,
		Match: func(rel string) bool { return path.Base(rel) == "events.jsonl" && strings.Count(rel, "/") == 1 },
		Enter: func(rel string) bool { return !strings.Contains(rel, "/") }}}
}

// UsageVersion implements adapter.UsageLog.
func (Adapter) UsageVersion() int { return 1 }

// NewUsageScanner implements adapter.UsageLog.
func (Adapter) NewUsageScanner(_ context.Context, _ adapter.Host, f history.UsageFile) adapter.UsageScanner {
	return usagescan.New(&usageLog{session: path.Dir(f.Rel)})
}

// usageLog reads the events of a session. Copilot logs each call of a model, and the session's sums when a process
// ends; earlier versions logged the sums only. The excess of a sum over the calls counts as one more call. Its costs
// are premium requests and credits rather than money.
type usageLog struct {
	session string
	names   usagescan.Names
	mem     usageMemory
}

type usageMemory struct {
	Project string            `json:",omitempty"`
	Sums    map[string]tokens `json:",omitempty"` // by model, at the last shutdown
	Calls   map[string]tokens `json:",omitempty"` // by model, since then
}

// tokens are Copilot's counts: Input includes cached tokens, Output includes reasoning.
type tokens struct{ Input, Output, Read, Written, Reasoning int64 }

func (t tokens) plus(u tokens) tokens {
	return tokens{t.Input + u.Input, t.Output + u.Output, t.Read + u.Read, t.Written + u.Written, t.Reasoning + u.Reasoning}
}

// above returns t minus u, at least 0.
func (t tokens) above(u tokens) tokens {
	return tokens{max(t.Input-u.Input, 0), max(t.Output-u.Output, 0), max(t.Read-u.Read, 0), max(t.Written-u.Written, 0), max(t.Reasoning-u.Reasoning, 0)}
}

func (t tokens) under(u tokens) bool {
	return t.Input <= u.Input && t.Output <= u.Output && t.Read <= u.Read && t.Written <= u.Written
}

var usageTypes = [][]byte{[]byte(`"session.usage_record"`), []byte(`"session.shutdown"`), []byte(`"session.start"`), []byte(`"session.resume"`),
	[]byte(`"session.context_changed"`)}

func (*usageLog) Relevant(head []byte) bool {
	is, known := usagescan.TypeOf(head, "", usageTypes)
	return is || !known
}

func (l *usageLog) Memory() any { return &l.mem }

type usageLineForm struct {
	Type, Timestamp jsonscan.Value
	Data            struct {
		_                        jsonscan.Camel
		Cwd, Usage, ModelMetrics jsonscan.Value
		Context                  struct{ Cwd jsonscan.Value }
	}
}

var usageLineShape jsonscan.Shape[usageLineForm]

type tokenForm struct {
	_                                                                                               jsonscan.Camel
	InputTokens, OutputTokens, CacheReadTokens, CacheWriteTokens, ReasoningTokens, Model, APICallID jsonscan.Value
	Initiator                                                                                       jsonscan.Value
	Accounting                                                                                      struct{ UsageID jsonscan.Value }
}

var tokenShape jsonscan.Shape[tokenForm]

type metricForm struct{ Usage tokenForm }

var metricShape jsonscan.Shape[metricForm]

func (f *tokenForm) tokens() tokens {
	return tokens{f.InputTokens.Count(), f.OutputTokens.Count(), f.CacheReadTokens.Count(), f.CacheWriteTokens.Count(), f.ReasoningTokens.Count()}
}

// used converts the count to this project's definitions.
func (f *tokenForm) used() execution.Usage {
	t := f.tokens()
	return execution.Usage{Input: max(0, t.Input-t.Read-t.Written), Output: t.Output, Cached: t.Read, CacheWrite: t.Written, Thinking: t.Reasoning}.WithTotal()
}

func (l *usageLog) Line(line []byte, give func(*history.UsageRecord)) bool {
	var f usageLineForm
	if !usageLineShape.Into(line, &f) {
		return false
	}
	at := usagescan.Millis(f.Timestamp)
	switch {
	case f.Type.IsStr("session.start"), f.Type.IsStr("session.resume"), f.Type.IsStr("session.context_changed"):
		l.mem.Project = cmp.Or(l.names.Of(f.Data.Context.Cwd), l.names.Of(f.Data.Cwd), l.mem.Project)
	case at == 0:
	case f.Type.IsStr("session.usage_record"):
		var t tokenForm
		if tokenShape.From(f.Data.Usage, &t) {
			l.call(at, &t, give)
		}
	case f.Type.IsStr("session.shutdown"):
		l.sums(at, f.Data.ModelMetrics, give)
	}
	return true
}

func (l *usageLog) call(at int64, t *tokenForm, give func(*history.UsageRecord)) {
	n, model := t.tokens(), l.names.Of(t.Model)
	if l.mem.Calls == nil {
		l.mem.Calls = map[string]tokens{}
	}
	l.mem.Calls[model] = l.mem.Calls[model].plus(n)
	r := l.record(at, model, n)
	r.SubAgent = t.Initiator.IsStr("sub-agent")
	if id := cmp.Or(t.Accounting.UsageID.Str(), t.APICallID.Str()); id != "" {
		r.Key = new(usagescan.Hash).Text("copilot").Text(id).Key()
	}
	if r.Tokens() > 0 {
		give(&r)
	}
}

func (l *usageLog) sums(at int64, metrics jsonscan.Value, give func(*history.UsageRecord)) {
	if metrics.Kind() != jsonscan.Object {
		return
	}
	now := map[string]tokens{}
	metrics.Object(func(name []byte, v jsonscan.Value) bool {
		var m metricForm
		metricShape.From(v, &m)
		model, sum := l.names.OfBytes(name), m.Usage.tokens()
		now[model] = sum
		if before := l.mem.Sums[model]; before.under(sum) {
			sum = sum.above(before) // the sums continue over resumed sessions; smaller ones restarted
		}
		r := l.record(at, model, sum.above(l.mem.Calls[model]))
		r.Key = new(usagescan.Hash).Text("copilot sum").Text(l.session).Text(model).Int(at).Key()
		if r.Tokens() > 0 {
			give(&r)
		}
		return true
	})
	l.mem.Sums, l.mem.Calls = now, nil
}

func (l *usageLog) record(at int64, model string, n tokens) history.UsageRecord {
	r := history.UsageRecord{Time: at, Model: model, Session: l.session, Project: l.mem.Project}
	r.CacheRead = min(n.Read, n.Input)
	r.CacheWrite = min(n.Written, n.Input-r.CacheRead)
	r.Input = n.Input - r.CacheRead - r.CacheWrite
	r.Output, r.Thinking = n.Output, min(n.Reasoning, n.Output)
	return r
}
