package record

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/workspace"
	"github.com/spf13/cobra"
)

// difference is the answer of turn diff and of diff.
type difference struct {
	From      string   `json:"from,omitempty"` // the commit before; empty for the parent of To
	To        string   `json:"to,omitempty"`   // the commit after; empty for the current files
	Patch     string   `json:"patch"`
	Untracked []string `json:"untracked,omitempty"` // new files of an active turn, which are in no patch
}

// compared is a record and its repository.
type compared struct {
	root    string
	view    *ledger.View
	work    *workspace.Workspace
	history []protocol.HistoryEntry // of every run
}

func compare(ctx context.Context, app *cli.App) (c compared, err error) {
	if c.root, c.view, err = read(app); err != nil {
		return c, err
	}
	if c.work, err = workspace.Open(ctx, c.root); err != nil {
		return c, err
	}
	c.history, err = c.view.History("")
	return c, err
}

func turnDiff(app *cli.App) *cobra.Command {
	var stat bool
	cmd := &cobra.Command{
		Use: "diff [TURN]", Short: "Show the files that a turn changed",
		Long: "Show what a turn changed in the project's files: its checkpoint against the commit before it or, while the turn is " +
			"active, the\ncurrent files against the commit that it started from. Without TURN: the active turn, or else the last " +
			"accepted one.",
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := compare(cmd.Context(), app)
			if err != nil {
				return err
			}
			id, active, entry, err := find(c.view, c.history, view.First(args))
			if err != nil {
				return err
			}
			if active != nil {
				return showActive(cmd.Context(), app, c.work, c.root, *active, stat)
			}
			commit, err := checkpointOf(c.view, id, entry)
			if err != nil {
				return err
			}
			return showDiff(cmd.Context(), app, c.work, difference{To: commit}, stat)
		},
	}
	statFlag(cmd, &stat)
	return cmd
}

func diff(app *cli.App) *cobra.Command {
	var stat bool
	cmd := &cobra.Command{
		Use: "diff TURN TURN", Short: "Compare the files after two turns",
		Args: cli.Args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := compare(cmd.Context(), app)
			if err != nil {
				return err
			}
			var commits [2]string
			for i, id := range args {
				_, active, entry, err := find(c.view, c.history, id)
				if err != nil {
					return err
				}
				if active != nil {
					return execution.Errorf(execution.CodeValidation, "turn %s is not accepted yet", id).WithHint("drawbar govern turn diff %s", id)
				}
				if commits[i], err = checkpointOf(c.view, id, entry); err != nil {
					return err
				}
			}
			return showDiff(cmd.Context(), app, c.work, difference{From: commits[0], To: commits[1]}, stat)
		},
	}
	statFlag(cmd, &stat)
	return cmd
}

func statFlag(cmd *cobra.Command, stat *bool) {
	cmd.Flags().BoolVar(stat, "stat", false, "show only file names and the number of changed lines")
}

// checkpointOf is the commit of an accepted turn. Drawbar records it in an event, the original in the history.
func checkpointOf(v *ledger.View, id string, entry *protocol.HistoryEntry) (string, error) {
	commit := entry.CheckpointSHA
	_, err := v.Events(0, func(e protocol.Event) {
		if e.EventType == "turn_checkpointed" && e.Turn != nil && e.Turn.TurnID == id {
			var p struct {
				SHA string `json:"checkpoint_sha"`
			}
			if json.Unmarshal(e.Payload, &p) == nil && p.SHA != "" {
				commit = p.SHA
			}
		}
	})
	if err == nil && commit == "" {
		err = execution.Errorf(execution.CodeSessionNotFound, "turn %s has no checkpoint commit, so its changes are unknown", id).WithHint("drawbar govern turn show %s", id)
	}
	return commit, err
}

func showActive(ctx context.Context, app *cli.App, w *workspace.Workspace, root string, t protocol.Turn, stat bool) error {
	if t.Baseline == nil || t.Baseline.HeadRef == nil {
		return execution.Errorf(execution.CodeSessionNotFound, "turn %s started without a commit to compare with", t.TurnID).WithHint("drawbar govern turn show %s", t.TurnID)
	}
	dir := ""
	if t.Worktree != "" {
		dir = filepath.Join(root, filepath.FromSlash(t.Worktree))
	}
	patch, untracked, err := w.DiffFrom(ctx, *t.Baseline.HeadRef, dir, stat)
	if err != nil {
		return err
	}
	return answerDiff(app, difference{From: *t.Baseline.HeadRef, Patch: string(patch), Untracked: untracked})
}

func showDiff(ctx context.Context, app *cli.App, w *workspace.Workspace, d difference, stat bool) error {
	patch, err := w.Diff(ctx, d.From, d.To, stat)
	if err != nil {
		return err
	}
	d.Patch = string(patch)
	return answerDiff(app, d)
}

func answerDiff(app *cli.App, d difference) error {
	return app.Answer(d, func() {
		app.Printf("%s", d.Patch)
		for _, path := range d.Untracked {
			app.Printf("new file, untracked by git: %s\n", path)
		}
		if d.Patch == "" && len(d.Untracked) == 0 {
			app.Notef("no differences")
		}
	})
}
