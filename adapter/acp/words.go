package acp

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// statedNames are the members in which known agents put the name of a tool: the protocol's title includes the
// arguments.
var statedNames = [][]string{
	{"goose", "toolCall", "toolName"},
	{"claudeCode", "toolName"},
}

// toolName returns the name of a tool as the agent states it, empty if it does not.
func toolName(c *acpagent.ToolCall) string {
	for _, path := range statedNames {
		if name := c.MetaField(path...).Str(); name != "" {
			return name
		}
	}
	return ""
}

// apiFailure finds a model API's error that an agent passes on as its answer: a status, and the API's error type or
// an error in JSON. An ordinary answer about statuses has neither.
var apiFailure = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\[?API Error:? ?)?([45][0-9][0-9])\b(?s:.*)(?:\btype=[a-z_]*_error\b|"type": ?"[a-z_]*error"|"error": ?\{)`)
})

// failedText recognizes an answer that is an error of the model API: the protocol has no error for it.
func failedText(text string) (execution.ErrorCode, bool) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[API Error: ") && strings.HasSuffix(text, "]") && !strings.Contains(text, "\n\n") {
		if status, err := strconv.ParseInt(firstWord(text[len("[API Error: "):]), 10, 64); err == nil && status >= 400 {
			return cliagent.CodeOfStatus(status), true
		}
		return execution.CodeProvider, true
	}
	m := apiFailure().FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	status, _ := strconv.ParseInt(m[1], 10, 64) // three digits
	return cliagent.CodeOfStatus(status), true
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}
