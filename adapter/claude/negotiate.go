package claude

import (
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// negotiate adds limitations that depend on the model, the session and the attachments.
func negotiate(req execution.Request) []execution.Reason {
	reasons := cliagent.NewReasons(req)
	run := req.Run
	if run.ThinkingBudgetTokens > 0 && !oneOfModels(run.Model, budgeted) {
		which := "the default model"
		if run.Model != "" {
			which = "model " + run.Model
		}
		reasons.Add(execution.SeverityWarning, "thinkingBudgetTokens",
			"%s thinks as much as it finds right; claude passes a budget on to %s only", which, strings.Join(budgeted, ", "))
	}
	if run.ThinkingEffort != "" && run.ThinkingBudgetTokens == 0 && oneOfModels(run.Model, effortless()) {
		reasons.Add(execution.SeverityWarning, "thinking", "model %s has no thinking effort; it is ignored", run.Model)
	}
	if run.ThinkingEffort != "" && run.ThinkingBudgetTokens > 0 {
		reasons.Add(execution.SeverityInfo, "thinking", "the thinking budget wins over the thinking effort")
	}
	if run.Interactive && run.MaxTurns > 0 {
		reasons.Add(execution.SeverityInfo, "maxTurns", "claude counts the turn limit anew with each message")
	}
	if run.MaxBudgetUSD != nil && *run.MaxBudgetUSD == 0 {
		reasons.Add(execution.SeverityBlocking, "budget", "claude takes no budget of 0; state one above it, or none")
	}
	if len(run.OutputSchema) > maxSchema {
		if _, err := compactSchema(run.OutputSchema); err != nil {
			reasons.Add(execution.SeverityBlocking, "structuredOutput", "%v", err)
		}
	}
	for i, a := range req.Message.Attachments {
		switch kind := cliagent.MediaOf(a.MediaType()); {
		case kind == cliagent.MediaOther || kind == cliagent.MediaAudio:
			reasons.Refuse(i,
				"attachment %s: claude takes PNG, JPEG, GIF and WebP images, PDF and text, no %s", cliagent.AttachmentTitle(a, i), a.MediaType())
		case isAddress(a) && kind != cliagent.MediaImage && kind != cliagent.MediaPDF:
			reasons.Refuse(i,
				"claude takes a URL of an image or a PDF only; state the mimeType if the name does not tell")
		}
	}
	return reasons
}

// oneOfModels matches a model id with or without a date and a window suffix.
func oneOfModels(id string, list []string) bool {
	for _, m := range list {
		if rest, ok := strings.CutPrefix(id, m); ok && (rest == "" || rest[0] == '-' && len(rest) == 9 || rest[0] == '[') {
			return true
		}
	}
	return false
}
