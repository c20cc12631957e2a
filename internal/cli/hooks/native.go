package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/adapter/kit/hookrelay"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/settings/configstore"
	"github.com/drawbar/drawbar/internal/settings/hook"
	"github.com/drawbar/drawbar/internal/settings/trust"
	"github.com/drawbar/drawbar/settings"
	"github.com/spf13/cobra"
)

// maxPayload is the maximum size of a hook's payload.
const maxPayload = 256 << 20

// found is an event of an agent and the scopes where Drawbar handles it.
type found struct {
	Agent string `json:"agent"`
	settings.Hook
	Installed []settings.Scope `json:"installed"`
}

func (c *command) discoverCommand() *cobra.Command {
	return &cobra.Command{Use: "discover [AGENT...]", Short: "List the hook events of agents and the scopes where Drawbar is installed",
		RunE: func(_ *cobra.Command, args []string) error { return c.discover(args) }}
}

func (c *command) discover(names []string) error {
	cwd, err := c.app.ProjectDir()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		if names, err = cli.Able[adapter.NativeHooks](c.app); err != nil {
			return err
		}
	}
	list := []found{}
	host := oshost.New(cliagent.Spawn)
	for _, name := range names {
		entry, n, err := c.native(name)
		if err != nil {
			return err
		}
		for _, e := range n.Hooks() {
			f := found{Agent: entry.Descriptor.Name, Hook: e, Installed: []settings.Scope{}}
			for _, s := range []settings.Scope{settings.Global, settings.Project} {
				place := n.PlaceHook(host, s, cwd, e.Name, "")
				data, err := readPlace(place)
				if errors.Is(err, fs.ErrNotExist) {
					continue
				} else if err != nil {
					return execution.Errorf(execution.CodeConfig, "find hooks: %w", err)
				}
				on, err := hook.Installed(place, data, hook.Mark(f.Agent, e.Name))
				if err != nil {
					return execution.Errorf(execution.CodeConfig, "find hooks: %w", err).WithHint("fix the file")
				}
				if on {
					f.Installed = append(f.Installed, s)
				}
			}
			list = append(list, f)
		}
	}
	return c.app.Answer(list, func() {
		w := c.app.Table("AGENT", "EVENT", "MEANS", "WHEN", "CAN BLOCK", "INSTALLED")
		for _, f := range list {
			w.Row(f.Agent, f.Name, f.Event, f.Direction, f.Blocking, cli.Words(f.Installed))
		}
		w.Flush()
	})
}

// readPlace reads the settings file of a hook. A project's file must be inside the project.
func readPlace(place settings.HookPlace) ([]byte, error) {
	const limit = 16 << 20
	if place.Within == "" {
		return repofile.Own(place.File, limit)
	}
	rel, err := filepath.Rel(place.Within, place.File)
	if err != nil {
		return nil, err
	}
	return repofile.Read(place.Within, filepath.ToSlash(rel), limit)
}

func (c *command) handleCommand() *cobra.Command {
	return &cobra.Command{Use: "handle AGENT EVENT", Short: "Answer an agent's hook: reads its payload from stdin, answers in its format",
		Args: cli.Args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error { return c.handle(cmd.Context(), args[0], args[1]) }}
}

// handle answers an agent's call. If it fails, an event that can block is denied.
func (c *command) handle(ctx context.Context, agentName, eventName string) error {
	entry, n, err := c.native(agentName)
	if err != nil {
		return refused(err)
	}
	e, err := event(entry, n, eventName)
	if err != nil {
		return refused(err)
	}
	res, err := c.answer(ctx, entry, n, e)
	if err != nil {
		if !e.Blocking || e.Direction != settings.HookBefore {
			return err
		}
		res = execution.HookResult{Decision: execution.HookDeny, Message: "drawbar: " + err.Error()}
	}
	if res.Decision == execution.HookDeny && !e.Blocking {
		c.app.Warnf("%s cannot block: %s", e.Name, res.Message)
		res.Decision = execution.HookAllow
	}
	a := n.AnswerHook(e.Name, res)
	c.app.Printf("%s", a.Stdout)
	if a.Stderr != "" {
		c.app.Notef("%s", a.Stderr)
	}
	if a.ExitCode != 0 {
		return &exitcode.Error{Code: a.ExitCode, Silent: true, Err: errors.New("the hook denied")}
	}
	return nil
}

