package sessions

import (
	"strings"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/spf13/cobra"
)

func name(app *cli.App) *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use: "name SESSION [NAME]", Short: "Name a session; the name works wherever a session is asked for",
		Long: "Name a session, or remove its name. The name works wherever a session is asked for. It is kept by Drawbar; the agent's files " +
			"are not changed.",
		Example: "  drawbar sessions name claude:5f3a fix-login\n  drawbar run claude --session fix-login \"go on\"",
		Args:    cli.Args(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case remove && len(args) == 2:
				return cli.Usage("--remove takes no name").WithHint("drawbar sessions name %s --remove", args[0])
			case !remove && len(args) == 1:
				return cli.Usage("no name is given").WithHint("%s", cmd.UseLine())
			}
			s, one, err := find(cmd, app, args[0])
			if err != nil {
				return err
			}
			one.Name = strings.Join(args[1:], "")
			if err := s.Name(cmd.Context(), one.UnifiedID, one.Name); err != nil {
				return err
			}
			return app.Answer(one, func() {
				if remove {
					app.Printf("%s has no name\n", cli.Printable(one.UnifiedID))
					return
				}
				app.Printf("%s is %s\n", cli.Printable(one.UnifiedID), one.Name)
			})
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the name")
	return cmd
}

func tag(app *cli.App) *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use: "tag SESSION TAG...", Short: "Tag a session, or remove tags",
		Long: "Tag a session, or remove tags with --remove. The tags of Drawbar's runs in a session (run --tag) belong to the record of runs and " +
			"stay.",
		Args: cli.Args(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, one, err := find(cmd, app, args[0])
			if err != nil {
				return err
			}
			add, drop := args[1:], []string(nil)
			if remove {
				add, drop = drop, add
			}
			if err := s.Tag(cmd.Context(), one.UnifiedID, add, drop); err != nil {
				return err
			}
			full, err := s.Get(cmd.Context(), one.UnifiedID)
			if err != nil {
				return err
			}
			return app.Answer(full.Summary, func() {
				app.Printf("%s: %s\n", cli.Printable(one.UnifiedID), cli.Cell(strings.Join(full.Tags, ", ")))
			})
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the tags")
	return cmd
}

func archive(app *cli.App) *cobra.Command {
	var undo bool
	cmd := &cobra.Command{
		Use: "archive SESSION...", Short: "Leave sessions out of lists, or take that back",
		Long: "Leave sessions out of drawbar sessions list and of run --continue, or take that back with --undo. The agents' files are not changed; " +
			"every other command finds the sessions as before, and a session that its agent archived stays archived.",
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			done := []string{}
			for _, id := range args {
				s, one, err := find(cmd, app, id)
				if err == nil {
					err = s.Archive(cmd.Context(), one.UnifiedID, !undo)
				}
				if err != nil {
					return err
				}
				done = append(done, one.UnifiedID)
			}
			return app.Answer(map[string]any{"sessions": done, "archived": !undo}, func() {
				for _, id := range done {
					app.Printf("%s is %s\n", cli.Printable(id), map[bool]string{false: "archived", true: "in lists again"}[undo])
				}
			})
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "list the sessions again")
	return cmd
}

func remove(app *cli.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "delete SESSION...", Short: "Delete sessions of model APIs and of Drawbar's own agent for good",
		Long: "Delete sessions of model APIs and of Drawbar's own agent for good. Sessions of other agents are their files: their own programs delete " +
			"them.",
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var ids []string
			s, err := open(app, args)
			for _, id := range args {
				var one history.Summary
				if err == nil {
					one, err = s.Find(cmd.Context(), id)
				}
				ids = append(ids, one.UnifiedID)
			}
			if err != nil {
				return err
			}
			show := func() { app.Notef("%s", cli.Printable(strings.Join(ids, "\n"))) }
			if err := app.Confirm(cmd.Context(), yes, "Delete "+cli.Number(len(ids), "session", "sessions")+" for good?", cmd.CommandPath()+" SESSION", show); err != nil {
				return err
			}
			for _, id := range ids {
				if err := s.Remove(cmd.Context(), id); err != nil {
					return err
				}
			}
			return app.Answer(map[string]any{"deleted": ids}, func() { app.Printf("deleted %s\n", cli.Printable(strings.Join(ids, ", "))) })
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "delete without asking")
	return cmd
}

// find returns the session that is named on the command line.
func find(cmd *cobra.Command, app *cli.App, id string) (s *drawbar.Sessions, one history.Summary, err error) {
	typed := []string{id}
	if s, err = open(app, typed); err == nil {
		one, err = s.Find(cmd.Context(), typed[0])
	}
	return s, one, err
}
