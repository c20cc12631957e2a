package usage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// GroupBy is what a report is divided by.
type GroupBy string

// The divisions of a report.
const (
	GroupDay     GroupBy = "day"   // 2006-01-02, in the query's location
	GroupMonth   GroupBy = "month" // 2006-01
	GroupAgent   GroupBy = "agent"
	GroupModel   GroupBy = "model"
	GroupProject GroupBy = "project" // the directory the agent worked in
	GroupSession GroupBy = "session" // agent:id
)

var groupings = []GroupBy{GroupDay, GroupMonth, GroupAgent, GroupModel, GroupProject, GroupSession}

// Groupings are all divisions.
func Groupings() []GroupBy { return slices.Clone(groupings) }

// Query selects calls and divides them.
type Query struct {
	By       GroupBy // agent when empty
	Since    time.Time
	Until    time.Time // calls before it
	Agent    string
	Model    string          // as the agent writes it, or an id or alias that it stands for
	Project  string          // this directory and those below it
	Sessions map[string]bool // agent:id; nil: all
	Location *time.Location  // of days and months; nil: local time
}

// CostSource says where the money of a sum comes from.
type CostSource string

// The sources of a sum's money.
const (
	CostStated    CostSource = "stated"    // by the agents
	CostEstimated CostSource = "estimated" // tokens times the price table
	CostMixed     CostSource = "mixed"
	CostUnpriced  CostSource = "unpriced" // no price is known
)

// Sum is what a number of calls used. TotalUSD is too low by the unpriced calls.
type Sum struct {
	Calls            int   `json:"calls"`
	Sessions         int   `json:"sessions"`
	SubAgentCalls    int   `json:"subAgentCalls"`
	InputTokens      int64 `json:"inputTokens"` // without cached ones
	OutputTokens     int64 `json:"outputTokens"`
	ThinkingTokens   int64 `json:"thinkingTokens"` // part of the output
	CacheReadTokens  int64 `json:"cacheReadTokens"`
	CacheWriteTokens int64 `json:"cacheCreationTokens"`
	CacheWrite1h     int64 `json:"cacheCreation1hTokens"` // part of cacheCreationTokens
	TotalTokens      int64 `json:"totalTokens"`

	TotalUSD       float64    `json:"totalUsd"`
	StatedUSD      float64    `json:"statedUsd"`
	EstimatedUSD   float64    `json:"estimatedUsd"`
	Source         CostSource `json:"costSource"`
	UnpricedCalls  int        `json:"unpricedCalls"`
	UnpricedTokens int64      `json:"unpricedTokens"`

	anyStated, anyEstimated bool
}

// Group is one part of a report.
type Group struct {
	Key    string   `json:"key"`
	Models []string `json:"models"` // that were called, in order
	Sum
}

// Report is what agents used. Days, months and sessions that have nothing are not in it.
type Report struct {
	Currency       string    `json:"currency"`
	GroupBy        GroupBy   `json:"groupBy"`
	TimeZone       string    `json:"timezone"`
	Total          Sum       `json:"total"`
	Groups         []Group   `json:"groups"`         // days and months in order, others with the dearest first
	UnpricedModels []string  `json:"unpricedModels"` // models with calls that have no price
	Problems       []Problem `json:"problems"`
	Files          int       `json:"files"`
	Bytes          int64     `json:"bytes"`
	BytesRead      int64     `json:"bytesRead"` // what was not known from an earlier report
}

// gathering is a sum in the making.
type gathering struct {
	Sum
	sessions map[int32]bool // of one agent; agents are gathered one after the other
	models   map[string]bool
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

func (g *gathering) sum() Sum {
	s := g.Sum
	s.TotalUSD = s.StatedUSD + s.EstimatedUSD
	switch {
	case s.anyStated && s.anyEstimated:
		s.Source = CostMixed
	case s.anyStated:
		s.Source = CostStated
	case s.anyEstimated || s.UnpricedCalls == 0:
		s.Source = CostEstimated
	default:
		s.Source = CostUnpriced
	}
	return s
}

// Report adds up the calls that a query selects. Its error is about the query.
func (l *Log) Report(q Query) (Report, error) {
	q.By = cmp.Or(q.By, GroupAgent)
	if !slices.Contains(groupings, q.By) {
		return Report{}, execution.Errorf(execution.CodeValidation, "sum costs: cannot group by %q", q.By).WithHint("day, month, agent, model, project or session")
	}
	if q.Location == nil {
		q.Location = time.Local
	}
	r := Report{Currency: "USD", GroupBy: q.By, TimeZone: q.Location.String(), Groups: []Group{}, UnpricedModels: []string{}, Problems: append([]Problem{}, l.Problems...),
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
		r.Groups = append(r.Groups, Group{Key: k, Models: append([]string{}, slices.Sorted(maps.Keys(g.models))...), Sum: g.sum()})
	}
	if q.By != GroupDay && q.By != GroupMonth {
		slices.SortStableFunc(r.Groups, func(a, b Group) int { return cmp.Compare(b.TotalUSD, a.TotalUSD) })
	}
	r.UnpricedModels = append(r.UnpricedModels, slices.Sorted(maps.Keys(unpriced))...)
	return r, nil
}

// picker says which calls of an agent a query selects.
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

// same reports whether name is what was asked for: the very name, or one of a model whose id or alias that is.
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

// namer gives the group of a call.
func (l *Log) namer(q Query, a *agentCalls) func(*call) string {
	switch q.By {
	case GroupDay, GroupMonth:
		layout := time.DateOnly
		if q.By == GroupMonth {
			layout = "2006-01"
		}
		// No day begins inside a quarter of an hour, in any time zone.
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
	case GroupModel:
		return func(c *call) string { return l.names.names[c.model] }
	case GroupProject:
		return func(c *call) string { return l.names.names[c.project] }
	case GroupSession:
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
