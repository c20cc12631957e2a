package runrecording

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/execution/deltas"
	"github.com/drawbar/drawbar/internal/base/jsontext"
	"github.com/drawbar/drawbar/internal/base/linefile"
	"github.com/drawbar/drawbar/internal/base/secret"
)

// maxRun bounds what is kept of a run until it ends. A longer one is not recorded.
const maxRun = 512 << 20

// notRecorded are ends of runs that are not the agent's doing.
var notRecorded = []execution.ErrorCode{
	execution.CodeAborted, execution.CodeTimeout, execution.CodeInactivityTimeout, execution.CodeAgentNotInstalled, execution.CodeSpawn, execution.CodeCapability,
}

// Recorder adds runs to a file. It is safe for concurrent use.
type Recorder struct {
	path  string
	file  *linefile.Writer
	there []*run // before this process
}

// Create opens a file to record to. One that exists is read, and continued.
func Create(path string) (*Recorder, error) {
	var there runs
	w, err := format.Open(path, there.add)
	if err != nil {
		return nil, err
	}
	if err := there.complete(); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return &Recorder{path: path, file: w, there: there.list}, nil
}

// Close closes the file.
func (r *Recorder) Close() error { return r.file.Close() }

// Recording is the recording of one run. It is safe for concurrent use.
type Recording struct {
	recorder *Recorder
	secrets  *secret.Redactor

	mu      sync.Mutex
	lines   [][]byte
	size    int
	open    int // executions without a result
	failure error
}

// Begin begins the recording of a run. A run that was recorded before this process began would be replayed in place of the new one,
// and is an error.
func (r *Recorder) Begin(a Asked, version string, secrets []string) (*Recording, error) {
	asked, err := a.json()
	if err != nil {
		return nil, err
	}
	c := &Recording{recorder: r, secrets: secret.New(secrets)}
	asked = jsontext.Rewrite(asked, c.secrets.Text)
	cwd := c.secrets.Text(a.Request.Run.Cwd)
	for _, old := range r.there {
		if len(old.compare(asked, cwd)) == 0 {
			return nil, fmt.Errorf("%s has a recording of this run, which begins in line %d", r.path, old.line)
		}
	}
	c.add(line{Run: &runLine{Request: asked, Cwd: cwd, Version: version}})
	return c, nil
}

// add encodes a line at once, because what it refers to may change.
func (c *Recording) add(l line) {
	text, err := linefile.Line(l)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += len(text); c.size > maxRun {
		c.lines, err = nil, fmt.Errorf("the run has more than %d bytes", maxRun)
	}
	if c.failure = errors.Join(c.failure, err); c.failure == nil {
		c.lines = append(c.lines, text)
	}
}

// Finish writes the recording of an ended run. One in which no agent ran, or that was aborted or ran out of time, is refused: nothing
// would stop its replay there.
func (c *Recording) Finish(res execution.Result) error {
	c.add(line{End: &endLine{Status: res.Status}})
	c.mu.Lock()
	defer c.mu.Unlock()
	switch code := res.Error.ErrorCode(); {
	case c.failure != nil:
		return c.failure
	case slices.Contains(notRecorded, code):
		return fmt.Errorf("it ended with %s, which a replay cannot repeat", code)
	case c.open > 0:
		return errors.New("the agent was stopped before it had a result")
	}
	texts := make([]string, len(c.lines))
	for i, text := range c.lines {
		texts[i] = string(text)
	}
	for range 2 { // a key at the start of a fragment is found once those before it are clean
		texts = jsontext.RewriteStream(texts, c.secrets.Text)
	}
	for i, text := range texts {
		c.lines[i] = []byte(text)
	}
	return c.recorder.file.Append(c.lines...)
}

// SessionUsage records the answers of a function (agent.Options).
func (c *Recording) SessionUsage(ask func(agent, session string) execution.Usage) func(agent, session string) execution.Usage {
	return func(agent, session string) execution.Usage {
		used := ask(agent, session)
		c.add(line{Used: &usedLine{Agent: agent, Session: session, Usage: used}})
		return used
	}
}

