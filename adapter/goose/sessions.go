package goose

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

// database is goose's. Its times are seconds. The ledger has one row for each model call; older versions have none.
var database = sessiondb.Database{
	Agent: name,
	Path: func(h adapter.Host) string {
		file := filepath.Join("sessions", "sessions.db")
		if root := h.Getenv("GOOSE_PATH_ROOT"); filepath.IsAbs(root) {
			return filepath.Join(root, "data", file)
		}
		if roaming := h.Getenv("APPDATA"); h.Platform == "windows" && roaming != "" {
			return filepath.Join(roaming, "Block", "goose", "data", file)
		}
		return sessiondb.Default("XDG_DATA_HOME", ".local/share", "goose", file)(h)
	},
	Needs: map[string][]string{"sessions": {"id", "working_dir", "created_at", "updated_at"},
		"messages": {"id", "session_id", "role", "content_json", "created_timestamp"}},
	Sessions: `SELECT id, unixepoch(updated_at) * 1000, coalesce((SELECT max(id) FROM messages WHERE session_id = sessions.id), 0) + 1 FROM sessions`,
	Records: []sessiondb.Query{
		{SQL: `SELECT 'session' AS record, * FROM sessions WHERE id = ?1`},
		{SQL: `SELECT 'message' AS record, * FROM messages WHERE session_id = ?1 ORDER BY created_timestamp, id`},
		{SQL: `SELECT 'call' AS record, * FROM usage_ledger WHERE session_id = ?1 ORDER BY id`, If: "usage_ledger"},
		{SQL: `SELECT 'end' AS record FROM sessions WHERE id = ?1`},
	},
	JSON: []string{"content_json", "metadata_json"},
}

var sessions = database.Store(decode)

func decode(b *sessionfile.Builder, c *sessionfile.Conversation) sessionfile.Decoder {
	return &sessionDecoder{b: b, c: c}
}

// sessionDecoder reads a session's row, then its messages. The rows of the model that follow each other are of one call.
type sessionDecoder struct {
	b      *sessionfile.Builder
	c      *sessionfile.Conversation
	answer *history.Message // to which the next row of the model belongs
	spent  float64
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
	case "call":
		if usd, ok := v.Get("cost").Float(); ok && usd > 0 {
			d.spent += usd
			sum := d.spent
			d.b.Summary.Cost = &execution.Cost{TotalUSD: &sum, Source: execution.CostFromAgent}
		}
	case "end":
	default:
		d.b.Unknown(kind)
	}
	return true
}

func (d *sessionDecoder) session(v jsonscan.Value) {
	s := &d.b.Summary
	s.Cwd, s.Parent, s.Archived = v.Get("working_dir").Str(), v.Get("parent_session_id").Str(), v.Get("archived_at").Str() != ""
	d.b.At(sessionfile.Time(v.Get("created_at")))
	d.b.At(sessionfile.Time(v.Get("updated_at")))
	title, from := cmp.Or(v.Get("name").Str(), v.Get("description").Str()), sessionfile.TitleFromAgent
	if v.Get("user_set_name").IsTrue() || v.Get("user_set_name").Count() > 0 {
		from = sessionfile.TitleFromUser
	}
	switch title { // until the model has found one
	case "New Chat", "CLI Session", "ACP Session":
	default:
		d.b.Title(from, title)
	}
	model, _ := jsonscan.Parse([]byte(v.Get("model_config_json").Str()))
	s.Model = model.Get("model_name").Str()
}

func (d *sessionDecoder) message(v jsonscan.Value) {
	meta := v.Get("metadata_json")
	if visible, stated := meta.Get("userVisible").Bool(); stated && !visible {
		return // goose's own note to the model
	}
	id, at := cmp.Or(v.Get("message_id").Str(), string(v.Get("id").Raw())), seconds(v.Get("created_timestamp"))
	d.b.At(at)
	switch role := v.Get("role").Str(); role {
	case "user":
		d.answer = nil
		d.user(id, at, v.Get("content_json"))
	case "assistant":
		if d.answer == nil {
			d.answer = d.c.Message(id, history.RoleAssistant, at)
		}
		m := d.answer
		if m.Model = cmp.Or(meta.Get("inference").Get("requestedModel").Str(), m.Model); m.Model != "" {
			d.b.Summary.Model = m.Model
		}
		if u := stated(meta.Get("usage"), "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"); !u.IsZero() {
			m.TokenUsage = &u
		}
		d.said(m, v.Get("content_json"))
	default:
		d.b.Unknown("message/" + role)
	}
}

// user reads a prompt, or the results of tools, which goose keeps as messages of the user.
func (d *sessionDecoder) user(id string, at time.Time, content jsonscan.Value) {
	prompt, asked := "", false
	content.Array(func(_ int, e jsonscan.Value) bool {
		switch kind := e.Get("type").Str(); kind {
		case "text":
			prompt, asked = sessionfile.AddText(prompt, e.Get("text").Str()), true
		case "toolResponse":
			result, call := e.Get("toolResult"), e.Get("id").Str()
			r := d.c.Result(id+"/"+call, call, at)
			r.Output = sessionfile.AddText(sessionfile.Text(result.Get("value").Get("content")), result.Get("error").Str())
			r.IsError = !result.Get("status").IsStr("success") || result.Get("value").Get("isError").IsTrue()
		case "image":
			asked = true
		default:
			d.b.Unknown("user/" + kind)
		}
		return true
	})
	if asked {
		d.c.Prompt(id, prompt, at)
	}
}

func (d *sessionDecoder) said(m *history.Message, content jsonscan.Value) {
	content.Array(func(_ int, e jsonscan.Value) bool {
		switch kind := e.Get("type").Str(); kind {
		case "text":
			m.Content = sessionfile.AddText(m.Content, e.Get("text").Str())
		case "thinking":
			m.Thinking = sessionfile.AddText(m.Thinking, e.Get("thinking").Str())
		case "toolRequest", "frontendToolRequest":
			call := e.Get("toolCall").Get("value")
			d.c.Call(m, e.Get("id").Str(), call.Get("name").Str(), call.Get("arguments").Raw())
		case "error":
			m.Content = sessionfile.AddText(m.Content, e.Get("message").Str())
		case "systemNotification":
			m.Content = sessionfile.AddText(m.Content, e.Get("msg").Str())
		case "redactedThinking", "reasoning", "image", "toolConfirmationRequest", "actionRequired":
		default:
			d.b.Unknown("assistant/" + kind)
		}
		return true
	})
}

// stated reads tokens. Input includes the cache.
func stated(v jsonscan.Value, input, output, read, write string) execution.Usage {
	u := execution.Usage{Input: v.Get(input).Count(), Output: v.Get(output).Count(), Cached: v.Get(read).Count(), CacheWrite: v.Get(write).Count()}
	u.Input = max(u.Input-u.Cached-u.CacheWrite, 0)
	return u.WithTotal()
}

// seconds reads a time in seconds since 1970, or in milliseconds as some early versions wrote.
func seconds(v jsonscan.Value) time.Time {
	n := v.Count()
	switch {
	case n <= 0 || n > 1<<46:
		return time.Time{}
	case n > 1<<37:
		return time.UnixMilli(n).UTC()
	}
	return time.Unix(n, 0).UTC()
}
