package drawbar

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/agentdata/usage"
	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/sessions"
)

// SessionCosts adds up what agents used, whoever started them, from the session files that they keep. It never
// writes to the agents' files. Results are cached in the state directory unless the client has NoRecord, so the
// next call reads only what is new.
//
// Each model call counts once, even if several files contain it: repeated for each block of an answer, or
// copied by a fork or a resume. Sub-agents count. The cost is the agent's own figure if it states one, else
// tokens times the models' prices; calls without a price are counted separately, because unknown is not free.
// The error is about the query or the context; unreadable files are listed in Problems.
func (c *Client) SessionCosts(ctx context.Context, q sessions.CostQuery) (sessions.Costs, error) {
	return c.sessionCosts(ctx, c.host, q, nil)
}

// costOfSessions returns the cost of sessions by unified id.
func (c *Client) costOfSessions(ctx context.Context, agent string, paths []string) (map[string]execution.Cost, error) {
	r, err := c.sessionCosts(ctx, c.host, sessions.CostQuery{By: sessions.GroupSession, Agent: agent}, paths)
	if err != nil {
		return nil, err
	}
	costs := make(map[string]execution.Cost, len(r.Groups))
	for _, g := range r.Groups {
		cost := execution.Cost{Unpriced: g.UnpricedCalls > 0, InputTokens: g.InputTokens, OutputTokens: g.OutputTokens, ThinkingTokens: g.ThinkingTokens,
			CacheCreationTokens: g.CacheWriteTokens, CacheReadTokens: g.CacheReadTokens}
		switch g.Source {
		case sessions.CostStated:
			cost.TotalUSD, cost.Source = &g.TotalUSD, execution.CostFromAgent
		case sessions.CostEstimated, sessions.CostMixed:
			cost.TotalUSD, cost.Source = &g.TotalUSD, execution.CostFromTable
		}
		costs[g.Key] = cost
	}
	return costs, nil
}

// sessionCosts is SessionCosts on a given host, for all files or only those in only.
func (c *Client) sessionCosts(ctx context.Context, host adapter.Host, q sessions.CostQuery, only []string) (sessions.Costs, error) {
	if q.Agent != "" {
		e, err := c.registry.Get(q.Agent)
		if err != nil {
			return sessions.Costs{}, err
		}
		q.Agent = e.Descriptor.Name
	}
	selected := usage.Query{By: q.By, Since: q.Since, Until: q.Until, Agent: q.Agent, Model: q.Model, Project: q.Project, Location: q.Location}
	if _, err := (&usage.Log{}).Report(selected); err != nil {
		return sessions.Costs{}, err // before files are read
	}
	var sources []usage.Source
	for _, info := range c.registry.List() {
		if e, err := c.registry.Get(info.Agent); err == nil {
			if log, ok := adapter.As[adapter.UsageLog](e.Adapter); ok && (q.Agent == "" || q.Agent == info.Agent) {
				sources = append(sources, usage.Source{Agent: info.Agent, Log: log, Models: c.models.of(e.Descriptor)})
			}
		}
	}
	if q.Agent != "" && len(sources) == 0 {
		return sessions.Costs{}, execution.Errorf(execution.CodeCapability, "%s has no session files whose usage Drawbar can read", q.Agent).
			WithHint("for the cost of Drawbar's own runs: drawbar cost --agent %s", q.Agent)
	}
	o := usage.Options{Host: host, Only: only}
	if !c.opts.NoRecord {
		dir := c.opts.StateDir
		if dir == "" {
			var err error
			if dir, err = runstore.DefaultDir(); err != nil {
				return sessions.Costs{}, execution.Errorf(execution.CodeConfig, "%w", err)
			}
		}
		o.CacheDir = filepath.Join(dir, "usage")
	}
	if q.Tag != "" {
		var err error
		if selected.Sessions, err = c.taggedSessions(q); err != nil {
			return sessions.Costs{}, err
		}
	}
	log, err := usage.Collect(ctx, sources, o)
	if log == nil {
		return sessions.Costs{}, err
	}
	c.warn(err) // a failed cache write only costs time
	return log.Report(selected)
}

// taggedSessions returns the sessions of recorded runs with the query's tag.
func (c *Client) taggedSessions(q sessions.CostQuery) (map[string]bool, error) {
	if c.opts.NoRecord {
		return nil, execution.Errorf(execution.CodeValidation, "sum costs: tags belong to recorded runs, and this client keeps no record").WithHint("remove the tag, or unset NoRecord")
	}
	store, err := c.openStore()
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "open the run record: %w", err)
	}
	runs, err := store.List(runstore.Filter{Agent: q.Agent, Tag: q.Tag})
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "read the run record: %w", err)
	}
	sessions := map[string]bool{}
	for _, r := range runs {
		if r.SessionID != "" {
			sessions[r.Agent+":"+r.SessionID] = true
		}
	}
	return sessions, nil
}

