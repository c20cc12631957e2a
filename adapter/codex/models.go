package codex

import (
	"encoding/json"
	"slices"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/adapter/kit/vendormodel"
	"github.com/drawbar/drawbar/execution"
)

// Every model of the catalogue thinks, with at least these efforts.
var efforts = []execution.ThinkingEffort{execution.EffortLow, execution.EffortMedium, execution.EffortHigh, execution.EffortMax}

func model(id, name string, window int64) execution.Model {
	return execution.Model{ID: id, DisplayName: name, Provider: "openai", ContextWindow: window,
		Protocol: execution.ProtocolResponses, Abilities: execution.Abilities{Thinking: new(true)}, ThinkingEfforts: slices.Clone(efforts), Price: vendormodel.Price(id)}
}

func succeeded(m execution.Model, by string) execution.Model {
	m.Deprecated, m.Successor = true, by
	return m
}

// models are those of Codex 0.171.0's visible catalogue, with its context windows, followed by older ones with a
// known price, which Codex accepts with a warning. A price is stated only if there is evidence for it.
func models() []execution.Model {
	return []execution.Model{
		model("gpt-6.2-sol", "GPT-6.2-Sol", 500_000),
		model("gpt-6.2-astra", "GPT-6.2-Astra", 272_000),
		model("gpt-6.1-terra", "GPT-6.1 Terra", 500_000),
		model("gpt-6.1-sol", "GPT-6.1-Sol", 500_000),
		model("gpt-6-astra", "GPT-6-Astra", 272_000),
		model("gpt-6-sol", "GPT-6-Sol", 272_000),
		model("gpt-6-luna", "GPT-6-Luna", 272_000),
		succeeded(model("gpt-5.6-sol", "GPT-5.6-Sol", 272_000), "gpt-6-sol"),
		succeeded(model("gpt-5.6-terra", "GPT-5.6-Terra", 272_000), "gpt-6-sol"),
		succeeded(model("gpt-5.6-luna", "GPT-5.6-Luna", 272_000), "gpt-6-luna"),
		succeeded(model("gpt-5.5", "GPT-5.5", 272_000), "gpt-6-sol"),
		model("gpt-5.4", "GPT-5.4", 0),
		model("gpt-5.3-codex", "GPT-5.3-Codex", 0),
		model("gpt-5-codex", "GPT-5-Codex", 0),
		model("gpt-5.1-codex-mini", "GPT-5.1-Codex-Mini", 0),
	}
}

// topEffort are the models with an effort above xhigh.
var topEffort = []string{"gpt-6.2-sol", "gpt-6.2-astra", "gpt-6.1-sol", "gpt-6-astra", "gpt-6-sol", "gpt-6-luna",
	"gpt-6.1-terra", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna"}

// effortWord returns Codex's name of an effort. The highest one depends on the model: max if the catalogue has it,
// else xhigh, which every model accepts.
func effortWord(e execution.ThinkingEffort, model string) string {
	if e != execution.EffortMax {
		return string(e)
	}
	if slices.Contains(topEffort, model) {
		return "max"
	}
	return "xhigh"
}

// modelList is Codex's catalogue for the account that is logged in, else the one that it contains.
var modelList = declared.ModelTable{Args: []string{"debug", "models"}, Rows: func(said adapter.SpawnOutcome) (list []execution.Model, err error) {
	var found struct {
		Models []struct {
			Slug, Visibility string
			DisplayName      string                    `json:"display_name"`
			ContextWindow    float64                   `json:"context_window"`
			Input            []string                  `json:"input_modalities"`
			Levels           []struct{ Effort string } `json:"supported_reasoning_levels"`
			Upgrade          *struct{ Model string }
		}
	}
	err = json.Unmarshal([]byte(said.Stdout), &found)
	for _, m := range found.Models {
		if m.Visibility != "list" {
			continue
		}
		one := model(m.Slug, m.DisplayName, declared.Tokens(m.ContextWindow))
		var efforts []string
		for _, l := range m.Levels {
			efforts = append(efforts, l.Effort)
		}
		one.ThinkingEfforts, one.Thinking = declared.Efforts(efforts), new(len(efforts) > 0)
		if len(m.Input) > 0 {
			one.ImageInput = new(slices.Contains(m.Input, "image"))
		}
		if m.Upgrade != nil && m.Upgrade.Model != "" {
			one = succeeded(one, m.Upgrade.Model)
		}
		list = append(list, one)
	}
	return list, err
}}
