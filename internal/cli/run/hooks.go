package run

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/settings/hook"
	"github.com/drawbar/drawbar/internal/settings/trust"
	"github.com/drawbar/drawbar/settings"
)

// addHooks adds the hooks of the command line and the virtual hooks to the options of a run. Virtual hooks are called from Drawbar's
// events and cannot block. Untrusted hooks of the project are an error unless the user trusts them now. The returned function waits
// for virtual hooks that still run.
func addHooks(ctx context.Context, app *cli.App, entry catalog.Entry, run execution.RunOptions, lines []string, timeout time.Duration, yes bool, opts *drawbar.RunOptions) (wait func(), err error) {
	cwd := run.Cwd
	if cwd == "" {
		if cwd, err = os.Getwd(); err != nil {
			return nil, execution.Errorf(execution.CodeValidation, "cannot read the current directory: %w", err)
		}
	}
	if err := app.TrustFiles(ctx, cwd, yes, slices.Concat([]string{entry.Descriptor.Name, entry.Descriptor.Command}, run.Command[:min(1, len(run.Command))], opts.Fallback)...); err != nil {
		return nil, err
	}
	dirs, err := app.Dirs(cwd)
	if err != nil {
		return nil, err
	}
	d := &hook.Dispatcher{Spawn: cliagent.Spawn, LogFile: filepath.Join(dirs.User, "hook-log.jsonl"), Trace: app.Err, Warn: app.Warnf, Timeout: timeout}
	if opts.Hooks, err = d.Runtime(lines); err != nil {
		return nil, err
	}
	store, err := app.TrustStore()
	if err != nil {
		return nil, err
	}
	files := hook.FilesIn(dirs)
	list, pending, err := files.Read(store)
	if err != nil {
		return nil, err
	}
	if len(pending) > 0 {
		items := make([]trust.Item, len(pending))
		for i, p := range pending {
			items[i] = p.Item
		}
		if err := app.Trust(ctx, dirs.Root, items, yes); err != nil {
			return nil, err
		}
		if list, pending, err = files.Read(store); err != nil {
			return nil, err
		}
		if len(pending) > 0 { // changed meanwhile
			return nil, trust.Refusal(dirs.Root, pending)
		}
	}
	var native []settings.Hook
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
