// Package sessions has the words of what agents left on disk: their conversations, and what these cost. drawbar.Client answers
// such questions with Sessions and SessionCosts.
package sessions

import (
	"time"

	"github.com/drawbar/drawbar/adapter"
)

// Sort is the key of an order.
type Sort string

// The orders. Relevance is for searches only.
const (
	ByDate      Sort = "date"
	ByTurns     Sort = "turns"
	ByCost      Sort = "cost"
	ByRelevance Sort = "relevance"
)

// Query selects sessions; the zero value selects all. Its fields are joined by and, tags by or.
type Query struct {
	Agent     string
	Since     time.Time // something happened at or after it
	Until     time.Time // the last thing happened before it
	Model     string    // a part of the model's name, in either case
	Tags      []string  // tags of Drawbar's runs in the session
	Cwd       string    // this directory, or one below it
	Sort      Sort      // default: date
	Ascending bool
	Limit     int  // 0: no limit
	Counted   bool // count the turns of every listed session, which reads large ones whole once
	Priced    bool // reckon what every session cost, which reads what is new of all of them; the order by cost does it too
}

// Listing is an answer to a query.
type Listing struct {
	Sessions []adapter.SessionSummary `json:"sessions"`
	Total    int                      `json:"total"` // without the limit
	Problems []adapter.SessionProblem `json:"problems,omitempty"`
}

// SearchQuery is a query with a text. Its sort may be by relevance, which is the default.
type SearchQuery struct {
	Query
	Text string // looked for in what was said, thought, called and answered, in either case
}

// Hit is a session that has the text.
type Hit struct {
	adapter.SessionSummary
	RelevanceScore float64 `json:"relevanceScore"`
	Matches        int     `json:"matches"` // messages that have the text
	// Snippet is the first place, in one line, and Message which message it is in, -1 for the title or a sub-agent.
	Snippet string              `json:"snippet"`
	Role    adapter.MessageRole `json:"role,omitempty"`
	Message int                 `json:"messageIndex"`
}

// SearchResult is an answer to a search.
type SearchResult struct {
	Hits     []Hit                    `json:"sessions"`
	Total    int                      `json:"total"`    // without the limit
	Searched int                      `json:"searched"` // sessions that were looked through
	Problems []adapter.SessionProblem `json:"problems,omitempty"`
}

// Change says what became of a message.
type Change string

// The changes. A message that stands at the same place with other words of the same role is modified.
const (
	Added     Change = "added"
	Removed   Change = "removed"
	Modified  Change = "modified"
	Unchanged Change = "unchanged"
)

// Operation is one step from one session to the other. Indexes are those of the messages; -1 where there is none.
type Operation struct {
	Type     Change                  `json:"type"`
	IndexA   int                     `json:"indexA"`
	IndexB   int                     `json:"indexB"`
	MessageA *adapter.SessionMessage `json:"messageA,omitempty"`
	MessageB *adapter.SessionMessage `json:"messageB,omitempty"`
}

// Difference is what makes session B of session A.
type Difference struct {
	A          adapter.SessionSummary `json:"a"`
	B          adapter.SessionSummary `json:"b"`
	Operations []Operation            `json:"operations"`
	Added      int                    `json:"added"`
	Removed    int                    `json:"removed"`
	Modified   int                    `json:"modified"`
	Unchanged  int                    `json:"unchanged"`
}

// Format is the form of an export.
type Format string

// The formats.
const (
	JSON     Format = "json"     // one document
	JSONL    Format = "jsonl"    // a header line, then one message a line
	Markdown Format = "markdown" // for people
)

// WatchOptions say how a session is watched.
type WatchOptions struct {
	// Replay gives the events of what is there already first.
	Replay bool
	// Quiet, when positive, ends the watch when nothing was written for so long.
	Quiet time.Duration
}
