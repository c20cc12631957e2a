package run

import (
	"io"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/notify"
)

// tellOthers tells of a run as the user's configuration says. Call the returned function when the run has ended; it waits until all is
// told.
func tellOthers(app *cli.App, run *agent.Run) (done func()) {
	cwd := run.Request().Run.Cwd
	cfg, err := app.Config(cwd)
	if err != nil {
		return func() {} // the request was made of it
	}
	n := &notify.Notifier{Config: cfg.Notify(), Cwd: cwd, Warn: app.Warnf, Spawn: cliagent.Spawn}
	if !n.Config.Any() {
		return func() {}
	}
	if cli.IsTerminal(app.Err) {
		n.Ring = func() { _, _ = io.WriteString(app.Err, "\a") } // nowhere to report an error
	}
	wait := follow(run, n.Event)
	return func() {
		wait()
		n.Close()
	}
}
