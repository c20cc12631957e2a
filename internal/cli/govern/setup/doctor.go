package setup

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/audit"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/orchestrator/turnruntime"
	"github.com/drawbar/drawbar/internal/governed/phasehook"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/governed/workspace"
	"github.com/spf13/cobra"
)

// check is one finding. State is ok, note (worth knowing) or problem (something will not work).
type check struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"`
}

const (
	ok      = "ok"
	note    = "note"
	problem = "problem"
)

func doctor(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "doctor [RUNTIME]", Short: "Check whether this project can run here, without running it",
		Long: "Check the configuration, the repository, the record and every runtime that a role needs: does the program exist, does " +
			"the prompt\nreach it, does the agent support what is asked. No agent is started. With the id of a runtime, only the " +
			"roles that use it are\nchecked. The exit code is 1 when something will not work.",
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := view.Root(app)
			if err != nil {
				return err
			}
			checks, err := checksOf(cmd.Context(), app, root, args)
			if err != nil {
				return err
			}
			bad := false
			for _, c := range checks {
				bad = bad || c.State == problem
			}
			data, show := map[string]any{"ok": !bad, "root": root, "checks": checks}, func() {
				for _, c := range checks {
					app.Printf("%-8s %-22s %s\n", c.State, c.Name, c.Found)
					if c.Do != "" {
						app.Printf("%-8s %-22s try: %s\n", "", "", c.Do)
					}
				}
			}
			if bad {
				return view.Failed(app, execution.ExitGeneral, data, execution.Errorf(execution.CodeConfig, "the project cannot run here"), show)
			}
			return app.Answer(data, show)
		},
	}
}

// checksOf are the checks of the project, or of one runtime.
func checksOf(ctx context.Context, app *cli.App, root string, args []string) ([]check, error) {
	if len(args) == 0 {
		return examine(ctx, app, root), nil
	}
	p, err := project.Load(root)
	if err != nil {
		return nil, err
	}
	if !p.Config.Runtimes.Has(args[0]) {
		return nil, cli.Usage("unknown runtime %q", args[0]).WithHint("one of %s", strings.Join(p.Config.Runtimes.Keys(), ", "))
	}
	list := runtimes(app, p, args[0])
	if len(list) == 0 {
		list = append(list, check{Name: args[0], State: note, Found: "no role uses it"})
	}
	return list, nil
}

func examine(ctx context.Context, app *cli.App, root string) []check {
	problems, err := Problems(root)
	if err != nil {
		return []check{failed("configuration", err)}
	}
	var list []check
	for _, p := range problems {
		c := check{Name: "configuration", State: note, Found: located(p), Do: p.Hint}
		if p.IsError() {
			c.State = problem
		}
		list = append(list, c)
	}
	p, err := project.Load(root)
	if err != nil {
		return list
	}
	if len(list) == 0 {
		list = append(list, check{Name: "configuration", State: ok, Found: fmt.Sprintf("%s: %d roles, %d phases", protocol.ConfigFile, p.Config.Roles.Len(), len(p.Config.Phases()))})
	}
	list = append(list, trusted(app, p)...)
	list = append(list, repository(ctx, root)...)
	list = append(list, recordState(root)...)
	list = append(list, history(ctx, root)...)
	list = append(list, hooks(p)...)
	list = append(list, intents(root)...)
	return append(list, runtimes(app, p, "")...)
}

// trusted reports whether the user lets the project run anything.
func trusted(app *cli.App, p *project.Project) []check {
	store, err := app.TrustStore()
	if err == nil {
		if err = store.Check(p.Root, p.Items()); err == nil {
			err = store.Check(p.AgentItems())
		}
	}
	switch {
	case execution.CodeOf(err) == execution.CodeUntrusted:
		return []check{{Name: "trust", State: note, Found: "not trusted: nothing in this project runs until you trust it", Do: "drawbar trust " + p.Root}}
	case err != nil:
		return []check{failed("trust", err)}
	}
	return nil
}

// hooks reports what would keep a hook from running. It runs none.
func hooks(p *project.Project) []check {
	var list []check
	r := phasehook.Runner{Root: p.Root, Environ: os.Environ()}
	for phase, declared := range p.Config.Hooks.All() {
		faults := r.Check(phase, declared)
		for _, err := range faults {
			list = append(list, failed("hooks of "+phase, err))
		}
		if len(faults) == 0 && len(declared) > 0 {
			list = append(list, check{Name: "hooks of " + phase, State: ok, Found: fmt.Sprintf("%d", len(declared))})
		}
	}
	return list
}

func failed(name string, err error) check {
	c := check{Name: name, State: problem, Found: err.Error()}
	if e, is := typed(err); is {
		c.Found, c.Do = e.Message, e.Hint
	}
	return c
}

func repository(ctx context.Context, root string) []check {
	w, err := workspace.Open(ctx, root)
	if err != nil {
		return []check{failed("repository", err)}
	}
	if w.Kind() != workspace.Git {
		return []check{{Name: "repository", State: note, Found: "no git: changes cannot be observed, and accepted turns are not committed", Do: "git init && git add -A && git commit -m start"}}
	}
	b, err := w.Baseline(ctx)
	switch {
	case err != nil:
		return []check{failed("repository", err)}
	case b.HeadRef == nil:
		return []check{{Name: "repository", State: note, Found: "git, without a commit yet", Do: "git add -A && git commit -m start"}}
	case !b.Clean:
		return []check{{Name: "repository", State: note, Found: fmt.Sprintf("git, with %d uncommitted files: commit them before a role that may write gets a turn", b.DirtySnapshot.Len()), Do: "git add -A && git commit"}}
	}
	where := b.Branch
	if where == "" {
		where = "a detached head"
	}
	return []check{{Name: "repository", State: ok, Found: "git, clean, on " + where}}
}