// refused returns the exit code that agents treat as a denial, for calls whose event is unknown.
func refused(err error) error { return &exitcode.Error{Code: 2, Err: err} }

func (c *command) answer(ctx context.Context, entry catalog.Entry, n adapter.NativeHooks, e settings.Hook) (execution.HookResult, error) {
	payload, err := io.ReadAll(io.LimitReader(c.app.In, maxPayload+1))
	if err != nil {
		return execution.HookResult{}, fmt.Errorf("read the agent's payload: %w", err)
	}
	if len(payload) > maxPayload {
		return execution.HookResult{}, fmt.Errorf("the agent's payload is larger than %d bytes", maxPayload)
	}
	call, err := n.ReadHook(e.Name, payload)
	if err != nil {
		return execution.HookResult{}, err
	}
	call.Event = e.Event
	at, err := c.place()
	if err != nil {
		return execution.HookResult{}, err
	}
	files := at.files
	list, pending, err := files.Read(at.store)
	if err != nil {
		return execution.HookResult{}, err
	}
	if len(pending) > 0 {
		// An agent must not disable a trusted hook by changing it.
		if slices.ContainsFunc(pending, func(p trust.Change) bool { return p.Was != nil }) {
			return execution.HookResult{}, fmt.Errorf("the hooks of %s changed since they were trusted; review them: drawbar trust", files.Project)
		}
		c.app.Warnf("the hooks of %s are not trusted and do not run; review them: drawbar trust", files.Project)
	}
	names := []string{e.Name}
	if e.Event != "" {
		names = append(names, string(e.Event))
	}
	var matching []hook.Registration
	for _, r := range list {
		if r.On() && r.Matches(entry.Descriptor.Name, names...) {
			matching = append(matching, r)
		}
	}
	return c.dispatcher(at.dirs).Dispatch(ctx, matching, call), nil
}

func (c *command) installCommand() *cobra.Command {
	var trust bool
	cmd := &cobra.Command{Use: "install AGENT EVENT [COMMAND]", Short: "Make an agent call Drawbar at an event; registers COMMAND if given",
		Long: `Make an agent call "drawbar hooks handle" at an event by adding an entry to the agent's own settings, or a file for an
agent that runs files.

The rest of the settings stays the same, byte for byte, and a file of somebody else is not replaced. If you give a command, it is registered first, as with "drawbar hooks add".`,
		Args: cli.Args(cobra.RangeArgs(2, 3)),
		RunE: func(cmd *cobra.Command, args []string) error {
			entry, e, place, err := c.target(args[0], args[1])
			if err != nil {
				return err
			}
			// Report settings that cannot be changed before anything is registered.
			if data, err := readPlace(place); err == nil {
				if err := hook.Ready(place, data, hook.Mark(entry.Descriptor.Name, e.Name)); err != nil {
					return err
				}
			}
			var r *registered
			if len(args) == 3 {
				done, err := c.register(cmd, &hook.Registration{Agent: entry.Descriptor.Name, HookType: e.Name, Handler: hook.Command, Target: args[2]}, true)
				if err != nil {
					return err
				}
				r = &done
			}
			return c.install(cmd.Context(), entry, place, e, trust, r)
		}}
	cmd.Flags().BoolVar(&trust, "trust", false, "also mark the hook as reviewed, where the agent requires it (codex)")
	return cmd
}

// target finds an agent, one of its events, and the place of that event's hook in the scope of --scope.
func (c *command) target(agent, name string) (entry catalog.Entry, e settings.Hook, place settings.HookPlace, err error) {
	entry, n, err := c.native(agent)
	if err != nil {
		return entry, e, place, err
	}
	if e, err = event(entry, n, name); err != nil {
		return entry, e, place, err
	}
	cwd, err := c.app.ProjectDir()
	if err != nil {
		return entry, e, place, err
	}
	scope, err := cli.Scope(c.scope)
	if err != nil {
		return entry, e, place, err
	}
	program, err := self()
	if err != nil {
		return entry, e, place, err
	}
	line := hookrelay.Shell(runtime.GOOS, []string{program}) + hook.Mark(entry.Descriptor.Name, e.Name)
	return entry, e, n.PlaceHook(oshost.New(cliagent.Spawn), cmp.Or(scope, settings.Global), cwd, e.Name, line), nil
}

