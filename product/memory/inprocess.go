package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// InProcess is a store that ends with its process. The zero value is ready.
type InProcess struct {
	mu  sync.Mutex
	all map[string][]byte // as JSON, so that nobody shares an entry
}

// Put implements Store.
func (p *InProcess) Put(_ context.Context, entries []Entry, remove ...string) error {
	next := map[string][]byte{}
	for _, e := range entries {
		b, err := json.Marshal(e)
		if err != nil {
			return err
		}
		next[e.ID] = b
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string][]byte{}
	}
	for _, id := range remove {
		delete(p.all, id)
	}
	for id, b := range next {
		p.all[id] = b
	}
	return nil
}

// Get implements Store.
func (p *InProcess) Get(_ context.Context, id string) (e Entry, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[id] == nil {
		return e, fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	return e, json.Unmarshal(p.all[id], &e)
}

// Find implements Store.
func (p *InProcess) Find(_ context.Context, q Query) (list []Entry, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	words := unique(tokens(q.Words))
	for _, b := range p.all {
		var e Entry
		if err := json.Unmarshal(b, &e); err != nil {
			return nil, err
		}
		has := func(tag string) bool { return slices.Contains(e.Tags, tag) }
		if !slices.Contains(q.Scopes, e.Scope) || !e.ExpiresAt.IsZero() && e.ExpiresAt.Before(q.Now) || e.CreatedAt.Before(q.Since) ||
			slices.ContainsFunc(q.Tags, func(tag string) bool { return !has(tag) }) {
			continue
		}
		if strings.TrimSpace(q.Words) != "" {
			in := tokens(e.Content + " " + strings.Join(e.Tags, " "))
			for _, w := range words {
				if slices.Contains(in, w) {
					e.Relevance++
				}
			}
			if e.Relevance == 0 {
				continue
			}
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b Entry) int {
		switch {
		case a.Relevance != b.Relevance:
			return map[bool]int{true: -1, false: 1}[a.Relevance > b.Relevance]
		case q.Oldest && len(words) == 0:
			return newest(b, a)
		}
		return newest(a, b)
	})
	relate(list)
	return list[:min(len(list), q.Limit)], nil
}

// tokens are the words of a text, in lower case.
func tokens(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// Clear implements Store.
func (p *InProcess) Clear(_ context.Context, scope Scope) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, b := range p.all {
		var e Entry
		if err := json.Unmarshal(b, &e); err != nil {
			return n, err
		}
		if e.Scope == scope {
			delete(p.all, id)
			n++
		}
	}
	return n, nil
}
