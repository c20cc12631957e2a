package goose

import (
	"cmp"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/sessiondb"
	"github.com/drawbar/drawbar/adapter/kit/usagescan"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var _ adapter.SessionSums = Adapter{}

// usage reads what the sessions used.
var usage = sessiondb.UsageLog{Database: &database, Version: 1, Scan: func(session string) adapter.UsageScanner {
	return usagescan.New(&usageLog{mem: usageMemory{Session: session}})
}}

// StatesSessionSums implements adapter.SessionSums: the ledger has whole seconds, in which one run can follow another.
func (Adapter) StatesSessionSums() {}

// usageLog reads the ledger. A session of a version without it has only the sum of its calls, which counts as one.
type usageLog struct{ mem usageMemory }

type usageMemory struct {
	Session, Project, Model string
	Sub, Calls              bool
	Sum                     *history.UsageRecord
}

func (*usageLog) Relevant([]byte) bool { return true }

func (l *usageLog) Memory() any { return &l.mem }

func (l *usageLog) Line(line []byte, give func(*history.UsageRecord)) bool {
	v, err := jsonscan.Parse(line)
	if err != nil || v.Kind() != jsonscan.Object {
		return false
	}
	switch v.Get("record").Str() {
	case "session":
		model, _ := jsonscan.Parse([]byte(v.Get("model_config_json").Str()))
		l.mem.Project, l.mem.Sub, l.mem.Model = v.Get("working_dir").Str(), v.Get("parent_session_id").Str() != "", model.Get("model_name").Str()
		l.mem.Sum = l.record(v, "accumulated_input_tokens", "accumulated_output_tokens", "accumulated_cache_read_tokens", "accumulated_cache_write_tokens")
		l.mem.Sum.Time = usagescan.Millis(v.Get("updated_at"))
		price(l.mem.Sum, v.Get("accumulated_cost"))
	case "call":
		r := l.record(v, "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
		// The ledger has seconds; a call is later than the start of a run in the same second.
		r.Time, r.Model = seconds(v.Get("created_timestamp")).UnixMilli()+999, cmp.Or(v.Get("model").Str(), r.Model)
		r.Key = new(usagescan.Hash).Text(name).Text(l.mem.Session).Int(v.Get("id").Count()).Key()
		price(r, v.Get("cost"))
		l.mem.Calls = true
		l.give(r, give)
	case "end":
		if l.mem.Sum != nil && !l.mem.Calls {
			l.mem.Sum.Key = new(usagescan.Hash).Text(name).Text(l.mem.Session).Key()
			l.give(l.mem.Sum, give)
		}
	}
	return true
}

func (l *usageLog) record(v jsonscan.Value, input, output, read, write string) *history.UsageRecord {
	u := stated(v, input, output, read, write)
	return &history.UsageRecord{Session: l.mem.Session, Project: l.mem.Project, Model: l.mem.Model, SubAgent: l.mem.Sub,
		Input: u.Input, Output: u.Output, CacheRead: u.Cached, CacheWrite: u.CacheWrite}
}

func (*usageLog) give(r *history.UsageRecord, give func(*history.UsageRecord)) {
	if r.Time > 0 && r.Tokens() > 0 {
		give(r)
	}
}

// price adds what goose states, where it knows the model.
func price(r *history.UsageRecord, cost jsonscan.Value) {
	if usd, ok := cost.Float(); ok && usd > 0 {
		r.Stated, r.Cost = true, usd
	}
}
