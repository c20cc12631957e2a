package sessions

import "time"

// CostGroupBy is the key by which a report is grouped.
type CostGroupBy string

// The keys of a report.
const (
	GroupDay     CostGroupBy = "day"   // 2006-01-02, in the query's location
	GroupMonth   CostGroupBy = "month" // 2006-01
	GroupAgent   CostGroupBy = "agent"
	GroupModel   CostGroupBy = "model"
	GroupProject CostGroupBy = "project" // the directory the agent worked in
	GroupSession CostGroupBy = "session" // agent:id
)

// Groupings returns all keys.
func Groupings() []CostGroupBy {
	return []CostGroupBy{GroupDay, GroupMonth, GroupAgent, GroupModel, GroupProject, GroupSession}
}

// CostSource says where the amount of a sum comes from.
type CostSource string

// The sources of an amount.
const (
	CostStated    CostSource = "stated"    // stated by the agents
	CostEstimated CostSource = "estimated" // tokens times the price table
	CostMixed     CostSource = "mixed"
	CostUnpriced  CostSource = "unpriced" // no price is known
)

// CostSum is the usage of a number of calls. TotalUSD does not include unpriced calls.
type CostSum struct {
	Calls            int   `json:"calls"`
	Sessions         int   `json:"sessions"`
	SubAgentCalls    int   `json:"subAgentCalls"`
	InputTokens      int64 `json:"inputTokens"` // without cached tokens
	OutputTokens     int64 `json:"outputTokens"`
	ThinkingTokens   int64 `json:"thinkingTokens"` // part of the output tokens
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
}

// CostGroup is one group of a report.
type CostGroup struct {
	Key    string   `json:"key"`
	Models []string `json:"models"` // models called, sorted
	CostSum
}

// Costs are what agents used. Days, months and sessions without usage are omitted.
type Costs struct {
	Currency       string        `json:"currency"`
	GroupBy        CostGroupBy   `json:"groupBy"`
	TimeZone       string        `json:"timezone"`
	Total          CostSum       `json:"total"`
	Groups         []CostGroup   `json:"groups"`         // days and months in order, others by descending cost
	UnpricedModels []string      `json:"unpricedModels"` // models of calls that have no price
	Problems       []CostProblem `json:"problems"`
	Files          int           `json:"files"`
	Bytes          int64         `json:"bytes"`
	BytesRead      int64         `json:"bytesRead"` // bytes not cached by an earlier report
}

// CostProblem is a file that could not be read completely. The part that was read is counted.
type CostProblem struct {
	Agent string `json:"agent"`
	File  string `json:"file"`
	Error string `json:"error"`
}

// CostQuery selects what Client.SessionCosts adds up and how it groups the sums. The zero query adds up
// everything by agent.
type CostQuery struct {
	By       CostGroupBy // agent if empty
	Since    time.Time   // calls at or after this time
	Until    time.Time   // calls before this time
	Agent    string
	Model    string         // as the agent writes it, or an id or alias of it
	Project  string         // calls in this directory or below it
	Tag      string         // calls in sessions of Drawbar's own runs with this tag
	Location *time.Location // time zone of days and months; nil: local time
}
