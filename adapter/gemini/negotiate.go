package gemini

import (
	"slices"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// documents are the types besides images, audio, PDF and text that Gemini's models read.
var documents = []string{"image/heic", "image/heif"}

// negotiate adds limitations that capabilities cannot express.
func negotiate(req execution.Request) []execution.Reason {
	reasons := cliagent.NewReasons(req)
	if _, added := cliagent.Instructions(req); added != "" && req.Run.SystemPromptMode == "" {
		reasons.Add(execution.SeverityInfo, "systemPromptMode", "gemini has no place for added instructions; they go in front of the message")
	}
	if req.Run.MaxBudgetUSD != nil {
		reasons.Add(execution.SeverityBlocking, "budget", "gemini has no budget of its own and states what it used only when a turn has ended")
	}
	reasons.Attachments(name, "images, audio, PDF and text", req.Message.Attachments, func(kind cliagent.Media, mediaType string) bool {
		return kind == cliagent.MediaOther && !slices.Contains(documents, mediaType)
	})
	return reasons
}
