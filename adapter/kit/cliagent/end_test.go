//go:build unix

package cliagent

import (
	"context"
	"errors"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

func TestAbort(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fake   string
		reason execution.ExitReason
		code   execution.ErrorCode
		cause  error
	}{
		{"hang", execution.ExitReasonAbort, execution.CodeAborted, errors.New("enough")},
		{"stubborn", execution.ExitReasonAbort, execution.CodeAborted, errors.New("enough")},
		{"hang", execution.ExitByTimeout, execution.CodeTimeout, context.DeadlineExceeded},
	} {
		t.Run(tt.fake+" "+tt.cause.Error(), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			o := execute(t, ctx, New(fakeSpec(t, tt.fake), Options{}), request(), newInbox(), func(e execution.Event) {
				if e.Body.Type() == "session_start" {
					cancel(tt.cause)
				}
			})
			if o.result.Status != "failed" || o.result.ExitReason != tt.reason || o.result.Error.ErrorCode() != tt.code {
				t.Errorf("got %s %s %+v", o.result.Status, o.result.ExitReason, o.result.Error)
			}
			if o.has("crash") || o.has("error") {
				t.Errorf("what we killed ourselves is no crash: %v", o.types())
			}
		})
	}
}

func TestConsumerLeaves(t *testing.T) {
	t.Parallel()
	for _, fake := range []string{"hang", "stubborn", "flood", "family", "lingers"} {
		t.Run(fake, func(t *testing.T) {
			t.Parallel()
			spec := fakeSpec(t, fake)
			dir := withFile(&spec, nil)
			for range New(spec, Options{}).Execute(t.Context(), request(), newInbox()) {
				break
			}
			gone(t, *dir)
		})
	}
}

func TestConsumerPanics(t *testing.T) {
	t.Parallel()
	spec := fakeSpec(t, "hang")
	dir := withFile(&spec, nil)
	want := errors.New("the consumer's own")
	defer func() {
		if got := recover(); got != want {
			t.Errorf("recovered %v, want %v", got, want)
		}
		gone(t, *dir)
	}()
	for range New(spec, Options{}).Execute(t.Context(), request(), newInbox()) {
		panic(want)
	}
}
