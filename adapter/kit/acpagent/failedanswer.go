package acpagent

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// apiFailure finds a model API's error that an agent passes on as its answer: a status, and the API's error type or
// an error in JSON. An ordinary answer about statuses has neither.
var apiFailure = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\[?API Error:? ?)?([45][0-9][0-9])\b(?s:.*)(?:\btype=[a-z_]*_error\b|"type": ?"[a-z_]*error"|"error": ?\{)`)
})

// FailedAnswer is a Spec.FailedText for agents that pass on an error of the model API as their answer: the protocol has
// no error for it. It is that of every Agent.
func FailedAnswer(text string, _ execution.Usage) (execution.ErrorCode, bool) {
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
