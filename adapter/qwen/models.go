package qwen

import "github.com/drawbar/drawbar/execution"

// modelFlag chooses the model of a run.
const modelFlag = "--model"

// tiers are the thinking efforts that Qwen Code offers for unknown models.
var tiers = []execution.ThinkingEffort{execution.EffortLow, execution.EffortMedium, execution.EffortHigh, execution.EffortMax}

// windows in Qwen Code's own table
const (
	million   = 1_000_000
	quarter   = 262_144
	output32k = 32_768
	output64k = 65_536
)

// models are the Alibaba models that Qwen Code 0.24.4 offers, with its windows and limits. Qwen Code runs any model
// of a supported API. Alibaba's prices depend on the prompt's length and on thinking, which a price cannot express,
// so only qwen-max has one.
func models() []execution.Model {
	return []execution.Model{
		thinks(model("qwen3.7-max", "Qwen3.7 Max", million, output64k)),
		graded(model("qwen3.8-max", "Qwen3.8 Max", million, output64k)),
		graded(model("qwen3.8-flash", "Qwen3.8 Flash", million, output64k)),
		thinks(model("qwen3.7-plus", "Qwen3.7 Plus", million, output64k)),
		thinks(model("qwen3.6-plus", "Qwen3.6 Plus", million, output64k)),
		thinks(model("qwen3.6-flash", "Qwen3.6 Flash", million, output64k)),
		thinks(model("qwen3.5-plus", "Qwen3.5 Plus", million, output64k)),
		thinks(model("qwen3-max-2026-01-23", "Qwen3 Max", quarter, output32k, "qwen3-max")),
		model("qwen3-coder-plus", "Qwen3 Coder Plus", million, output32k),
		model("qwen3-coder-flash", "Qwen3 Coder Flash", million, output32k),
		model("qwen3-coder-next", "Qwen3 Coder Next", quarter, output32k),
		priced(model("qwen-max", "Qwen Max", 32_768, 8_192), 1.6, 6.4, 0.64),
		succeeded(thinks(model("coder-model", "Qwen account", million, output64k)), "qwen3.7-max"),
	}
}

func model(id, display string, window, output int64, aliases ...string) execution.Model {
	return execution.Model{ID: id, DisplayName: display, Aliases: aliases, Provider: "alibaba", ContextWindow: window, MaxOutputTokens: output,
		Protocol: execution.ProtocolChat}
}

// thinks returns a model with optional thinking without efforts.
func thinks(m execution.Model) execution.Model {
	m.Thinking = new(true)
	return m
}

// graded returns a model with two of the thinking efforts, and a default above them that no effort stands for.
func graded(m execution.Model) execution.Model {
	m.Thinking, m.ThinkingEfforts = new(true), []execution.ThinkingEffort{execution.EffortLow, execution.EffortMedium}
	return m
}

func priced(m execution.Model, input, output, cacheRead float64) execution.Model {
	m.Price = &execution.Price{Input: input, Output: output, CacheRead: &cacheRead}
	return m
}

func succeeded(m execution.Model, by string) execution.Model {
	m.Deprecated, m.Successor = true, by
	return m
}
