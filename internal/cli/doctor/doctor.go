// Package doctor is "drawbar doctor": it checks whether this machine can run agents, and suggests fixes.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/version"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/runstore"
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

// New returns the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:  "doctor",
		Long: "Diagnose this machine: tools, the record of runs, agents with their versions and logins, configuration files, hooks, session stores. No agent runs and the network is not used. The exit code is 1 when something will not work.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := app.ProjectDir()
			if err != nil {
				return err
			}
			client, err := app.Client()
			if err != nil {
				return err
			}
			checks := []check{{"drawbar", ok, fmt.Sprintf("%s, %s, %s/%s", app.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH), ""}}
			checks = append(checks, platform(), home(), record(app))
			checks = append(checks, leftovers(client)...)
			checks = append(checks, tools(cmd.Context())...)
			checks = append(checks, agents(cmd.Context(), client.Adapters())...)
			checks = append(checks, own(app, dir)...)
			checks = append(checks, settingsChecks(client, dir)...)
			checks = append(checks, stores(cmd.Context(), app)...)
			checks = append(checks, drift(app)...)
			checks = append(checks, unpriced(app)...)
			bad := false
			for _, c := range checks {
				bad = bad || c.State == problem
			}
			err = app.Answer(checks, func() {
				for _, c := range checks {
					mark := map[string]string{ok: "✓", note: "•", problem: "✗"}[c.State]
					app.Printf("%s %-16s %s\n", mark, c.Name, c.Found)
					if c.Do != "" {
						app.Printf("  %-16s try: %s\n", "", c.Do)
					}
				}
			})
			return exitcode.If(bad, execution.ExitGeneral, err)
		},
	}
	app.DirFlag(cmd)
	return cmd
}

func platform() check {
	switch runtime.GOOS {
	case "linux":
		return check{"supervision", ok, "an agent's processes end with its run, even when drawbar and its keeper are killed", ""}
	case "windows":
		return check{"supervision", note, "a job object per run; this platform is compiled but untested", ""}
	}
	return check{"supervision", note, "an agent's processes are found by parent and marker: best effort on this platform", ""}
}

// home checks that agents can save sessions and logins; some of them exit silently if they cannot.
func home() check {
	c := check{Name: "home", State: problem, Do: "set HOME to a writable directory"}
	dir, err := os.UserHomeDir()
	if err != nil {
		c.Found = err.Error()
		return c
	}
	if err := tryWrite(dir); err != nil {
		c.Found = "agents cannot save their sessions: " + err.Error()
		return c
	}
	return check{"home", ok, dir + " is writable", ""}
}

// tryWrite creates a file in a directory and removes it.
func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".drawbar-doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// leftovers ends remaining processes of lost runs and removes private folders of killed runs.
func leftovers(client *drawbar.Client) []check {
	var found []check
	gone, err := client.RemoveLeftovers()
	if err != nil {
		found = append(found, check{"leftovers", problem, err.Error(), "end these processes and remove these folders by hand"})
	}
	for _, id := range slices.Sorted(maps.Keys(gone.Ended)) {
		found = append(found, check{"lost run", note, fmt.Sprintf("run %s was lost; ended %d of its processes", id, gone.Ended[id]), ""})
	}
	if len(gone.Dirs) > 0 {
		found = append(found, check{"private folders", note, fmt.Sprintf("removed %d that killed runs left: %s", len(gone.Dirs), strings.Join(gone.Dirs, ", ")), ""})
	}
	return found
}

// unpriced names the models in use whose price is unknown: sums and budgets do not count them.
func unpriced(app *cli.App) (found []check) {
	list, _ := app.UnpricedModels() // what is wrong is reported by record
	for _, u := range list {
		if u.Model == "" {
			continue // nobody can say its price
		}
		found = append(found, check{"price", note, fmt.Sprintf("%s of %s used %s, whose price is unknown: costs and budgets leave it out", cli.Number(u.Runs, "run", "runs"), u.Agent, u.Model),
			fmt.Sprintf("drawbar models price set %s %s --input USD --output USD", u.Agent, u.Model)})
	}
	return found
}

// record checks that runs can be recorded.
func record(app *cli.App) check {
	c := check{Name: "record", State: problem}
	dir, err := runstore.DefaultDir()
	if err != nil {
		c.Found, c.Do = err.Error(), "set DRAWBAR_STATE_DIR to a directory"
		return c
	}
	if err := cmp.Or(os.MkdirAll(dir, 0o700), tryWrite(dir)); err != nil {
		c.Found, c.Do = err.Error(), "set DRAWBAR_STATE_DIR to a writable directory"
		return c
	}
	s, err := app.Store()
	if err != nil {
		c.Found = err.Error()
		return c
	}
	defer s.Close()
	runs, err := s.List(runstore.Filter{Limit: 1})
	if err != nil {
		c.Found, c.Do = err.Error(), "drawbar rebuilds its index from "+filepath.Join(dir, "runs")+" when the database is moved away"
		return c
	}
	c.State, c.Found = ok, dir
	if len(runs) == 0 {
		c.Found += ", no runs yet"
	}
	return c
}

