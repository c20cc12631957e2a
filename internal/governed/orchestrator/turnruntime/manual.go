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

// defaultPoll is the interval at which a result is looked for, in addition to file system notifications.
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

// Run prints instructions and waits for the result. An existing result is taken without them: a person who resumes a turn may
// have written it already.
func (m *manual) Run(ctx context.Context, d Dispatch, w Watch) (Outcome, error) {
	if err := m.Check(d); err != nil {
		return Outcome{}, err
	}
	j := m.deps.job(d, w, "a person", govern.StageWaiting)
	lines, err := Instruct(d, j.begun)
	if err != nil {
		return Outcome{}, err
	}
	look := func() staged {
		s := d.look()
		if err := Ready(s.data); s.valid() && err != nil {
			s.fault = fmt.Errorf("%s %w", d.shown(s.path), err)
		}
		return s
	}
	s := look()
	if !s.valid() {
		for _, line := range lines {
			d.say("%s", line)
		}
		j.attached(0)
	}

	changed, stop := watchFolder(filepath.Dir(d.StagedPath))
	defer stop()
	poll := time.NewTicker(setting(defaultPoll, d.Runtime.PollIntervalMS))
	defer poll.Stop()
	beat := time.NewTicker(setting(defaultLivenessBeat, d.Runtime.LivenessHeartbeatMS, d.Loop.LivenessHeartbeatMS))
	defer beat.Stop()
	over := time.NewTimer(j.limit.Sub(j.begun))
	defer over.Stop()
	said := ""
	for ; ; s = look() {
		switch {
		case s.valid():
			j.sign("staged_result", m.deps.Now())
			return Outcome{Staged: true, Meta: j.latency(nil)}, nil
		case s.present && s.fault.Error() != said:
			// The file may still be being written; each fault is reported once.
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

// Ready says why a result cannot be judged yet: it cannot be read, or a placeholder of the template is left in it.
func Ready(data []byte) error {
	if blank := unfilled(data); blank != "" {
		return fmt.Errorf("still says %s", blank)
	}
	_, err := decode(data)
	return err
}

// watchFolder signals changes in a folder. Without file system notifications it never does, and the caller relies on
// polling.
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
		for range w.Errors { //nolint:revive // errors are dropped: polling finds what is missed
		}
	}()
	return w.Events, func() {
		_ = w.Close()
		<-done
	}
}

// Instruct explains the turn to a person, line by line, and writes the template that the text mentions.
func Instruct(d Dispatch, now time.Time) ([]string, error) {
	if err := os.MkdirAll(filepath.Dir(d.StagedPath), 0o755); err != nil {
		return nil, localError("make the folder of the turn's result", err)
	}
	if err := writeTemplate(d); err != nil {
		return nil, err
	}
	return d.instructions(d.limit(now).Sub(now)), nil
}

// writeTemplate writes a template of the result next to the result's path, unless one exists.
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
