package sessions

import "time"

// CostGroupBy is what a report is divided by.
type CostGroupBy string

// The divisions of a report.
const (
	GroupDay     CostGroupBy = "day"   // 2006-01-02, in the query's location
	GroupMonth   CostGroupBy = "month" // 2006-01
	GroupAgent   CostGroupBy = "agent"
	GroupModel   CostGroupBy = "model"
	GroupProject CostGroupBy = "project" // the directory the agent worked in
	GroupSession CostGroupBy = "session" // agent:id
)

// Groupings are all divisions.
func Groupings() []CostGroupBy {
	return []CostGroupBy{GroupDay, GroupMonth, GroupAgent, GroupModel, GroupProject, GroupSession}
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

// CostSum is what a number of calls used. TotalUSD is too low by the unpriced calls.
type CostSum struct {
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
}

// CostGroup is one part of a report.
type CostGroup struct {
	Key    string   `json:"key"`
	Models []string `json:"models"` // that were called, in order
	CostSum
}

// Costs are what agents used. Days, months and sessions that have nothing are not in it.
type Costs struct {
	Currency       string        `json:"currency"`
	GroupBy        CostGroupBy   `json:"groupBy"`
	TimeZone       string        `json:"timezone"`
	Total          CostSum       `json:"total"`
	Groups         []CostGroup   `json:"groups"`         // days and months in order, others with the dearest first
	UnpricedModels []string      `json:"unpricedModels"` // models with calls that have no price
	Problems       []CostProblem `json:"problems"`
	Files          int           `json:"files"`
	Bytes          int64         `json:"bytes"`
	BytesRead      int64         `json:"bytesRead"` // what was not known from an earlier report
}

// CostProblem is a file that could not be read, or not wholly. What could be read of it is counted.
type CostProblem struct {
	Agent string `json:"agent"`
	File  string `json:"file"`
	Error string `json:"error"`
}

// CostQuery selects what Client.SessionCosts adds up and says by what it is divided. The zero query is everything by agent.
type CostQuery struct {
	By       CostGroupBy // agent when empty
	Since    time.Time   // calls at or after it
	Until    time.Time   // calls before it
	Agent    string
	Model    string         // as the agent writes it, or an id or alias that this stands for
	Project  string         // calls in this directory and those below it
	Tag      string         // calls of the sessions of Drawbar's own runs with this tag
	Location *time.Location // of days and months; nil: local time
}
