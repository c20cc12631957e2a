package cliagent

import (
	"math"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

func TestReasons(t *testing.T) {
	t.Parallel()
	req := execution.Request{Context: &execution.Context{Structured: map[string]any{"a": math.NaN()}}}
	r := NewReasons(req)
	r.Attachments("x", "text", []execution.Attachment{{MimeType: "text/plain", Base64: "YQ=="}, {MimeType: "audio/mpeg"}, {MimeType: "text/plain", URL: "https://x/a"}},
		func(kind Media, _ string) bool { return kind == MediaAudio })
	want := []string{"context other", "attachments[1] attachments_unsupported", "attachments[2] attachments_unsupported"}
	if len(r) != len(want) {
		t.Fatalf("%+v", r)
	}
	for i, w := range want {
		if got := r[i].Capability + " " + string(r[i].Code); got != w || r[i].Severity != execution.SeverityBlocking || r[i].Message == "" {
			t.Errorf("%+v, want %s", r[i], w)
		}
	}
	if r := NewReasons(execution.Request{}); r != nil {
		t.Errorf("%+v", r)
	}
}
