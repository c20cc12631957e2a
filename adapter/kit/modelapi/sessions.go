package modelapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/adapter/kit/usagescan"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
)

var (
	_ adapter.SessionStore   = Sessions{}
	_ adapter.SessionRemover = Sessions{}
	_ adapter.UsageLog       = Sessions{}
)

// Sessions are the sessions of an agent over a model API, which Drawbar keeps itself; see session.
type Sessions struct {
	sessionfile.Store
	agent string
}

// SessionsOf returns the sessions of an agent.
func SessionsOf(agent string) Sessions {
	return Sessions{agent: agent, Store: sessionfile.New(sessionfile.Format{
		Agent: agent,
		Roots: func(h adapter.Host) []string { return rootsOf(agent, h) },
		List: func(l *sessionfile.Lister) {
			for _, root := range rootsOf(agent, l.Host) {
				if !l.Root(root) {
					continue
				}
				for _, e := range l.Dir(root) {
					if id, ok := strings.CutSuffix(e.Name, sessionSuffix); ok && sessionID().MatchString(id) {
						l.Add(history.File{ID: id}, e)
					}
				}
			}
		},
		Decode: func(b *sessionfile.Builder, c *sessionfile.Conversation) sessionfile.Decoder {
			return &decoder{b: b, c: c, read: map[int]int{}}
		},
	})}
}

// RemoveSession implements adapter.SessionRemover.
func (s Sessions) RemoveSession(h adapter.Host, id string) error {
	missing := execution.Errorf(execution.CodeSessionNotFound, "%s has no session %.100s", s.agent, id).WithHint("drawbar sessions list --agent %s", s.agent)
	roots := rootsOf(s.agent, h)
	if len(roots) == 0 || !sessionID().MatchString(id) {
		return missing
	}
	path := filepath.Join(roots[0], id+sessionSuffix)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return missing
	}
	if err == nil {
		held := &session{file: file}
		defer held.close()
		if err := held.hold(path); err != nil {
			return execution.Errorf(execution.CodeInvalidStateTransition, "session %s: %w", id, err).WithHint("drawbar ps, then: drawbar stop RUN")
		}
		_ = file.Close() // Windows removes no open file
		err = os.Remove(path)
	}
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "delete session %s: %w", id, err)
	}
	return nil
}

func rootsOf(agent string, h adapter.Host) []string {
	dir, err := sessionsIn(agent, h.Getenv, func() (string, error) { return h.Home, nil })
	if err != nil {
		return nil
	}
	return []string{dir}
}

// decoder reads the records of a session.
type decoder struct {
	b    *sessionfile.Builder
	c    *sessionfile.Conversation
	read map[int]int // parts that were read, by message
	form int         // how often the conversation was written anew
}

// id is the id of a message, which has another one in each form of the conversation.
func (d *decoder) id(index int) string {
	if d.form == 0 {
		return fmt.Sprintf("m%d", index)
	}
	return fmt.Sprintf("m%d-%d", d.form, index)
}

// Line reads a record.
func (d *decoder) Line(text []byte) bool {
	var rec record
	if json.Unmarshal(text, &rec) != nil {
		return false
	}
	d.b.At(rec.At)
	switch rec.Type {
	case recordSession:
		d.b.Summary.Cwd, d.b.Summary.ForkedFrom = rec.Cwd, rec.ForkedFrom
	case recordMessages:
		if rec.Model != "" {
			d.b.Summary.Model = rec.Model
		}
		var answer *history.Message
		if rec.Anew {
			clear(d.read)
			for i, m := range rec.Messages {
				d.read[i] = len(m.Parts)
			}
			d.form++
			return true
		}
		for i, m := range rec.Messages {
			index := rec.From + i
			skip := min(d.read[index], len(m.Parts))
			d.read[index] = len(m.Parts)
			if m.Model {
				answer = d.answer(index, m.Parts[skip:], &rec)
			} else {
				d.said(index, skip, m.Parts[skip:], &rec)
			}
		}
		if answer != nil && rec.Usage != nil {
			answer.TokenUsage = rec.Usage
		}
	case recordTurnEnd:
		d.b.TurnEnd(rec.Reason)
	default:
		d.b.Unknown(rec.Type)
	}
	return true
}

