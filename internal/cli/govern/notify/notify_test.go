package notify

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli"
)

// engine notifies at some times.
type engine struct {
	govern.Engine
	begun time.Time
	asked []time.Duration
	fails bool
}

func (e *engine) Notify(context.Context) (govern.Notified, error) {
	at := time.Since(e.begun)
	e.asked = append(e.asked, at)
	switch {
	case e.fails:
		return govern.Notified{}, errors.New("no project")
	case at == 20*time.Second:
		return govern.Notified{Tries: []govern.NotifyTry{{EventID: "notif_1", EventType: "run_blocked", Webhook: "team", Attempt: 1, Delivered: true}}}, nil
	}
	return govern.Notified{}, nil
}

// --watch looks again and again until Ctrl-C, and prints an attempt when it is made.
func TestWatch(t *testing.T) {
	t.Parallel()
	for _, asJSON := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var out, errs bytes.Buffer
			app := &cli.App{Out: &out, Err: &errs, JSON: asJSON, Getenv: func(string) string { return "" }}
			ctx, cancel := context.WithTimeout(t.Context(), 35*time.Second)
			defer cancel()
			e := &engine{begun: time.Now()}
			if err := tell(ctx, app, e, true, 10*time.Second); err != nil {
				t.Error(err)
			}
			want := "told team: run_blocked\n"
			if asJSON {
				want = `{"event_id":"notif_1","event_type":"run_blocked","webhook":"team","attempt":1,"delivered":true}` + "\n"
			}
			if len(e.asked) != 4 || out.String() != want || errs.Len() > 0 {
				t.Errorf("asked %v, out %q, err %q", e.asked, out.String(), errs.String())
			}
			e.fails = true
			if err := tell(ctx, app, e, true, time.Second); err == nil {
				t.Error("a project that cannot be read is watched")
			}
		})
	}
}
