package runstore

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
)

// Run describes one run. A live run has the state running and no EndedAt; a lost one has the cost, turns and end of its recorded
// events.
type Run struct {
	ID        execution.RunID `json:"runId"`
	Agent     string          `json:"agent"`
	Model     string          `json:"model,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	ProjectID string          `json:"projectId,omitempty"`
	execution.Correlation
	Parent       execution.RunID        `json:"parentRunId,omitempty"`
	Cwd          string                 `json:"cwd,omitempty"`
	Prompt       string                 `json:"prompt,omitempty"` // the first 200 characters
	Tags         []string               `json:"tags,omitempty"`
	ApprovalMode execution.ApprovalMode `json:"approvalMode,omitempty"`
	Detached     bool                   `json:"detached,omitempty"`
	ReservedUSD  float64                `json:"reservedUsd,omitempty"` // of the budgets of runs, 0 once it has ended
	State        execution.Outcome      `json:"state"`                 // running, then the outcome
	Live         bool                   `json:"live"`
	Status       execution.Status       `json:"status,omitempty"`
	ExitReason   execution.ExitReason   `json:"exitReason,omitempty"`
	ErrorCode    execution.ErrorCode    `json:"errorCode,omitempty"`
	StartedAt    time.Time              `json:"startedAt"`
	EndedAt      time.Time              `json:"endedAt,omitzero"`
	DurationMs   int64                  `json:"durationMs,omitempty"` // 0 for a live run
	TurnCount    int                    `json:"turnCount,omitempty"`
	Cost         *execution.Cost        `json:"cost,omitempty"`

	dir     string
	process process
}

// Process returns the process that records the run and whether it is alive. A PID that was reused, or that means another process
// here, is not alive. Only a live process may be signalled. pid is 0 for an ended run from List.
func (r Run) Process() (pid int, alive bool) {
	alive, _ = r.process.check()
	return r.process.PID, alive
}

// socketLimit is the maximum length of a socket's path; the smallest limit of the platforms is 103 bytes and a NUL.
const socketLimit = 100

// ControlPath returns the path of the run's control socket: in its directory or, if that path is too long for a socket, under a
// hashed name in drawbar-<uid> in the temporary directory. It creates nothing; the listener creates that directory with mode 0700
// and checks its owner.
func (r Run) ControlPath() string { return controlPath(r.dir, os.TempDir(), os.Getuid(), runtime.GOOS) }

func controlPath(dir, temp string, uid int, goos string) string {
	path := filepath.Join(dir, "control.sock")
	if len(path) <= socketLimit {
		return path
	}
	owner := "drawbar"
	if uid >= 0 {
		owner += "-" + strconv.Itoa(uid)
	}
	sum := sha256.Sum256([]byte(dir))
	name := filepath.Join(owner, hex.EncodeToString(sum[:10])+".sock")
	if path = filepath.Join(temp, name); len(path) > socketLimit && goos != "windows" {
		path = filepath.Join("/tmp", name)
	}
	return path
}

// resultHead is the part of result.json that lists show.
type resultHead struct {
	Status     execution.Status       `json:"status"`
	Error      *execution.ResultError `json:"error"`
	Model      string                 `json:"model"`
	SessionID  string                 `json:"sessionId"`
	Cost       *execution.Cost        `json:"cost"`
	DurationMs int64                  `json:"durationMs"`
	ExitReason execution.ExitReason   `json:"exitReason"`
	TurnCount  int                    `json:"turnCount"`
}

func headOf(r execution.Result) resultHead {
	return resultHead{Status: r.Status, Error: r.Error, Model: r.Model, SessionID: r.SessionID, Cost: r.Cost, DurationMs: r.DurationMs, ExitReason: r.ExitReason, TurnCount: r.TurnCount}
}

func (m metaFile) run(dir string) Run {
	return Run{ID: m.RunID, Agent: m.Agent, Model: m.Model, SessionID: m.SessionID, ProjectID: m.ProjectID, Correlation: m.Correlation, Parent: m.Parent, Cwd: m.Cwd,
		Prompt: m.Prompt, Tags: m.Tags, ApprovalMode: m.ApprovalMode, Detached: m.Detached, ReservedUSD: m.ReservedUSD, StartedAt: time.UnixMilli(m.StartedAt).UTC(),
		State: execution.OutcomeRunning, Live: true, dir: dir, process: m.Process}
}

func (r Run) ended(h resultHead, at time.Time) Run {
	r.State, r.Live, r.ReservedUSD = execution.OutcomeOf(h.Status, h.Error.ErrorCode(), h.TurnCount), false, 0
	r.Status, r.ExitReason, r.ErrorCode = h.Status, h.ExitReason, h.Error.ErrorCode()
	r.Model, r.SessionID = cmp.Or(h.Model, r.Model), cmp.Or(h.SessionID, r.SessionID)
	r.DurationMs, r.TurnCount, r.Cost = h.DurationMs, h.TurnCount, h.Cost
	// File times lag behind the clock by up to a kernel tick.
	if r.EndedAt = at.UTC().Truncate(time.Millisecond); r.EndedAt.Before(r.StartedAt) {
		r.EndedAt = r.StartedAt
	}
	return r
}

// load reads a run from its directory, the authoritative source.
func (s *Store) load(dir string) (Run, error) { return load(dir, s.opts) }

func load(dir string, o Options) (Run, error) {
	m, err := readMeta(dir)
	if err != nil {
		return Run{}, err
	}
	run := m.run(dir)
	done, err := run.finish()
	if done || err != nil {
		return run, err
	}
	if m.Process.recording(dir) {
		return run, nil
	}
	// The result may have been written between the two checks.
	if done, err := run.finish(); done || err != nil {
		return run, err
	}
	return run.lost(o)
}

// finish completes r from its result, if it exists.
func (r *Run) finish() (bool, error) {
	path := filepath.Join(r.dir, resultName)
	b, err := atomicfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var h resultHead
	if err := json.Unmarshal(b, &h); err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	at := r.StartedAt
	if info, err := os.Stat(path); err == nil {
		at = info.ModTime()
	}
	*r = r.ended(h, at)
	return true, nil
}

// lost fills in a run without a result from its events.
func (r Run) lost(o Options) (Run, error) {
	r.State, r.Live, r.ReservedUSD = execution.OutcomeLost, false, 0
	r.ErrorCode, r.ExitReason, r.Status = execution.CodeAgentCrash, execution.ExitCrash, execution.StatusFailed
	var sum tally
	tail := newTail(r.dir)
	defer tail.close()
	for {
		line, err := tail.next()
		if err != nil {
			return r, err
		}
		if line == nil {
			break
		}
		var e execution.Event
		if json.Unmarshal(line, &e) == nil {
			sum.add(e)
		}
	}
	if !sum.last.IsZero() {
		r.EndedAt = sum.last.UTC()
		r.DurationMs = max(0, r.EndedAt.Sub(r.StartedAt).Milliseconds())
	} else {
		r.EndedAt = r.StartedAt
	}
	r.SessionID, r.Model = cmp.Or(sum.session, r.SessionID), cmp.Or(sum.model, r.Model)
	if o.Used != nil && (sum.lacks || sum.silent) && r.SessionID != "" {
		sum.besides(o.Used(r.Agent, r.SessionID, sum.fork, r.StartedAt, r.EndedAt.Add(lostSlack)))
	}
	if o.Price != nil {
		sum.price(o.Price(r.Agent, r.Model))
	}
	r.TurnCount, r.Cost = sum.turns, sum.cost()
	return r, nil
}

// tally sums up the events of a run. Cost and usage events are increments.
type tally struct {
	last           time.Time
	session, model string
	turns          int
	usd            float64
	priced         bool
	unpriced       bool
	source         execution.CostSource
	spent          execution.Usage   // in cost events
	used           execution.Usage   // in token_usage events
	calls          []execution.Usage // of used, those of single model calls
	fork           string            // the session that the run's session was forked from
	inTurn, silent bool              // a turn is open; it has stated no tokens yet
	lacks          bool              // the tokens of an earlier turn were not stated
	fromFile       bool              // some tokens come from the session file
}

// lostSlack is how long after the last recorded event an agent may have written the usage of its last call to the session file. A
// run that resumes the session makes no call that early.
const lostSlack = 2 * time.Second

func (t *tally) add(e execution.Event) {
	if e.Time.After(t.last) {
		t.last = e.Time
	}
	switch b := e.Body.(type) {
	case execution.SessionStart:
		if e.Parent == "" {
			t.session, t.model = b.SessionID, cmp.Or(b.Model, t.model)
		}
	case execution.SessionResume:
		t.session = b.SessionID
	case execution.SessionFork:
		t.fork = b.ForkedFrom
	case execution.TurnStart:
		t.turns = max(t.turns, b.TurnIndex+1)
		if e.Parent == "" {
			t.endTurn()
			t.inTurn, t.silent = true, true
		}
	case execution.TurnEnd:
		if e.Parent == "" {
			t.endTurn()
		}
	case execution.CostEvent:
		t.silent = false
		t.spent, t.calls = t.spent.Add(b.Cost.Usage()), nil // its tokens came before
		t.unpriced = t.unpriced || b.Cost.Unpriced || b.Cost.TotalUSD == nil
		if b.Cost.TotalUSD != nil {
			t.usd, t.priced, t.source = t.usd+*b.Cost.TotalUSD, true, b.Cost.Source
		}
	case execution.TokenUsage:
		t.lacks = t.lacks && t.inTurn // some agents state at the end what all turns used
		t.silent, t.fromFile = false, t.fromFile || b.FromSession
		u := b.Usage()
		if t.used = t.used.Add(u); b.ModelCall {
			t.calls = append(t.calls, u)
		}
	}
}

func (t *tally) endTurn() {
	t.lacks = t.lacks || t.silent
	t.inTurn, t.silent = false, false
}

// besides adds usage of the session file that no event contains.
func (t *tally) besides(file execution.Usage) {
	file.Total = 0 // as in used
	rest := file.Sub(t.used)
	if min(rest.Input, rest.Output, rest.Cached, rest.CacheWrite) < 0 || rest.IsZero() {
		return
	}
	rest.Thinking = max(rest.Thinking, 0)
	t.used, t.fromFile, t.lacks, t.silent = t.used.Add(rest), true, false, false
}

// price adds the cost of tokens that are in no cost event.
func (t *tally) price(p *execution.Price) {
	rest := t.used.Sub(t.spent)
	if p == nil || rest.Input < 0 || rest.Output < 0 || rest.IsZero() || t.unpriced {
		return
	}
	usd := p.OfCalls(rest, t.calls)
	if usd == nil {
		t.unpriced = true
		return
	}
	t.source = cmp.Or(t.source, execution.CostFromTable)
	t.usd, t.priced = t.usd+*usd, true
}

func (t *tally) cost() *execution.Cost {
	used := t.used
	if used.IsZero() {
		used = t.spent
	}
	if used.IsZero() && !t.priced && !t.unpriced {
		return nil
	}
	var usd *float64
	if t.priced {
		usd = &t.usd
	}
	c := execution.CostOf(used, usd, t.source)
	c.Unpriced = c.Unpriced || t.unpriced || t.source != execution.CostFromAgent && (t.lacks || t.silent)
	if t.fromFile {
		c.Source = execution.CostFromSession
	}
	return &c
}
