package opencode

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/sessiondb"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var _ adapter.SessionStore = Adapter{}

// forkedFrom is the session that a fork was made of. OpenCode does not keep it, but a fork repeats the messages of its origin with
// their times: the origin wrote the last of them, and has the first.
const forkedFrom = `(SELECT o.session_id FROM (SELECT min(time_created) AS first, max(time_created) AS last FROM message
		WHERE session_id = session.id AND time_created < session.time_created) AS copied
	JOIN message o ON o.time_created = copied.last JOIN session origin ON origin.id = o.session_id AND origin.time_created <= copied.last
	WHERE EXISTS (SELECT 1 FROM message WHERE session_id = o.session_id AND time_created = copied.first) LIMIT 1)`

// database is OpenCode's: a session has messages, and these have parts, whose order is that of their ids.
var database = sessiondb.Database{
	Agent: name,
	Path: func(h adapter.Host) string {
		dir := sessiondb.Default("XDG_DATA_HOME", data, "opencode")(h)
		file := h.Getenv("OPENCODE_DB")
		switch {
		case file == "":
			file = "opencode.db"
		case filepath.IsAbs(file):
			return file
		}
		return filepath.Join(dir, file) // :memory: is a file that does not exist
	},
	Needs: map[string][]string{"session": {"id", "directory", "title", "time_created", "time_updated"},
		"message": {"id", "session_id", "time_created", "time_updated", "data"}, "part": {"id", "message_id", "session_id", "data"}},
	Sessions: `SELECT id, max(time_updated, coalesce((SELECT time_updated FROM message WHERE session_id = session.id ORDER BY time_created DESC, id DESC LIMIT 1), 0)),
		(SELECT count(*) FROM part WHERE session_id = session.id) + 1 FROM session`,
	Records: []sessiondb.Query{{SQL: `SELECT 'session' AS record, *, ` + forkedFrom + ` AS forked_from FROM session WHERE id = ?1`},
		{SQL: `SELECT record, id, message, data FROM (
			SELECT 'message' AS record, id, id AS message, data, time_created AS at, '' AS part FROM message WHERE session_id = ?1
			UNION ALL SELECT 'part', p.id, m.id, p.data, m.time_created, p.id FROM message m JOIN part p ON p.message_id = m.id WHERE m.session_id = ?1
		) ORDER BY at, message, part`}},
	JSON: []string{"data"},
}

var sessions = database.Store(decode)

func decode(b *sessionfile.Builder, c *sessionfile.Conversation) sessionfile.Decoder {
	return &sessionDecoder{b: b, c: c}
}

// isNamed reports whether the model has found a title: until then there is a time in it.
func isNamed(title string) bool {
	_, at, _ := strings.Cut(title, " session - ")
	_, err := time.Parse(time.RFC3339, at)
	return err != nil
}

// sessionDecoder reads a session's row, then its messages, each followed by its parts.
type sessionDecoder struct {
	b      *sessionfile.Builder
	c      *sessionfile.Conversation
	revert string // the message that the user went back to: it and what follows are taken back
	undone bool
	at     time.Time // of the message
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
		d.message(v.Get("id").Str(), v.Get("data"))
	case "part":
		d.part(v.Get("id").Str(), d.c.Find(v.Get("message").Str()), v.Get("data"))
	default:
		d.b.Unknown(kind)
	}
	return true
}

func (d *sessionDecoder) session(v jsonscan.Value) {
	s := &d.b.Summary
	s.Cwd, s.Parent, s.Archived = v.Get("directory").Str(), v.Get("parent_id").Str(), v.Get("time_archived").Count() > 0
	s.ForkedFrom = v.Get("forked_from").Str()
	d.b.At(sessionfile.Time(v.Get("time_created")))
	d.b.At(sessionfile.Time(v.Get("time_updated")))
	if title := v.Get("title").Str(); isNamed(title) {
		d.b.Title(sessionfile.TitleFromAgent, title)
	}
	if usd, ok := v.Get("cost").Float(); ok && usd > 0 {
		s.Cost = &execution.Cost{TotalUSD: &usd, Source: execution.CostFromAgent}
	}
	inner := func(column, member string) string { // these columns hold JSON in a text
		v, _ := jsonscan.Parse([]byte(v.Get(column).Str()))
		return v.Get(member).Str()
	}
	s.Model, d.revert = inner("model", "id"), inner("revert", "messageID")
}

