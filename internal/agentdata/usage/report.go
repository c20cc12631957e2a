package usage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/sessions"
)

// Query selects calls and groups them.
type Query struct {
	By       sessions.CostGroupBy // agent if empty
	Since    time.Time
	Until    time.Time // calls before it
	Agent    string
	Model    string          // as the agent writes it, or an id or alias of it
	Project  string          // this directory and those below it
	Sessions map[string]bool // agent:id; nil: all
	Location *time.Location  // time zone of days and months; nil: local time
}

// gathering is a sum under construction.
type gathering struct {
	sessions.CostSum
	anyStated, anyEstimated bool
	sessions                map[int32]bool // of one agent; agents are processed in sequence
	models                  map[string]bool
}

func (g *gathering) add(c *call, usd float64, priced bool) {
	if !c.is(costOnly) {
		g.Calls++
		if c.is(subAgent) {
			g.SubAgentCalls++
		}
	}
	g.InputTokens += c.input
	g.OutputTokens += c.output
	g.ThinkingTokens += c.thinking
	g.CacheReadTokens += c.read
	g.CacheWriteTokens += c.write + c.write1h
	g.CacheWrite1h += c.write1h
	g.TotalTokens += c.tokens()
	switch {
	case c.is(stated):
		g.StatedUSD += usd
		g.anyStated = true
	case priced:
		g.EstimatedUSD += usd
		g.anyEstimated = true
	default:
		g.UnpricedCalls++
		g.UnpricedTokens += c.tokens()
	}
	if !g.sessions[c.session] {
		g.sessions[c.session] = true
		g.Sessions++
	}
}

func (g *gathering) sum() sessions.CostSum {
	s := g.CostSum
	s.TotalUSD = s.StatedUSD + s.EstimatedUSD
	switch {
	case g.anyStated && g.anyEstimated:
		s.Source = sessions.CostMixed
	case g.anyStated:
		s.Source = sessions.CostStated
	case g.anyEstimated || s.UnpricedCalls == 0:
		s.Source = sessions.CostEstimated
	default:
		s.Source = sessions.CostUnpriced
	}
	return s
}

// Report adds up the calls that a query selects. The error is about the query.
func (l *Log) Report(q Query) (sessions.Costs, error) {
	q.By = cmp.Or(q.By, sessions.GroupAgent)
	if !slices.Contains(sessions.Groupings(), q.By) {
		return sessions.Costs{}, execution.Errorf(execution.CodeValidation, "sum costs: cannot group by %q", q.By).WithHint("day, month, agent, model, project or session")
	}
	if q.Location == nil {
		q.Location = time.Local
	}
	r := sessions.Costs{Currency: "USD", GroupBy: q.By, TimeZone: q.Location.String(), Groups: []sessions.CostGroup{}, UnpricedModels: []string{}, Problems: append([]sessions.CostProblem{}, l.Problems...),
		Files: l.Files, Bytes: l.Bytes, BytesRead: l.Read}
	total := &gathering{}
	groups := map[string]*gathering{}
	unpriced := map[string]bool{}
	for i := range l.agents {
		a := &l.agents[i]
		if q.Agent != "" && q.Agent != a.agent {
			continue
		}
		total.sessions = map[int32]bool{}
		for _, g := range groups {
			g.sessions = map[int32]bool{}
		}
		pick := l.picker(q, a)
		name := l.namer(q, a)
		for j := range a.calls {
			c := &a.calls[j]
			if !pick(c) {
				continue
			}
			model := l.names.names[c.model]
			usd, priced := c.cost, true
			if !c.is(stated) {
				if usd, priced = estimate(a.price.of(model), c); !priced {
					unpriced[cmp.Or(model, "unknown")] = true
				}
			}
			key := name(c)
			g := groups[key]
			if g == nil {
				g = &gathering{sessions: map[int32]bool{}, models: map[string]bool{}}
				groups[key] = g
			}
			g.add(c, usd, priced)
			total.add(c, usd, priced)
			if model != "" {
				g.models[model] = true
			}
		}
	}
	r.Total = total.sum()
	for _, k := range slices.Sorted(maps.Keys(groups)) {
		g := groups[k]
		r.Groups = append(r.Groups, sessions.CostGroup{Key: k, Models: append([]string{}, slices.Sorted(maps.Keys(g.models))...), CostSum: g.sum()})
	}
	if q.By != sessions.GroupDay && q.By != sessions.GroupMonth {
		slices.SortStableFunc(r.Groups, func(a, b sessions.CostGroup) int { return cmp.Compare(b.TotalUSD, a.TotalUSD) })
	}
	r.UnpricedModels = append(r.UnpricedModels, slices.Sorted(maps.Keys(unpriced))...)
	return r, nil
}

// picker returns which calls of an agent a query selects.
func (l *Log) picker(q Query, a *agentCalls) func(*call) bool {
	since, until := int64(0), int64(1<<62)
	if !q.Since.IsZero() {
		since = q.Since.UnixMilli()
	}
	if !q.Until.IsZero() {
		until = q.Until.UnixMilli()
	}
	models := memo(func(i int32) bool { return q.Model == "" || a.price.same(l.names.names[i], q.Model) })
	root := strings.TrimRight(strings.ReplaceAll(q.Project, `\`, "/"), "/")
	projects := memo(func(i int32) bool {
		p := strings.ReplaceAll(l.names.names[i], `\`, "/")
		return q.Project == "" || p == root || strings.HasPrefix(p, root+"/")
	})
	sessions := memo(func(i int32) bool { return q.Sessions == nil || q.Sessions[a.agent+":"+l.names.names[i]] })
	return func(c *call) bool {
		return c.time >= since && c.time < until && models(c.model) && projects(c.project) && sessions(c.session)
	}
}

// same reports whether name is the requested one, or belongs to the model with the requested id or alias.
func (p *prices) same(name, asked string) bool {
	if name == asked || execution.BareModel(name) == asked {
		return true
	}
	for _, list := range p.lists {
		if m := execution.FindModel(list, name); m != nil {
			return m.ID == asked || slices.Contains(m.Aliases, asked)
		}
	}
	return false
}

// namer returns the group of a call.
func (l *Log) namer(q Query, a *agentCalls) func(*call) string {
	switch q.By {
	case sessions.GroupDay, sessions.GroupMonth:
		layout := time.DateOnly
		if q.By == sessions.GroupMonth {
			layout = "2006-01"
		}
		// In every time zone, days begin at a multiple of a quarter of an hour.
		const quarter = 15 * 60 * 1000
		days := map[int64]string{}
		return func(c *call) string {
			n := c.time / quarter
			day, ok := days[n]
			if !ok {
				day = time.UnixMilli(n * quarter).In(q.Location).Format(layout)
				days[n] = day
			}
			return day
		}
	case sessions.GroupModel:
		return func(c *call) string { return l.names.names[c.model] }
	case sessions.GroupProject:
		return func(c *call) string { return l.names.names[c.project] }
	case sessions.GroupSession:
		ids := map[int32]string{}
		return func(c *call) string {
			id, ok := ids[c.session]
			if !ok {
				id = fmt.Sprintf("%s:%s", a.agent, l.names.names[c.session])
				ids[c.session] = id
			}
			return id
		}
	}
	return func(*call) string { return a.agent }
}

func memo(f func(int32) bool) func(int32) bool {
	known := map[int32]bool{}
	return func(i int32) bool {
		v, ok := known[i]
		if !ok {
			v = f(i)
			known[i] = v
		}
		return v
	}
}
