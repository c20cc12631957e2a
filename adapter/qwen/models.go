package qwen

import "github.com/drawbar/drawbar/execution"

// tiers are the thinking efforts that Qwen Code has for models of whose efforts it knows nothing more.
var tiers = []execution.ThinkingEffort{execution.EffortLow, execution.EffortMedium, execution.EffortHigh, execution.EffortMax}

// windows of Qwen Code's own table
const (
	million   = 1_000_000
	quarter   = 262_144
	output32k = 32_768
	output64k = 65_536
)

// models are those of Alibaba that Qwen Code 0.24.4 offers, with the windows and limits it works with. Qwen Code itself runs
// with any model behind an API it speaks. Alibaba's prices grow with the length of the prompt and differ between thinking
// and not, which a price cannot say, so they have none; that of qwen-max does not.
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
	return execution.Model{ID: id, DisplayName: display, Aliases: aliases, Provider: "alibaba", ContextWindow: window, MaxOutputTokens: output}
}

// thinks is a model whose thinking can be switched off and has no degrees.
func thinks(m execution.Model) execution.Model {
	m.Thinking = true
	return m
}

// graded is a model with degrees of thinking: two of these, and above them one that no effort stands for, its default.
func graded(m execution.Model) execution.Model {
	m.Thinking, m.ThinkingEfforts = true, []execution.ThinkingEffort{execution.EffortLow, execution.EffortMedium}
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
