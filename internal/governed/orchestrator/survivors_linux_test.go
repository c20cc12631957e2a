package orchestrator

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/governed/orchestrator/turnruntime"
	"github.com/drawbar/drawbar/transport/process"
)

// TestProcessesOfADeadTurnEnd: what lives of a turn whose own process died ends before git is asked anything that it could change.
func TestProcessesOfADeadTurnEnd(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(runtimeOf("attack", "true"), ""))
	e := p.engine()
	j, rep, _, err := e.begin(t.Context(), govern.StepOptions{}, false)
	if err != nil || rep != nil {
		t.Fatalf("%+v, %v", rep, err)
	}
	name := turnruntime.ProcessName(j.dispatch.Root, j.dispatch.Turn.TurnID)
	left, err := process.Start(context.Background(), process.Spec{Path: "/bin/sh", Args: []string{"-c", "echo up; exec sleep 60"}, Dir: p.root, Env: []string{"PATH=/usr/bin:/bin"},
		KeepStdin: true, Run: name})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := left.Next(t.Context()); err != nil { // it is not about to become a process of another name
		t.Fatal(err)
	}
	if _, err := p.engine().Escalate(t.Context(), govern.EscalateOptions{Reason: "look"}); err != nil {
		t.Fatal(err)
	}
	if n := process.Survivors(name)[name]; n == 0 {
		t.Error("the processes of a turn that is carried were ended")
	}
	if err := j.lease.release(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.engine().Step(t.Context(), govern.StepOptions{Resume: true}); err != nil {
		t.Fatal(err)
	}
	if n := process.Survivors(name)[name]; n != 0 {
		t.Errorf("%d processes live", n)
	}
	if told := strings.Join(p.heard("warning"), " "); !strings.Contains(told, "left running") {
		t.Errorf("heard %q", told)
	}
	left.Stop(time.Millisecond)
	for {
		if _, err := left.Next(context.Background()); err != nil {
			break
		}
	}
	left.Wait()
}
