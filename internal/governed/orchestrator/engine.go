package orchestrator

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/governed/workspace"
	"github.com/drawbar/drawbar/internal/settings/trust"
)

// Options are the dependencies of an engine.
type Options struct {
	// Agents runs the agents of runtimes of type agent; nil refuses such turns.
	Agents govern.Agents
	// Owner describes this process to others that find the project locked: the command that was typed.
	Owner   string
	Getenv  func(string) string
	Environ []string
	// Notice receives what happens during a command; calls do not overlap. nil discards it.
	Notice func(govern.Notice)
	// Approve and Answer are called by agents in prompt mode; nil means that there is no person to ask.
	Approve func(context.Context, execution.ApprovalRequired) execution.Decision
	Answer  func(context.Context, execution.InputRequired) (string, error)
	// Trust returns nil if the user has trusted all programs that items would run, else the error to end with; it
	// starts and asks nothing. A nil Trust refuses every item.
	Trust func(root string, items []trust.Item) error
	// Clone returns an id for this clone of the repository; nil uses its path. It must not depend on files that an agent writes.
	Clone func(root string) (string, error)
	// LockWait is how long a command waits for another that writes the record; 0 is 5 s.
	LockWait time.Duration
	// Crash is called at every step of a transaction. Tests end the process in it.
	Crash func(point string)
	// Now is the clock; nil is the machine's.
	Now func() time.Time
}

// Local runs turns in this process, on the record of this machine. It is safe for concurrent use.
type Local struct {
	root    string
	o       Options
	history ledger.HistoryReader
	floor   atomic.Int64 // time of the last transaction that was read, in milliseconds
	work    atomic.Pointer[workspace.Workspace]
	name    func() (string, error) // id of this clone
}

// clone returns the id of this clone; empty after an error.
func (e *Local) clone() string {
	name, err := e.name()
	if err != nil {
		e.warn(err.Error())
	}
	return name
}

// workspace returns the project's files and their repository, which are searched again if they have moved.
func (e *Local) workspace(ctx context.Context) (*workspace.Workspace, error) {
	if w := e.work.Load(); w != nil && w.Fits() {
		return w, nil
	}
	w, err := workspace.Open(ctx, e.root)
	if err == nil {
		e.work.Store(w)
	}
	return w, err
}

// Open creates an engine for the project at root. It reads nothing yet.
func Open(root string, o Options) (*Local, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "open project %s: %w", root, err)
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Notice == nil {
		o.Notice = func(govern.Notice) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Clone == nil {
		o.Clone = func(root string) (string, error) { return root, nil }
	}
	name := sync.OnceValues(func() (string, error) { return o.Clone(abs) })
	if o.Owner == "" {
		o.Owner = "drawbar govern"
	}
	if o.LockWait == 0 {
		o.LockWait = 5 * time.Second
	}
	return &Local{root: abs, o: o, name: name}, nil
}

// trustedProject refuses a project of which the user has not trusted everything that would run.
func (e *Local) trustedProject(p *project.Project) error {
	if err := e.trusted(p.Items()); err != nil {
		return err
	}
	return e.trustedIn(p.AgentItems())
}

// trusted refuses items of the project that the user has not trusted.
func (e *Local) trusted(items []trust.Item) error { return e.trustedIn(e.root, items) }

func (e *Local) trustedIn(root string, items []trust.Item) error {
	if len(items) == 0 {
		return nil
	}
	if e.o.Trust != nil {
		return e.o.Trust(root, items)
	}
	return trust.Refuse(root, items)
}

// mayStart refuses a project that is not entirely trusted, before the record is touched. Trust is checked again when a
// program runs.
func (e *Local) mayStart() error {
	p, err := project.Load(e.root)
	if err != nil {
		return err
	}
	return e.trustedProject(p)
}

// now is the current time, but never before the last time in the record: a clock that was set back must not reorder
// events.
func (e *Local) now() protocol.Time {
	return protocol.At(time.UnixMilli(max(e.o.Now().UnixMilli(), e.floor.Load())))
}

func (e *Local) note(n govern.Notice) { e.o.Notice(n) }

func (e *Local) warn(text string) { e.note(govern.Notice{Kind: govern.NoticeWarning, Text: text}) }

// mended reports what the ledger repaired.
func (e *Local) mended(notes []ledger.Note) {
	for _, n := range notes {
		e.note(govern.Notice{Kind: govern.NoticeMended, TurnID: n.TurnID, Text: n.Message})
	}
}
