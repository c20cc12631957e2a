// Package script is "drawbar script": every agent as an adapter script (002, Agent Adapter Interface).
package script

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	contract "github.com/drawbar/drawbar/adapter/script"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/cli/roadmap/plan"
	"github.com/drawbar/drawbar/internal/worktree"
)

// Version is the version of the contract.
const Version = "1.0"

// outsideFile lists, in the output directory, the files that an agent changed and may not change.
const outsideFile = "unauthorized-changes.txt"

type options struct {
	flags cli.RequestFlags
	check string
	trust bool
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use: "script AGENT COMMAND [CONTEXT OUTPUT]", Short: "Use an agent as an adapter script: info, health and execute",
		Long: `Use any agent as an adapter script, as a ROADMAP.md names them.

info prints what the adapter is as JSON. health exits with 0 if the agent is installed, and otherwise with 1 and the reason on standard
error. execute reads the task from the directory CONTEXT (task.md, conventions.md, design.md and copies of files below files/), and leaves
completion-report.md, result (pass or fail), test-output.txt (with --check) and the changed files, below files/, in the directory OUTPUT.
It exits with 0 if the result is pass, and otherwise with 1.

The agent works in a git worktree of the current repository, or else in a temporary directory with the copies, so nothing changes here. A
change of a file that a line "**Files**:" of the task does not declare makes the result fail; unauthorized-changes.txt lists them.

ADAPTER_TASK_ID, ADAPTER_FEATURE, ADAPTER_MAX_TURNS (50) and ADAPTER_MODEL are read from the environment.`,
		Example: `  drawbar script codex info
  drawbar script claude health
  drawbar script claude --approve yolo execute context/ output/`,
		Args: cli.Args(cobra.RangeArgs(2, 4)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.do(cmd, app, args) },
	}
	o.flags.Register(cmd)
	o.flags.Refuse(cmd, func(row execution.Option) bool {
		return row.In(execution.ReachDefaults) || row.Name == "cwd" || row.Name == "profile"
	},
		"is not for a task", "leave it out")
	cmd.Flags().StringVar(&o.check, "check", "", "command that tests the work before it passes (exit code 0)")
	cli.TrustFlag(cmd, &o.trust)
	return cmd
}

func (o *options) do(cmd *cobra.Command, app *cli.App, args []string) error {
	app.SetDir(o.flags.Dir())
	entry, _, err := o.flags.Agent(app, cmd, args[:1])
	if err != nil {
		return err
	}
	switch {
	case args[1] == "info" && len(args) == 2:
		return o.info(cmd, app, entry)
	case args[1] == "health" && len(args) == 2:
		return health(cmd.Context(), app, entry)
	case args[1] == "execute" && len(args) == 4:
		return o.execute(cmd, app, entry, args[2], args[3])
	}
	return cli.Usage("%q is not a command of an adapter script", strings.Join(args[1:], " ")).WithHint("%s %s info, health, or execute CONTEXT OUTPUT", cmd.CommandPath(), args[0])
}

// info is the answer of the command of that name.
type info struct {
	Name        string `json:"name"`
	DisplayName string `json:"display_name"`
	Version     string `json:"version"`
	Isolation   bool   `json:"supports_isolation"`
	Streaming   bool   `json:"supports_streaming"`
	Routing     bool   `json:"supports_model_routing"`
	Model       string `json:"model_default"`
}

// NameOf is the name of an agent as an adapter script.
func NameOf(d adapter.Descriptor) string {
	if slices.Contains(d.Aliases, plan.Fallback) {
		return plan.Fallback
	}
	return d.Name
}

func (o *options) info(cmd *cobra.Command, app *cli.App, entry catalog.Entry) error {
	run, err := o.flags.RunIn(app, cmd, app.Dir(), entry.Descriptor.Name, nil)
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(info{NameOf(entry.Descriptor), entry.Descriptor.DisplayName, Version, true, false, true, cmp.Or(run.Model, "default")}, "", "  ")
	if err == nil {
		app.Printf("%s\n", b)
	}
	return err
}

func health(ctx context.Context, app *cli.App, entry catalog.Entry) error {
	client, err := app.Client()
	if err != nil {
		return err
	}
	found, err := client.Detect(ctx, entry.Descriptor.Name)
	switch {
	case err != nil:
		return err
	case !found.Installed:
		app.Notef("%s is not installed; to install it: drawbar agents install %s", entry.Descriptor.DisplayName, entry.Descriptor.Name)
		return &exitcode.Error{Code: execution.ExitGeneral, Silent: true}
	}
	app.Notef("%s %s", entry.Descriptor.DisplayName, cmp.Or(found.Version, "is available"))
	return nil
}

