package run

import (
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/notify"
)

// tellOthers tells of a run as the user's configuration says. Call the returned function when the run has ended; it waits until all is
// told.
func tellOthers(app *cli.App, run *agent.Run) (done func()) {
	n := notify.Of(app, run.Request().Run.Cwd)
	if n == nil {
		return func() {}
	}
	wait := follow(run, n.Event)
	return func() {
		wait()
		n.Close()
	}
}