// usedBefore returns the earlier usage of the session that a request continues, for an agent that states totals
// of a whole session. It is nil if it is unknown or not needed.
func (c *Client) usedBefore(ctx context.Context, e catalog.Entry, req execution.Request) *execution.Usage {
	log, ok := adapter.As[adapter.SessionSums](e.Adapter)
	session := cmp.Or(req.Run.SessionID, req.Run.ForkSessionID)
	if session == "" && req.Continuation != nil {
		session, _ = req.Continuation.State["sessionId"].(string)
	}
	if !ok || session == "" {
		return nil
	}
	agent, host := e.Descriptor.Name, c.hostOf(req.Run.Env)
	files := usage.Files(ctx, host, usage.Source{Agent: agent, Log: log}, func(file string, _ time.Time) bool {
		base := path.Base(file)
		return strings.TrimSuffix(base, path.Ext(base)) == session
	})
	if len(files) == 0 {
		return nil
	}
	report, err := c.sessionCosts(ctx, host, sessions.CostQuery{Agent: agent}, files)
	if err != nil {
		c.warn(err)
		return nil
	}
	used := usageOf(report.Total)
	used.Thinking = 0 // agents that state totals do not state thinking
	return &used
}

// sessionScan limits how long the end of a run waits for session files to be read.
const sessionScan = 10 * time.Second

// SessionSpan is part of an agent's session.
type SessionSpan struct {
	Agent   string
	Session string
	Fork    string            // the session that this one was forked from; calls copied from it do not count
	Since   time.Time         // calls at or after this time
	Until   time.Time         // calls before this time; zero: no limit
	Env     map[string]string // the run's variables, for agents that locate their files by variables
	// Before is what the session used before the part, if known: all of its calls count then, less these, for agents
	// whose files have no exact times. Forks ignore it.
	Before *execution.Usage
}

// SessionUsage returns what an agent used in part of a session, according to the agent's files; zero if they do
// not say. It reads the files that changed since the part began.
func (c *Client) SessionUsage(ctx context.Context, s SessionSpan) execution.Usage {
	e, err := c.registry.Get(s.Agent)
	if err != nil || s.Session == "" {
		return execution.Usage{}
	}
	log, ok := adapter.As[adapter.UsageLog](e.Adapter)
	if !ok {
		return execution.Usage{}
	}
	agent, host := e.Descriptor.Name, c.hostOf(s.Env)
	changed := s.Since.Add(-time.Second) // file times lag behind the clock
	files := usage.Files(ctx, host, usage.Source{Agent: agent, Log: log}, func(file string, modified time.Time) bool {
		return !modified.Before(changed) || s.Fork != "" && strings.Contains(file, s.Fork)
	})
	if len(files) == 0 {
		return execution.Usage{}
	}
	ctx, stop := context.WithTimeout(ctx, sessionScan)
	defer stop()
	since := s.Since.Truncate(time.Millisecond)
	whole := s.Before != nil && s.Fork == ""
	if whole {
		since = time.Time{}
	}
	report, err := c.sessionCosts(ctx, host, sessions.CostQuery{By: sessions.GroupSession, Agent: agent, Since: since, Until: s.Until}, files)
	if err != nil {
		c.warn(err)
		return execution.Usage{}
	}
	for _, g := range report.Groups {
		if g.Key != agent+":"+s.Session {
			continue
		}
		used := usageOf(g.CostSum)
		if whole {
			used = used.Sub(*s.Before)
		}
		return used
	}
	return execution.Usage{}
}

func usageOf(s sessions.CostSum) execution.Usage {
	return execution.Usage{Input: s.InputTokens, Output: s.OutputTokens, Thinking: s.ThinkingTokens, Cached: s.CacheReadTokens, CacheWrite: s.CacheWriteTokens,
		Total: s.InputTokens + s.OutputTokens + s.CacheReadTokens + s.CacheWriteTokens}
}

// hostOf is this machine with a run's own variables applied.
func (c *Client) hostOf(env map[string]string) adapter.Host {
	host := c.host
	host.Home = cmp.Or(env["HOME"], host.Home)
	host.Getenv = func(key string) string {
		if v, ok := env[key]; ok {
			return v
		}
		return c.host.Getenv(key)
	}
	return host
}
