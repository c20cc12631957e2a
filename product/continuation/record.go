package continuation

import (
	"encoding/json"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// Status is how far a continuation is.
type Status string

// The statuses. The last five are final.
const (
	Pending    Status = "pending"
	Resuming   Status = "resuming"
	Completed  Status = "completed"
	Cancelled  Status = "cancelled"
	Expired    Status = "expired"
	Superseded Status = "superseded"
	Failed     Status = "failed"
)

// Final reports whether nothing follows.
func (s Status) Final() bool { return s != Pending && s != Resuming }

// Reason is why a continuation ended.
type Reason string

// The reasons.
const (
	ReasonCompleted   Reason = "completed"
	CancelledByUser   Reason = "cancelled_by_user"
	CancelledByUs     Reason = "cancelled_by_product"
	ExpiredTTL        Reason = "expired_ttl"
	SupersededByTurn  Reason = "superseded_by_newer_turn"
	ApprovalDenied    Reason = "approval_denied"
	AttemptsUsedUp    Reason = "max_resume_attempts_reached"
	ResumeFailed      Reason = "resume_runtime_error"
	ResumedTurnFailed Reason = "resumed_turn_failed" // the turn ended as failed or unsupported
)

// status is the status of a continuation that ended for a reason.
func (r Reason) status() Status {
	switch r {
	case ReasonCompleted:
		return Completed
	case SupersededByTurn:
		return Superseded
	case ExpiredTTL:
		return Expired
	case CancelledByUser, CancelledByUs, ApprovalDenied:
		return Cancelled
	}
	return Failed
}

// Kind is what a continuation waits for.
type Kind string

// The kinds.
const (
	UserReply          Kind = "user_reply"
	ApprovalResolution Kind = "approval_resolution"
	ExternalResult     Kind = "external_result"
	ScheduledWake      Kind = "scheduled_wake"
)

// WaitFor is what resumes a continuation.
type WaitFor struct {
	Kind           Kind      `json:"type"`
	CorrelationKey string    `json:"correlationKey,omitempty"` // user_reply: of the reply; empty takes any
	ApprovalID     string    `json:"approvalId,omitempty"`
	OperationID    string    `json:"operationId,omitempty"`
	WakeUpID       string    `json:"wakeUpId,omitempty"`
	WakeAt         time.Time `json:"wakeAt,omitzero"`
}

// Decisions of an approval.
const (
	Approved = "approved"
	Denied   = "denied"
)

// Trigger is what happened. Its ids must be those that the continuation waits for.
type Trigger struct {
	Kind           Kind               `json:"type"`
	SessionID      string             `json:"sessionId,omitempty"` // must be that of the record, if both have one
	CorrelationKey string             `json:"correlationKey,omitempty"`
	Message        *execution.Message `json:"message,omitempty"` // user_reply
	ApprovalID     string             `json:"approvalId,omitempty"`
	Decision       string             `json:"decision,omitempty"` // Approved or Denied
	By             string             `json:"by,omitempty"`
	Comment        string             `json:"comment,omitempty"`
	OperationID    string             `json:"operationId,omitempty"`
	Payload        json.RawMessage    `json:"payload,omitempty"` // external_result
	WakeUpID       string             `json:"wakeUpId,omitempty"`
}

// Reply is the trigger that a person's answer is: approve or deny where an approval is waited for, else a message.
func (r Record) Reply(text string) Trigger {
	t := Trigger{Kind: r.WaitFor.Kind, SessionID: r.SessionID, ApprovalID: r.WaitFor.ApprovalID}
	switch {
	case t.Kind == UserReply:
		t.Message = &execution.Message{ID: "reply", Text: execution.Prompt(text), ReceivedAt: time.Now().UTC()}
	case text == "approve":
		t.Decision = Approved
	case text == "deny":
		t.Decision = Denied
	}
	return t
}

// fits reports why a trigger does not resume a record; empty if it does.
func (w WaitFor) fits(t Trigger) string {
	switch {
	case t.Kind != w.Kind:
		return "it waits for " + string(w.Kind) + ", not " + string(t.Kind)
	case w.CorrelationKey != "" && t.CorrelationKey != w.CorrelationKey:
		return "the reply belongs to something else"
	case t.ApprovalID != w.ApprovalID:
		return "the approval is of another question"
	case w.Kind == ApprovalResolution && t.Decision != Approved && t.Decision != Denied:
		return "the decision is neither approved nor denied"
	case t.OperationID != w.OperationID:
		return "the result is of another operation"
	case t.WakeUpID != w.WakeUpID:
		return "the wake-up is another one"
	case w.Kind == UserReply && t.Message == nil:
		return "the reply has no message"
	}
	return ""
}

// DeliveryStatus is how far the answer of a resumed turn is.
type DeliveryStatus string

// The statuses of a delivery.
const (
	NotApplicable   DeliveryStatus = "not_applicable" // there is no answer
	PendingDelivery DeliveryStatus = "pending_delivery"
	Delivered       DeliveryStatus = "delivered"
	SuppressedBack  DeliveryStatus = "suppressed_session_reengaged"
	DeliveryFailed  DeliveryStatus = "delivery_failed"
)

// Delivery is where the answer of the resumed turn goes.
type Delivery struct {
	Surfaces           []string       `json:"surfaceIds,omitempty"`
	Done               []string       `json:"deliveredSurfaceIds,omitempty"` // of Surfaces, those that have it
	SuppressIfReturned bool           `json:"suppressIfSessionReengaged,omitempty"`
	Status             DeliveryStatus `json:"status"`
	Text               string         `json:"text,omitempty"`
	Attempts           int            `json:"attempts,omitempty"`
	LastAttemptAt      time.Time      `json:"lastDeliveryAttemptAt,omitzero"`
	DeliveredAt        time.Time      `json:"deliveredAt,omitzero"`
	Error              string         `json:"error,omitempty"`
}

// Origin is the turn that could not end.
type Origin struct {
	TurnID     string               `json:"turnId"`
	Outcome    execution.Status     `json:"outcome"`
	StopReason execution.ExitReason `json:"stopReason,omitempty"`
	CreatedAt  time.Time            `json:"createdAt"`
}

// Bounds limit a continuation.
type Bounds struct {
	ExpiresAt   time.Time `json:"expiresAt"`
	MaxAttempts int       `json:"maxResumeAttempts"`
	Attempts    int       `json:"resumeAttempts"`
}

// Record is a continuation as it is kept.
type Record struct {
	ID            string                 `json:"id"`
	AssistantID   string                 `json:"assistantId"`
	SessionID     string                 `json:"sessionId,omitempty"`
	ThreadID      string                 `json:"threadId,omitempty"`
	UserID        string                 `json:"userId,omitempty"`
	Origin        Origin                 `json:"origin"`
	Status        Status                 `json:"status"`
	WaitFor       WaitFor                `json:"waitFor"`
	Continuation  execution.Continuation `json:"continuation"`
	Delivery      Delivery               `json:"delivery"`
	Bounds        Bounds                 `json:"bounds"`
	CreatedAt     time.Time              `json:"createdAt"`
	UpdatedAt     time.Time              `json:"updatedAt"`
	LastResumedAt time.Time              `json:"lastResumedAt,omitzero"`
	HeldUntil     time.Time              `json:"heldUntil,omitzero"` // a resuming record is given up then: its process is gone
	Reason        Reason                 `json:"terminalReason,omitempty"`
	Metadata      map[string]any         `json:"metadata,omitempty"`
	Version       int64                  `json:"version"` // of the record in its store, from 1
}

// due is when a Runtime has to look at the record again; zero is never.
func (r Record) due() time.Time {
	switch {
	case r.Status == Resuming:
		return r.HeldUntil
	case r.Status == Pending && r.WaitFor.Kind == ScheduledWake && r.WaitFor.WakeAt.Before(r.Bounds.ExpiresAt):
		return r.WaitFor.WakeAt
	case r.Status == Pending:
		return r.Bounds.ExpiresAt
	case r.Delivery.Status == PendingDelivery:
		if r.Delivery.Attempts == 0 {
			return r.UpdatedAt
		}
		return r.Delivery.LastAttemptAt.Add(deliveryPause << (r.Delivery.Attempts - 1))
	}
	return time.Time{}
}
