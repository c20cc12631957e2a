package drawbar

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/runstore"
)

// lazyIndex is the duration below which a run leaves its index row to the next reader.
const lazyIndex = 2 * time.Second

// openStore opens the run record on first use. It returns nil with NoRecord.
func (c *Client) openStore() (*runstore.Store, error) {
	if c.opts.NoRecord {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.New("the client is closed")
	}
	if c.store != nil {
		return c.store, nil
	}
	dir := c.opts.StateDir
	if dir == "" {
		var err error
		if dir, err = runstore.DefaultDir(); err != nil {
			return nil, err
		}
	}
	s, err := runstore.Open(dir, runstore.Options{Logger: c.opts.Logger, LazyIndex: lazyIndex, Price: c.models.Price,
		Used: func(agent, session, fork string, since, until time.Time) execution.Usage {
			return c.SessionUsage(context.Background(), SessionSpan{Agent: agent, Session: session, Fork: fork, Since: since, Until: until})
		}})
	if err != nil {
		return nil, err
	}
	c.store = s
	return s, nil
}

// Recorded reports whether a run, live or ended, is recorded.
func (c *Client) Recorded(id execution.RunID) bool {
	s, err := c.openStore()
	if err != nil || s == nil {
		return false
	}
	_, err = s.Get(string(id))
	return err == nil
}

// record begins recording a run. If that fails, the run continues unrecorded: a full disk must not stop work.
// The error is about the request: the run id is already in use. record also sets the options that feed the
// record and that mark the result as incompletely recorded.
func (c *Client) record(req execution.Request, d adapter.Descriptor, opts *RunOptions, reserved float64) (*runstore.Writer, error) {
	missing := func(what func() error) {
		add := opts.ResultMetadata
		opts.ResultMetadata = func() map[string]any {
			m := map[string]any{}
			if err := what(); err != nil {
				m[runstore.Incomplete] = err.Error()
			}
			if add != nil {
				maps.Copy(m, add())
			}
			return m
		}
	}
	s, err := c.openStore()
	if err != nil || s == nil {
		c.warn(err)
		missing(func() error { return err })
		return nil, nil //nolint:nilnil // the nil Writer records nothing
	}
	if opts.begun.IsZero() {
		opts.begun = time.Now()
	}
	tags := req.Run.Tags
	if turn := os.Getenv(protocol.TurnVariable); turn != "" { // a worker of that turn starts it
		tags = append(slices.Clip(tags), govern.TurnTag(turn))
	}
	w, err := s.Begin(runstore.Meta{RunID: req.Run.RunID, Agent: d.Name, Model: req.Run.Model, Cwd: req.Run.Cwd,
		Prompt: string(req.Message.Text), Tags: tags, ProjectID: req.Run.ProjectID, Caller: req.Correlation(), StartedAt: opts.begun, Parent: opts.Parent,
		Detached: opts.Detached, ApprovalMode: req.Run.ApprovalMode, ReservedUSD: reserved, Secrets: opts.Secrets})
	if errors.Is(err, runstore.ErrExists) {
		return nil, execution.Errorf(execution.CodeValidation, "run %s is already recorded", req.Run.RunID).WithHint("omit --run-id, or use a different one")
	}
	if err != nil {
		c.warn(err)
		missing(func() error { return err })
		return nil, nil //nolint:nilnil // the nil Writer records nothing
	}
	missing(w.Shortfall)
	opts.Handlers = append(slices.Clone(opts.Handlers), agent.OnAny(w.Append))
	return w, nil
}

// secrets returns the values that must not be shown or recorded: those of the environment and those that the
// request passes to the agent.
func secrets(req execution.Request, d adapter.Descriptor) []string {
	list := secret.Environ(os.Environ())
	for _, k := range d.Keys {
		if v := os.Getenv(k); secret.Name(k) && v != "" {
			list = append(list, v)
		}
	}
	for k, v := range req.Run.Env {
		list = append(list, secret.Variable(k, v)...)
	}
	for _, m := range req.Run.MCPServers {
		for k, v := range m.Env {
			list = append(list, secret.Configured(k, v)...)
		}
		for _, v := range m.Headers {
			list = append(list, v)
		}
		list = append(list, secret.Args(m.Args)...)
		list = append(list, secret.URL(m.URL)...)
	}
	return list
}
