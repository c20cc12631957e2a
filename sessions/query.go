// Package sessions defines queries and answers about what agents left on disk: conversations and their costs.
// drawbar.Client answers them with Sessions and SessionCosts.
package sessions

import (
	"time"

	"github.com/drawbar/drawbar/history"
)

// Sort is a sort key.
type Sort string

// The sort keys. Relevance is for searches only.
const (
	ByDate      Sort = "date"
	ByTurns     Sort = "turns"
	ByCost      Sort = "cost"
	ByRelevance Sort = "relevance"
)

// Query selects sessions; the zero value selects all. All stated fields must match; any one of the tags is
// enough.
type Query struct {
	Agent     string
	Since     time.Time // active at or after this time
	Until     time.Time // last active before this time
	Model     string    // part of the model's name, case-insensitive
	Current   bool      // leave out archived sessions
	Tags      []string  // tags of Drawbar's runs in the session
	Cwd       string    // this directory or one below it
	Sort      Sort      // default: date
	Ascending bool
	Limit     int  // 0: no limit
	Counted   bool // count the turns of every listed session, which reads large ones completely once
	Priced    bool // compute the cost of every session, which reads everything new; sorting by cost implies it
}

// Listing is the answer to a query.
type Listing struct {
	Sessions []history.Summary `json:"sessions"`
	Total    int               `json:"total"` // before the limit is applied
	Problems []history.Problem `json:"problems,omitempty"`
}

// SearchQuery is a query with a text. It can also sort by relevance, which is the default.
type SearchQuery struct {
	Query
	Text string // searched in messages, thinking, tool calls and results, case-insensitive
}

// Hit is a session that contains the text.
type Hit struct {
	history.Summary
	RelevanceScore float64 `json:"relevanceScore"`
	Matches        int     `json:"matches"` // messages that contain the text
	// Snippet is the first match, on one line. Message is the index of its message, -1 for the title or a
	// sub-agent.
	Snippet string       `json:"snippet"`
	Role    history.Role `json:"role,omitempty"`
	Message int          `json:"messageIndex"`
}

// SearchResult is the answer to a search.
type SearchResult struct {
	Hits     []Hit             `json:"sessions"`
	Total    int               `json:"total"`    // before the limit is applied
	Searched int               `json:"searched"` // sessions searched
	Problems []history.Problem `json:"problems,omitempty"`
}

// Change says how a message differs.
type Change string

// The changes. A message is modified if the message at the same place has the same role and different content.
const (
	Added     Change = "added"
	Removed   Change = "removed"
	Modified  Change = "modified"
	Unchanged Change = "unchanged"
)

// Operation is one step from one session to the other. Indexes count messages; -1 means none.
type Operation struct {
	Type     Change           `json:"type"`
	IndexA   int              `json:"indexA"`
	IndexB   int              `json:"indexB"`
	MessageA *history.Message `json:"messageA,omitempty"`
	MessageB *history.Message `json:"messageB,omitempty"`
}

// Difference lists the steps that turn session A into session B.
type Difference struct {
	A          history.Summary `json:"a"`
	B          history.Summary `json:"b"`
	Operations []Operation     `json:"operations"`
	Added      int             `json:"added"`
	Removed    int             `json:"removed"`
	Modified   int             `json:"modified"`
	Unchanged  int             `json:"unchanged"`
}

// Format is an export format.
type Format string

// The formats.
const (
	JSON     Format = "json"     // one document
	JSONL    Format = "jsonl"    // a header line, then one message per line
	Markdown Format = "markdown" // for people to read
)

// WatchOptions configure a watch.
type WatchOptions struct {
	// Replay yields the existing events first.
	Replay bool
	// Quiet, if positive, ends the watch when nothing was written for that long.
	Quiet time.Duration
}
