package execution

// TurnEndReason says how a turn ended.
type TurnEndReason string

// The reasons a turn ends.
const (
	TurnCompleted    TurnEndReason = "completed"
	TurnFailed       TurnEndReason = "failed"
	TurnInterrupted  TurnEndReason = "interrupted"
	TurnLimitReached TurnEndReason = "turn_limit"
	TurnBudget       TurnEndReason = "budget"
)

var turnEndReasons = []TurnEndReason{TurnCompleted, TurnFailed, TurnInterrupted, TurnLimitReached, TurnBudget}

// RiskLevel is how dangerous a requested action is.
type RiskLevel string

// The risk levels.
const (
	RiskLow    RiskLevel = "low"
	RiskMedium RiskLevel = "medium"
	RiskHigh   RiskLevel = "high"
)

var riskLevels = []RiskLevel{RiskLow, RiskMedium, RiskHigh}

// TimeoutKind is the limit that was reached: of the whole run or of inactivity.
type TimeoutKind string

// The kinds of timeout.
const (
	TimeoutRun        TimeoutKind = "run"
	TimeoutInactivity TimeoutKind = "inactivity"
)

var timeoutKinds = []TimeoutKind{TimeoutRun, TimeoutInactivity}

// DebugLevel is the level of a debug event.
type DebugLevel string

// The debug levels.
const (
	DebugVerbose DebugLevel = "verbose"
	DebugInfo    DebugLevel = "info"
	DebugWarn    DebugLevel = "warn"
)

var debugLevels = []DebugLevel{DebugVerbose, DebugInfo, DebugWarn}

// LogSource is the stream a line came from.
type LogSource string

// The sources of a log line.
const (
	LogStdout LogSource = "stdout"
	LogStderr LogSource = "stderr"
)

var logSources = []LogSource{LogStdout, LogStderr}

// InputSource is who asks for input.
type InputSource string

// The sources of an input question.
const (
	InputFromAgent InputSource = "agent"
	InputFromTool  InputSource = "tool"
)

var inputSources = []InputSource{InputFromAgent, InputFromTool}

// Question is a pending question of a run: an approval_request or an input_required without an answer.
type Question struct {
	ID        QuestionID `json:"id"`
	Body      Body       `json:"-"`         // ApprovalRequired or InputRequired
	CreatedAt int64      `json:"createdAt"` // ms
}

// Approval reports whether the question asks for permission rather than for text.
func (q Question) Approval() (ApprovalRequired, bool) {
	a, ok := q.Body.(ApprovalRequired)
	return a, ok
}
