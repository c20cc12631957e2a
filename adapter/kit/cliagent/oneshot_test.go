package cliagent_test

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

func TestAsks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		req  execution.Request
		want bool
	}{
		"nothing":           {execution.Request{}, false},
		"prompt":            {execution.Request{Run: execution.RunOptions{ApprovalMode: execution.ApprovalPrompt}}, true},
		"deny":              {execution.Request{Run: execution.RunOptions{ApprovalMode: execution.ApprovalDeny}, Requirements: wants(execution.SupportRequired)}, false},
		"preferred":         {execution.Request{Requirements: wants(execution.SupportPreferred)}, true},
		"required":          {execution.Request{Requirements: wants(execution.SupportRequired)}, true},
		"not wanted":        {execution.Request{Requirements: wants(execution.SupportNone)}, false},
		"tool":              {execution.Request{Tools: []execution.Tool{{Name: "a"}}}, false},
		"tool to be asked":  {execution.Request{Tools: []execution.Tool{{Name: "a"}, {Name: "b", RequiresApproval: true}}}, true},
		"deny such a tool":  {execution.Request{Run: execution.RunOptions{ApprovalMode: execution.ApprovalDeny}, Tools: []execution.Tool{{RequiresApproval: true}}}, false},
		"no requirement so": {execution.Request{Requirements: &execution.Requirements{}}, false},
	} {
		if got := cliagent.Asks(tt.req); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func wants(level execution.SupportLevel) *execution.Requirements {
	return &execution.Requirements{ApprovalInterrupts: level}
}

func TestOneShot(t *testing.T) {
	t.Parallel()
	p, s := cliagent.OneShot("tern"), cliagent.NewSink(false)
	p.Open(s)
	if err := p.Command(execution.EndInput{}, s); err != nil {
		t.Errorf("the end of the input: %v", err)
	}
	for _, cmd := range []execution.Command{execution.Say{ID: "1", Text: "x"}, execution.Answer{ID: "1"}, execution.Interrupt{}} {
		if err := p.Command(cmd, s); execution.CodeOf(err) != execution.CodeStdinNotAvailable {
			t.Errorf("%T: %v", cmd, err)
		}
	}
}
