package hermes

import (
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/sessiondb"
	"github.com/drawbar/drawbar/adapter/kit/usagescan"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var _ adapter.UsageLog = Adapter{}

// usage reads what the sessions used.
var usage = sessiondb.UsageLog{Database: &database, Version: 1, Scan: func(session string) adapter.UsageScanner {
	return usagescan.New(&usageLog{session: session})
}}

// usageLog reads a session's row, which has the sum of its calls: it counts as one, at the time of the last message.
type usageLog struct {
	session string
	memory  struct{}
}

func (*usageLog) Relevant([]byte) bool { return true }

func (l *usageLog) Memory() any { return &l.memory }

func (l *usageLog) Line(line []byte, give func(*history.UsageRecord)) bool {
	v, err := jsonscan.Parse(line)
	if err != nil || v.Kind() != jsonscan.Object {
		return false
	}
	if !v.Get("record").IsStr("session") {
		return true
	}
	at, u := seconds(v.Get("last_at")), spent(v)
	if at.IsZero() {
		at = seconds(v.Get("started_at"))
	}
	if at.IsZero() || u.IsZero() {
		return true
	}
	r := history.UsageRecord{Time: at.UnixMilli(), Session: l.session, Project: v.Get("cwd").Str(), Model: v.Get("model").Str(),
		SubAgent: v.Get("source").IsStr("subagent"), Input: u.Input, Output: u.Output, Thinking: u.Thinking, CacheRead: u.Cached, CacheWrite: u.CacheWrite,
		Key: new(usagescan.Hash).Text(name).Text(l.session).Key()}
	if usd := price(v); usd > 0 {
		r.Stated, r.Cost = true, usd
	}
	give(&r)
	return true
}
