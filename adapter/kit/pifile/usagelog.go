package pifile

import (
	"cmp"
	"path"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/usagescan"
	"github.com/drawbar/drawbar/history"
)

// UsageStore is the folder of the sessions.
func UsageStore(root string) history.UsageStore {
	return history.UsageStore{Root: root,
		Match: func(rel string) bool {
			session, _ := owner(rel)
			return session != ""
		},
		Enter: func(rel string) bool { return !strings.Contains(rel, "/") || dated(path.Base(rel)) || helpers(rel) }}
}

// owner returns the session that a file belongs to, and whether it is that of a sub-agent.
func owner(rel string) (session string, sub bool) {
	if !strings.HasSuffix(rel, suffix) {
		return "", false
	}
	folders := strings.Split(path.Dir(rel), "/")
	for _, f := range folders {
		if dated(f) {
			return SessionID(f + suffix), true
		}
	}
	if len(folders) > 1 {
		return "", false
	}
	return SessionID(rel), false
}

// helpers reports whether a folder lies in that of a session.
func helpers(rel string) bool {
	session, sub := owner(rel + "/_" + suffix)
	return sub && session != ""
}

// dated reports whether a folder has the name of a session's file, which begins with a time, and not that of a
// directory.
func dated(folder string) bool {
	day, _, ok := strings.Cut(folder, "T")
	return ok && len(day) == len("2006-01-02") && day[0] >= '0' && day[0] <= '9' && strings.Contains(folder, "_")
}

// NewUsageScanner returns the scanner of a session's file.
func NewUsageScanner(agent string, f history.UsageFile) adapter.UsageScanner {
	session, sub := owner(f.Rel)
	return usagescan.New(&usageLog{agent: agent, session: session, sub: sub})
}

// usageLog reads the entries with usage: the model's messages, summaries, and what the agent calls a model for besides. A
// fork repeats the entries of its origin with their ids and times.
type usageLog struct {
	agent, session string
	sub            bool
	names          usagescan.Names
	mem            usageMemory
}

type usageMemory struct {
	Project string `json:",omitempty"`
	Began   int64  `json:",omitempty"` // of a fork
	Model   string `json:",omitempty"`
}

var usageTypes = [][]byte{[]byte(`"session"`), []byte(`"message"`), []byte(`"usage"`), []byte(`"model_usage"`), []byte(`"compaction"`),
	[]byte(`"branch_summary"`), []byte(`"model_change"`)}

func (*usageLog) Relevant(head []byte) bool {
	is, known := usagescan.TypeOf(head, "", usageTypes)
	return is || !known
}

func (l *usageLog) Memory() any { return &l.mem }

func (l *usageLog) Line(line []byte, give func(*history.UsageRecord)) bool {
	var v entryForm
	if !entryShape.Into(line, &v) {
		return false
	}
	r := history.UsageRecord{Time: usagescan.Millis(v.Timestamp), Session: l.session, SubAgent: l.sub}
	usage := v.Usage
	switch v.Type.Str() {
	case "session":
		l.mem.Project = v.Cwd.Str()
		if v.ParentSession.Str() != "" {
			l.mem.Began = r.Time
		}
		return true
	case "model_change":
		_, model, _ := strings.Cut(v.Model.Str(), "/")
		l.mem.Model = cmp.Or(v.ModelID.Str(), model)
		return true
	case "message":
		usage = v.Message.Usage
		r.Model = l.names.Of(v.Message.Model)
	case "usage", "model_usage":
		r.Model = l.names.Of(v.Model)
	}
	u := SpentOf(usage)
	if u.IsZero() || r.Time == 0 {
		return true
	}
	r.Model = cmp.Or(r.Model, l.mem.Model)
	r.Project = l.mem.Project
	r.Key = new(usagescan.Hash).Text(l.agent).Text(v.ID.Str()).Int(r.Time).Key()
	r.Copied = r.Time < l.mem.Began
	r.Input, r.Output, r.Thinking, r.CacheRead = u.Input, u.Output, u.Thinking, u.Cached
	r.CacheWrite, r.CacheWrite1h = u.CacheWrite-u.Hour, u.Hour
	if u.USD > 0 {
		r.Stated, r.Cost = true, u.USD
	}
	give(&r)
	return true
}
