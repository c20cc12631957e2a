package top

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/transport/process"
)

const (
	listEvery    = 10 * time.Second // if no run begins
	measureEvery = 4 * time.Second
	readFor      = 40 * time.Millisecond // of one poll: the records of long runs are read in parts
)

// board follows the records of runs: those that live, and those that end meanwhile. It is not safe for concurrent use.
type board struct {
	store  *runstore.Store
	window func(agent, model string) int64
	rows   []*row // newest first
	next   int    // row that the next poll reads first
	behind bool   // the last poll left some of the records unread

	changed          time.Time // Store.Changed when the runs were listed
	listed, measured time.Time
}

// row is one run.
type row struct {
	run      runstore.Run
	short    string
	model    string
	progress cli.Progress
	since    time.Time         // of the step, the question, or the end
	asked    []execution.Event // questions without an answer, oldest first
	ended    string            // how, empty while it lives
	window   int64             // of the model in tokens, 0 if unknown
	files    int               // changed
	memory   int64             // of its processes in bytes, 0 if unknown
	branch   string

	tail    *runstore.Tail // nil once it has ended
	changed map[string]bool
}

// poll reads what is new.
func (b *board) poll(now time.Time) error {
	if changed := b.store.Changed(); now.Sub(b.listed) >= listEvery || !changed.Equal(b.changed) {
		b.changed = changed
		if err := b.list(now); err != nil {
			return err
		}
	}
	until := time.Now().Add(readFor)
	b.behind = false
	for i := range b.rows {
		at := (b.next + i) % len(b.rows)
		if !b.rows[at].read(until, b.window) {
			b.next, b.behind = at, true
			break
		}
	}
	if now.Sub(b.measured) >= measureEvery {
		b.measure()
		b.measured = now
	}
	return nil
}

// list adds new runs, and ends those that are gone without an end in their record.
func (b *board) list(now time.Time) error {
	live, err := b.store.List(runstore.Filter{Live: true})
	if err != nil {
		return err
	}
	short, err := b.store.Short()
	if err != nil {
		return err
	}
	known := map[execution.RunID]*row{}
	for _, r := range b.rows {
		known[r.run.ID] = r
		r.short = short(r.run.ID)
	}
	alive := map[execution.RunID]bool{}
	for _, run := range live {
		alive[run.ID] = true
		if known[run.ID] == nil {
			b.rows = append(b.rows, &row{run: run, short: short(run.ID), model: run.Model, since: run.StartedAt, branch: branchOf(run.Cwd),
				progress: cli.Progress{Doing: "starting"}, tail: b.store.Tail(run), changed: map[string]bool{}})
		}
	}
	for _, r := range b.rows {
		if r.ended != "" || alive[r.run.ID] {
			continue
		}
		run, err := b.store.Get(string(r.run.ID))
		switch {
		case err != nil: // it was removed
			r.end("gone", now)
		case !run.Live && run.State == execution.OutcomeLost: // the end of any other is in its record
			r.end(cli.EndOf(run.State, run.ErrorCode), now)
		}
	}
	slices.SortStableFunc(b.rows, func(x, y *row) int { return y.run.StartedAt.Compare(x.run.StartedAt) })
	b.listed = now
	return nil
}

// measure looks at what is not in the records.
func (b *board) measure() {
	var ids []string
	for _, r := range b.rows {
		if r.ended == "" {
			ids = append(ids, string(r.run.ID))
			r.branch = branchOf(r.run.Cwd)
		}
	}
	memory := process.Memory(ids...)
	for _, r := range b.rows {
		if r.ended == "" {
			r.memory = memory[string(r.run.ID)]
		}
	}
}

// close ends following.
func (b *board) close() {
	for _, r := range b.rows {
		r.end("", time.Time{})
	}
}

// snapshot returns the rows as they are now, those that wait first and ended ones last.
func (b *board) snapshot() []row {
	rows := make([]row, len(b.rows))
	for i, r := range b.rows {
		rows[i] = *r
		rows[i].tail, rows[i].changed = nil, nil
		rows[i].asked = slices.Clone(r.asked)
	}
	slices.SortStableFunc(rows, func(x, y row) int { return cmp.Compare(x.rank(), y.rank()) })
	return rows
}