// self returns how a shell can call this program: by name if PATH leads to it, otherwise by path.
func self() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", execution.Errorf(execution.CodeConfig, "find this program: %w", err)
	}
	if found, err := oshost.New(nil).LookPath("drawbar"); err == nil {
		a, errA := os.Stat(found)
		b, errB := os.Stat(exe)
		if errA == nil && errB == nil && os.SameFile(a, b) {
			return "drawbar", nil
		}
	}
	return exe, nil
}

// installation is the answer of "hooks install".
type installation struct {
	Agent        string      `json:"agent"`
	Event        string      `json:"event"`
	File         string      `json:"file"`
	Changed      bool        `json:"changed"`
	Blocking     bool        `json:"blocking"`
	Note         string      `json:"note"`
	Registration *registered `json:"registration,omitempty"`
}

func (c *command) install(ctx context.Context, entry catalog.Entry, place settings.HookPlace, e settings.Hook, trust bool, r *registered) error {
	var changed bool
	var index int
	err := c.written(ctx, entry, func() (err error) {
		changed, index, err = hook.Install(ctx, place, hook.Mark(entry.Descriptor.Name, e.Name))
		return err
	})
	if err != nil {
		return err
	}
	reviewed := false
	if trust && place.Review != nil {
		_, err := configstore.Edit(ctx, place.Review.File, configfile.Format(place.Review.Format), func(d *configfile.Document) (bool, error) {
			return true, d.Set(place.Review.Path(index), place.Review.Value)
		}, configstore.Options{})
		if err != nil {
			return err
		}
		reviewed = true
	}
	note := place.Note
	if reviewed {
		note = ""
	}
	return c.app.Answer(installation{entry.Descriptor.Name, e.Name, place.File, changed, e.Blocking, note, r}, func() {
		if r != nil {
			c.app.Notef("registered as %s in %s", r.ID, r.File)
		}
		if changed {
			c.app.Printf("%s now calls drawbar at %s: %s\n", entry.Descriptor.DisplayName, e.Name, place.File)
		} else {
			c.app.Printf("%s already calls drawbar at %s: %s\n", entry.Descriptor.DisplayName, e.Name, place.File)
		}
		if note != "" {
			c.app.Notef("%s", note)
		}
	})
}

// written is cli.App.TrustWritten in the project's directory.
func (c *command) written(ctx context.Context, entry catalog.Entry, change func() error) error {
	dir, err := c.app.ProjectDir()
	if err != nil {
		return err
	}
	return c.app.TrustWritten(ctx, entry.Descriptor.Name, dir, change)
}

func (c *command) uninstallCommand() *cobra.Command {
	return &cobra.Command{Use: "uninstall AGENT EVENT", Short: "Stop an agent from calling Drawbar at an event", Args: cli.Args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			entry, e, place, err := c.target(args[0], args[1])
			if err != nil {
				return err
			}
			if _, err := os.Stat(place.File); errors.Is(err, fs.ErrNotExist) {
				return execution.Errorf(execution.CodeConfig, "%s is not installed with %s: %s not found", e.Name, entry.Descriptor.Name, place.File)
			}
			var changed bool
			err = c.written(cmd.Context(), entry, func() (err error) {
				changed, err = hook.Uninstall(cmd.Context(), place, hook.Mark(entry.Descriptor.Name, e.Name))
				return err
			})
			if err != nil {
				return err
			}
			return c.app.Answer(map[string]any{"agent": entry.Descriptor.Name, "event": e.Name, "file": place.File, "changed": changed}, func() {
				if !changed {
					c.app.Printf("%s does not call drawbar at %s: %s\n", entry.Descriptor.DisplayName, e.Name, place.File)
					return
				}
				c.app.Printf("%s no longer calls drawbar at %s: %s\n", entry.Descriptor.DisplayName, e.Name, place.File)
			})
		}}
}
