package run

import (
	"context"
	"strings"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/worktree"
)

// newWorktree is the value of --worktree without a name.
const newWorktree = "new"

// place is the worktree of a run.
type place struct {
	Name string `json:"name"`
	Dir  string `json:"dir"`            // that it was asked for in
	Auto bool   `json:"auto,omitempty"` // nobody named it: it goes if the run leaves nothing in it
}

// here refuses a run in a worktree whose agent would not see it: a container does, another machine does not.
func here(run execution.RunOptions, what string) error {
	if t, err := run.Invocation.Target(); err != nil || t.Kind == "" || t.Kind == execution.TargetDocker {
		return nil //nolint:nilerr // the run says what is wrong with it
	}
	return cli.Usage("%s makes a worktree on this machine, and the agent would run on %s", what, run.Invocation).WithHint("leave out --on, or work in a worktree that is there: --on ssh:HOST:DIR")
}

// placeOf returns the worktree that --worktree asks for, nil for none. The run gets an id, from which a name is made.
func placeOf(value string, req *execution.Request) (*place, error) {
	switch value {
	case "":
		return nil, nil
	}
	if err := here(req.Run, "--worktree"); err != nil {
		return nil, err
	}
	switch value {
	case newWorktree:
		if req.Run.RunID == "" {
			req.Run.RunID = agent.NewRunID()
		}
		id := strings.ToLower(string(req.Run.RunID))
		return &place{"run-" + id[len(id)-8:], req.Run.Cwd, true}, nil
	}
	return &place{value, req.Run.Cwd, false}, worktree.CheckName(value)
}

// open makes the worktree and makes a run work in it. With trust the user trusts what the project sets it up with.
func (p *place) open(ctx context.Context, app *cli.App, req *execution.Request, trust bool) (m worktree.Manager, t worktree.Tree, release func(), err error) {
	if m, err = app.NewWorktrees(ctx, p.Dir, trust); err != nil {
		return m, t, nil, err
	}
	t, req.Run.Cwd, release, err = m.Open(ctx, p.Dir, p.Name)
	return m, t, release, err
}

// prepare makes the worktree for a run of another process, so that what is wrong is said before that starts.
func (p *place) prepare(ctx context.Context, app *cli.App, trust bool) error {
	if p == nil {
		return nil
	}
	_, _, release, err := p.open(ctx, app, &execution.Request{}, trust)
	if err == nil {
		release()
	}
	return err
}

// enter makes a run work in its worktree. Call leave when it has ended; with report it says what the run left there.
func (p *place) enter(ctx context.Context, app *cli.App, req *execution.Request, trust, report bool) (leave func(), err error) {
	if p == nil {
		return func() {}, nil
	}
	m, t, release, err := p.open(ctx, app, req, trust)
	if err != nil {
		return nil, err
	}
	return func() {
		release()
		ctx := context.WithoutCancel(ctx)
		now, err := m.Find(ctx, t.Path)
		switch {
		case err != nil:
			app.Warnf("%v", err)
		case p.Auto && now.State == worktree.Clean:
			if _, err := m.Remove(ctx, now, worktree.OwnNothing); err != nil {
				app.Warnf("%v", err)
			}
		case report && !app.JSON:
			app.Notef("worktree %s: %s; branch %s\n  %s", now.Name, cli.WorktreeState(now), now.Branch, now.Path)
		}
	}, nil
}
