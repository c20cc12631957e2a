package sessions

import (
	"time"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/sessions"
	"github.com/spf13/cobra"
)

func search(app *cli.App) *cobra.Command {
	var f filter
	cmd := &cobra.Command{
		Use: "search TEXT", Short: "Search what was said, thought, called and answered",
		Long: "Search what was said, thought, called and answered, ignoring case, in the files as they are now.\nA session's " +
			"relevance adds up its messages that contain the text: prompts count most, then answers, then tools; a match in " +
			"the\ntitle counts most of all.",
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			now := time.Now()
			q, err := f.read(now, sessions.ByRelevance, sessions.ByDate, sessions.ByCost)
			if err != nil {
				return err
			}
			s, err := open(app, nil)
			if err != nil {
				return err
			}
			r, err := s.Search(cmd.Context(), sessions.SearchQuery{Query: q, Text: args[0]})
			if err != nil {
				return err
			}
			return app.Answer(r, func() { showHits(app, r, now) })
		},
	}
	f.flags(cmd, "sort by relevance, date or cost (default relevance)", 50)
	return cmd
}

func showHits(app *cli.App, r sessions.SearchResult, now time.Time) {
	for _, h := range r.Hits {
		app.Printf("%s  %s  %s\n", cli.Printable(h.UnifiedID), age(h.UpdatedAt, now), title(h.Summary))
		app.Printf("    %s\n", cli.Printable(h.Snippet))
	}
	switch {
	case r.Total == 0:
		app.Notef("no match in %d sessions", r.Searched)
	case r.Total > len(r.Hits):
		app.Notef("%d of %d matching sessions, of %d; --limit 0 lists all", len(r.Hits), r.Total, r.Searched)
	default:
		app.Notef("%d of %d sessions match", r.Total, r.Searched)
	}
	problems(app, r.Problems)
}
