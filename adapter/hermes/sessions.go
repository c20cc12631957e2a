package hermes

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/sessiondb"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var _ adapter.SessionStore = Adapter{}

// database is Hermes' (developer-guide/session-storage). Its times are seconds with a fraction. Columns that came with later
// versions of the schema are read where they are there.
var database = sessiondb.Database{
	Agent: name,
	Path: func(h adapter.Host) string {
		if local := h.Getenv("LOCALAPPDATA"); h.Platform == "windows" && local != "" && h.Getenv(home.Variable) == "" {
			return filepath.Join(local, name, "state.db")
		}
		return home.Path(h, "state.db")
	},
	Needs: map[string][]string{"sessions": {"id", "source", "started_at", "ended_at", "message_count", "input_tokens", "output_tokens"},
		"messages": {"id", "session_id", "role", "content", "timestamp"}},
	Sessions: `SELECT id, cast(coalesce((SELECT max(timestamp) FROM messages WHERE session_id = sessions.id), ended_at, started_at) * 1000 AS INTEGER),
 coalesce((SELECT max(id) FROM messages WHERE session_id = sessions.id), 0) + message_count + input_tokens + output_tokens + (ended_at IS NOT NULL) + 1 FROM sessions`,
	Records: []sessiondb.Query{
		{SQL: `SELECT 'session' AS record, *, (SELECT max(timestamp) FROM messages WHERE session_id = ?1) AS last_at FROM sessions WHERE id = ?1`},
		{SQL: `SELECT 'message' AS record, * FROM messages WHERE session_id = ?1 ORDER BY id`},
	},
	JSON: []string{"tool_calls"},
}

var sessions = database.Store(decode)

func decode(b *sessionfile.Builder, c *sessionfile.Conversation) sessionfile.Decoder {
	return &sessionDecoder{b: b, c: c}
}

// sessionDecoder reads a session's row, then its messages.
type sessionDecoder struct {
	b *sessionfile.Builder
	c *sessionfile.Conversation
}

// Line reads a row.
func (d *sessionDecoder) Line(text []byte) bool {
	v, err := jsonscan.Parse(text)
	if err != nil || v.Kind() != jsonscan.Object {
		return false
	}
	switch kind := v.Get("record").Str(); kind {
	case "session":
		d.session(v)
	case "message":
		d.message(v)
	default:
		d.b.Unknown(kind)
	}
	return true
}

func (d *sessionDecoder) session(v jsonscan.Value) {
	s := &d.b.Summary
	s.Cwd, s.Model, s.Archived = v.Get("cwd").Str(), v.Get("model").Str(), v.Get("archived").Count() > 0
	if parent := v.Get("parent_session_id").Str(); v.Get("source").IsStr("subagent") {
		s.Parent = parent
	} else {
		s.ForkedFrom = parent // a compacted session goes on in another
	}
	d.b.At(seconds(v.Get("started_at")))
	d.b.At(seconds(v.Get("ended_at")))
	if title := v.Get("title").Str(); title != "" {
		d.b.Title(sessionfile.TitleFromAgent, title)
	}
	if u := spent(v); !u.IsZero() {
		s.Usage = &u
	}
	if usd := price(v); usd > 0 {
		s.Cost = &execution.Cost{TotalUSD: &usd, Source: execution.CostFromAgent}
	}
}

// message reads a message. Compaction and undoing keep what they take away, marked as inactive.
func (d *sessionDecoder) message(v jsonscan.Value) {
	id, at := string(v.Get("id").Raw()), seconds(v.Get("timestamp"))
	d.b.At(at)
	var m *history.Message
	switch role := v.Get("role").Str(); role {
	case "user":
		m = d.c.Prompt(id, v.Get("content").Str(), at)
	case "assistant":
		m = d.c.Message(id, history.RoleAssistant, at)
		m.Content, m.Thinking = v.Get("content").Str(), cmp.Or(v.Get("reasoning").Str(), v.Get("reasoning_content").Str())
		v.Get("tool_calls").Array(func(_ int, e jsonscan.Value) bool {
			f := e.Get("function")
			d.c.Call(m, e.Get("id").Str(), f.Get("name").Str(), sessionfile.Input(f.Get("arguments").Str()))
			return true
		})
	case "tool":
		r := d.c.Result(id, v.Get("tool_call_id").Str(), at)
		r.Output = v.Get("content").Str()
		return
	case "system":
		return
	default:
		d.b.Unknown("message/" + role)
		return
	}
	if active := v.Get("active"); m != nil && active.Kind() == jsonscan.Number && active.Count() == 0 {
		m.Inactive = true
	}
}

// spent reads the tokens of a session, which Hermes counts apart: the input does not include the cache.
func spent(v jsonscan.Value) execution.Usage {
	n := func(column string) int64 { return v.Get(column).Count() }
	return execution.Usage{Input: n("input_tokens"), Output: n("output_tokens"), Thinking: min(n("reasoning_tokens"), n("output_tokens")),
		Cached: n("cache_read_tokens"), CacheWrite: n("cache_write_tokens")}.WithTotal()
}

// price returns what a session cost in US dollars: what was billed, or Hermes' own estimate, or 0.
func price(v jsonscan.Value) float64 {
	usd, _ := v.Get("actual_cost_usd").Float()
	if usd <= 0 {
		usd, _ = v.Get("estimated_cost_usd").Float()
	}
	return max(usd, 0)
}

// seconds reads a time in seconds since 1970.
func seconds(v jsonscan.Value) time.Time {
	n, ok := v.Float()
	if !ok || n <= 0 || n > 1<<36 {
		return time.Time{}
	}
	return time.UnixMilli(int64(n * 1000)).UTC()
}
