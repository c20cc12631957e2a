package main

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/rogpeppe/go-internal/testscript"
)

// farAgent paints what it is told, and asks for the colour.
type farAgent struct{}

func (farAgent) Execute(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if x.StoredTask == nil {
			if yield(a2a.NewSubmittedTask(x, x.Message), nil) {
				yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateInputRequired, a2a.NewMessageForTask(a2a.MessageRoleAgent, x, a2a.NewTextPart("which colour?"))), nil)
			}
			return
		}
		if yield(a2a.NewArtifactEvent(x, a2a.NewTextPart("painted it "+x.Message.Parts[0].Text())), nil) {
			yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, nil), nil)
		}
	}
}

func (farAgent) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}

// serveFar is "far": it serves an agent of the Agent2Agent protocol at $FAR_URL, which wants the token dummy-key-9.
func serveFar(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: far")
	}
	mux := http.NewServeMux()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer dummy-key-9" {
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(farAgent{})))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(&a2a.AgentCard{Name: "Painter", Version: "2.0.0", Description: "paints",
		Capabilities: a2a.AgentCapabilities{Streaming: true}, SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(s.URL+"/rpc", a2a.TransportProtocolJSONRPC)}}))
	ts.Defer(s.Close)
	ts.Setenv("FAR_URL", s.URL)
}
