package runstore

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// GroupBy is the property by which a cost report is divided.
type GroupBy string

// The properties. GroupNone returns only the total. A run with several tags is in the group of each tag; one without the property
// is in the group with the empty key.
const (
	GroupNone    GroupBy = ""
	GroupDay     GroupBy = "day" // of its start, in the store's location: 2006-01-02
	GroupAgent   GroupBy = "agent"
	GroupModel   GroupBy = "model"
	GroupProject GroupBy = "project"
	GroupTag     GroupBy = "tag"
	GroupSession GroupBy = "session" // agent:id
	GroupCwd     GroupBy = "cwd"
)

// quarter is the smallest difference between time zones, in milliseconds: every day begins at a quarter of an hour.
const quarter = 15 * 60 * 1000

// groupKeys are the SQL expressions of the properties, over runs r and its tags t.
var groupKeys = map[GroupBy]string{
	GroupNone:    `''`,
	GroupDay:     fmt.Sprintf(`r.started / %d`, quarter),
	GroupAgent:   `r.agent`,
	GroupModel:   `r.model`,
	GroupProject: `r.project`,
	GroupTag:     `coalesce(t.tag, '')`,
	GroupCwd:     `r.cwd`,
	GroupSession: `CASE r.session WHEN '' THEN '' ELSE r.agent || ':' || r.session END`,
}

// Sum is what a number of runs cost. Every run counts in exactly one of Priced, Unpriced and NoCost.
type Sum struct {
	Runs     int     `json:"runs"`
	Sessions int     `json:"sessions"`
	Priced   int     `json:"priced"`
	Unpriced int     `json:"unpriced"` // used tokens without a known price: TotalUSD is too low by their cost
	NoCost   int     `json:"noCost"`   // tokens and price are unknown: live, or ended before the first model call
	Unknown  int     `json:"unknown"`  // of NoCost: ended without stating their usage: TotalUSD is too low by their cost
	TotalUSD float64 `json:"totalUsd"`

	InputTokens         int64 `json:"inputTokens"`
	OutputTokens        int64 `json:"outputTokens"`
	ThinkingTokens      int64 `json:"thinkingTokens"`
	CacheReadTokens     int64 `json:"cacheReadTokens"`
	CacheCreationTokens int64 `json:"cacheCreationTokens"`
}

func (s Sum) plus(o Sum) Sum {
	return Sum{Runs: s.Runs + o.Runs, Sessions: s.Sessions + o.Sessions, Priced: s.Priced + o.Priced, Unpriced: s.Unpriced + o.Unpriced,
		NoCost: s.NoCost + o.NoCost, Unknown: s.Unknown + o.Unknown, TotalUSD: s.TotalUSD + o.TotalUSD, InputTokens: s.InputTokens + o.InputTokens,
		OutputTokens: s.OutputTokens + o.OutputTokens, ThinkingTokens: s.ThinkingTokens + o.ThinkingTokens,
		CacheReadTokens: s.CacheReadTokens + o.CacheReadTokens, CacheCreationTokens: s.CacheCreationTokens + o.CacheCreationTokens}
}

// Group is one row of a report.
type Group struct {
	Key string `json:"key"`
	Sum
}

// Report is what runs cost. Total counts each run once, even if it is in several groups.
type Report struct {
	Currency string  `json:"currency"` // USD
	GroupBy  GroupBy `json:"groupBy,omitempty"`
	Total    Sum     `json:"total"`
	Groups   []Group `json:"groups,omitempty"` // days in order, others by cost, highest first
}

// Cost sums the costs of the selected runs. A lost run counts with its recorded events.
func (s *Store) Cost(f Filter, by GroupBy) (Report, error) {
	if _, ok := groupKeys[by]; !ok {
		return Report{}, fmt.Errorf("sum costs: cannot group by %q; want day, agent, model, project, tag, session or cwd", by)
	}
	report := Report{Currency: "USD", GroupBy: by}
	err := s.read(func(db *sql.DB) error {
		total, err := s.sums(db, f, GroupNone)
		if err != nil {
			return err
		}
		report.Total, report.Groups = total[""], nil
		if by == GroupNone {
			return nil
		}
		groups, err := s.sums(db, f, by)
		for _, k := range slices.Sorted(maps.Keys(groups)) {
			report.Groups = append(report.Groups, Group{Key: k, Sum: groups[k]})
		}
		return err
	})
	if err != nil {
		return Report{}, fmt.Errorf("sum costs: %w", err)
	}
	if by != GroupDay {
		slices.SortStableFunc(report.Groups, func(a, b Group) int { return cmp.Compare(b.TotalUSD, a.TotalUSD) })
	}
	return report, nil
}

func (s *Store) sums(db *sql.DB, f Filter, by GroupBy) (_ map[string]Sum, err error) {
	where, args := f.where()
	from := ` FROM runs r`
	if by == GroupTag {
		from += ` LEFT JOIN run_tags t ON t.run = r.id`
	}
	sums := map[string]Sum{}
	err = each(db, `SELECT `+groupKeys[by]+` AS k, count(*), sum(has_cost AND NOT unpriced), sum(has_cost AND unpriced), sum(NOT has_cost),
		sum(NOT has_cost AND settled AND turns > 0 AND (status = 'completed' OR exit_reason <> 'completed')), total(usd), sum(input), sum(output), sum(thinking), sum(cache_read), sum(cache_write)`+from+where+` GROUP BY k`, args,
		func(rows *sql.Rows) error {
			var k string
			var n Sum
			if err := rows.Scan(&k, &n.Runs, &n.Priced, &n.Unpriced, &n.NoCost, &n.Unknown, &n.TotalUSD, &n.InputTokens, &n.OutputTokens, &n.ThinkingTokens,
				&n.CacheReadTokens, &n.CacheCreationTokens); err != nil {
				return err
			}
			k, err := s.groupKey(by, k)
			sums[k] = sums[k].plus(n)
			return err
		})
	if err != nil {
		return nil, err
	}
	// Sessions are counted separately, because several quarters of a day may share one.
	seen := map[[2]string]bool{}
	glue := ` WHERE `
	if where != "" {
		glue = ` AND `
	}
	err = each(db, `SELECT DISTINCT `+groupKeys[by]+` AS k, r.agent || ':' || r.session`+from+where+glue+`r.session <> ''`, args,
		func(rows *sql.Rows) error {
			var k, session string
			if err := rows.Scan(&k, &session); err != nil {
				return err
			}
			k, err := s.groupKey(by, k)
			if id := [2]string{k, session}; !seen[id] {
				seen[id] = true
				sums[k] = sums[k].plus(Sum{Sessions: 1})
			}
			return err
		})
	return sums, err
}

// groupKey converts the database's key into the report's.
func (s *Store) groupKey(by GroupBy, k string) (string, error) {
	if by != GroupDay {
		return k, nil
	}
	n, err := strconv.ParseInt(k, 10, 64)
	if err != nil {
		return "", fmt.Errorf("day %q: %w", k, err)
	}
	return time.UnixMilli(n * quarter).In(s.opts.Location).Format(time.DateOnly), nil
}

func each(db *sql.DB, query string, args []any, f func(*sql.Rows) error) (err error) {
	rows, err := db.Query(query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
