package copilot

import (
	"encoding/json"
	"fmt"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// negotiate adds limitations that depend on the session, the attachments and the environment.
func negotiate(req execution.Request) []execution.Reason {
	var reasons []execution.Reason
	add := func(severity execution.Severity, code execution.ReasonCode, capability, format string, args ...any) {
		reasons = append(reasons, execution.Reason{Code: code, Severity: severity, Capability: capability, Message: fmt.Sprintf(format, args...)})
	}
	if req.Context != nil && len(req.Context.Structured) > 0 {
		if _, err := json.Marshal(req.Context.Structured); err != nil {
			add(execution.SeverityBlocking, execution.ReasonOther, "context", "the structured context is not JSON: %v", err)
		}
	}
	for i, a := range req.Message.Attachments {
		capability := fmt.Sprintf("attachments[%d]", i)
		if a.URL != "" {
			if _, _, inline := cliagent.DataURL(a.URL); !inline {
				add(execution.SeverityBlocking, execution.ReasonAttachmentsUnsupported, capability,
					"copilot takes no address of a file; give it as a file, as base64 or as a data: URL")
				continue
			}
		}
		switch t := cliagent.MediaType(a); cliagent.MediaOf(t) {
		case cliagent.MediaOther, cliagent.MediaAudio, cliagent.MediaPDF:
			add(execution.SeverityBlocking, execution.ReasonAttachmentsUnsupported, capability, "attachment %s: %s, no %s",
				cliagent.AttachmentTitle(a, i), takes, t)
		}
	}
	return reasons
}
