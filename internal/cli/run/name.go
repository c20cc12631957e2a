package run

import (
	"context"
	"sync"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
)

// checkName refuses a name that no session can have, before the run starts.
func checkName(client *drawbar.Client, name string) error {
	if name == "" {
		return nil
	}
	s, err := client.Sessions()
	if err != nil {
		return err
	}
	return s.CheckName(name)
}

// nameSession gives a name to the session of a run as soon as the agent states it, so that a killed run's session has it, too. After
// a fallback to another agent the name is that of the other's session. Call the returned function when the run has ended.
func nameSession(app *cli.App, client *drawbar.Client, run *agent.Run, name string) (done func()) {
	if name == "" {
		return func() {}
	}
	last := ""
	return follow(run, func(e execution.Event) {
		b, ok := e.Body.(execution.SessionStart)
		id := execution.UnifiedSession(e.Agent, b.SessionID)
		if !ok || e.Parent != "" || b.SessionID == "" || id == last {
			return
		}
		ctx := context.Background()
		s, err := client.Sessions()
		if err == nil && last != "" {
			err = s.Name(ctx, last, "")
		}
		if err == nil {
			err = s.Name(ctx, id, name)
		}
		if err != nil {
			app.Warnf("the session has no name: %v", err)
			return
		}
		last = id
	})
}

// follow calls f with all events of a run, also with those before the call. wait waits for the last one.
func follow(run *agent.Run, f func(execution.Event)) (wait func()) {
	var reader sync.WaitGroup
	reader.Go(func() {
		for e, err := range run.Events(context.Background(), 0) { // ends with the run
			if err == nil {
				f(e)
			}
		}
	})
	return reader.Wait
}
