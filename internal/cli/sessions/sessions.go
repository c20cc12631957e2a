// Package sessions is "drawbar sessions": the conversations that agents save on disk.
package sessions

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/sessionscost"
	"github.com/drawbar/drawbar/sessions"
	"github.com/spf13/cobra"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "sessions",
		Long: "Read the conversations that agents save on disk, whoever started them. The agents' files are never changed.\nA " +
			"session is agent:id, the beginning of an id if only one session begins so, its name, the run that it belongs to, or latest,\nthe newest one in this directory.",
		Example: "  drawbar sessions list --since 7d\n  drawbar sessions search \"the flaky test\"\n  drawbar run claude --session claude:ID \"go on\"",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(list(app), show(app), search(app), export(app), diff(app), watch(app), name(app), tag(app), archive(app), remove(app), sessionscost.New(app))
	return cmd
}

// filter contains the flags that select sessions.
type filter struct {
	query                   sessions.Query
	since, until, cwd, sort string
	order                   string
}

func (f *filter) flags(cmd *cobra.Command, sorts string, limit int) {
	fl := cmd.Flags()
	fl.StringVar(&f.query.Agent, "agent", "", "only sessions of this agent")
	fl.StringVar(&f.since, "since", "", "only sessions active since: 24h, 7d, a date")
	fl.StringVar(&f.until, "until", "", "only sessions last active before: 24h, 7d, a date")
	fl.StringVar(&f.query.Model, "model", "", "only sessions whose model name contains this text")
	fl.StringSliceVar(&f.query.Tags, "tag", nil, "only sessions with this tag, of their own or of a run (repeatable; matches any)")
	fl.StringVarP(&f.cwd, "cwd", "C", "", "only sessions in this directory or below it")
	fl.IntVar(&f.query.Limit, "limit", limit, "maximum number of sessions (0: all)")
	fl.StringVar(&f.sort, "sort", "", sorts)
	fl.StringVar(&f.order, "order", "desc", "sort order: desc or asc")
}

// read checks the flags and completes the query.
func (f *filter) read(now time.Time, sorts ...sessions.Sort) (sessions.Query, error) {
	q := f.query
	var err error
	if q.Since, err = cli.Since("since", f.since, now); err != nil {
		return q, err
	}
	if q.Until, err = cli.Since("until", f.until, now); err != nil {
		return q, err
	}
	if q.Limit < 0 {
		return q, cli.Usage("--limit %d is out of range", q.Limit).WithHint("0 or more")
	}
	q.Sort = sorts[0]
	if f.sort != "" {
		q.Sort = ""
		for _, s := range sorts {
			if string(s) == f.sort {
				q.Sort = s
			}
		}
		if q.Sort == "" {
			return q, cli.Usage("--sort %q is not a sort key", f.sort).WithHint("%s", cli.Words(sorts))
		}
	}
	switch f.order {
	case "desc":
	case "asc":
		q.Ascending = true
	default:
		return q, cli.Usage("--order %q is not supported", f.order).WithHint("desc or asc")
	}
	if f.cwd != "" {
		if q.Cwd, err = filepath.Abs(f.cwd); err != nil {
			return q, cli.Usage("--cwd %s: %v", f.cwd, err)
		}
	}
	return q, nil
}

// open opens the conversations on disk, and puts the id of the newest one into what was typed where latest stands.
func open(app *cli.App, typed []string) (*drawbar.Sessions, error) {
	c, err := app.Client()
	if err != nil {
		return nil, err
	}
	s, err := c.Sessions()
	for i := 0; i < len(typed) && err == nil; i++ {
		typed[i], err = cli.LatestSession(app, s, typed[i])
	}
	return s, err
}

// cell returns a text in one line, without control characters.
func cell(s string) string { return strings.Join(strings.Fields(cli.Printable(s)), " ") }
