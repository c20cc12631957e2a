package gemini

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// documents are the types besides images, audio, PDF and text that Gemini's models read.
var documents = []string{"image/heic", "image/heif"}

// negotiate adds limitations that capabilities cannot express.
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
	if _, added := cliagent.Instructions(req); added != "" && req.Run.SystemPromptMode == "" {
		add(execution.SeverityInfo, execution.ReasonOther, "systemPromptMode", "gemini has no place for added instructions; they go in front of the message")
	}
	if req.Run.MaxBudgetUSD != nil {
		add(execution.SeverityBlocking, execution.ReasonOther, "budget", "gemini has no budget of its own and states what it used only when a turn has ended")
	}
	for i, a := range req.Message.Attachments {
		capability := fmt.Sprintf("attachments[%d]", i)
		_, _, inline := cliagent.DataURL(a.URL)
		switch t := cliagent.MediaType(a); {
		case a.URL != "" && !inline:
			add(execution.SeverityBlocking, execution.ReasonAttachmentsUnsupported, capability,
				"gemini takes no address of an attachment; give it as a file, as base64 or as a data: URL")
		case cliagent.MediaOf(t) == cliagent.MediaOther && !slices.Contains(documents, t):
			add(execution.SeverityBlocking, execution.ReasonAttachmentsUnsupported, capability,
				"attachment %s: gemini takes images, audio, PDF and text, no %s", cliagent.AttachmentTitle(a, i), t)
		}
	}
	return reasons
}
