// Package vendormodel is the one table of what vendors' models can do, whichever agent runs them, and of where vendors' APIs are.
// Windows, limits and prices are an agent's own, because agents differ in them.
//
// The table has models whose abilities somebody published: OpenCode 1.18.33 contains them for most, Codex 0.171.0, Oh My Pi
// 18.2.3 and Pi 1.6.0 agree where they state them. An ability that nobody published stays unknown.
package vendormodel

import (
	"slices"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/execution"
)

// UpdatedOn is the date on which the models in this program were last compared with the agents.
const UpdatedOn = "2026-11-29"

// addresses are the roots of the vendors' APIs, as their documentation has them.
var addresses = map[string]string{
	"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1", "google": "https://generativelanguage.googleapis.com",
}

// Address returns the root of a vendor's own API, empty for a vendor that is not in the table.
func Address(vendor string) string { return addresses[vendor] }

// Families of abilities. Every model here streams text and calls tools.
var (
	yes, no = new(true), new(false)

	texts = execution.Abilities{ToolCalling: yes, ToolCallStreaming: yes, TextStreaming: yes, ImageInput: no, ImageOutput: no, FileInput: no}
	// images read images, documents also PDF.
	images    = execution.Abilities{ImageInput: yes}.Or(texts)
	documents = execution.Abilities{FileInput: yes}.Or(images)
	schemas   = execution.Abilities{StructuredOutput: yes}
	parallel  = execution.Abilities{ParallelToolCalls: yes}
	json      = execution.Abilities{JSONMode: yes}
	thinks    = execution.Abilities{Thinking: yes}

	anthropic = join(documents, schemas, parallel, thinks, execution.Abilities{ThinkingStreaming: yes})
	openai    = join(documents, schemas, parallel, json, thinks)
	google    = openai
	qwen      = join(thinks, execution.Abilities{ImageInput: yes}, texts) // PDF only where stated
)

func join(list ...execution.Abilities) (all execution.Abilities) {
	for _, a := range list {
		all = all.Or(a)
	}
	return all
}

var families = []struct {
	vendor    string
	abilities execution.Abilities
	models    string
}{
	{"anthropic", anthropic, "claude-opus-5-5 claude-opus-5 claude-opus-4-8 claude-opus-4-7 claude-opus-4-6 claude-opus-4-5 claude-fable-5-2 claude-fable-5-1 claude-fable-5 " +
		"claude-sonnet-5-5 claude-sonnet-5 claude-sonnet-4-6 claude-sonnet-4-5 claude-haiku-5-5 claude-haiku-4-5"},
	{"openai", openai, "gpt-6-astra gpt-6-sol gpt-6-luna gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna gpt-5.5 gpt-5.4 gpt-5.3-codex"},
	{"openai", join(images, schemas, parallel, json, thinks), "gpt-5.4-mini gpt-5-mini"},
	// Codex states only that they read images.
	{"openai", join(execution.Abilities{ImageInput: yes, ToolCalling: yes, TextStreaming: yes}, thinks), "gpt-6.2-sol gpt-6.2-astra gpt-6.1-sol gpt-6.1-terra"},
	{"google", google, "gemini-3.1-pro-preview gemini-3.8-flash gemini-3.7-flash gemini-3.6-flash gemini-3.5-flash gemini-3-flash-preview gemini-3.5-flash-lite gemini-3.1-flash-lite " +
		"gemini-2.5-pro gemini-2.5-flash gemini-2.5-flash-lite"},
	{"google", join(images, schemas, thinks), "gemma-4-31b-it gemma-4-26b-a4b-it"},
	{"", join(texts, thinks), "qwen3.7-max"},
	{"", join(documents, schemas, thinks), "qwen3.8-max"},
	{"", join(images, schemas, thinks), "qwen3.8-flash qwen3.6-flash"},
	{"", qwen, "qwen3.7-plus qwen3.6-plus qwen3.5-plus"},
	{"", join(execution.Abilities{Thinking: no, StructuredOutput: yes}, texts), "qwen3-coder-plus qwen-max"},
	{"", join(execution.Abilities{Thinking: no}, texts), "qwen3-coder-flash"},
	{"", join(documents, schemas, thinks), "mai-code-1.1-flash grok-4.7"},
	{"", join(images, schemas, thinks), "grok-4.6 grok-4.5 kimi-k3"},
}

var table = sync.OnceValue(func() (list []execution.Model) {
	for _, f := range families {
		for id := range strings.FieldsSeq(f.models) {
			list = append(list, execution.Model{ID: id, Abilities: f.abilities})
		}
	}
	return list
})

// Of returns the models of a vendor, newest first, with their abilities and prices.
func Of(vendor string) (list []execution.Model) {
	for _, f := range families {
		if f.vendor != vendor {
			continue
		}
		for id := range strings.FieldsSeq(f.models) {
			list = append(list, execution.Model{ID: id, Provider: vendor, Abilities: f.abilities, Price: Price(id)})
		}
	}
	return list
}

// All returns the models of every vendor as Of does.
func All() (list []execution.Model) {
	for _, f := range families {
		if f.vendor != "" && !slices.ContainsFunc(list, func(m execution.Model) bool { return m.Provider == f.vendor }) {
			list = append(list, Of(f.vendor)...)
		}
	}
	return list
}

// Describe returns a model with the abilities that its vendor publishes where m's are unknown. The model is found by its id,
// as execution.FindModel does; some agents write claude-opus-5.5 for claude-opus-5-5.
func Describe(m execution.Model) execution.Model {
	id := execution.BareModel(m.ID)
	if strings.HasPrefix(id, "claude-") {
		id = strings.ReplaceAll(id, ".", "-")
	}
	id = strings.TrimSuffix(id, "-fast") // the same model, served faster
	if known := execution.FindModel(table(), id); known != nil {
		m.Abilities = m.Abilities.Or(known.Abilities)
	}
	return m
}

// DescribeAll is Describe for a list, which it does not change.
func DescribeAll(list []execution.Model) []execution.Model {
	list = slices.Clone(list)
	for i := range list {
		list[i] = Describe(list[i])
	}
	return list
}
