package drawbar

import (
	"context"
	"io"
	"iter"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/internal/agentdata/session"
	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/sessions"
)

// Sessions reads the conversations that agents keep on disk, whoever started them. It reads them in place and
// never writes them. A session is named agent:id; the agent's own id or a prefix of it is enough if it is
// unambiguous. Sessions is safe for concurrent use and is closed by Client.Close.
type Sessions struct{ store *session.Store }

// Sessions opens the conversations on disk. Their index is kept in the state directory unless the client has
// NoRecord.
func (c *Client) Sessions() (*Sessions, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, execution.Errorf(execution.CodeInvalidStateTransition, "the client is closed")
	}
	if c.sessions != nil {
		return c.sessions, nil
	}
	o := session.Options{Host: c.host, Logger: c.opts.Logger}
	o.Costs = c.costOfSessions
	o.Known = func(agent string) error { _, err := c.registry.Get(agent); return err }
	for _, info := range c.registry.List() {
		e, err := c.registry.Get(info.Agent)
		if err != nil {
			continue // unregistered meanwhile
		}
		if store, ok := adapter.As[adapter.SessionStore](e.Adapter); ok {
			o.Sources = append(o.Sources, session.Source{Agent: info.Agent, Aliases: e.Descriptor.Aliases, Store: store})
		}
	}
	if !c.opts.NoRecord {
		if o.Dir = c.opts.StateDir; o.Dir == "" {
			var err error
			if o.Dir, err = runstore.DefaultDir(); err != nil {
				return nil, execution.Errorf(execution.CodeConfig, "%w", err)
			}
		}
		o.Tags, o.OfRun = c.sessionTags, c.SessionOfRun
	}
	c.sessions = &Sessions{session.Open(o)}
	return c.sessions, nil
}

// sessionTags returns the tags of Drawbar's own runs by session.
func (c *Client) sessionTags(context.Context) (map[string][]string, error) {
	s, err := c.openStore()
	if err != nil || s == nil {
		return nil, err
	}
	return s.SessionTags()
}

// SessionOfRun returns the session, by its unified id, of the recorded run with an id or the beginning of one, "" if there is none.
func (c *Client) SessionOfRun(id string) string {
	s, err := c.openStore()
	if err != nil || s == nil {
		return ""
	}
	r, err := s.Get(id)
	if err != nil || r.SessionID == "" {
		return ""
	}
	if owner, _, ok := execution.SplitSession(r.SessionID); ok && owner == r.Agent {
		return r.SessionID
	}
	return execution.UnifiedSession(r.Agent, r.SessionID)
}

// Find returns the session with this name, id or beginning of one, or that of the run with this id.
func (s *Sessions) Find(ctx context.Context, id string) (history.Summary, error) {
	return s.store.Find(ctx, id)
}

// CheckName checks a name for a session that a run is going to begin.
func (s *Sessions) CheckName(name string) error { return s.store.CheckName(name, "") }

// Name gives a session, by its unified id, a name that works wherever a session is asked for; "" takes it away.
// No two sessions have one name. The session's own files are not changed.
func (s *Sessions) Name(ctx context.Context, unified, name string) error {
	return s.store.Name(ctx, unified, name)
}

// Tag adds tags to a session, by its unified id, and removes others.
func (s *Sessions) Tag(ctx context.Context, unified string, add, remove []string) error {
	return s.store.Tag(ctx, unified, add, remove)
}

// Archive leaves a session, by its unified id, out of queries for current sessions from now on, or takes that back. One that its agent
// archived stays archived.
func (s *Sessions) Archive(ctx context.Context, unified string, archived bool) error {
	return s.store.Archive(ctx, unified, archived)
}

// Remove deletes a session, by its unified id, for good: one of a model API or the built-in agent. Those of other agents are
// CAPABILITY_ERROR.
func (s *Sessions) Remove(ctx context.Context, unified string) error {
	return s.store.Remove(ctx, unified)
}

// List returns the selected sessions of all agents. Read failures are in Problems, of the listing or of a
// session; the error is about the query, the index or the context.
func (s *Sessions) List(ctx context.Context, q sessions.Query) (sessions.Listing, error) {
	return s.store.List(ctx, q)
}

// Get reads a whole session: messages with tools, thinking and usage, and its sub-agents.
func (s *Sessions) Get(ctx context.Context, id string) (history.Session, error) {
	return s.store.Get(ctx, id)
}

// Search finds a text in messages, thinking, tool calls and tool results, in the current files.
func (s *Sessions) Search(ctx context.Context, q sessions.SearchQuery) (sessions.SearchResult, error) {
	return s.store.Search(ctx, q)
}

// Watch yields the events of a session from now on. The sequence ends when the agent ends the session, the
// session's file is removed, or ctx is done.
func (s *Sessions) Watch(ctx context.Context, id string, o sessions.WatchOptions) iter.Seq2[execution.Event, error] {
	return s.store.Watch(ctx, id, o)
}

// Export writes a session to w.
func (s *Sessions) Export(ctx context.Context, w io.Writer, id string, f sessions.Format) error {
	one, err := s.store.Get(ctx, id)
	if err != nil {
		return err
	}
	return session.Export(w, one, f)
}

// Diff compares two sessions, of the same or different agents, by the role and content of their messages.
func (s *Sessions) Diff(ctx context.Context, a, b string) (sessions.Difference, error) {
	return s.store.Diff(ctx, a, b)
}
