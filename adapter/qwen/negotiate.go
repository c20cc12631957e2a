package qwen

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// negotiate adds limitations that depend on the way the request has to go, and on its attachments.
func negotiate(req execution.Request) []execution.Reason {
	reasons := cliagent.NewReasons(req)
	run := req.Run
	if twoWay(req) && len(run.OutputSchema) > 0 {
		reasons.Add(execution.SeverityBlocking, "structuredOutput",
			"qwen gives structured output in one-shot mode only: not in a conversation, with questions, images or a thinking effort")
	}
	if run.ThinkingEffort != "" {
		for _, m := range models() {
			if (m.ID == run.Model || slices.Contains(m.Aliases, run.Model)) && !slices.Contains(m.ThinkingEfforts, run.ThinkingEffort) {
				reasons.Add(execution.SeverityBlocking, "thinking", "qwen has no thinking effort %s for model %s, it has: %s",
					run.ThinkingEffort, run.Model, efforts(m))
			}
		}
	}
	if _, fork := cliagent.SessionOf(req); fork && twoWay(req) {
		reasons.Add(execution.SeverityBlocking, "fork",
			"qwen forks a session in one-shot mode only; fork it with a run that takes one prompt, then continue the fork")
	}
	reasons.Attachments(name, "PNG, JPEG, GIF and WebP images and text", req.Message.Attachments, func(kind cliagent.Media, _ string) bool {
		return kind == cliagent.MediaOther || kind == cliagent.MediaPDF
	})
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
