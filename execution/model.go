package execution

import "strings"

// Model describes one model of an agent. Zero numbers and omitted abilities are unknown.
type Model struct {
	ID              string        `json:"modelId"`
	Aliases         []string      `json:"aliases,omitempty"`
	DisplayName     string        `json:"displayName,omitempty"`
	Provider        string        `json:"provider,omitempty"`
	ContextWindow   int64         `json:"contextWindow,omitempty"`
	MaxOutputTokens int64         `json:"maxOutputTokens,omitempty"`
	Protocol        ModelProtocol `json:"protocol,omitempty"`
	Abilities
	ThinkingEfforts []ThinkingEffort `json:"thinkingEffortLevels,omitempty"`
	ThinkingBudget  *TokenRange      `json:"thinkingBudgetRange,omitempty"` // nil if thinking has no token budget, or if unknown
	Deprecated      bool             `json:"deprecated,omitempty"`
	DeprecatedSince string           `json:"deprecatedSince,omitempty"` // a date
	Successor       string           `json:"successorModelId,omitempty"`
	Price           *Price           `json:"price,omitempty"`
}

// Abilities are what a model can do. Each is nil if nobody states it: unknown, not false.
type Abilities struct {
	Thinking          *bool `json:"supportsThinking,omitempty"`
	ToolCalling       *bool `json:"supportsToolCalling,omitempty"`
	ParallelToolCalls *bool `json:"supportsParallelToolCalls,omitempty"`
	ToolCallStreaming *bool `json:"supportsToolCallStreaming,omitempty"`
	JSONMode          *bool `json:"supportsJsonMode,omitempty"`
	StructuredOutput  *bool `json:"supportsStructuredOutput,omitempty"`
	TextStreaming     *bool `json:"supportsTextStreaming,omitempty"`
	ThinkingStreaming *bool `json:"supportsThinkingStreaming,omitempty"`
	ImageInput        *bool `json:"supportsImageInput,omitempty"`
	ImageOutput       *bool `json:"supportsImageOutput,omitempty"`
	FileInput         *bool `json:"supportsFileInput,omitempty"` // PDF documents
}

// Ability is one of a model's abilities by its name.
type Ability struct {
	Name  string
	Value **bool
}

// All lists the abilities; setting a value changes a.
func (a *Abilities) All() []Ability {
	return []Ability{{"thinking", &a.Thinking}, {"tools", &a.ToolCalling}, {"parallel tools", &a.ParallelToolCalls},
		{"tool streaming", &a.ToolCallStreaming}, {"JSON mode", &a.JSONMode}, {"structured output", &a.StructuredOutput},
		{"text streaming", &a.TextStreaming}, {"thinking streaming", &a.ThinkingStreaming}, {"image input", &a.ImageInput},
		{"image output", &a.ImageOutput}, {"file input", &a.FileInput}}
}

// Or returns a with copies of the abilities of b where a's are unknown.
func (a Abilities) Or(b Abilities) Abilities {
	for i, ability := range a.All() {
		if other := *b.All()[i].Value; *ability.Value == nil && other != nil {
			*ability.Value = new(*other)
		}
	}
	return a
}

// Lacks reports whether an ability is known to be missing.
func Lacks(ability *bool) bool { return ability != nil && !*ability }

// ModelProtocol is the kind of API that serves a model.
type ModelProtocol string

// The kinds of model APIs.
const (
	ProtocolMessages  ModelProtocol = "messages"  // Anthropic's
	ProtocolResponses ModelProtocol = "responses" // OpenAI's
	ProtocolChat      ModelProtocol = "chat"      // OpenAI's chat completions
	ProtocolCustom    ModelProtocol = "custom"    // any other
)

var modelProtocols = []ModelProtocol{ProtocolMessages, ProtocolResponses, ProtocolChat, ProtocolCustom}

// TokenRange is a range of token counts from Min to Max, inclusive.
type TokenRange struct {
	Min int64 `json:"min"`
	Max int64 `json:"max"`
}

// FindModel returns the model that a name refers to: by its id or an alias, or by the longest id or alias that
// the name starts with if only a date or a delivery version follows, as in claude-opus-4-5-20251101 and
// claude-opus-4-5@20251101. A provider's prefix and a window size at the end are ignored:
// anthropic/claude-opus-4-5, us.anthropic.claude-opus-4-5-20251101-v1:0, claude-opus-4-5[1m].
func FindModel(list []Model, name string) *Model {
	for _, n := range []string{name, BareModel(name)} {
		var found *Model
		longest := -1
		for i := range list {
			for j := -1; j < len(list[i].Aliases); j++ {
				id := list[i].ID
				if j >= 0 {
					id = list[i].Aliases[j]
				}
				if rest, ok := strings.CutPrefix(n, id); ok && id != "" && len(id) > longest && delivery(rest) {
					found, longest = &list[i], len(id)
				}
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// BareModel returns a model's name without the provider's additions.
func BareModel(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	if before, _, ok := strings.Cut(name, "["); ok {
		name = before
	}
	if i := strings.LastIndex(name, "anthropic."); i >= 0 {
		name = name[i+len("anthropic."):]
	}
	return name
}

// delivery reports whether the text after a model's id leaves the model the same: nothing, a date, "latest", or
// a version of the delivering service.
func delivery(rest string) bool {
	if rest == "" {
		return true
	}
	if rest[0] != '-' && rest[0] != '@' && rest[0] != ':' {
		return false
	}
	for part := range strings.FieldsFuncSeq(rest, func(r rune) bool { return r == '-' || r == '@' || r == ':' }) {
		digits := strings.Trim(part, "0123456789") == ""
		switch {
		case digits && (len(part) == 8 && part[:2] == "20"): // 20251101
		case part == "latest", part == "default", part == "v1", part == "v2", part == "0": // Bedrock: -v1:0
		case digits && isDate(rest):
		default:
			return false
		}
	}
	return true
}

// isDate reports whether rest has the form -2026-03-05.
func isDate(rest string) bool {
	return len(rest) == 11 && rest[1:3] == "20" && rest[5] == '-' && rest[8] == '-'
}
