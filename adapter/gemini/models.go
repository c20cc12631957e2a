package gemini

import (
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/vendormodel"
	"github.com/drawbar/drawbar/execution"
)

// modelFlag chooses the model of a run.
const modelFlag = "--model"

// window and output are the context window that Gemini CLI assumes for every Gemini model, and Google's output limit
// for all of them.
const (
	window      = 1_048_576
	outputLimit = 65_536
	gemmaWindow = 256_000
)

// models are those that Gemini CLI 0.61.0 knows by name; other names are passed on unchanged. auto lets it choose
// between its Pro and its Flash model; an alias's model depends on the account, and the one stated here is that of an
// account without early access. Only prices that are one number are stated: Pro models cost more for prompts above
// 200,000 tokens, and the price of Gemini 3.8 Flash is introductory.
func models() []execution.Model {
	return []execution.Model{
		{ID: "auto", Aliases: []string{"auto-gemini-3"}, DisplayName: "Auto", Provider: "google", ContextWindow: window, MaxOutputTokens: outputLimit,
			Protocol: execution.ProtocolCustom},
		model("gemini-3.1-pro-preview", "Gemini 3.1 Pro", "gemini-3.1-pro-preview-customtools"),
		model("gemini-3-pro-preview", "Gemini 3 Pro", "pro"),
		model("gemini-3.8-flash", "Gemini 3.8 Flash"),
		model("gemini-3.5-flash", "Gemini 3.5 Flash"),
		model("gemini-3-flash-preview", "Gemini 3 Flash", "flash", "gemini-3-flash"),
		model("gemini-3.5-flash-lite", "Gemini 3.5 Flash-Lite"),
		model("gemini-3.1-flash-lite", "Gemini 3.1 Flash-Lite", "flash-lite"),
		model("gemini-2.5-pro", "Gemini 2.5 Pro", "auto-gemini-2.5"),
		model("gemini-2.5-flash", "Gemini 2.5 Flash"),
		model("gemini-2.5-flash-lite", "Gemini 2.5 Flash-Lite"),
		{ID: "gemma-4-31b-it", DisplayName: "Gemma 4 31B", Provider: "google", ContextWindow: gemmaWindow, Protocol: execution.ProtocolCustom},
		{ID: "gemma-4-26b-a4b-it", DisplayName: "Gemma 4 26B A4B", Provider: "google", ContextWindow: gemmaWindow, Protocol: execution.ProtocolCustom},
	}
}

// model returns a Gemini model. All of them think; the effort cannot be set for one run.
func model(id, display string, aliases ...string) execution.Model {
	return execution.Model{ID: id, Aliases: aliases, DisplayName: display, Provider: "google", ContextWindow: window, MaxOutputTokens: outputLimit,
		Protocol: execution.ProtocolCustom, Abilities: execution.Abilities{Thinking: new(true)}, Price: vendormodel.Price(id)}
}

// aside reports whether calls of a model are Gemini CLI's own requests, such as the summary of an earlier session at
// the next start: those go to a Flash-Lite model, and do not belong to the run unless it uses one itself.
func aside(model, own string) bool {
	return strings.Contains(model, "flash-lite") && !strings.Contains(own, "flash-lite")
}
