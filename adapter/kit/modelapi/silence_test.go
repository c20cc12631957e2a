package modelapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/modelapi/modelapitest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// hangs answers no call.
type hangs struct{}

func (hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

// A run is ended when nothing comes from the service for the time that the caller allows; the caller's own time does not count.
func TestInactivity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		req := request("hi")
		req.Run.InactivityTimeoutMs = 5000
		began := time.Now()
		res, events := modelapitest.Run(t, backend("http://fake.test", hangs{}), req, agent.Options{})
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("it took %v", took)
		}
		if res.Error == nil || res.Error.ErrorCode() != execution.CodeInactivityTimeout || res.ExitReason != execution.ExitInactivity {
			t.Errorf("%s %s %+v", res.Status, res.ExitReason, res.Error)
		}
		told := false
		for _, e := range events {
			b, ok := e.Body.(execution.Timeout)
			told = told || ok && b.Kind == execution.TimeoutInactivity
		}
		if !told {
			t.Error("no event says so")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		req := request("hi")
		req.Run.InactivityTimeoutMs = 5000
		req.Tools = []execution.Tool{{Name: "slow"}}
		calls := `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"slow","arguments":"{}"}}]}}]}`
		service := &answers{list: []func() *http.Response{says(calls, `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`, done), says(hello, finish, done)}}
		res, _ := modelapitest.Run(t, backend("http://fake.test", service), req, agent.Options{Tools: func(context.Context, execution.ToolCall) (execution.ToolResult, error) {
			time.Sleep(time.Minute)
			return execution.ToolResult{Output: json.RawMessage(`"done"`)}, nil
		}})
		if res.Status != execution.StatusCompleted {
			t.Errorf("a tool of the caller: %s %+v", res.Status, res.Error)
		}
	})
}
