package declarative

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/lazy"
)

// The placeholders of arguments, in braces.
const (
	slotPrompt     = "prompt"
	slotPromptFile = "prompt_file"
	slotDir        = "cwd"
	slotOptions    = "options"
	slotModel      = "model"
	slotEffort     = "effort"
	slotSystem     = "system_prompt"
	slotSystemFile = "system_prompt_file"
	slotMCPFile    = "mcp_file"
	slotSession    = "session"
)

var slots = lazy.Regexp(`\{[a-z][a-z_]*\}`)

// slotsOf returns the names of the placeholders in a word.
func slotsOf(word string) []string {
	found := slots().FindAllString(word, -1)
	for i, f := range found {
		found[i] = strings.Trim(f, "{}")
	}
	return found
}

// has reports whether a word of the list has the placeholder.
func has(words []string, slot string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "{"+slot+"}") })
}

// fill replaces the placeholders that values has. Braces in a value stay as they are.
func fill(words []string, values map[string]string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = slots().ReplaceAllStringFunc(w, func(found string) string {
			if v, ok := values[strings.Trim(found, "{}")]; ok {
				return v
			}
			return found
		})
	}
	return out
}

// Arguments returns the arguments of a program with the prompt in place of {prompt}, or the path of a private file with
// it in place of {prompt_file}. Without either, the prompt is the program's standard input.
func Arguments(l *cliagent.Launch, words []string, prompt string) (args []string, stdin []byte) {
	values := map[string]string{slotPrompt: prompt}
	if has(words, slotPromptFile) {
		values[slotPromptFile] = l.File("prompt.txt", []byte(prompt))
	}
	if !has(words, slotPrompt) && !has(words, slotPromptFile) {
		stdin = []byte(prompt)
	}
	return fill(words, values), stdin
}

// Message returns the message of a request, preceded by the instructions for a program without another place for them.
func Message(req execution.Request) string {
	replace, added := cliagent.Instructions(req)
	return joined(replace, added, string(req.Message.Text))
}

// joined joins the texts that are not empty.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n\n")
}