// Adapter returns an adapter whose executions are recorded.
func (c *Recording) Adapter(name string, a adapter.Adapter) adapter.Adapter {
	return &recordedAdapter{a, name, c}
}

// recordedAdapter records the executions of an adapter.
type recordedAdapter struct {
	adapter.Adapter
	name string
	to   *Recording
}

// Unwrap returns the adapter.
func (a *recordedAdapter) Unwrap() adapter.Adapter { return a.Adapter }

// Execute executes and records.
func (a *recordedAdapter) Execute(ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		c := a.to
		c.add(line{Execution: &executionLine{Agent: a.name, SessionUsage: req.SessionUsage}})
		c.mu.Lock()
		c.open++
		c.mu.Unlock()
		var slim deltas.Slimmer
		for e, err := range a.Adapter.Execute(ctx, req, observe(in, c)) {
			if err == nil && e.Body != nil {
				c.event(slim.Slim(e))
				if e.Terminal() {
					c.mu.Lock()
					c.open--
					c.mu.Unlock()
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// event records an event without the members that package agent sets.
func (c *Recording) event(e execution.Event) {
	text, err := json.Marshal(e)
	if err != nil {
		c.mu.Lock()
		c.failure = errors.Join(c.failure, err)
		c.mu.Unlock()
		return
	}
	unset, _ := json.Marshal(struct {
		RunID     string `json:"runId"`
		Agent     string `json:"agent"`
		Timestamp int64  `json:"timestamp"`
		Turn      int    `json:"turn"`
	}{Timestamp: e.Time.UnixMilli()})
	text = bytes.Replace(text, append(unset[1:len(unset)-1], ','), nil, 1)
	c.add(line{Event: text})
}

// observe returns an inbox that records what an adapter receives from another. It is a host of tools and hooks if that is one.
func observe(in adapter.Inbox, c *Recording) adapter.Inbox {
	tools, isTools := in.(adapter.ToolHost)
	hooks, isHooks := in.(adapter.HookHost)
	box, t, h := &inbox{in, c}, toolHost{tools, c}, hookHost{hooks, c}
	switch {
	case isTools && isHooks:
		return struct {
			*inbox
			toolHost
			hookHost
		}{box, t, h}
	case isTools:
		return struct {
			*inbox
			toolHost
		}{box, t}
	case isHooks:
		return struct {
			*inbox
			hookHost
		}{box, h}
	}
	return box
}

type inbox struct {
	in adapter.Inbox
	to *Recording
}

// Receive receives and records. Interrupts and pauses are not recorded: a replay does not wait for them.
func (b *inbox) Receive(ctx context.Context) (execution.Command, error) {
	cmd, err := b.in.Receive(ctx)
	if err != nil {
		return cmd, err
	}
	switch cmd := cmd.(type) {
	case execution.Say:
		b.to.add(line{Command: &commandLine{Say: &sayLine{cmd.ID, cmd.Text, cmd.When}}})
	case execution.Answer:
		b.to.add(line{Command: &commandLine{Answer: &answerLine{cmd.ID, cmd.Decision}}})
	case execution.EndInput:
		b.to.add(line{Command: &commandLine{EndInput: true}})
	}
	return cmd, nil
}

type toolHost struct {
	host adapter.ToolHost
	to   *Recording
}

// CallTool calls and records.
func (h toolHost) CallTool(ctx context.Context, call execution.ToolCall) (execution.ToolResult, error) {
	res, err := h.host.CallTool(ctx, call)
	l := toolLine{Call: call, Result: res}
	if err != nil {
		l.Failure = err.Error()
	}
	h.to.add(line{Tool: &l})
	return res, err
}

type hookHost struct {
	host adapter.HookHost
	to   *Recording
}

// DecideTool asks and records.
func (h hookHost) DecideTool(ctx context.Context, call execution.HookCall) execution.HookResult {
	res := h.host.DecideTool(ctx, call)
	h.to.add(line{Hook: &hookLine{call, res}})
	return res
}
