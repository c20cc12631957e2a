package cliagent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// Instructions are the text that replaces an agent's own system prompt, and the text that is added to it. The form is the same
// for every agent: the system prompt (unless it replaces), the developer prompt, each context block as
// <context id label category>, structured context as JSON in <context-data>, and the wishes of the response style, with
// a blank line between them.
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
	inside     = strings.NewReplacer("</context", "&lt;/context")
	insideFile = strings.NewReplacer("</file", "&lt;/file")
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

// AttachmentTitle is what to call an attachment in an error: its name, its file's, or its place in the list.
func AttachmentTitle(a execution.Attachment, i int) string {
	if a.FilePath != "" {
		return cmp.Or(a.Name, filepath.Base(a.FilePath))
	}
	return cmp.Or(a.Name, a.ID, fmt.Sprintf("number %d", i+1))
}

// FileBlock is a text file as it stands in a message of an agent that takes no documents.
func FileBlock(name, text string) string {
	return `<file name="` + attribute.Replace(name) + "\">\n" + insideFile.Replace(text) + "\n</file>"
}
