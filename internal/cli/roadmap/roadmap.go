// Package roadmap is "drawbar roadmap": the tasks of a ROADMAP.md, run by agents (002, Agent Adapter Interface).
package roadmap

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/cli/roadmap/plan"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "roadmap", Short: "Run the tasks of a ROADMAP.md with agents; an agent as an adapter script: script",
		Long: `Run the tasks of a ROADMAP.md with agents, each in a git worktree of its own, in the order of their dependencies.

A task is a line with a marker and an id; indented lines below it describe it, and say which files it may change:

  ## Login
  - [ ] Add a form (depends: #T1) #T2 (agent: codex)
    - **Files**: ` + "`src/form.ts` (create), `src/login/`" + `
    - An empty password is refused.

Markers are [?] draft, [ ] todo, [-] in progress, [~] review, [>] competing, [x] done and [!] blocked. (agent: NAME) names the script
.claude/agents/adapters/NAME.sh, or else an agent of this machine; without it, project_os.adapters.default of .claude/settings.json does,
and otherwise claude-code. (model: NAME) names a model.`,
		Example: "  drawbar roadmap list\n  drawbar roadmap check\n  drawbar roadmap run --approve yolo --check 'go test ./...'",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(list(app), check(app), run(app), adapters(app))
	return cmd
}

// read reads the roadmap and the settings of the project.
func read(app *cli.App, cwd string) (dir string, r *plan.Roadmap, s plan.Settings, err error) {
	app.SetDir(cwd)
	if dir, err = app.ProjectDir(); err == nil {
		dir, err = plan.Root(dir)
	}
	if err == nil {
		r, err = plan.Read(dir)
	}
	if err == nil {
		s, err = plan.ReadSettings(dir)
	}
	return dir, r, s, err
}

// row is a task in the list.
type row struct {
	plan.Task
	State   string   `json:"state"`
	Adapter string   `json:"adapter"`
	Waits   []string `json:"waitsFor,omitempty"`
	Ready   bool     `json:"ready"`
}

func list(app *cli.App) *cobra.Command {
	var cwd string
	cmd := &cobra.Command{
		Use: "list", Short: "List the tasks, what they wait for, and which adapter runs them",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, r, s, err := read(app, cwd)
			if err != nil {
				return err
			}
			rows := make([]row, len(r.Tasks))
			for i, t := range r.Tasks {
				rows[i] = row{Task: t, State: t.State.String(), Adapter: s.Adapter(t)}
				if t.State == plan.Todo {
					rows[i].Waits = r.Waits(t)
					rows[i].Ready = len(rows[i].Waits) == 0
				}
			}
			return app.Answer(rows, func() {
				if len(rows) == 0 {
					app.Notef("%s has no tasks; one is a line such as: - [ ] Add a login #T1", r.Path)
					return
				}
				t := app.ShortTable("TASK", "STATE", "ADAPTER", "FILES", "TITLE")
				for _, one := range rows {
					state := one.State
					switch {
					case one.Ready:
						state = "ready"
					case len(one.Waits) > 0:
						state = "waits for " + strings.Join(one.Waits, ", ")
					}
					adapter := one.Adapter
					if one.Model != "" {
						adapter += " (" + one.Model + ")"
					}
					t.Row(one.ID, state, adapter, len(one.Files), one.Title)
				}
				_ = t.Flush()
			})
		},
	}
	cmd.Flags().StringVar(&cwd, "cwd", "", "directory in the project (default the current one)")
	return cmd
}

func check(app *cli.App) *cobra.Command {
	var cwd string
	cmd := &cobra.Command{
		Use: "check", Short: "List every fault of the file: markers, ids, dependencies, annotations, declared files",
		Long: "List every fault of the file: unknown markers, duplicate ids, dependencies that are missing, circular or not done, invalid\n" +
			"annotations, declared files outside the project, and adapter scripts that cannot run. Exits with 1 if there is one.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			dir, r, s, err := read(app, cwd)
			if err != nil {
				return err
			}
			faults := append([]plan.Fault{}, r.Check()...)
			for _, t := range r.Tasks {
				if _, err := plan.Script(dir, s.Adapter(t)); err != nil {
					faults = append(faults, plan.Fault{Line: t.Line, Task: t.ID, Message: err.Error()})
				}
			}
			type answer struct {
				Tasks  int          `json:"tasks"`
				Faults []plan.Fault `json:"faults"`
			}
			err = app.Answer(answer{len(r.Tasks), faults}, func() {
				for _, f := range faults {
					app.Printf("%s\n", f)
				}
				if len(faults) == 0 {
					app.Printf("ok: %s\n", cli.Number(len(r.Tasks), "task", "tasks"))
				}
			})
			if err == nil && len(faults) > 0 {
				err = &exitcode.Error{Code: execution.ExitGeneral, Silent: true}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&cwd, "cwd", "", "directory in the project (default the current one)")
	return cmd
}
