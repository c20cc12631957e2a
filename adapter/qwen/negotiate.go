package qwen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// negotiate adds limitations that depend on the way the request has to go, and on its attachments.
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
	if twoWay(req) && len(run.OutputSchema) > 0 {
		add(execution.SeverityBlocking, execution.ReasonOther, "structuredOutput",
			"qwen gives structured output in one-shot mode only: not in a conversation, with questions, images or a thinking effort")
	}
	if run.ThinkingEffort != "" {
		for _, m := range models() {
			if (m.ID == run.Model || slices.Contains(m.Aliases, run.Model)) && !slices.Contains(m.ThinkingEfforts, run.ThinkingEffort) {
				add(execution.SeverityBlocking, execution.ReasonOther, "thinking", "qwen has no thinking effort %s for model %s, it has: %s",
					run.ThinkingEffort, run.Model, efforts(m))
			}
		}
	}
	if _, fork := cliagent.SessionOf(req); fork && twoWay(req) {
		add(execution.SeverityBlocking, execution.ReasonOther, "fork",
			"qwen forks a session in one-shot mode only; fork it with a run that takes one prompt, then continue the fork")
	}
	for i, a := range req.Message.Attachments {
		capability := fmt.Sprintf("attachments[%d]", i)
		mediaType := cliagent.MediaType(a)
		switch kind := cliagent.MediaOf(mediaType); {
		case kind == cliagent.MediaOther || kind == cliagent.MediaPDF:
			add(execution.SeverityBlocking, execution.ReasonAttachmentsUnsupported, capability,
				"attachment %s: qwen accepts PNG, JPEG, GIF and WebP images and text, no %s", cliagent.AttachmentTitle(a, i), mediaType)
		case a.URL != "":
			if _, _, ok := cliagent.DataURL(a.URL); !ok {
				add(execution.SeverityBlocking, execution.ReasonAttachmentsUnsupported, capability,
					"qwen accepts no URL of an image; give it as a file, as base64 or as a data: URL")
			}
		}
	}
	return reasons
}

// efforts lists the efforts of a model for an error.
func efforts(m execution.Model) string {
	var words []string
	for _, e := range m.ThinkingEfforts {
		words = append(words, string(e))
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}
