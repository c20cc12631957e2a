package claude

import (
	"encoding/json"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/adapter/kit/vendormodel"
	"github.com/drawbar/drawbar/execution"
)

// modelFlag chooses the model of a run.
const modelFlag = "--model"

var efforts = []execution.ThinkingEffort{execution.EffortLow, execution.EffortMedium, execution.EffortHigh, execution.EffortMax}

// models are those that Claude Code 2.1.332 offers or still knows, with the windows, output limits and prices that it
// uses itself; a cache write has the price of five minutes.
func models() []execution.Model {
	return []execution.Model{
		model("claude-opus-5-5", "Opus 5.5", 1_000_000, 128_000, "opus"),
		model("claude-fable-5-2", "Fable 5.2", 1_000_000, 128_000, "fable"),
		model("claude-sonnet-5-5", "Sonnet 5.5", 1_000_000, 128_000, "sonnet"),
		model("claude-haiku-5-5", "Haiku 5.5", 1_000_000, 128_000, "haiku"),
		model("claude-opus-4-8", "Opus 4.8", 1_000_000, 64_000),
		model("claude-sonnet-5", "Sonnet 5", 1_000_000, 64_000),
		model("claude-opus-4-6", "Opus 4.6", 200_000, 64_000),
		model("claude-sonnet-4-6", "Sonnet 4.6", 200_000, 32_000),
		model("claude-opus-4-5", "Opus 4.5", 200_000, 32_000),
		withoutEffort(model("claude-sonnet-4-5", "Sonnet 4.5", 200_000, 32_000)),
		withoutEffort(model("claude-haiku-4-5", "Haiku 4.5", 200_000, 32_000)),
	}
}

func model(id, display string, window, output int64, aliases ...string) execution.Model {
	return execution.Model{ID: id, DisplayName: display, Aliases: aliases, Provider: "anthropic", ContextWindow: window, MaxOutputTokens: output,
		Protocol: execution.ProtocolMessages, Abilities: execution.Abilities{Thinking: new(true)},
		ThinkingEfforts: append([]execution.ThinkingEffort(nil), efforts...), Price: vendormodel.Price(id)}
}

func withoutEffort(m execution.Model) execution.Model {
	m.ThinkingEfforts = nil
	return m
}

// effortless are the models without thinking efforts.
func effortless() (ids []string) {
	for _, m := range models() {
		if m.ThinkingEfforts == nil {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// budgeted are the models with a thinking budget in tokens. Later ones decide by effort.
var budgeted = []string{"claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5"}

// modelList is what Claude Code offers the account that is logged in. It answers a client's first request with it; no prompt follows.
var modelList = declared.ModelTable{
	Args:  []string{"--print", "--input-format=stream-json", "--output-format=stream-json", "--verbose", "--no-session-persistence", "--strict-mcp-config"},
	Env:   map[string]string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
	Stdin: `{"type":"control_request","request_id":"models","request":{"subtype":"initialize"}}` + "\n",
	Rows: func(said adapter.SpawnOutcome) (list []execution.Model, err error) {
		var reply struct {
			Type     string
			Response struct {
				Response struct {
					Models []struct {
						Value, ResolvedModel     string
						SupportedEffortLevels    []string
						SupportsAdaptiveThinking *bool
					}
				}
			}
		}
		for line := range strings.Lines(said.Stdout) {
			if err = json.Unmarshal([]byte(line), &reply); err == nil && reply.Type == "control_response" {
				break
			}
		}
		for _, m := range reply.Response.Response.Models {
			if m.Value == "default" { // another name of one of them
				continue
			}
			one := execution.Model{ID: m.Value, Provider: "anthropic", Protocol: execution.ProtocolMessages,
				ThinkingEfforts: declared.Efforts(m.SupportedEffortLevels)}
			if m.ResolvedModel != "" && m.ResolvedModel != m.Value {
				one.ID, one.Aliases = m.ResolvedModel, []string{m.Value}
			}
			one.Thinking = m.SupportsAdaptiveThinking
			list = append(list, one)
		}
		return list, err
	},
}
