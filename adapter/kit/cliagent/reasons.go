package cliagent

import (
	"encoding/json"
	"fmt"

	"github.com/drawbar/drawbar/execution"
)

// Reasons are the findings of an adapter's Negotiate.
type Reasons []execution.Reason

// NewReasons returns the findings that hold for every agent: a structured context must be JSON.
func NewReasons(req execution.Request) (r Reasons) {
	if req.Context != nil && len(req.Context.Structured) > 0 {
		if _, err := json.Marshal(req.Context.Structured); err != nil {
			r.Add(execution.SeverityBlocking, "context", "the structured context is not JSON: %v", err)
		}
	}
	return r
}

// Refuse adds that the attachment at an index is not supported.
func (r *Reasons) Refuse(i int, format string, args ...any) {
	r.Add(execution.SeverityBlocking, fmt.Sprintf("attachments[%d]", i), format, args...)
	(*r)[len(*r)-1].Code = execution.ReasonAttachmentsUnsupported
}

// Add adds a finding about a capability.
func (r *Reasons) Add(severity execution.Severity, capability, format string, args ...any) {
	*r = append(*r, execution.Reason{Code: execution.ReasonOther, Severity: severity, Capability: capability, Message: fmt.Sprintf(format, args...)})
}

// Attachments adds the attachments that the agent does not accept: URLs, and the media types that refused reports. accepts lists
// the others for the message.
func (r *Reasons) Attachments(agent, accepts string, list []execution.Attachment, refused func(Media, string) bool) {
	for i, a := range list {
		_, _, inline := execution.DataURL(a.URL)
		switch t := a.MediaType(); {
		case refused(MediaOf(t), t):
			r.Refuse(i, "attachment %s: %s accepts %s, no %s", AttachmentTitle(a, i), agent, accepts, t)
		case a.URL != "" && !inline:
			r.Refuse(i, "%s accepts no URL of an attachment; give it as a file, as base64 or as a data: URL", agent)
		}
	}
}
