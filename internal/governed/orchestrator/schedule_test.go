//go:build unix

package orchestrator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// due runs what is due at a time and says what became of each schedule.
func (p *world) due(at time.Duration, o govern.ScheduleOptions) string {
	p.t.Helper()
	begin := time.Now()
	done, err := p.engine(func(o *Options) { o.Now = func() time.Time { return begin.Add(at) } }).RunDue(p.t.Context(), o)
	if err != nil {
		p.t.Fatal(err)
	}
	var all []string
	for _, one := range done {
		text := one.ID + " " + string(one.Outcome)
		if one.Run != nil {
			text += fmt.Sprintf(" %s %d", one.LastStatus, len(one.Run.Turns))
		}
		if one.Reason != "" {
			text += ": " + one.Reason
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func scheduled(worker, schedules string) string {
	return strings.Replace(one(runtimeOf(worker), ""), `{`, `{"schedules":{`+schedules+`},`, 1)
}

// A schedule starts a run when it is due, with its limits and its reason, one after another, and not while another run is open.
func TestSchedules(t *testing.T) {
	t.Parallel()
	p := newProject(t, scheduled("ok", `"often":{"every_minutes":10,"max_turns":1,"trigger_reason":"nightly work"},"off":{"every_minutes":1,"enabled":false},"rare":{"every_minutes":60,"max_turns":2}`))
	if got := p.due(0, govern.ScheduleOptions{DryRun: true}); got != "often due; off disabled; rare due" || p.read(protocol.SchedulesFile) != "" {
		t.Errorf("a dry run: %s", got)
	}
	got := p.due(0, govern.ScheduleOptions{})
	if !strings.HasPrefix(got, "often ran max_turns_reached 1; off disabled; rare skipped: run ") {
		t.Fatalf("%s", got)
	}
	first := p.state().ID()
	if by := string(p.state().Provenance); !strings.Contains(by, `"trigger": "schedule"`) || !strings.Contains(by, `"trigger_reason": "nightly work"`) {
		t.Errorf("%s", by)
	}
	// it continues its own run when it is due again; another schedule does not
	if got := p.due(20*time.Minute, govern.ScheduleOptions{}); !strings.HasPrefix(got, "often ran max_turns_reached 1; off disabled; rare skipped: run "+first+" is active") || p.state().ID() != first {
		t.Errorf("%s", got)
	}
	// also after a turn could not start
	p.write("uncommitted.txt", "x")
	if _, err := p.engine(func(o *Options) { o.Now = func() time.Time { return time.Now().Add(40 * time.Minute) } }).RunDue(t.Context(), govern.ScheduleOptions{ID: "often"}); err == nil {
		t.Error("a turn starts in a work tree that is not clean")
	}
	p.git("add", "-A")
	p.git("commit", "-qm", "now it is clean")
	if got := p.due(45*time.Minute, govern.ScheduleOptions{ID: "often"}); got != "often not_due" {
		t.Errorf("at once after a failure: %s", got)
	}
	if got := p.due(60*time.Minute, govern.ScheduleOptions{ID: "often"}); got != "often ran max_turns_reached 1" || p.state().ID() != first {
		t.Errorf("after a failure: %s", got)
	}
	if s := p.read(protocol.SchedulesFile); !strings.Contains(s, `"schema_version": "0.1"`) || !strings.Contains(s, first) || !strings.Contains(s, `"last_skip_reason": "run `+first) {
		t.Errorf("%s", s)
	}
	for name, want := range map[string]execution.ErrorCode{"nosuch": execution.CodeValidation} {
		if _, err := p.engine().RunDue(t.Context(), govern.ScheduleOptions{ID: name}); execution.CodeOf(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := newProject(t, one(runtimeOf("ok"), "")).engine().RunDue(t.Context(), govern.ScheduleOptions{}); execution.CodeOf(err) != execution.CodeConfig {
		t.Errorf("without schedules: %v", err)
	}
	p.sound()
	// the role of the first turn
	other := newProject(t, strings.Replace(three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""), `{`, `{"schedules":{"s":{"every_minutes":1,"initial_role":"qa"}},`, 1))
	done, err := other.engine().RunDue(t.Context(), govern.ScheduleOptions{})
	if err != nil || len(done) != 1 || done[0].Run == nil || done[0].Run.Turns[0].Role != "qa" {
		t.Errorf("%+v, %v", done, err)
	}
}

// A run that ends lets the schedule start another one, when it is due again.
func TestScheduleStartsAgain(t *testing.T) {
	t.Parallel()
	p := newProject(t, scheduled("complete", `"s":{"every_minutes":10}`))
	if got := p.due(0, govern.ScheduleOptions{}); got != "s ran completed 1" {
		t.Fatalf("%s", got)
	}
	first := p.state().ID()
	if got := p.due(5*time.Minute, govern.ScheduleOptions{}); got != "s not_due" {
		t.Errorf("%s", got)
	}
	if got := p.due(11*time.Minute, govern.ScheduleOptions{}); got != "s ran completed 1" || p.state().ID() == first {
		t.Errorf("%s", got)
	}
}

// What a crash cut off is continued, at whatever moment it came; nothing is started twice.
func TestScheduleAfterACrash(t *testing.T) {
	t.Parallel()
	for _, cut := range []string{"before the run", "after its start", "with its id"} {
		t.Run(cut, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, scheduled("ok", `"s":{"every_minutes":60,"max_turns":1}`))
			e := p.engine()
			unlock, err := e.lockSchedules()
			if err != nil {
				t.Fatal(err)
			}
			state := govern.ScheduleState{LastStarted: time.Now(), LastStatus: scheduleRunning}
			id := ""
			if cut != "before the run" {
				if id, err = e.startScheduled(t.Context(), "schedule:s"); err != nil {
					t.Fatal(err)
				}
				if cut == "with its id" {
					state.LastRun = id
				}
			}
			if err := e.writeSchedule("s", state); err != nil {
				t.Fatal(err)
			}
			unlock()
			if got := p.due(time.Minute, govern.ScheduleOptions{}); got != "s ran max_turns_reached 1" || id != "" && p.state().ID() != id {
				t.Errorf("%s; run %s, was %s", got, p.state().ID(), id)
			}
			if got := p.due(2*time.Minute, govern.ScheduleOptions{}); got != "s not_due" {
				t.Errorf("%s", got)
			}
		})
	}
	p := newProject(t, scheduled("ok", `"s":{"every_minutes":60}`))
	unlock, err := p.engine().lockSchedules()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := p.engine().RunDue(t.Context(), govern.ScheduleOptions{}); execution.CodeOf(err) != execution.CodeConfigLock {
		t.Errorf("beside another process: %v", err)
	}
	p.write(protocol.SchedulesFile, "{")
	if _, err := p.engine().RunDue(t.Context(), govern.ScheduleOptions{DryRun: true}); err == nil {
		t.Errorf("a broken file: %v", err)
	}
}