func (r row) rank() int {
	switch {
	case r.ended != "":
		return 2
	case len(r.asked) > 0:
		return 0
	}
	return 1
}

// read adds the new events of the run. It reports whether it read all of them before the time was over.
func (r *row) read(until time.Time, window func(agent, model string) int64) bool {
	for n := 1; r.tail != nil; n++ {
		e, ok, err := r.tail.Next()
		if err == nil && !ok {
			return true
		}
		switch {
		case err == nil:
			r.event(e, window)
		case !errors.Is(err, runstore.ErrBadLine):
			r.end("unreadable", time.Now())
		}
		if n%64 == 0 && time.Now().After(until) {
			return false
		}
	}
	return true
}

func (r *row) event(e execution.Event, window func(agent, model string) int64) {
	was := r.progress.Doing
	r.progress.Event(e)
	if r.progress.Doing != was {
		r.since = e.Time
	}
	if cli.QuestionID(e.Body) != "" {
		r.asked = append(r.asked, e)
	} else if id := cli.AnsweredID(e.Body); id != "" {
		r.asked = slices.DeleteFunc(r.asked, func(q execution.Event) bool { return cli.QuestionID(q.Body) == id })
		r.since = e.Time
	}
	path := ""
	switch b := e.Body.(type) {
	case execution.SessionStart:
		if r.model = cmp.Or(b.Model, r.model); e.Parent == "" {
			r.window = window(r.run.Agent, r.model)
		}
	case execution.FileCreate:
		path = b.Path
	case execution.FileWrite:
		path = b.Path
	case execution.FilePatch:
		path = b.Path
	case execution.FileDelete:
		path = b.Path
	case execution.Finished:
		r.end(cli.EndOf(b.Result.Outcome(), b.Result.Error.ErrorCode()), e.Time)
	}
	if path != "" && !r.changed[path] {
		r.changed[path] = true
		r.files++
	}
}

func (r *row) end(how string, at time.Time) {
	if r.tail != nil {
		r.tail.Close()
		r.tail = nil
	}
	r.ended, r.since, r.asked, r.memory = how, at, nil, 0
}

// state says in words what the run is doing, and since when.
func (r row) state() (string, time.Time) {
	switch {
	case r.ended != "":
		return r.ended, r.since
	case len(r.asked) > 0:
		return "waiting", r.asked[0].Time
	case r.progress.Doing == "paused":
		return "paused", r.since
	}
	return "running", r.since
}

// what is the step of the run, the first question that it asks, or its prompt once it has ended.
func (r row) what() string {
	switch {
	case r.ended != "":
		return r.run.Prompt
	case len(r.asked) > 0:
		return "? " + question(r.asked[0].Body, r.run.Cwd)
	}
	return strings.ReplaceAll(r.progress.Doing, r.run.Cwd+string(filepath.Separator), "")
}

// question is a question on one line.
func question(body execution.Body, dir string) string {
	switch q := body.(type) {
	case execution.ApprovalRequired:
		if q.Use.Kind == execution.ToolEdit && len(q.Use.Paths) > 0 {
			return cli.OneLine(cmp.Or(q.ToolName, q.Action)+" "+cli.Relative(dir, q.Use.Paths[0]), 200)
		}
		return cli.OneLine(cmp.Or(q.ToolName, q.Action)+" "+cmp.Or(q.Use.Command, q.Detail), 200)
	case execution.InputRequired:
		return cli.OneLine(q.Question, 200)
	}
	return ""
}

// matches reports whether the run contains every word of a filter.
func (r row) matches(filter string) bool {
	state, _ := r.state()
	text := append([]string{string(r.run.ID), r.run.Agent, r.model, r.run.Cwd, r.branch, r.run.Prompt, state, r.what()}, r.run.Tags...)
	return cli.HasWords(strings.Join(text, "\n"), filter)
}

const maxHead = 4 << 10 // bytes of a file of git that names a branch

// branchOf returns the branch of the repository that a directory is in, or the beginning of its commit; empty if there is none.
func branchOf(dir string) string {
	_, git := repofile.GitDir(dir)
	b, err := repofile.Own(filepath.Join(git, "HEAD"), maxHead)
	if git == "" || err != nil {
		return ""
	}
	head := strings.TrimSpace(string(b))
	if name, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok {
		return name
	}
	return head[:min(len(head), 10)]
}
