package codetool

import (
	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
)

// Read returns the tools that change nothing: read, list and search.
func (f *Folder) Read() []modelapi.Tool { return []modelapi.Tool{f.read(), f.list(), f.search()} }

// Change returns the tools that change files: edit, patch and write.
func (f *Folder) Change() []modelapi.Tool { return []modelapi.Tool{f.edit(), f.patch(), f.write()} }

// Kinds are the names of tools whose calls have events of their own. Events of files come from the tools.
func Kinds() toolcall.Tools { return toolcall.Tools{toolcall.Shell: {"shell"}} }

// reads is what a tool that reads files does.
func reads(paths ...string) execution.ToolUse {
	return execution.ToolUse{Kind: execution.ToolRead, Paths: paths}
}

// edits is what a tool that changes files does.
func edits(paths ...string) execution.ToolUse {
	return execution.ToolUse{Kind: execution.ToolEdit, Paths: paths}
}

// answer is an answer of text, or of an error.
func answer(text string, err error) modelapi.Answer {
	if err != nil {
		return modelapi.Failed(err)
	}
	return modelapi.Answer{Text: text}
}
