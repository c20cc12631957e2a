package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/cli/junit"
	"github.com/drawbar/drawbar/internal/cli/race"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/internal/worktree"
)

// raceFlags are --race and what belongs to it.
type raceFlags struct {
	list  string
	check race.Check
	first bool
}

// ofRace are the flags that need --race.
var ofRace = []string{"check", "hidden", "protect", "check-timeout", "first-green"}

func (f *raceFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.list, "race", "", "agents that all do the work, each in a worktree of its own: claude,codex:2,gemini/MODEL")
	fl.StringVar(&f.check.Command, "check", "", "command that says in a clean checkout whether a racer's work is good (exit code 0)")
	fl.StringVar(&f.check.Hidden, "hidden", "", "directory of files for the check that the racers do not get")
	fl.StringArrayVar(&f.check.Protect, "protect", nil, "pattern of files that the check has as they were; replaces that of tests and build files (repeatable, none)")
	fl.DurationVar(&f.check.Limit, "check-timeout", 30*time.Minute, "time limit for a check")
	fl.BoolVar(&f.first, "first-green", false, "interrupt the other racers when the work of one has passed the check")
}

// validate refuses what the flags cannot mean.
func (f *raceFlags) validate(cmd *cobra.Command) error {
	if !cmd.Flags().Changed("race") {
		for _, name := range ofRace {
			if cmd.Flags().Changed(name) {
				return cli.Usage("--%s is about a race, and there is none", name).WithHint("--race claude,codex")
			}
		}
		return nil
	}
	for _, name := range []string{"interactive", "detach", "session", "fork", "continue", "name", "worktree", "record", "replay", "model", "fallback", "quiet", "output",
		"format"} {
		if cmd.Flags().Changed(name) {
			hint := "leave --" + name + " out"
			if name == "model" {
				hint = "--race claude/MODEL,codex/MODEL"
			}
			return cli.Usage("--%s is for one run, and --race starts several", name).WithHint("%s", hint)
		}
	}
	if !cmd.Flags().Changed("protect") {
		f.check.Protect = race.Protected
	} else if slices.Equal(f.check.Protect, []string{"none"}) {
		f.check.Protect = nil
	}
	switch {
	case f.check.Command == "" && cmd.Flags().Changed("check"):
		return cli.Usage("--check has no command").WithHint("--check 'go test ./...'")
	case f.check.Command == "":
		for _, name := range ofRace {
			if cmd.Flags().Changed(name) {
				return cli.Usage("--%s needs a check", name).WithHint("--check 'go test ./...'")
			}
		}
	case f.check.Limit <= 0:
		return cli.Usage("--check-timeout %s is out of range", f.check.Limit).WithHint("a duration such as 30s or 5m")
	}
	if err := race.CheckPatterns(f.check.Protect); err != nil {
		return err
	}
	return f.checkHidden(cmd)
}

// checkHidden refuses hidden files that the racers' worktrees would have.
func (f *raceFlags) checkHidden(cmd *cobra.Command) error {
	if !cmd.Flags().Changed("hidden") {
		return nil
	}
	info, err := os.Stat(f.check.Hidden)
	if err != nil || !info.IsDir() {
		return cli.Usage("--hidden %q is not a directory", f.check.Hidden)
	}
	if f.check.Hidden, err = filepath.Abs(f.check.Hidden); err != nil {
		return cli.Usage("--hidden: %v", err)
	}
	return nil
}