// tools checks programs that some features need.
func tools(ctx context.Context) []check {
	var list []check
	for _, t := range []struct{ name, why string }{{"git", "repositories and diffs"}, {"node", "agents installed from npm"}} {
		c := check{Name: t.name, State: note, Found: "not found; needed for " + t.why}
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		out, err := cliagent.Spawn(ctx, adapter.SpawnRequest{Command: t.name, Args: []string{"--version"}})
		cancel()
		if err == nil && out.Code == 0 {
			c.State, c.Found = ok, version.Find(out.Stdout)
		}
		list = append(list, c)
	}
	return list
}

func agents(ctx context.Context, r *catalog.Registry) []check {
	var list []check
	installed := 0
	for _, i := range r.Installed(ctx) {
		if e, err := r.Get(i.Agent); err == nil && e.Capabilities().Agent.TakesCommand {
			continue // its program is given with every run
		} else if err == nil && e.Descriptor.Programless() {
			if i.AuthState == adapter.Authenticated { // without a key, nobody said that they want it
				installed++
				list = append(list, check{Name: i.Agent, State: ok, Found: "a key is set"})
			}
			continue
		}
		c := check{Name: i.Agent, State: ok}
		if !i.Installed {
			c.State, c.Found = note, "not installed"
			if i.CLIPath != "" { // an external adapter that does not answer
				c.State, c.Found, c.Do = problem, i.Notes, "correct the program or take it off PATH"
				list = append(list, c)
				continue
			}
			if methods, err := r.InstallInstructions(i.Agent, ""); err == nil && len(methods) > 0 {
				c.Do = methods[0].Command
			}
			list = append(list, c)
			continue
		}
		installed++
		version := "unknown version"
		if i.Version != "" {
			version = i.Version
		}
		c.Found = fmt.Sprintf("%s, %s", version, login(i.AuthState))
		switch {
		case !i.MeetsMinVersion && i.MinVersion != "":
			c.State = problem
			c.Found += ", below the minimum " + i.MinVersion
		case !i.WithinTested:
			c.State = note
			c.Found += ", not a tested version"
			if e, err := r.Get(i.Agent); err == nil && e.Descriptor.Untested(i.Version) != "" {
				c.Do = "drawbar agents conform " + i.Agent + " shows what works with it"
			}
		}
		if i.AuthState == adapter.Unauthenticated || i.AuthState == adapter.AuthExpired {
			c.State = problem
			if e, err := r.Get(i.Agent); err == nil {
				if g, has := adapter.As[adapter.AuthGuide](e.Adapter); has {
					c.Do = g.AuthGuidance().LoginCommand
				}
			}
		}
		list = append(list, c)
	}
	_, passed := r.External()
	for _, why := range passed {
		list = append(list, check{"external adapter", note, why, ""})
	}
	if installed == 0 {
		list = append(list, check{"agents", problem, "no agent is installed", "install one of the agents above, or try without one: drawbar demo"})
	}
	return list
}

// login describes the state of a login.
func login(s adapter.AuthStatus) string {
	switch s {
	case adapter.Authenticated:
		return "logged in"
	case adapter.Unauthenticated:
		return "not logged in"
	case adapter.AuthExpired:
		return "the login has expired"
	}
	return "login unknown"
}

// drift finds agents whose output could not be parsed in recent runs, perhaps because its format changed.
func drift(app *cli.App) []check {
	s, err := app.Store()
	if err != nil {
		return nil
	}
	defer s.Close()
	runs, err := s.List(runstore.Filter{Limit: 20})
	if err != nil {
		return nil // reported by record
	}
	unknown := map[string]int{}
	for _, r := range runs {
		if r.Live {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		res, err := s.Wait(ctx, string(r.ID))
		cancel()
		if err == nil && res.UnknownLines > 0 {
			unknown[r.Agent] += res.UnknownLines
		}
	}
	var list []check
	for _, a := range slices.Sorted(maps.Keys(unknown)) {
		list = append(list, check{a + " output", note, fmt.Sprintf("%d lines of recent runs could not be parsed", unknown[a]), "drawbar run " + a + " --debug shows them"})
	}
	return list
}
