package orchestrator

import (
	"context"
	"path/filepath"
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

// Options are what an engine stands on.
type Options struct {
	// Agents runs the agents of runtimes of type agent; nil refuses such turns.
	Agents govern.Agents
	// Owner names this process to others who find the project locked: the command that was typed.
	Owner   string
	Getenv  func(string) string
	Environ []string
	// Notice hears what happens while it does; calls come one at a time. nil drops it.
	Notice func(govern.Notice)
	// Approve and Answer are asked by agents in prompt mode; nil means that nobody is there.
	Approve func(context.Context, execution.ApprovalRequired) execution.Decision
	Answer  func(context.Context, execution.InputRequired) (string, error)
	// Trust is nil where the user has trusted all that items would run, else the error to end with; it starts and asks nothing. A nil
	// Trust refuses every item: what a project says runs only after somebody said so.
	Trust func(root string, items []trust.Item) error
	// LockWait is how long a command waits for another that writes the record; 0 is 5 s.
	LockWait time.Duration
	// Crash is called at every step of a transaction. Tests end the process there.
	Crash func(point string)
	// Now is the clock; nil is the machine's.
	Now func() time.Time
}

// Local is the engine that carries runs in this process. It is safe for concurrent use.
type Local struct {
	root    string
	o       Options
	history ledger.HistoryReader
	floor   atomic.Int64 // the time of the last transaction that was read, in milliseconds
	work    atomic.Pointer[workspace.Workspace]
}

// workspace is where the project's files and their repository are. They are looked for again when they are not there any more.
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

var _ govern.Engine = (*Local)(nil)

// Open makes an engine for the project at root. It reads nothing yet.
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
	if o.Owner == "" {
		o.Owner = "drawbar govern"
	}
	if o.LockWait == 0 {
		o.LockWait = 5 * time.Second
	}
	return &Local{root: abs, o: o}, nil
}

// Root is the project's folder.
func (e *Local) Root() string { return e.root }

// trusted refuses items that the user has not trusted.
func (e *Local) trusted(items []trust.Item) error {
	if len(items) == 0 {
		return nil
	}
	if e.o.Trust != nil {
		return e.o.Trust(e.root, items)
	}
	pending := make([]trust.Change, len(items))
	for i, item := range items {
		pending[i].Item = item
	}
	return trust.Refusal(e.root, pending)
}

// mayStart refuses a project of which anything is not trusted, before the record is touched. What runs is checked again where it does.
func (e *Local) mayStart() error {
	p, err := project.Load(e.root)
	if err != nil {
		return err
	}
	return e.trusted(p.Items())
}

// now is the time, and never before what the record says: a clock that was set back brings no events out of order.
func (e *Local) now() protocol.Time {
	return protocol.At(time.UnixMilli(max(e.o.Now().UnixMilli(), e.floor.Load())))
}

func (e *Local) note(n govern.Notice) { e.o.Notice(n) }

func (e *Local) warn(text string) { e.note(govern.Notice{Kind: govern.NoticeWarning, Text: text}) }

// mended tells what the ledger repaired.
func (e *Local) mended(notes []ledger.Note) {
	for _, n := range notes {
		e.note(govern.Notice{Kind: govern.NoticeMended, TurnID: n.TurnID, Text: n.Message})
	}
}
