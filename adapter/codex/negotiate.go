package codex

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// negotiate adds limitations that depend on the session, the attachments and the environment.
func negotiate(req execution.Request) []execution.Reason {
	var reasons []execution.Reason
	add := func(severity execution.Severity, code execution.ReasonCode, capability, format string, args ...any) {
		reasons = append(reasons, execution.Reason{Code: code, Severity: severity, Capability: capability, Message: fmt.Sprintf(format, args...)})
	}
	run := req.Run
	if req.Context != nil && len(req.Context.Structured) > 0 {
		if _, err := json.Marshal(req.Context.Structured); err != nil {
			add(execution.SeverityBlocking, execution.ReasonOther, "context", "the structured context is not JSON: %v", err)
		}
	}
	if q := req.Requirements; q != nil && q.ApprovalInterrupts == execution.SupportNone && mode(run) == execution.ApprovalPrompt && asks(req) {
		add(execution.SeverityInfo, execution.ReasonApprovalInterruptUnsupported, "approvalInterrupts",
			"codex asks when something leads out of its sandbox; state approval mode deny to have it refused unasked")
	}
	if run.ThinkingEffort == execution.EffortMax && !slices.Contains(topEffort, run.Model) {
		which := "the default model"
		if run.Model != "" {
			which = "model " + run.Model
		}
		add(execution.SeverityInfo, execution.ReasonOther, "thinking", "the highest effort that is known of %s is xhigh; it is used for max", which)
	}
	for i, a := range req.Message.Attachments {
		capability := fmt.Sprintf("attachments[%d]", i)
		switch t := cliagent.MediaType(a); {
		case !takes(cliagent.MediaOf(t)):
			add(execution.SeverityBlocking, execution.ReasonAttachmentsUnsupported, capability,
				"attachment %s: codex takes PNG, JPEG, GIF and WebP images and text, no %s", cliagent.AttachmentTitle(a, i), t)
		case a.URL != "":
			if _, _, ok := cliagent.DataURL(a.URL); !ok {
				add(execution.SeverityBlocking, execution.ReasonAttachmentsUnsupported, capability,
					"codex takes no address of an image; give it as a file, as base64 or as a data: URL")
			}
		}
	}
	return reasons
}
