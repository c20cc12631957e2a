package declarative

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// failures are the meanings of a program's exit codes and messages.
type failures struct {
	rules []failureRule
	login string // how to log in
}

// failureRule gives an error code to exit codes, phrases or a pattern; each is enough.
type failureRule struct {
	code    execution.ErrorCode
	exits   []int
	phrases cliagent.Phrases
	pattern *regexp.Regexp
}

// code returns the code of a message, empty for an unknown one.
func (f failures) code(text string) execution.ErrorCode {
	lower := strings.ToLower(text)
	for _, r := range f.rules {
		if r.phrases.Code(lower) != "" || r.pattern != nil && r.pattern.MatchString(text) {
			return r.code
		}
	}
	return ""
}

// failure returns a failure that the program stated.
func (f failures) failure(code execution.ErrorCode, message string) *cliagent.Failure {
	out := &cliagent.Failure{Code: cmp.Or(code, f.code(message), execution.CodeInternal), Message: message}
	if out.Code == execution.CodeAuth {
		out.Hint = f.login
	}
	return out
}

// lastLines is how many lines of a message are examined and shown.
const lastLines = 20

// judge derives a failure from the exit of a program that stated no result: from what it wrote last, then from its exit
// code. It returns nil if no rule matches, and for a program that was stopped.
func (f failures) judge(exit process.Exit, said string) *cliagent.Failure {
	if exit.Stopped || exit.Signal != "" || exit.Code <= 0 {
		return nil
	}
	for _, text := range []string{exit.StderrTail, said} {
		text = tail(text)
		if code := f.code(text); code != "" {
			return f.failure(code, text)
		}
	}
	for _, r := range f.rules {
		if slices.Contains(r.exits, exit.Code) {
			return f.failure(r.code, cmp.Or(tail(exit.StderrTail), tail(said), "the program gave no reason"))
		}
	}
	return nil
}

// tail returns the last lines of a text.
func tail(text string) string {
	text = strings.TrimSpace(text)
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-lastLines):], "\n")
}
