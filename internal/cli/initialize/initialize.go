// Package initialize is "drawbar init": it looks at what is here and proposes a configuration.
package initialize

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/ownconfig"
)

// found is an agent that can run here.
type found struct {
	Agent   string             `json:"agent"`
	Version string             `json:"version,omitempty"`
	Login   adapter.AuthStatus `json:"login"`
}

// value is a proposed value of Drawbar's configuration.
type value struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	Why   string `json:"why"`
}

// proposal is what init found and proposes.
type proposal struct {
	Agents     []found `json:"agents"`
	Values     []value `json:"values"`     // that are not set yet
	Completion string  `json:"completion"` // command that sets up the shell
	File       string  `json:"file"`
	Shell      *script `json:"shell,omitempty"` // completion that is not set up
}

// script is a shell's completion and the file that the shell reads it from.
type script struct {
	Name string `json:"name"`
	File string `json:"file"`
	text []byte
}

type options struct {
	agent, approve string
	budget         float64
	yes            bool
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use: "init", Short: "Look at what is here, and propose a default agent",
		Long: `Look for agents and logins on this machine, and propose the agent of runs that name none, if your configuration does not have
one. --approve and --budget add an approval mode and a budget for each run. For bash and fish, completion of Drawbar's commands is proposed
too. Nothing is written before a yes, and nothing that is set is changed, unless a flag says so.`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, app) },
	}
	f := cmd.Flags()
	f.StringVar(&o.agent, "agent", "", "default agent, instead of the proposed one")
	f.StringVar(&o.approve, "approve", "", "approval mode: prompt, reads, deny or yolo")
	f.Float64Var(&o.budget, "budget", 0, "maximum cost of a run in dollars, where the agent can enforce it")
	f.BoolVar(&o.yes, "yes", false, "write without asking")
	return cmd
}

func (o *options) run(cmd *cobra.Command, app *cli.App) error {
	if o.approve != "" && !slices.Contains(execution.EnumValues()["ApprovalMode"], o.approve) {
		return cli.Usage("--approve %q is unknown", o.approve).WithHint("--approve %s", strings.Join(execution.EnumValues()["ApprovalMode"], ", --approve "))
	}
	if o.budget < 0 || cmd.Flags().Changed("budget") && o.budget == 0 {
		return cli.Usage("--budget must be more than 0")
	}
	dir, err := app.ProjectDir()
	if err != nil {
		return err
	}
	client, err := app.Client()
	if err != nil {
		return err
	}
	p := proposal{Agents: ready(client.Adapters(), client.Adapters().Installed(cmd.Context())), Completion: completion(app.Getenv("SHELL"))}
	if p.Values, err = o.propose(app, dir, p.Agents); err != nil {
		return err
	}
	if p.File, err = ownconfig.UserFile(app, dir); err != nil {
		return err
	}
	if p.Shell, err = missing(cmd, app); err != nil {
		return err
	}
	if app.JSON && !o.yes {
		return app.Answer(p, nil)
	}
	p.show(app)
	var files []string
	if len(p.Values) > 0 {
		files = append(files, p.File)
	}
	if p.Shell != nil {
		files = append(files, p.Shell.File)
	}
	if len(files) == 0 {
		return nil
	}
	if !o.yes && !cli.IsTerminal(app.In) {
		app.Notef("  try: %s --yes, to write them", cmd.CommandPath())
		return nil
	}
	if err := app.Confirm(cmd.Context(), o.yes, "Write "+strings.Join(files, " and ")+"?", cmd.CommandPath(), nil); err != nil {
		return err
	}
	if p.Shell != nil {
		if err := p.Shell.write(); err != nil {
			return err
		}
		app.Notef("wrote %s; new shells complete drawbar", p.Shell.File)
	}
	if len(p.Values) == 0 && !app.JSON {
		return nil
	}
	values := map[string]any{}
	for _, v := range p.Values {
		values[v.Key] = v.Value
	}
	return ownconfig.SetAll(cmd.Context(), app, dir, values)
}

// ready returns the agents that can run: those with a login first, those whose programs are here before those that need none.
func ready(r *catalog.Registry, all []catalog.InstalledInfo) []found {
	list, rank := []found{}, map[string]int{}
	for _, i := range all {
		e, err := r.Get(i.Agent)
		if err != nil || e.Capabilities().Agent.TakesCommand || !i.Installed && !e.Descriptor.Programless() {
			continue
		}
		if e.Descriptor.Programless() {
			if i.AuthState != adapter.Authenticated { // nobody said that they want it
				continue
			}
			rank[i.Agent]++
			if e.Descriptor.IsService() { // reads and changes no files
				rank[i.Agent]++
			}
		}
		if i.AuthState != adapter.Authenticated {
			rank[i.Agent] += 10
		}
		list = append(list, found{i.Agent, i.Version, i.AuthState})
	}
	slices.SortStableFunc(list, func(a, b found) int { return cmp.Compare(rank[a.Agent], rank[b.Agent]) })
	return list
}