func (d *sessionDecoder) message(id string, v jsonscan.Value) {
	d.at = sessionfile.Time(v.Get("time").Get("created"))
	d.b.At(d.at)
	d.b.At(sessionfile.Time(v.Get("time").Get("completed")))
	d.undone = d.undone || d.revert != "" && id == d.revert
	var m *history.Message
	switch role := v.Get("role").Str(); role {
	case "user":
		m = d.c.Message(id, history.RoleUser, d.at)
	case "assistant":
		m = d.c.Message(id, history.RoleAssistant, d.at)
		if m.Model = v.Get("modelID").Str(); m.Model != "" {
			d.b.Summary.Model = m.Model
		}
		if why := v.Get("error"); why.Kind() == jsonscan.Object {
			m.Content = why.Get("data").Get("message").Str()
		}
	default:
		d.b.Unknown("message/" + role)
		return
	}
	m.Inactive = d.undone
}

func (d *sessionDecoder) part(id string, m *history.Message, v jsonscan.Value) {
	if m == nil {
		return // of a message of an unknown role
	}
	switch kind := v.Get("type").Str(); kind {
	case "text":
		switch {
		case v.Get("synthetic").IsTrue(): // what OpenCode adds to a prompt, such as the content of a file
		case m.Role == history.RoleUser:
			d.c.Prompt(m.ID, sessionfile.AddText(m.Content, v.Get("text").Str()), d.at)
		default:
			m.Content = sessionfile.AddText(m.Content, v.Get("text").Str())
		}
	case "reasoning":
		m.Thinking = sessionfile.AddText(m.Thinking, v.Get("text").Str())
	case "tool":
		d.tool(id, m, v)
	case "step-finish":
		if u := usageOf(v.Get("tokens")); !u.IsZero() {
			if m.TokenUsage != nil {
				u = u.Add(*m.TokenUsage)
			}
			m.TokenUsage = &u
		}
	case "compaction":
		m.Role, m.Content = history.RoleSystem, "the context was compacted"
	case "step-start", "snapshot", "patch", "file", "agent", "retry", "subtask":
	default:
		d.b.Unknown("part/" + kind)
	}
}

func (d *sessionDecoder) tool(id string, m *history.Message, v jsonscan.Value) {
	call, state := v.Get("callID").Str(), v.Get("state")
	d.c.Call(m, call, v.Get("tool").Str(), state.Get("input").Raw())
	ended := sessionfile.Time(state.Get("time").Get("end"))
	var output string
	status := state.Get("status").Str()
	switch status {
	case "completed":
		output = state.Get("output").Str()
	case "error":
		output = state.Get("error").Str()
	default:
		return // it is pending or running
	}
	d.b.At(ended)
	r := d.c.Result(id, call, ended)
	r.Output, r.IsError = output, status == "error"
	if began := sessionfile.Time(state.Get("time").Get("start")); !began.IsZero() && ended.After(began) {
		r.DurationMs = ended.Sub(began).Milliseconds()
	}
	d.c.Find(id).Inactive = d.undone
}

// usageOf reads the tokens of a model call. Input excludes the cache, and output the thinking.
func usageOf(v jsonscan.Value) execution.Usage {
	u := execution.Usage{Input: v.Get("input").Count(), Output: v.Get("output").Count(), Thinking: v.Get("reasoning").Count(),
		Cached: v.Get("cache").Get("read").Count(), CacheWrite: v.Get("cache").Get("write").Count()}
	u.Output += u.Thinking
	return u.WithTotal()
}
