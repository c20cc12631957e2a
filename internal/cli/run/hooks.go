package run

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/config"
	"github.com/drawbar/drawbar/internal/hook"
)

// addHooks gives a run the hooks of its command line, and those that are registered for events which the agent does not have:
// they see Drawbar's own events and cannot block. The function that it returns waits for what they do.
func addHooks(app *cli.App, entry adapter.Entry, cwd string, lines []string, timeout time.Duration, opts *drawbar.RunOptions) (told func(), err error) {
	if cwd == "" {
		if cwd, err = os.Getwd(); err != nil {
			return nil, execution.Errorf(execution.CodeValidation, "the current directory cannot be read: %w", err)
		}
	}
	dirs, err := config.FindDirs(cwd, app.Getenv)
	if err != nil {
		return nil, err
	}
	files := hook.FilesIn(dirs.User, dirs.Project)
	list, skipped, err := files.Read()
	if err != nil {
		return nil, err
	}
	if skipped {
		app.Warnf("the hooks of %s are not trusted and do not run; look at them with: drawbar hooks list, then: drawbar hooks trust", files.Project)
	}
	d := &hook.Dispatcher{Spawn: cliagent.Spawn, LogFile: filepath.Join(dirs.User, "hook-log.jsonl"), Trace: app.Err, Warn: app.Warnf, Timeout: timeout}
	if opts.Hooks, err = d.Runtime(lines); err != nil {
		return nil, err
	}
	var native []adapter.NativeHook
	if n, ok := adapter.As[adapter.NativeHooks](entry.Adapter); ok {
		native = n.Hooks()
	}
	list = slices.DeleteFunc(list, func(r hook.Registration) bool {
		return hook.KindOf(r, entry.Descriptor.Name, native) != hook.Virtual || !r.On()
	})
	if len(list) == 0 {
		return func() {}, nil
	}
	v := d.Virtual(entry.Descriptor.Name, cwd, list)
	opts.Handlers = append(opts.Handlers, v.Handler())
	return v.Wait, nil
}
