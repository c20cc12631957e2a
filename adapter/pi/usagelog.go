package pi

import (
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/usagescan"
)

var _ adapter.UsageLog = Adapter{}

// UsageStores returns the folder of the sessions.
func (Adapter) UsageStores(h adapter.Host) []adapter.UsageStore {
	return []adapter.UsageStore{{Root: sessionRoot(h),
		Match: func(rel string) bool { return sessionID(rel) != "" && strings.Count(rel, "/") <= 1 },
		Enter: func(rel string) bool { return !strings.Contains(rel, "/") }}}
}

// UsageVersion implements adapter.UsageLog.
func (Adapter) UsageVersion() int { return 1 }

// NewUsageScanner implements adapter.UsageLog.
func (Adapter) NewUsageScanner(_ context.Context, _ adapter.Host, f adapter.UsageFile) adapter.UsageScanner {
	return usagescan.New(&usageLog{session: sessionID(path.Base(f.Rel))})
}

// usageLog reads the entries with usage: the model's messages, summaries, and what Pi calls a model for besides. A fork
// repeats the entries of its origin with their ids and times.
type usageLog struct {
	session string
	names   usagescan.Names
	mem     usageMemory
}

type usageMemory struct {
	Project string `json:",omitempty"`
	Began   int64  `json:",omitempty"` // of a fork
	Model   string `json:",omitempty"`
}

var usageTypes = [][]byte{[]byte(`"session"`), []byte(`"message"`), []byte(`"usage"`), []byte(`"compaction"`), []byte(`"branch_summary"`), []byte(`"model_change"`)}

func (*usageLog) Relevant(head []byte) bool {
	is, known := usagescan.TypeOf(head, "", usageTypes)
	return is || !known
}

func (l *usageLog) Memory() any { return &l.mem }

func (l *usageLog) Line(line []byte, give func(*adapter.UsageRecord)) bool {
	var v entryForm
	if !entryShape.Into(line, &v) {
		return false
	}
	r := adapter.UsageRecord{Time: usagescan.Millis(v.Timestamp), Session: l.session}
	usage := v.Usage
	switch v.Type.Str() {
	case "session":
		l.mem.Project = v.Cwd.Str()
		if v.ParentSession.Str() != "" {
			l.mem.Began = r.Time
		}
		return true
	case "model_change":
		l.mem.Model = v.ModelID.Str()
		return true
	case "message":
		usage = v.Message.Usage
		r.Model = l.names.Of(v.Message.Model)
	case "usage":
		r.Model = l.names.Of(v.Model)
	}
	u := usageOf(usage)
	if u.IsZero() || r.Time == 0 {
		return true
	}
	r.Model = cmp.Or(r.Model, l.mem.Model)
	r.Project = l.mem.Project
	r.Key = new(usagescan.Hash).Text(name).Text(v.ID.Str()).Int(r.Time).Key()
	r.Copied = r.Time < l.mem.Began
	r.Input, r.Output, r.Thinking, r.CacheRead, r.CacheWrite = u.Input, u.Output, u.Thinking, u.Cached, u.CacheWrite
	if u.usd > 0 {
		r.Stated, r.Cost = true, u.usd
	}
	give(&r)
	return true
}