// done is what an execution leaves.
type done struct {
	report  string
	tests   string
	tested  bool
	files   []string // changed, relative to the working directory
	outside []string
	from    string // where the files are
	failed  string // why it does not pass
}

// execute runs a task. Every output is written in every case.
func (o *options) execute(cmd *cobra.Command, app *cli.App, entry catalog.Entry, in, out string) error {
	if err := os.MkdirAll(filepath.Join(out, contract.FilesDir), 0o755); err != nil {
		return cli.Usage("OUTPUT: %v", err)
	}
	for _, name := range []string{contract.ResultFile, contract.ReportFile, contract.TestFile, outsideFile} {
		if err := os.Remove(filepath.Join(out, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return cli.Usage("OUTPUT: %v", err)
		}
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	d, leave, err := o.work(ctx, cmd, app, entry, in)
	defer leave()
	switch {
	case ctx.Err() != nil:
		d.failed = "interrupted"
	case err != nil:
		d.failed = err.Error()
	}
	if d.failed == "" {
		if err := contract.Apply(d.from, filepath.Join(out, contract.FilesDir), d.files); err != nil {
			d.failed = err.Error()
		}
	}
	if err := d.write(out, entry.Descriptor.DisplayName); err != nil {
		return err
	}
	if d.failed != "" {
		app.Notef("%s", d.failed)
		return &exitcode.Error{Code: execution.ExitGeneral, Silent: true}
	}
	return nil
}

// write writes everything, the result last.
func (d done) write(out, agent string) error {
	var files [][2]string
	if d.tested {
		files = append(files, [2]string{contract.TestFile, d.tests})
	}
	if len(d.outside) > 0 {
		files = append(files, [2]string{outsideFile, strings.Join(d.outside, "\n") + "\n"})
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(out, f[0]), []byte(f[1]), 0o644); err != nil { //nolint:gosec // for the caller's user and tools
			return execution.Errorf(execution.CodeConfig, "write the output: %w", err)
		}
	}
	return plan.Report{Task: cmp.Or(os.Getenv(contract.VarTask), "task"), Agent: agent, Failed: d.failed, Files: d.files, Text: d.report}.Write(out)
}

// work lets the agent work in a place of its own. leave takes the place away; call it when the files were copied.
func (o *options) work(ctx context.Context, cmd *cobra.Command, app *cli.App, entry catalog.Entry, in string) (d done, leave func(), err error) {
	leave = func() {}
	p := plan.Packet{}
	for name, into := range map[string]*string{contract.TaskFile: &p.Task, contract.ConventionsFile: &p.Conventions, contract.DesignFile: &p.Design} {
		text, err := os.ReadFile(filepath.Join(in, name))
		if err != nil && (name == contract.TaskFile || !errors.Is(err, os.ErrNotExist)) {
			return d, leave, fmt.Errorf("CONTEXT: %w", err)
		}
		*into = string(text)
	}
	p.Scope = contract.ScopeOf(p.Task)
	if faults := p.Scope.Faults(); len(faults) > 0 {
		return d, leave, errors.New(strings.Join(faults, "; "))
	}
	given, err := contract.ReadOutput(in)
	if err != nil {
		return d, leave, fmt.Errorf("CONTEXT: %w", err)
	}
	at, err := o.place(ctx, app)
	if err != nil {
		return d, leave, err
	}
	leave, d.from = at.leave, at.dir
	if err := contract.Apply(filepath.Join(in, contract.FilesDir), at.dir, given.Files); err != nil && len(given.Files) > 0 {
		return d, leave, err
	}
	run, err := o.flags.RunIn(app, cmd, at.dir, entry.Descriptor.Name, nil)
	if err != nil {
		return d, leave, err
	}
	run.NonInteractive = true
	run.RunID = at.run
	run.Model = cmp.Or(os.Getenv(contract.VarModel), run.Model)
	if run.MaxTurns == 0 && entry.Capabilities().Agent.MaxTurns {
		run.MaxTurns = contract.UsualTurns
		if text := os.Getenv(contract.VarMaxTurns); text != "" {
			if _, err := fmt.Sscan(text, &run.MaxTurns); err != nil || run.MaxTurns < 1 {
				return d, leave, fmt.Errorf("%s=%q is not a number of turns", contract.VarMaxTurns, text)
			}
		}
	}
	res, err := result(ctx, app, execution.Request{Run: run, Message: execution.Message{Text: execution.Prompt(p.Prompt())}})
	if err != nil {
		return d, leave, err
	}
	d.report = res.Text
	changed, gone, err := at.changed(ctx)
	if err != nil {
		return d, leave, err
	}
	for _, name := range changed { // not what only this command put there
		was, err := os.ReadFile(filepath.Join(in, contract.FilesDir, filepath.FromSlash(name)))
		now, errNow := os.ReadFile(filepath.Join(at.dir, filepath.FromSlash(name)))
		if err != nil || errNow != nil || !bytes.Equal(was, now) {
			d.files = append(d.files, name)
		}
	}
	d.outside = p.Scope.Outside(slices.Concat(d.files, gone))
	switch {
	case res.Status != execution.StatusCompleted:
		d.failed = string(res.Status)
		if res.Error != nil {
			d.failed = res.Error.Message
		}
	case plan.Denied(res) != nil:
		d.failed = plan.Denied(res).Error()
	case len(d.outside) > 0:
		d.failed = "the task does not declare " + strings.Join(d.outside, ", ")
	case len(gone) > 0:
		d.failed = "an adapter script cannot return that files were removed: " + strings.Join(gone, ", ")
	case o.check != "":
		ran, err := worktree.Shell(ctx, at.dir, o.check)
		if err != nil {
			return d, leave, err
		}
		if d.tests, d.tested = ran.Output, true; ran.ExitCode != 0 {
			d.failed = fmt.Sprintf("the check ended with exit code %d", ran.ExitCode)
		}
	}
	return d, leave, nil
}

func result(ctx context.Context, app *cli.App, req execution.Request) (execution.Result, error) {
	client, err := app.Client()
	if err != nil {
		return execution.Result{}, err
	}
	run, err := client.Run(ctx, req, drawbar.RunOptions{})
	if err != nil {
		return execution.Result{}, err
	}
	return run.Result(context.WithoutCancel(ctx))
}

// place is where an agent works.
type place struct {
	dir     string
	run     execution.RunID
	changed func(context.Context) (files, gone []string, err error) // relative to dir, with slashes
	leave   func()
}

// place makes a worktree, or a temporary directory outside of a repository with commits.
func (o *options) place(ctx context.Context, app *cli.App) (place, error) {
	p := place{run: agent.NewRunID()}
	m, err := app.NewWorktrees(ctx, app.Dir(), o.trust)
	if err != nil {
		return p, err
	}
	id := strings.ToLower(string(p.run))
	tree, where, release, err := m.Open(ctx, app.Dir(), "script-"+id[len(id)-8:])
	if err == nil {
		p.dir = where
		p.changed = func(ctx context.Context) (files, gone []string, err error) {
			work, err := tree.Snapshot(ctx, p.run)
			if err != nil {
				return nil, nil, err
			}
			changes, err := work.Changes(ctx)
			for _, c := range changes {
				name, err := filepath.Rel(where, filepath.Join(tree.Path, filepath.FromSlash(c.Path)))
				if err != nil {
					return nil, nil, err
				}
				if name = filepath.ToSlash(name); work.Has(ctx, work.Commit, c.Path) {
					files = append(files, name)
				} else {
					gone = append(gone, name)
				}
			}
			return files, gone, err
		}
		p.leave = func() {
			release()
			if _, err := m.Remove(context.WithoutCancel(ctx), tree, worktree.OwnChanges); err != nil {
				app.Warnf("%v", err)
			}
		}
		return p, nil
	}
	if execution.CodeOf(err) != execution.CodeValidation { // else there is no repository, or no commit
		return p, err
	}
	temp, err := os.MkdirTemp("", "drawbar-script-")
	if err == nil {
		p.dir = filepath.Join(temp, contract.FilesDir)
		err = os.Mkdir(p.dir, 0o700)
	}
	p.leave = func() { _ = os.RemoveAll(temp) } // a temporary folder
	p.changed = func(context.Context) (files, gone []string, err error) {
		out, err := contract.ReadOutput(temp)
		return out.Files, nil, err
	}
	if err != nil {
		return p, execution.Errorf(execution.CodeConfig, "make a temporary directory: %w", err)
	}
	return p, nil
}
