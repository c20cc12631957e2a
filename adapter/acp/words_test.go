package acp

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
)

func TestToolName(t *testing.T) {
	t.Parallel()
	c := &acpagent.ToolCall{Title: "write · /w/hello.txt", Meta: []byte(`{"goose":{"toolCall":{"toolName":"write","extensionName":"developer"}}}`)}
	if got := toolName(c); got != "write" {
		t.Error(got)
	}
	if got := toolName(&acpagent.ToolCall{Title: "x"}); got != "" {
		t.Error(got)
	}
}
