package acpagent_test

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/execution"
)

func TestFailedAnswer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]execution.ErrorCode{
		"401 scripted: invalid api key (type=authentication_error request_id=x)": execution.CodeAuth,
		"529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}":     execution.CodeProvider,
		"[API Error: 429 slow down]":                                             execution.CodeRateLimited,
		"[API Error: fetch failed]":                                              execution.CodeProvider,
		"API Error: 500 {\"error\": {\"message\":\"x\"}}":                        execution.CodeProvider,
		"401 means that the key is wrong.":                                       "",
		"404":                                                                    "",
		"The type=authentication_error of a 401 is about the key.":               "",
		"[API Error: is what Qwen writes]\n\nthen the answer ends, see [1]":      "",
	} {
		if code, failed := acpagent.FailedAnswer(text, execution.Usage{}); code != want || failed != (want != "") {
			t.Errorf("%q: %s %v", text, code, failed)
		}
	}
}

// TestCodeOfText: an error without a status is recognized by its words.
func TestCodeOfText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]execution.ErrorCode{
		"Internal error: invalid x-api-key": execution.CodeAuth,
		"Incorrect API key provided":        execution.CodeAuth,
		"429 slow down":                     execution.CodeRateLimited,
		"request 4290 failed":               "",
		"Internal error: no such field":     "",
	} {
		if got := acpagent.CodeOfText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