// propose returns the values that are not set, and those that flags state.
func (o *options) propose(app *cli.App, dir string, agents []found) ([]value, error) {
	list := []value{}
	cfg, err := app.Config(dir)
	if err != nil {
		return nil, err
	}
	switch {
	case o.agent != "":
		e, err := app.Agent(o.agent)
		if err != nil {
			return nil, err
		}
		list = append(list, value{"defaultAgent", e.Descriptor.Name, "the agent of runs that name none"})
	case cfg.DefaultAgent() == "" && len(agents) > 0:
		list = append(list, value{"defaultAgent", agents[0].Agent, "the agent of runs that name none"})
	case cfg.DefaultAgent() == "":
		return nil, execution.Errorf(execution.CodeAgentNotInstalled, "no agent is installed, and no key of a model API is set").
			WithHint("drawbar agents install claude, set ANTHROPIC_API_KEY for Drawbar's own agent, or watch one without: drawbar demo")
	}
	// The usual mode, prompt, is not written: agents that ask nothing refuse it when it is stated.
	if o.approve != "" {
		list = append(list, value{"approvalMode", o.approve, "what a call does that needs permission"})
	}
	if o.budget > 0 {
		list = append(list, value{"maxBudgetUsd", o.budget, "the most that a run may cost, in dollars"})
	}
	return list, nil
}

// completion returns the command that sets up a shell.
func completion(shell string) string {
	switch filepath.Base(shell) {
	case "zsh": // which has no folder of the user's that it looks into unasked
		return `drawbar completion zsh > "${fpath[1]}/_drawbar"`
	case "fish":
		return "drawbar completion fish > ~/.config/fish/completions/drawbar.fish"
	}
	return "echo 'source <(drawbar completion bash)' >> ~/.bashrc"
}

// missing returns the completion of the user's shell when the file that the shell reads it from does not exist; nil when it does, and for
// other shells than bash and fish. A file that is there is left alone: its user may have written it.
func missing(cmd *cobra.Command, app *cli.App) (*script, error) {
	s := &script{Name: filepath.Base(app.Getenv("SHELL"))}
	var text bytes.Buffer
	var base string
	var err error
	switch home := app.Getenv("HOME"); s.Name {
	case "bash":
		if !packaged() {
			return nil, nil
		}
		base, s.File = cmp.Or(app.Getenv("XDG_DATA_HOME"), filepath.Join(home, ".local", "share")), filepath.Join("bash-completion", "completions", "drawbar")
		err = cli.BashCompletion(cmd.Root(), &text, true)
	case "fish":
		base, s.File = cmp.Or(app.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), filepath.Join("fish", "completions", "drawbar.fish")
		err = cmd.Root().GenFishCompletion(&text, true)
	}
	if err != nil || !filepath.IsAbs(base) { // no home, or another shell
		return nil, err
	}
	s.File, s.text = filepath.Join(base, s.File), text.Bytes()
	if _, err := os.Lstat(s.File); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return s, nil
}

// packaged reports whether bash has the package that reads completions from the user's folder.
func packaged() bool {
	return slices.ContainsFunc([]string{"/usr/share", "/usr/local/share", "/opt/homebrew/share", "/opt/local/share"}, func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "bash-completion", "bash_completion"))
		return err == nil
	})
}

func (s *script) write() error {
	err := os.MkdirAll(filepath.Dir(s.File), 0o755) //nolint:gosec // a shell's folder, like the others in it
	if err == nil {
		err = atomicfile.Write(s.File, s.text, 0o644, false)
	}
	if err != nil {
		return fmt.Errorf("write the completion of %s: %w", s.Name, err)
	}
	return nil
}

// show prints a proposal for a person.
func (p *proposal) show(app *cli.App) {
	for _, a := range p.Agents {
		app.Notef("found     %s%s", strings.TrimSpace(a.Agent+" "+a.Version), map[adapter.AuthStatus]string{adapter.Authenticated: ", logged in",
			adapter.Unauthenticated: ", not logged in: drawbar auth guide " + a.Agent, adapter.AuthExpired: ", its login has expired: drawbar auth guide " + a.Agent}[a.Login])
	}
	for _, v := range p.Values {
		app.Notef("proposed  %s = %v   (%s)", v.Key, v.Value, v.Why)
	}
	if len(p.Values) == 0 {
		app.Notef("%s has a default agent; drawbar config show lists it", p.File)
	}
	if p.Shell != nil {
		app.Notef("proposed  completion of %s in %s", p.Shell.Name, p.Shell.File)
	} else {
		app.Notef("shell     %s", p.Completion)
	}
}