// race starts the race. args are the words of the prompt.
func (o *options) race(cmd *cobra.Command, app *cli.App, args []string) error {
	entries, err := race.Entries(o.racing.list)
	if err != nil {
		return err
	}
	app.SetDir(o.flags.Dir())
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Agent, "/")
		if err := app.TrustAgent(cmd.Context(), name, o.trust); err != nil {
			return err
		}
	}
	client, err := app.Client()
	if err != nil {
		return err
	}
	dir, err := app.ProjectDir()
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Agent, "/")
		if err := app.TrustFiles(cmd.Context(), dir, o.trust, name); err != nil {
			return err
		}
	}
	worktrees, err := app.NewWorktrees(cmd.Context(), dir, o.trust)
	if err != nil {
		return err
	}
	id := strings.ToLower(string(agent.NewRunID()))
	r := &race.Race{App: app, Client: client, Worktrees: worktrees, ID: id[len(id)-6:], Check: o.racing.check, FirstGreen: o.racing.first,
		Watch: func(run *agent.Run) func() { return tellOthers(app, run) }}
	var waits []func()
	defer func() {
		for _, wait := range waits {
			wait()
		}
	}()
	names := race.Names(entries)
	var base execution.Request
	for i, e := range entries {
		name, model, _ := strings.Cut(e.Agent, "/")
		entry, err := client.Adapters().Get(name)
		if err != nil {
			return err
		}
		if i == 0 {
			if base, err = o.flags.Request(app, cmd, entry.Descriptor.Name, args, true); err != nil {
				return err
			}
			r.Dir = base.Run.Cwd
		}
		over := config.Options{}
		if model != "" {
			over["model"], _ = json.Marshal(model) // a text always encodes
		}
		req := base
		if req.Run, err = o.flags.RunIn(app, cmd, base.Run.Cwd, entry.Descriptor.Name, over); err != nil {
			return err
		}
		if err := here(req.Run, "--race"); err != nil {
			return err
		}
		req.Run.Agent, req.Run.SystemPromptMode = entry.Descriptor.Name, base.Run.SystemPromptMode
		req.Run.Tags = append(slices.Clip(req.Run.Tags), "race-"+r.ID)
		if err := o.askNobody(cmd, &req); err != nil {
			return err
		}
		for _, label := range names[i] {
			opts := drawbar.RunOptions{}
			wait, err := addHooks(cmd.Context(), app, entry, req.Run, o.hooks, o.hookTimeout, o.trust, &opts)
			if err != nil {
				return err
			}
			waits = append(waits, wait)
			r.Racers = append(r.Racers, race.Racer{Name: label, Request: req.Clone(), Options: opts})
		}
	}
	if err := o.fair(app, r); err != nil {
		return err
	}
	return o.start(cmd, app, r)
}

// fair shares the budget equally, and refuses a race that one of the racers cannot run in.
func (o *options) fair(app *cli.App, r *race.Race) error {
	for i := range r.Racers {
		req := &r.Racers[i].Request
		allowed, err := r.Client.Affordable(*req, r.Racers[i].Options)
		if err != nil {
			return fmt.Errorf("%s cannot take part: %w", r.Racers[i].Name, err)
		}
		if b := req.Run.MaxBudgetUSD; b != nil {
			req.Run.MaxBudgetUSD = new(*b / float64(len(r.Racers)))
		} else if allowed != nil {
			r.Racers[i].Options.BudgetUSD = allowed.LeftUSD / float64(len(r.Racers))
		}
		if err := app.Possible(*req); err != nil {
			return fmt.Errorf("%s cannot take part: %w", r.Racers[i].Name, err)
		}
	}
	return nil
}

// start runs the race and prints what became of it.
func (o *options) start(cmd *cobra.Command, app *cli.App, r *race.Race) error {
	ctx := cmd.Context()
	if h := r.Check.Hidden; h != "" && worktree.Tracks(ctx, r.Dir, h) {
		return cli.Usage("--hidden %s is in the repository, so the racers have it", h).WithHint("keep the files outside, or ignored by git")
	}
	report, err := cli.OpenOut("--junit", o.answer.report)
	if err != nil {
		return err
	}
	received, release := catch()
	defer release()
	interrupt, over := make(chan struct{}), make(chan struct{})
	defer close(over)
	var stopped atomic.Int64 // the exit code of the first signal
	go func() {
		for n := 1; ; n++ {
			var got os.Signal
			select {
			case <-over:
				return
			case got = <-received:
			}
			code := execution.ExitAborted
			if got == os.Interrupt {
				code = execution.ExitInterruptedKey
			}
			switch {
			case n == 1:
				stopped.Store(int64(code))
				close(interrupt)
			case n > 2:
				os.Exit(code)
			}
		}
	}()
	res, err := r.Run(ctx, interrupt)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := errors.Join(res.Write(app), junit.Write(&text, "drawbar run --race", "drawbar.race", res.Cases())); err != nil {
		return err
	}
	if err := report.Write(text.Bytes()); err != nil {
		return err
	}
	code := int(stopped.Load())
	if code == execution.ExitOK && !res.Won() {
		code = execution.ExitGeneral
	}
	return exitcode.If(code != execution.ExitOK, code, nil)
}
