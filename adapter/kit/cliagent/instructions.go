package cliagent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// Instructions returns the text that replaces an agent's system prompt and the text to append to it. The format is
// the same for every agent: the system prompt (unless it replaces), the developer prompt, the agents document in
// <agents-document>, each context block as <context id label category>, structured context as JSON in <context-data>,
// and the response style, separated by blank lines.
func Instructions(req execution.Request) (replace, added string) {
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
	if doc := req.Run.AgentsDoc; strings.TrimSpace(doc) != "" {
		add("<agents-document>\n" + insideDoc.Replace(doc) + "\n</agents-document>")
	}
	if c := req.Context; c != nil {
		for _, b := range c.Blocks {
			add(contextBlock(b))
		}
		if len(c.Structured) > 0 {
			// A caller's free-form values may not be JSON; Negotiate refuses such a context.
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
	// inside prevents a text from closing its block.
	inside     = strings.NewReplacer("</context", "&lt;/context")
	insideFile = strings.NewReplacer("</file", "&lt;/file")
	insideDoc  = strings.NewReplacer("</agents-document", "&lt;/agents-document")
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

// AttachmentTitle names an attachment in an error: by its name, its file or its index.
func AttachmentTitle(a execution.Attachment, i int) string {
	if a.FilePath != "" {
		return cmp.Or(a.Name, filepath.Base(a.FilePath))
	}
	return cmp.Or(a.Name, a.ID, fmt.Sprintf("number %d", i+1))
}

// FileBlock formats a text file within a message, for an agent without documents.
func FileBlock(name, text string) string {
	return `<file name="` + attribute.Replace(name) + "\">\n" + insideFile.Replace(text) + "\n</file>"
}
