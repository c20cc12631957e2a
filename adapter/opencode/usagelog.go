package opencode

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
	return usagescan.New(&usageLog{mem: usageMemory{Session: session}})
}}

// usageLog reads the parts that end a model call. A fork repeats the messages of its origin under other ids, with their times.
type usageLog struct {
	names usagescan.Names
	mem   usageMemory
}

type usageMemory struct {
	Session, Project, Model string
	Began                   int64 // of the session
	At                      int64 // of the message
	Step                    int64 // in the message
	Sub                     bool
}

func (*usageLog) Relevant([]byte) bool { return true }

func (l *usageLog) Memory() any { return &l.mem }

func (l *usageLog) Line(line []byte, give func(*history.UsageRecord)) bool {
	v, err := jsonscan.Parse(line)
	if err != nil || v.Kind() != jsonscan.Object {
		return false
	}
	row := v.Get("data")
	switch v.Get("record").Str() {
	case "session":
		l.mem.Project, l.mem.Sub, l.mem.Began = v.Get("directory").Str(), v.Get("parent_id").Str() != "", v.Get("time_created").Count()
	case "message":
		l.mem.Model, l.mem.At, l.mem.Step = l.names.Of(row.Get("modelID")), usagescan.Millis(row.Get("time").Get("created")), 0
	case "part":
		if row.Get("type").IsStr("step-finish") {
			l.call(row, give)
		}
	}
	return true
}

func (l *usageLog) call(v jsonscan.Value, give func(*history.UsageRecord)) {
	u := usageOf(v.Get("tokens"))
	l.mem.Step++
	if u.IsZero() || l.mem.At == 0 {
		return
	}
	r := history.UsageRecord{Time: l.mem.At, Session: l.mem.Session, Project: l.mem.Project, Model: l.mem.Model, SubAgent: l.mem.Sub,
		Copied: l.mem.At < l.mem.Began, Input: u.Input, Output: u.Output, Thinking: u.Thinking, CacheRead: u.Cached, CacheWrite: u.CacheWrite,
		Key: new(usagescan.Hash).Text(name).Int(l.mem.At).Int(l.mem.Step).Text(l.mem.Model).Int(u.Input).Int(u.Output).Int(u.Cached).Key()}
	if usd, ok := v.Get("cost").Float(); ok && usd > 0 {
		r.Stated, r.Cost = true, usd
	}
	give(&r)
}
