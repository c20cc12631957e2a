package turnruntime

import (
	"cmp"
	"fmt"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/governed/chatapi"
	"github.com/drawbar/drawbar/internal/governed/prompt"
)

// tokenBudget is TOKEN_BUDGET.json: what a prompt may be long, what it is, and what was left out of it.
type tokenBudget struct {
	Provider    string `json:"provider"`
	Model       string `json:"model"`
	RunID       string `json:"run_id"`
	TurnID      string `json:"turn_id"`
	RuntimeID   string `json:"runtime_id"`
	Tokenizer   string `json:"tokenizer"`
	Estimated   bool   `json:"estimated"` // no provider publishes its tokenizer: the counts are upper estimates
	Window      int    `json:"context_window_tokens"`
	Reserved    int    `json:"reserved_output_tokens"`
	Margin      int    `json:"safety_margin_tokens"`
	Available   int    `json:"available_input_tokens"`
	System      int    `json:"system_tokens"`
	Prompt      int    `json:"prompt_tokens"`
	Separator   int    `json:"separator_tokens"`
	Original    int    `json:"original_context_tokens"`
	Final       int    `json:"final_context_tokens"`
	Input       int    `json:"estimated_input_tokens"`
	Truncated   bool   `json:"truncated"`
	Sent        bool   `json:"sent_to_provider"`
	EffectiveAt string `json:"effective_context_path,omitempty"`

	Sections []prompt.Section `json:"sections"`

	text string // the shortened context; empty if it is sent whole
}

// The defaults of safety_margin_tokens and of context_window_tokens: every model of the one provider with a preflight has
// at least that window.
const (
	defaultMargin = 2048
	defaultWindow = 200_000
)

// tokens is an upper estimate of the tokens of a text: no more than one for three bytes, in any language that the models
// are used with.
func tokens(text string) int { return (len(text) + 2) / 3 }

// preflight measures the prompt and shortens its context to what the model's window leaves. A prompt that does
// not fit even so is not sent.
func (p *apiPlan) preflight(d Dispatch) {
	rt, at := d.Runtime, "runtimes."+d.RuntimeID
	b := &tokenBudget{Provider: rt.Provider, Model: rt.Model, RunID: d.Run, TurnID: d.Turn.TurnID, RuntimeID: d.RuntimeID, Tokenizer: "provider_local", Estimated: true,
		Window: defaultWindow, Reserved: cmp.Or(p.request.MaxTokens, chatapi.DefaultMaxTokens), Margin: defaultMargin}
	if n := rt.ContextWindowTokens; n != nil && *n > 0 {
		b.Window = *n
	}
	if m := rt.Preflight.SafetyMarginTokens; m != nil {
		b.Margin = max(0, *m)
	}
	b.Available = b.Window - b.Reserved - b.Margin
	b.System, b.Prompt, b.Original = tokens(p.request.System), tokens(d.Prompt), tokens(d.Context)
	b.Separator = tokens(d.text()) - b.Prompt - b.Original
	text, sections, fits := prompt.Fit(d.Context, max(0, b.Available-b.System-b.Prompt-max(0, b.Separator)), tokens)
	b.Sections, b.Final = sections, tokens(text)
	b.Truncated = text != d.Context
	b.Input = b.System + b.Prompt + b.Separator + b.Final
	p.budget = b
	if b.Sent = fits; !fits {
		p.unfit = chatapi.NewFault(execution.ClassContextOverflow, fmt.Sprintf(
			"%s: the prompt needs about %d tokens even without the context that can be left out, and %d are available: context_window_tokens %d, less %d for the answer and a margin of %d",
			at, b.Input, b.Available, b.Window, b.Reserved, b.Margin))
		p.unfit.Recovery = "set a model with a larger context window and its context_window_tokens, or shorten the role's prompt"
		return
	}
	if b.Truncated {
		b.text, b.EffectiveAt = text, "evidence/CONTEXT.effective.md"
		d.Context = text
		p.request.Prompt = d.text()
	}
}
