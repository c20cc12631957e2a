package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/project"
)

// The last status of a schedule whose run was started and has not stopped yet, and of one whose run could not start or go on.
const (
	scheduleRunning = "running"
	scheduleFailed  = "failed"
)

// schedules is schedule-state.json.
type schedules struct {
	SchemaVersion string                                 `json:"schema_version"`
	Schedules     protocol.Ordered[govern.ScheduleState] `json:"schedules"`
}

// RunDue implements govern.Engine. A schedule continues a run that it started and that is still active: at once after a crash, else when it is
// due again.
func (e *Local) RunDue(ctx context.Context, o govern.ScheduleOptions) ([]govern.Scheduled, error) {
	p, err := project.Load(e.root)
	if err != nil {
		return nil, err
	}
	all := p.Config.Scheduled()
	switch {
	case all.Len() == 0:
		return nil, execution.Errorf(execution.CodeConfig, "agentxchain.json has no schedules").WithHint(`drawbar govern config set schedules.nightly '{"every_minutes":1440}'`)
	case o.ID != "" && !all.Has(o.ID):
		return nil, execution.Errorf(execution.CodeValidation, "there is no schedule %s", o.ID).WithHint("drawbar govern schedule list")
	}
	if !o.DryRun {
		if err := e.mayStart(); err != nil {
			return nil, err
		}
		unlock, err := e.lockSchedules()
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	out := []govern.Scheduled{}
	for id, s := range all.All() {
		if o.ID != "" && id != o.ID {
			continue
		}
		one, err := e.runDue(ctx, o, id, s)
		if err != nil {
			return out, err
		}
		if out = append(out, one); ctx.Err() != nil {
			break
		}
	}
	return out, nil
}

// lockSchedules keeps two processes from starting the same run.
func (e *Local) lockSchedules() (unlock func(), err error) {
	unlock, taken, err := ledger.TryLock(e.root, "schedule")
	if err == nil && !taken {
		err = execution.Errorf(execution.CodeConfigLock, "another process runs the schedules of %s", e.root).WithHint("drawbar govern schedule status")
	}
	return unlock, err
}

func (e *Local) runDue(ctx context.Context, o govern.ScheduleOptions, id string, s protocol.Schedule) (one govern.Scheduled, err error) {
	states, err := e.readSchedules()
	if err != nil {
		return one, err
	}
	known := states.Schedules.At(id)
	now := e.now().Time
	one = govern.Scheduled{ID: id, ScheduleState: known, Next: now}
	if !known.LastStarted.IsZero() {
		one.Next = known.LastStarted.Add(time.Duration(s.EveryMinutes) * time.Minute)
	}
	v, err := ledger.Read(e.root)
	if err != nil {
		return one, err
	}
	reason := cmp.Or(s.Reason, "schedule:"+id)
	cutOff := known.LastStatus == scheduleRunning
	mine := v.State.Status == protocol.RunActive && (v.State.ID() == known.LastRun || cutOff && known.LastRun == "" && startedBy(&v.State, reason))
	if mine {
		known.LastRun = v.State.ID()
	}
	if cutOff && (mine || known.LastRun == "") { // with its run, or before that began
		one.Next = now
	}
	switch {
	case s.Enabled != nil && !*s.Enabled:
		one.Outcome, one.Next = govern.ScheduleDisabled, time.Time{}
		return one, nil
	case now.Before(one.Next):
		one.Outcome = govern.ScheduleWaits
		return one, nil
	case !mine && busy(&v.State) != "":
		one.Outcome, one.Reason = govern.ScheduleSkipped, busy(&v.State)
		if !o.DryRun {
			known.LastSkip, known.LastReason = now, one.Reason
			err = e.writeSchedule(id, known)
		}
		one.ScheduleState = known
		return one, err
	case o.DryRun:
		one.Outcome = govern.ScheduleDue
		return one, nil
	}
	run := govern.RunOptions{MaxTurns: cmp.Or(s.MaxTurns, defaultMaxTurns), AutoApprove: s.AutoApprove == nil || *s.AutoApprove, Verbose: o.Verbose}
	if mine {
		known.LastStarted, known.LastStatus = now, scheduleRunning
		if err := e.writeSchedule(id, known); err != nil {
			return one, err
		}
	} else {
		run.Role = s.InitialRole
		known = govern.ScheduleState{LastStarted: now, LastStatus: scheduleRunning, LastSkip: known.LastSkip, LastReason: known.LastReason}
		// The record of the schedule comes first: a run that fails at its start is not started again at once.
		if err := e.writeSchedule(id, known); err != nil {
			return one, err
		}
		if known.LastRun, err = e.startScheduled(ctx, reason); err == nil {
			err = e.writeSchedule(id, known)
		}
		if err != nil {
			known.LastStatus = scheduleFailed
			return one, errors.Join(err, e.writeSchedule(id, known))
		}
	}
	report, err := e.Run(ctx, run)
	known.LastFinished, known.LastStatus = e.now().Time, string(report.Stop)
	if err != nil {
		known.LastStatus = scheduleFailed
	} else if report.Stop == govern.StopInterrupted {
		known.LastStatus = scheduleRunning // the next call continues it
	}
	one.Outcome, one.Run, one.ScheduleState = govern.ScheduleRan, &report, known
	one.Next = known.LastStarted.Add(time.Duration(s.EveryMinutes) * time.Minute)
	return one, errors.Join(err, e.writeSchedule(id, known))
}

// startedBy reports whether a schedule with this reason started the run.
func startedBy(st *protocol.State, reason string) bool {
	var by struct {
		Trigger string `json:"trigger"`
		Reason  string `json:"trigger_reason"`
	}
	return json.Unmarshal(st.Provenance, &by) == nil && by.Trigger == "schedule" && by.Reason == reason
}

// busy says why no run can start now, empty if one can.
func busy(st *protocol.State) string {
	if st.ID() == "" || st.Status == protocol.RunCompleted || st.Status == protocol.RunIdle {
		return ""
	}
	reason := fmt.Sprintf("run %s is %s", st.ID(), st.Status)
	if gate := pending(st); gate != "" {
		reason += ": gate " + gate + " waits for a person"
	}
	return reason
}

// startScheduled begins a run and returns its id.
func (e *Local) startScheduled(ctx context.Context, reason string) (id string, err error) {
	err = e.locked(ctx, "schedule", func(t *transaction) error {
		if why := busy(t.state()); why != "" {
			return execution.Errorf(execution.CodeInvalidStateTransition, "%s", why).WithHint("%s", governance.NextCommand(t.run))
		}
		if err := t.mayRun(); err != nil {
			return err
		}
		by := map[string]any{"trigger": "schedule", "created_by": "operator", "trigger_reason": reason}
		if err := t.startRunBy(ctx, t.state().Status == protocol.RunCompleted, by); err != nil {
			return err
		}
		id = t.state().ID()
		_, err := t.commit(ctx, commitStart, "", nil)
		return err
	})
	return id, err
}

func (e *Local) readSchedules() (s schedules, err error) {
	file := filepath.Join(e.root, filepath.FromSlash(protocol.SchedulesFile))
	b, err := os.ReadFile(file) //nolint:gosec // a file of the project's record
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return s, execution.Errorf(execution.CodeConfig, "read %s: %w", protocol.SchedulesFile, err).WithHint("correct it, or remove it: every schedule is due then")
	}
	return s, nil
}

func (e *Local) writeSchedule(id string, state govern.ScheduleState) error {
	s, err := e.readSchedules()
	if err != nil {
		return err
	}
	s.SchemaVersion = "0.1"
	s.Schedules.Set(id, state)
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(e.root, filepath.FromSlash(protocol.SchedulesFile)), append(b, '\n'), 0o644, true); err != nil {
		return fmt.Errorf("write %s: %w", protocol.SchedulesFile, err)
	}
	return nil
}
