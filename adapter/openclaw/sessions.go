package openclaw

import (
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/pifile"
	"github.com/drawbar/drawbar/adapter/kit/sessiondb"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var (
	_ adapter.SessionStore = Adapter{}
	_ adapter.UsageLog     = Adapter{}
)

// database is that of the agent main. A session is known by its key, one over ACP by the id that the bridge gave it. Each reset
// begins another window of events, which are the entries of a session of Pi.
var database = sessiondb.Database{
	Agent: name,
	Path: func(h adapter.Host) string {
		return home.Path(h, filepath.Join("agents", "main", "agent", "openclaw-agent.sqlite"))
	},
	Needs: map[string][]string{
		"session_nodes":     {"session_key", "updated_at", "label", "parent_session_key", "archived_at"},
		"session_windows":   {"session_id", "session_key", "created_at"},
		"transcript_events": {"session_id", "seq", "event_json", "event_zstd"},
	},
	Sessions: `SELECT replace(session_key, '` + bridge + `', ''), updated_at, coalesce((SELECT sum(1 + (SELECT coalesce(max(seq), 0) FROM transcript_events e
		WHERE e.session_id = w.session_id)) FROM session_windows w WHERE w.session_key = n.session_key), 0) + 1 FROM session_nodes n WHERE session_key NOT LIKE '%/%'`,
	Records: []sessiondb.Query{
		{SQL: `SELECT 'session' AS record, label, replace(parent_session_key, '` + bridge + `', '') AS parent, archived_at FROM session_nodes WHERE session_key IN (?1, '` + bridge + `' || ?1)`},
		{SQL: `SELECT 'event' AS record, coalesce(e.event_json, e.event_zstd) AS event FROM session_windows w JOIN transcript_events e ON e.session_id = w.session_id
			WHERE w.session_key IN (?1, '` + bridge + `' || ?1) ORDER BY w.created_at, w.session_id, e.seq`},
	},
	JSON: []string{"event"},
}

// bridge begins the keys of sessions over ACP.
const bridge = "agent:main:acp-bridge:"

var sessions = database.Store(decode)

func decode(b *sessionfile.Builder, c *sessionfile.Conversation) sessionfile.Decoder {
	d := &sessionDecoder{b: b}
	d.events = pifile.Decode(b, c, d.prompt)
	return d
}

// sessionDecoder reads a session's row, then its events.
type sessionDecoder struct {
	b      *sessionfile.Builder
	events sessionfile.Decoder
	cwd    string // of the first prompt
}

// Line reads a row.
func (d *sessionDecoder) Line(text []byte) bool {
	v, err := jsonscan.Parse(text)
	if err != nil || v.Kind() != jsonscan.Object {
		return false
	}
	switch kind := v.Get("record").Str(); kind {
	case "session":
		d.b.Title(sessionfile.TitleFromUser, v.Get("label").Str())
		d.b.Summary.Parent, d.b.Summary.Archived = v.Get("parent").Str(), v.Get("archived_at").Count() > 0
	case "event":
		ok := d.events.Line(v.Get("event").Raw())
		if d.cwd != "" {
			d.b.Summary.Cwd = d.cwd
		}
		return ok
	default:
		d.b.Unknown(kind)
	}
	return true
}

// prompt returns what the user wrote. The bridge puts the directory before it; the session's own is OpenClaw's workspace.
func (d *sessionDecoder) prompt(text string) string {
	dir, said := directory(text)
	if d.cwd == "" {
		d.cwd = dir
	}
	return said
}

func directory(text string) (dir, said string) {
	rest, ok := strings.CutPrefix(text, "[Working directory: ")
	dir, said, found := strings.Cut(rest, "]\n\n")
	if !ok || !found {
		return "", text
	}
	return dir, said
}

// usage reads what the sessions used.
var usage = sessiondb.UsageLog{Database: &database, Version: 1, Scan: func(session string) adapter.UsageScanner {
	return pifile.NewRowScanner(name, session, func(row jsonscan.Value) []byte { return row.Get("event").Raw() }, func(prompt string) string {
		dir, _ := directory(prompt)
		return dir
	})
}}
