package claude

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// hasInstructions reports whether the request has anything for the system prompt.
func hasInstructions(req execution.Request) bool {
	replace, added := instructions(req)
	return replace != "" || added != ""
}

// instructions are the text that replaces Claude's system prompt and the text that is added behind it, in the form that
// the package comment documents.
func instructions(req execution.Request) (replace, added string) {
	var parts []string
	add := func(text string) {
		if strings.TrimSpace(text) != "" {
			parts = append(parts, text)
		}
	}
	if req.Run.SystemPromptMode == execution.SystemPromptReplace && strings.TrimSpace(req.Instructions.SystemPrompt) != "" {
		replace = req.Instructions.SystemPrompt
	} else {
		add(req.Instructions.SystemPrompt)
	}
	add(req.Instructions.DeveloperPrompt)
	if c := req.Context; c != nil {
		for _, b := range c.Blocks {
			add(contextBlock(b))
		}
		if len(c.Structured) > 0 {
			// Free-form values of a caller may hold what JSON cannot; such a context is refused by Negotiate.
			if data, err := json.Marshal(c.Structured); err == nil {
				add("<context-data>\n" + string(data) + "\n</context-data>")
			}
		}
	}
	if style := req.Instructions.ResponseStyle; style != nil {
		if style.PreferMarkdown {
			add("Answer in Markdown.")
		}
		if style.MaxAnswerChars > 0 {
			add(fmt.Sprintf("Keep the answer below %d characters.", style.MaxAnswerChars))
		}
	}
	return replace, strings.Join(parts, "\n\n")
}

var (
	attribute = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "\n", " ")
	// inside keeps a text from ending the block it stands in.
	inside = strings.NewReplacer("</context", "&lt;/context")
)

func contextBlock(b execution.ContextBlock) string {
	var tag strings.Builder
	tag.WriteString("<context")
	for _, a := range []struct{ name, value string }{{"id", b.ID}, {"label", b.Label}, {"category", string(b.Category)}} {
		if a.value != "" {
			tag.WriteString(" " + a.name + `="` + attribute.Replace(a.value) + `"`)
		}
	}
	return tag.String() + ">\n" + inside.Replace(b.Text) + "\n</context>"
}
