package session

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/sessions"
)

// weight is the weight of a matching message: a person's messages say most about a session.
var weight = map[history.Role]float64{history.RoleUser: 4, history.RoleAssistant: 2, history.RoleSystem: 1, history.RoleTool: 1}

// titleWeight is the weight of the title.
const titleWeight = 10

// Search searches the current files of the selected sessions. It scans their bytes first, so that only files
// that may contain the text are parsed.
func (s *Store) Search(ctx context.Context, q sessions.SearchQuery) (sessions.SearchResult, error) {
	if strings.TrimSpace(q.Text) == "" {
		return sessions.SearchResult{}, execution.Errorf(execution.CodeValidation, "the search text is empty").WithHint("drawbar sessions search TEXT")
	}
	limit := q.Limit
	q.Limit = 0
	order := cmp.Or(q.Sort, sessions.ByRelevance)
	if order == sessions.ByRelevance {
		q.Sort = sessions.ByDate
	}
	rows, w, _, err := s.query(ctx, q.Query)
	if err != nil {
		return sessions.SearchResult{}, err
	}
	result := sessions.SearchResult{Hits: []sessions.Hit{}, Searched: len(rows), Problems: w.problems}
	needle := newNeedle(q.Text)
	hits := make([]*sessions.Hit, len(rows))
	var mu sync.Mutex
	err = parallel(ctx, len(rows), func(i int) {
		if _, unread := w.unread[rows[i].root]; unread {
			return // said once, for the store
		}
		hit, problem := s.searchOne(ctx, rows[i], needle)
		hits[i] = hit
		if problem != "" && ctx.Err() == nil {
			mu.Lock()
			result.Problems = append(result.Problems, history.Problem{Path: rows[i].Path, Message: problem})
			mu.Unlock()
		}
	})
	if err != nil {
		return sessions.SearchResult{}, err
	}
	for _, h := range hits {
		if h != nil {
			result.Hits = append(result.Hits, *h)
		}
	}
	slices.SortFunc(result.Problems, func(a, b history.Problem) int { return cmp.Compare(a.Path, b.Path) })
	if order == sessions.ByRelevance {
		slices.SortStableFunc(result.Hits, func(a, b sessions.Hit) int {
			c := cmp.Compare(b.RelevanceScore, a.RelevanceScore)
			if q.Ascending {
				c = -c
			}
			return c
		})
	}
	result.Total = len(result.Hits)
	if limit > 0 && len(result.Hits) > limit {
		result.Hits = result.Hits[:limit]
	}
	return result, nil
}

// searchOne searches one session; nil if it does not contain the text.
func (s *Store) searchOne(ctx context.Context, r row, n needle) (*sessions.Hit, string) {
	if r.Problem != "" {
		return nil, "was not searched: it " + r.Problem
	}
	reader, err := r.store.OpenSession(ctx, s.opts.Host, r.File)
	if err != nil {
		return nil, "was not searched: " + strings.TrimPrefix(err.Error(), "read "+r.Path+": ")
	}
	may, err := n.mayBeIn(reader)
	reader.Close()
	if err != nil {
		return nil, "was not searched to its end: " + err.Error()
	}
	inTitle := n.in(r.summary.Title)
	if !may && !inTitle {
		return nil, ""
	}
	session, err := r.store.ReadSession(ctx, s.opts.Host, r.File)
	if err != nil {
		return nil, "was not searched: " + err.Error()
	}
	hit := &sessions.Hit{Summary: session.Summary, Message: -1}
	hit.Tags = r.summary.Tags
	if inTitle {
		hit.RelevanceScore += titleWeight
	}
	look := func(messages []history.Message, main bool) {
		for i, m := range messages {
			count, snippet := n.count(m)
			if count == 0 {
				continue
			}
			hit.Matches++
			hit.RelevanceScore += weight[m.Role] * (1 + math.Log(float64(count)))
			if hit.Snippet == "" {
				hit.Snippet, hit.Role = snippet, m.Role
				if main {
					hit.Message = i
				}
			}
		}
	}
	look(session.Messages, true)
	for _, a := range session.Subagents {
		look(a.Messages, false)
	}
	if hit.Matches == 0 && !inTitle {
		return nil, ""
	}
	if hit.Snippet == "" {
		hit.Snippet = session.Title
	}
	hit.RelevanceScore = math.Round(hit.RelevanceScore*100) / 100
	return hit, ""
}

// count returns the number of matches in a message, with the first.
func (n needle) count(m history.Message) (count int, snippet string) {
	look := func(text string) {
		c, s := n.places(text)
		if count += c; snippet == "" {
			snippet = s
		}
	}
	look(m.Content)
	look(m.Thinking)
	for _, call := range m.ToolCalls {
		look(call.ToolName)
		look(decoded(call.Input))
	}
	if m.ToolResult != nil {
		look(m.ToolResult.Output)
	}
	return count, snippet
}

// snippetWidth is how many bytes to show on either side of a match.
const snippetWidth = 60

func snippet(text string, at, length int) string {
	from, to := max(0, at-snippetWidth), min(len(text), at+length+snippetWidth)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	s := strings.Join(strings.Fields(text[from:to]), " ")
	if from > 0 {
		s = "…" + s
	}
	if to < len(text) {
		s += "…"
	}
	return s
}
