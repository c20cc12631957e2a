package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/lazy"
)

// label is what a person calls a session. The agents' own files are not changed for it.
type label struct {
	Name string   `json:"name,omitempty"`
	Tags []string `json:"tags,omitempty"`
	// Archived sessions are left out of lists.
	Archived bool `json:"archived,omitempty"`
}

// labels are the labels of sessions, by unified id.
type labels map[string]label

const (
	labelsName = "session-labels.json"
	labelWait  = 5 * time.Second
)

// labelPattern is a name or a tag. A name without a colon is no unified id.
var labelPattern = lazy.Regexp(`^[\pL\pN][\pL\pN._/-]{0,63}$`)

// reserved are words where a session is asked for, so none can have that name: the newest, and one that a person chooses.
var reserved = []string{"latest", "pick"}

// named returns the session with that name, "" if there is none.
func (l labels) named(name string) string {
	for id, one := range l {
		if one.Name == name {
			return id
		}
	}
	return ""
}

func (s *Store) labelsPath() string { return filepath.Join(s.opts.Dir, labelsName) }

// labels reads the labels; there are none without a state directory.
func (s *Store) labels() (labels, error) {
	l := labels{}
	if s.opts.Dir == "" {
		return l, nil
	}
	b, err := os.ReadFile(s.labelsPath())
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(b)).Decode(&l)
	}
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "read the names of sessions: %s: %w", s.labelsPath(), err).
			WithHint("fix the file, or remove it: names and tags of sessions are lost then, the sessions stay")
	}
	return l, nil
}

// changeLabels changes the labels while no other process does.
func (s *Store) changeLabels(ctx context.Context, change func(labels) error) error {
	if s.opts.Dir == "" {
		return execution.Errorf(execution.CodeInvalidStateTransition, "names and tags of sessions need a state directory")
	}
	fail := func(err error) error {
		return execution.Errorf(execution.CodeConfig, "write the names of sessions: %w", err)
	}
	if err := os.MkdirAll(s.opts.Dir, 0o700); err != nil {
		return fail(err)
	}
	ctx, cancel := context.WithTimeout(ctx, labelWait)
	defer cancel()
	lock := flock.New(s.labelsPath()+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return fail(err)
	}
	defer func() { _ = lock.Close() }()
	l, err := s.labels()
	if err != nil {
		return err
	}
	before := maps.Clone(l)
	if err := change(l); err != nil {
		return err
	}
	maps.DeleteFunc(l, func(_ string, one label) bool { return one.Name == "" && len(one.Tags) == 0 && !one.Archived })
	if maps.EqualFunc(before, l, func(a, b label) bool {
		return a.Name == b.Name && a.Archived == b.Archived && slices.Equal(a.Tags, b.Tags)
	}) {
		return nil
	}
	b, err := json.MarshalIndent(l, "", "  ")
	if err == nil {
		err = atomicfile.Write(s.labelsPath(), append(b, '\n'), 0o600, true)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// CheckName checks a name before a session has it: its form, and that no session but the given one, "" for a new one, has it.
func (s *Store) CheckName(name, unified string) error {
	if slices.Contains(reserved, name) || !labelPattern().MatchString(name) {
		return execution.Errorf(execution.CodeValidation, "%q cannot be the name of a session", name).WithHint(labelHint)
	}
	l, err := s.labels()
	if err != nil {
		return err
	}
	return l.free(name, unified)
}

const labelHint = "1 to 64 letters, digits, -, _, / or a dot; not latest or pick"

func (l labels) free(name, unified string) error {
	if other := l.named(name); other != "" && other != unified {
		return execution.Errorf(execution.CodeValidation, "session %s has the name %s", other, name).
			WithHint("continue it: --session %s; or take the name away: drawbar sessions name %s --remove", name, name)
	}
	return nil
}

// Name gives a session, by its unified id, a name that no other session has; "" takes it away.
func (s *Store) Name(ctx context.Context, unified, name string) error {
	if name != "" {
		if err := s.CheckName(name, unified); err != nil {
			return err
		}
	}
	return s.changeLabels(ctx, func(l labels) error {
		if err := l.free(name, unified); name != "" && err != nil {
			return err
		}
		one := l[unified]
		one.Name = name
		l[unified] = one
		return nil
	})
}

// Tag adds tags to a session, by its unified id, and removes others.
func (s *Store) Tag(ctx context.Context, unified string, add, remove []string) error {
	for _, tag := range add {
		if !labelPattern().MatchString(tag) {
			return execution.Errorf(execution.CodeValidation, "%q cannot be a tag of a session", tag).WithHint(labelHint)
		}
	}
	return s.changeLabels(ctx, func(l labels) error {
		one := l[unified]
		tags := append(slices.Clone(one.Tags), add...)
		tags = slices.DeleteFunc(tags, func(t string) bool { return slices.Contains(remove, t) })
		slices.Sort(tags)
		one.Tags = slices.Compact(tags)
		l[unified] = one
		return nil
	})
}

// Archive leaves a session, by its unified id, out of lists from now on, or takes that back. A session that its agent archived stays
// archived.
func (s *Store) Archive(ctx context.Context, unified string, archived bool) error {
	return s.changeLabels(ctx, func(l labels) error {
		one := l[unified]
		one.Archived = archived
		l[unified] = one
		return nil
	})
}

// Remove deletes a session, by its unified id, for good, with its name and tags. Only those that Drawbar wrote can be.
func (s *Store) Remove(ctx context.Context, unified string) error {
	agent, id, _ := execution.SplitSession(unified)
	src, err := s.source(agent)
	if err != nil {
		return err
	}
	r, ok := src.Store.(adapter.SessionRemover)
	if !ok {
		return execution.Errorf(execution.CodeCapability, "session %s is a file of %s, which Drawbar does not delete", unified, src.Agent).
			WithHint("delete it with the agent's own program, or leave it out of lists: drawbar sessions archive %s", unified)
	}
	if err := r.RemoveSession(s.opts.Host, id); err != nil {
		return err
	}
	return s.changeLabels(ctx, func(l labels) error { delete(l, unified); return nil })
}

// described returns the labels, with the tags of runs. Labels that cannot be read are left out of it.
func (s *Store) described(ctx context.Context) (labels, error) {
	l, err := s.labels()
	if l == nil {
		l = labels{}
	}
	if s.opts.Tags == nil {
		return l, err
	}
	ofRuns, tagErr := s.opts.Tags(ctx)
	if tagErr != nil {
		tagErr = execution.Errorf(execution.CodeConfig, "read the tags of runs: %w", tagErr)
	}
	for id, tags := range ofRuns {
		one := l[id]
		one.Tags = slices.Compact(slices.Sorted(slices.Values(slices.Concat(one.Tags, tags))))
		l[id] = one
	}
	return l, errors.Join(err, tagErr)
}

// describe adds its label to a session.
func (l labels) describe(s *history.Summary) {
	one := l[s.UnifiedID]
	s.Name, s.Archived = one.Name, s.Archived || one.Archived
	if one.Tags != nil {
		s.Tags = one.Tags
	}
}