func recordState(root string) []check {
	v, err := ledger.Read(root)
	if err != nil {
		return []check{failed("record", err)}
	}
	c := check{Name: "record", State: ok, Found: "no run yet"}
	if id := v.State.ID(); id != "" {
		c.Found = fmt.Sprintf("%s is %s in phase %s", id, v.State.Status, v.State.Phase)
	}
	list := []check{c}
	if v.Pending != "" {
		list = append(list, check{Name: "record", State: note, Found: "a transaction was interrupted: " + v.Pending, Do: "any writing command finishes it: drawbar govern restart"})
	}
	if h := v.Holder; h != nil {
		list = append(list, check{Name: "lock", State: note, Found: fmt.Sprintf("%s (process %d) is writing the record", h.Owner, h.PID)})
	}
	return list
}

// history compares the record with the commits, and checks whether git ignores the files that the record keeps next to
// it.
func history(ctx context.Context, root string) []check {
	w, err := workspace.Open(ctx, root)
	if err != nil || w.Kind() != workspace.Git {
		return nil // the repository is another check
	}
	v, err := ledger.Read(root)
	if err != nil {
		return nil // so is the record
	}
	h, err := audit.Git(ctx, w, v)
	if err != nil {
		return []check{failed("history", err)}
	}
	var list []check
	for _, f := range h.Findings {
		c := check{Name: "history", State: note, Found: f.Message, Do: f.Do}
		if f.Broken {
			c.State = problem
		}
		list = append(list, c)
	}
	if !v.Fresh && !v.Chained() && len(h.Heads) > 0 {
		list = append(list, check{Name: "history", State: problem, Found: fmt.Sprintf("%s is missing, although %d checkpoints refer to it", protocol.ChainFile, len(h.Heads)),
			Do: "restore it from a backup; to start a new chain: drawbar govern restart --adopt-state"})
	}
	seen, err := w.Visible(ctx, protocol.ChainFile, path.Dir(protocol.ArchiveDir), protocol.LocksDir)
	if err != nil {
		return append(list, failed("history", err))
	}
	if len(seen) > 0 {
		list = append(list, check{Name: "history", State: note,
			Found: "git shows files of the record as untracked, and AgentXchain refuses or deletes such files: " + strings.Join(seen, ", "),
			Do:    "add to .gitignore: .agentxchain/archive/, .agentxchain/chain.jsonl and .agentxchain/locks/"})
	}
	return list
}

// intents lists the pending work.
func intents(root string) []check {
	if text := project.Waiting(project.Intents(root)); text != "" {
		return []check{{Name: "intents", State: note, Found: text}}
	}
	return nil
}

// runtimes checks each runtime of a role, or only the given one, for what would keep a turn from starting. No worker is
// run.
func runtimes(app *cli.App, p *project.Project, only string) []check {
	var list []check
	for id, role := range p.Config.Roles.All() {
		rid, rt, declared := p.Config.RuntimeOf(id)
		if !declared || only != "" && rid != only {
			continue
		}
		name := "role " + id
		runtime, err := turnruntime.For(rt, turnruntime.Deps{Agents: view.Agents(app)})
		if err == nil {
			err = runtime.Check(sample(app, p, id, role, rid, rt))
		}
		if err != nil {
			list = append(list, failed(name, err))
			continue
		}
		c := check{Name: name, State: ok, Found: fmt.Sprintf("%s, %s (%s)", rid, rt.Type, charter.WritePath(role.WriteAuthority, rt))}
		if mode := rt.Permission(); mode != "" {
			c.Found += "; " + view.Permission(mode)
		}
		if role.WriteAuthority == protocol.ReviewOnly && rt.Type == protocol.RuntimeLocalCLI {
			c.State = note
			c.Found += ": it could write; unwanted writes are detected afterwards and refused"
		}
		list = append(list, c)
	}
	return list
}

// sample is a turn of the role that is never run.
func sample(app *cli.App, p *project.Project, id string, role protocol.Role, rid string, rt protocol.Runtime) turnruntime.Dispatch {
	const turn = "turn_0000000000000000"
	d := turnruntime.Dispatch{
		Root: p.Root, WorkDir: p.Root, Run: "run_0000000000000000", Turn: protocol.Turn{TurnID: turn, AssignedRole: id, RuntimeID: rid, Attempt: 1},
		RoleID: id, Role: role, RuntimeID: rid, Runtime: rt, Prompt: "prompt", Context: "context",
		BundleDir: filepath.Join(p.Root, filepath.FromSlash(protocol.BundleDir(turn))), StagedPath: filepath.Join(p.Root, filepath.FromSlash(protocol.StagedFile(turn))),
		Getenv: app.Getenv, Environ: os.Environ(),
	}
	if phases := p.Config.Phases(); len(phases) > 0 {
		d.Phase = phases[0]
	}
	if p.Config.RunLoop != nil {
		d.Loop = *p.Config.RunLoop
	}
	if b := p.Config.Budget; b != nil {
		d.BudgetUSD = b.PerTurnMaxUSD
	}
	return d
}
