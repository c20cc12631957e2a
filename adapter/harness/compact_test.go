package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/modelapi/modelapitest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// TestCompaction: a conversation near the end of the window, or one that the service refuses for its size, is summarized and goes on.
func TestCompaction(t *testing.T) {
	t.Parallel()
	full := reply{status: 400, why: "the maximum context length is 1000 tokens"}
	read := calls(`read {"path":"a.txt"}`)
	large := read
	large.tokens = 790
	for _, tt := range []struct {
		name     string
		replies  []reply
		schema   bool
		warnings int
		compacts int
		usage    int64
		status   execution.Status
		code     execution.ErrorCode
		last     string // what the model got in its last call
	}{
		{"near the end", []reply{large, says("it was read"), says("done")}, false, 1, 1, 990, execution.StatusCompleted, "",
			"user: [map[text:go type:text] map[text:What followed was summarized:\n\nit was read type:text]]"},
		{"with a schema", []reply{large, says("it was read"), says("{}")}, true, 1, 1, 990, execution.StatusCompleted, "",
			"user: [map[text:go type:text] map[text:What followed was summarized:\n\nit was read type:text]]"},
		{"far from it", []reply{read, says("done")}, false, 0, 0, 200, execution.StatusCompleted, "", "user: go\nassistant:  calls read\ntool: 1\tcontent of a\n"},
		{"no summary", []reply{large, says(""), says("done")}, false, 1, 0, 990, execution.StatusCompleted, "", "user: go\nassistant:  calls read\ntool: 1\tcontent of a\n"},
		{"refused for its size", []reply{read, full, says("it was read"), says("done")}, false, 0, 1, 300, execution.StatusCompleted, "",
			"user: [map[text:go type:text] map[text:What followed was summarized:\n\nit was read type:text]]"},
		{"refused again", []reply{read, full, says("it was read"), full}, false, 0, 1, 200, execution.StatusFailed, execution.CodeContextExceeded, ""},
		{"refused, and no summary", []reply{read, full, full}, false, 0, 0, 100, execution.StatusFailed, execution.CodeContextExceeded, ""},
		{"refused at once", []reply{full, full}, false, 0, 0, 0, execution.StatusFailed, execution.CodeContextExceeded, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &model{replies: tt.replies, window: 1000}
			req := request(t, "go")
			if tt.schema {
				wantsJSON(&req)
			}
			res, events := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
			if res.Status != tt.status || tt.code != "" && res.Error.ErrorCode() != tt.code || m.called() != len(tt.replies) {
				t.Errorf("%s %+v after %d calls", res.Status, res.Error, m.called())
			}
			if res.Usage != nil && res.Usage.Input != tt.usage {
				t.Errorf("the usage is %+v", res.Usage)
			}
			warned, compacted := bodies[execution.ContextLimitWarning](events), bodies[execution.ContextCompacted](events)
			if len(warned) != tt.warnings || len(compacted) != tt.compacts {
				t.Errorf("%+v %+v", warned, compacted)
			}
			if strings.Contains(res.Text, "it was read") {
				t.Errorf("the summary is part of the answer %q", res.Text)
			}
			if tt.warnings > 0 && (warned[0].MaxTokens != 1000 || warned[0].UsedTokens != 800) {
				t.Errorf("%+v", warned)
			}
			if tt.compacts > 0 && compacted[0].Summary != "it was read" {
				t.Errorf("%+v", compacted)
			}
			if tt.last != "" {
				if got := strings.Join(m.said(t, m.called()-1)[1:], "\n"); got != tt.last {
					t.Errorf("the model got\n%s\nwant\n%s", got, tt.last)
				}
			}
			if tt.schema && strings.Contains(m.bodies[1], "response_format") {
				t.Error("the summary has the form of the answer")
			}
		})
	}
}

// TestPrune: results that are too large are cut before a conversation that did not fit is summarized.
func TestPrune(t *testing.T) {
	t.Parallel()
	m := &model{replies: []reply{calls(`read {"path":"long"}`, `read {"path":"dot.txt"}`), {status: 400, why: "prompt is too long"}, says("summary"), says("done")}}
	req := request(t, "go")
	pictures(t, req)
	if err := os.WriteFile(filepath.Join(req.Run.Cwd, "long"), []byte(strings.Repeat("line of text\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	res, _ := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
	if res.Status != execution.StatusCompleted {
		t.Fatalf("%s %+v", res.Status, res.Error)
	}
	if got := strings.Join(m.said(t, 2), "\n"); !strings.Contains(got, "more bytes were removed]") || strings.Contains(got, "900\tline of text") || strings.Contains(got, dot) {
		t.Errorf("the summary was asked for with %d bytes", len(got))
	}
}