// answer reads parts of a message of the model.
func (d *decoder) answer(index int, parts []Part, rec *record) *history.Message {
	m := d.c.Message(d.id(index), history.RoleAssistant, rec.At)
	m.Model = rec.Model
	for _, p := range parts {
		switch p.Kind {
		case Text:
			m.Content += p.Text
		case Thinking:
			m.Thinking += p.Text
		case ToolCall:
			d.c.Call(m, p.ID, p.Name, sessionfile.Input(string(p.Input)))
		}
	}
	return m
}

// said reads parts of what the user and tools said. A prompt that was added to an earlier one is a message of its own.
func (d *decoder) said(index, skip int, parts []Part, rec *record) {
	text, attached := "", ""
	for i, p := range parts {
		switch p.Kind {
		case Text:
			text = sessionfile.AddText(text, p.Text)
		case Image, Document:
			attached = sessionfile.AddText(attached, fmt.Sprintf("[%s %s]", p.MediaType, p.Title))
		case Result:
			res := d.c.Result(fmt.Sprintf("%s.%d", d.id(index), skip+i), p.ID, rec.At)
			res.Output, res.IsError = p.Text, p.Failed
		}
	}
	if text = sessionfile.AddText(text, attached); text != "" {
		d.c.Prompt(fmt.Sprintf("%s.%d", d.id(index), skip+len(parts)), text, rec.At)
	}
}

// UsageStores implements adapter.UsageLog.
func (s Sessions) UsageStores(h adapter.Host) (stores []history.UsageStore) {
	for _, root := range rootsOf(s.agent, h) {
		stores = append(stores, history.UsageStore{Root: root,
			Match: func(rel string) bool { return !strings.Contains(rel, "/") && strings.HasSuffix(rel, sessionSuffix) },
			Enter: func(string) bool { return false }})
	}
	return stores
}

// UsageVersion implements adapter.UsageLog.
func (Sessions) UsageVersion() int { return 1 }

// NewUsageScanner implements adapter.UsageLog.
func (s Sessions) NewUsageScanner(_ context.Context, _ adapter.Host, f history.UsageFile) adapter.UsageScanner {
	return usagescan.New(&usageLog{agent: s.agent, session: strings.TrimSuffix(filepath.Base(f.Rel), sessionSuffix)})
}

// usageLog reads the usage in a session's records.
type usageLog struct {
	agent, session string
	mem            struct {
		Project string `json:",omitempty"`
		Number  int64  `json:",omitempty"` // of the last record
	}
}

// Relevant implements usagescan.Format: every line is counted, because records have no ids.
func (*usageLog) Relevant([]byte) bool { return true }

// Memory implements usagescan.Format.
func (l *usageLog) Memory() any { return &l.mem }

// Line implements usagescan.Format.
func (l *usageLog) Line(line []byte, give func(*history.UsageRecord)) bool {
	var rec struct {
		Type  string           `json:"type"`
		At    time.Time        `json:"at"`
		Cwd   string           `json:"cwd"`
		Model string           `json:"model"`
		Usage *execution.Usage `json:"usage"`
	}
	if json.Unmarshal(line, &rec) != nil {
		return false
	}
	l.mem.Number++
	if rec.Type == recordSession {
		l.mem.Project = rec.Cwd
	}
	if rec.Type != recordMessages || rec.Usage == nil || rec.At.IsZero() {
		return true
	}
	u := *rec.Usage
	give(&history.UsageRecord{Time: rec.At.UnixMilli(), Session: l.session, Project: l.mem.Project, Model: rec.Model,
		Key:   new(usagescan.Hash).Text(l.agent).Text(l.session).Int(l.mem.Number).Key(),
		Input: u.Input, Output: u.Output, Thinking: u.Thinking, CacheRead: u.Cached, CacheWrite: u.CacheWrite})
	return true
}
