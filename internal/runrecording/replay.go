package runrecording

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/jsontext"
)

// Replayer answers runs from a recording. It is safe for concurrent use.
type Replayer struct {
	path string
	cut  error

	mu   sync.Mutex
	list []*run
}

// Cut returns the run or line that a recording process that was killed left unfinished, nil if there is none. The runs before it answer.
func (p *Replayer) Cut() error { return p.cut }

// Open reads a recording. The error has the line and the fault.
func Open(path string) (*Replayer, error) {
	list, err := load(path)
	if err != nil && len(list) == 0 {
		return nil, err
	}
	return &Replayer{path: path, list: list, cut: err}, nil
}

// Replay is a recorded run that is replayed. It is safe for concurrent use.
type Replay struct {
	Version string // of the agent's program at the recording
	path    string

	mu    sync.Mutex
	lines []recorded // those that are left
}

// Find returns the first recorded run that asks for the same and was not used yet, or the last one that asks for the same. The error
// says what differs from the nearest one.
func (p *Replayer) Find(a Asked) (*Replay, error) {
	asked, err := a.json()
	if err != nil {
		return nil, err
	}
	cwd := a.Request.Run.Cwd
	p.mu.Lock()
	defer p.mu.Unlock()
	var found, nearest *run
	var diffs []jsontext.Difference
	for _, r := range p.list {
		list := r.compare(asked, cwd)
		if len(list) == 0 {
			if found = r; !r.used {
				break
			}
			continue
		}
		if nearest == nil || distance(list) < distance(diffs) {
			nearest, diffs = r, list
		}
	}
	switch {
	case found != nil:
		found.used = true
		lines, err := found.at(cwd)
		return &Replay{Version: found.Version, path: p.path, lines: lines}, err
	case nearest == nil:
		return nil, fmt.Errorf("no run is recorded in %s", p.path)
	}
	return nil, fmt.Errorf("no recorded run is the same; the nearest one begins in line %d of %s; %s", nearest.line, p.path,
		strings.Join(jsontext.Describe(diffs), "; "))
}

// distance is how much differs. A person who looks for a run remembers its prompt.
func distance(list []jsontext.Difference) int {
	n := len(list)
	for _, d := range list {
		if d.What == "message.text" {
			n += 2
		}
	}
	return n
}

// at returns the lines of a run as if it had been in another directory.
func (r *run) at(cwd string) ([]recorded, error) {
	if r.Cwd == cwd || r.Cwd == "" || cwd == "" {
		return r.lines, nil
	}
	texts := make([]string, len(r.lines))
	for i, l := range r.lines {
		texts[i] = string(l.text)
	}
	texts = jsontext.RewriteStream(texts, func(text string) string { return jsontext.ReplacePath(text, r.Cwd, cwd) })
	var moved runs
	moved.list = []*run{{}}
	for i, text := range texts {
		if err := moved.add(i, []byte(text)); err != nil {
			return nil, err
		}
	}
	return moved.list[0].lines, nil
}

// next returns the next line that has the wanted member, and drops those before it; nil if there is none.
func (p *Replay) next(wanted func(*recorded) bool) *recorded {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.lines {
		if l := &p.lines[i]; wanted(l) {
			p.lines = p.lines[i+1:]
			return l
		}
	}
	return nil
}

// SessionUsage answers as the session's file did (agent.Options).
func (p *Replay) SessionUsage(string, string) execution.Usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.lines {
		switch l := &p.lines[i]; {
		case l.Used != nil:
			p.lines = p.lines[i+1:]
			return l.Used.Usage
		case l.Execution != nil: // of the next attempt
			return execution.Usage{}
		}
	}
	return execution.Usage{}
}

// SessionBefore returns the tokens that the session had used before the run, as recorded.
func (p *Replay) SessionBefore() *execution.Usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.lines {
		if x := p.lines[i].Execution; x != nil {
			return x.SessionUsage
		}
	}
	return nil
}

// Adapter returns an adapter that declares what a declares, and executes what was recorded.
func (p *Replay) Adapter(name string, a adapter.Adapter) adapter.Adapter {
	return &replayAdapter{a, name, p}
}

type replayAdapter struct {
	adapter.Adapter
	name string
	from *Replay
}

// Unwrap returns the adapter.
func (a *replayAdapter) Unwrap() adapter.Adapter { return a.Adapter }

// Execute yields what was recorded. It waits for the commands that were received, and calls tools and hooks again; where these answer
// otherwise than at the recording the execution fails with what differs.
func (a *replayAdapter) Execute(ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		begin := a.from.next(func(l *recorded) bool { return l.Execution != nil })
		p := &player{ctx: ctx, req: req, in: in, yield: yield, ids: map[execution.InputID]execution.InputID{}, path: a.from.path}
		switch {
		case begin == nil:
			p.fail(errors.New("the recorded run did not start an agent again"))
			return
		case begin.Execution.Agent != a.name:
			p.fail(fmt.Errorf("the agent: recorded %q, received %q", begin.Execution.Agent, a.name))
			return
		}
		for {
			l := a.from.next(func(l *recorded) bool { return true })
			if l == nil || l.Execution != nil || l.End != nil || l.Used != nil {
				p.fail(errors.New("the recording of the execution has no result"))
				return
			}
			over, err := p.play(l)
			if err != nil {
				p.fail(err)
				return
			}
			if over {
				return
			}
		}
	}
}
