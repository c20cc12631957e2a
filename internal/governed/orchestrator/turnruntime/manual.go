package turnruntime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/fsnotify/fsnotify"
)

// defaultPoll is how often a result is looked for besides what the file system announces.
const defaultPoll = 2 * time.Second

// manual is a person who reads the bundle and writes the result.
type manual struct{ deps Deps }

// Check finds nothing: a person needs no installation.
func (*manual) Check(d Dispatch) error {
	if d.StagedPath == "" || d.BundleDir == "" {
		return execution.Errorf(execution.CodeInternal, "turn %s: the dispatch names no bundle or no result file", d.Turn.TurnID)
	}
	return nil
}

// Carry prints what to do and waits until the result is there. A result that was written before is taken: a person
// who was told to resume has written it meanwhile.
func (m *manual) Carry(ctx context.Context, d Dispatch, w Watch) (Outcome, error) {
	if err := m.Check(d); err != nil {
		return Outcome{}, err
	}
	j := m.deps.job(d, w, "a person", govern.StageWaiting)
	lines, err := Instruct(d, j.begun)
	if err != nil {
		return Outcome{}, err
	}
	for _, line := range lines {
		d.say("%s", line)
	}
	j.attached(0)

	changed, stop := watchFolder(filepath.Dir(d.StagedPath))
	defer stop()
	poll := time.NewTicker(setting(defaultPoll, d.Runtime.PollIntervalMS))
	defer poll.Stop()
	beat := time.NewTicker(setting(defaultLivenessBeat, d.Runtime.LivenessHeartbeatMS, d.Loop.LivenessHeartbeatMS))
	defer beat.Stop()
	over := time.NewTimer(j.limit.Sub(j.begun))
	defer over.Stop()
	said := ""
	for {
		s := d.look()
		if err := Ready(s.data); s.valid() && err != nil {
			s.fault = fmt.Errorf("%s %w", d.shown(s.path), err)
		}
		switch {
		case s.valid():
			j.sign("staged_result", m.deps.Now())
			return Outcome{Staged: true, Meta: j.latency(nil)}, nil
		case s.present && s.fault.Error() != said:
			// Perhaps it is still being written; what is wrong with it is said once.
			said = s.fault.Error()
			d.say("The result is not ready yet: %s", said)
		}
		select {
		case <-changed:
		case <-poll.C:
		case <-beat.C:
			j.report()
		case <-over.C:
			detail := "nobody wrote a result within " + govern.Took(m.deps.Now().Sub(j.begun))
			if said != "" {
				return Outcome{Class: ClassTimeout, Draft: true, Detail: detail + "; the current file is not ready: " + said, Meta: j.latency(nil),
					Hint: "finish " + d.shown(d.StagedPath) + ", then: drawbar govern step"}, nil
			}
			return Outcome{Class: ClassTimeout, Detail: detail, Meta: j.latency(nil),
				Hint: "write " + d.shown(d.StagedPath) + ", then: drawbar govern step --resume"}, nil
		case <-ctx.Done():
			return Outcome{Cancelled: true, Detail: "the wait was interrupted", Hint: "write " + d.shown(d.StagedPath) + ", then: drawbar govern step"}, nil
		}
	}
}

// Ready says why a result is not ready to be judged: it cannot be read, or a blank of the template is left in it.
func Ready(data []byte) error {
	if blank := unfilled(data); blank != "" {
		return fmt.Errorf("still says %s", blank)
	}
	_, err := decode(data)
	return err
}

// watchFolder tells of changes in a folder. Where the file system cannot tell, it never does; the poll remains.
func watchFolder(dir string) (<-chan fsnotify.Event, func()) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, func() {}
	}
	if err := w.Add(dir); err != nil {
		_ = w.Close()
		return nil, func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range w.Errors { //nolint:revive // errors are dropped: the poll finds what they lose
		}
	}()
	return w.Events, func() {
		_ = w.Close()
		<-done
	}
}

// Instruct tells a person what to do for the turn, line by line, and leaves the template that it speaks of.
func Instruct(d Dispatch, now time.Time) ([]string, error) {
	if err := os.MkdirAll(filepath.Dir(d.StagedPath), 0o755); err != nil {
		return nil, localError("make the folder of the turn's result", err)
	}
	if err := writeTemplate(d); err != nil {
		return nil, err
	}
	return d.instructions(d.limit(now).Sub(now)), nil
}

// writeTemplate puts a result to fill in beside the place of the result, unless one is there.
func writeTemplate(d Dispatch) error {
	f, err := os.OpenFile(d.templatePath(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		_, err = f.Write(Template(d))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return localError("write the template of the result", err)
	}
	return nil
}
