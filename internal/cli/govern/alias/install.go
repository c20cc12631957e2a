package alias

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/ledger"
)

// Install adds the aliases of both tables to the command "govern", after its own commands.
func Install(app *cli.App, govern *cobra.Command) {
	flags(app, govern)
	for _, c := range Commands() {
		if c.Own {
			continue
		}
		words := strings.Fields(c.Old)
		parent := govern
		for _, w := range words[:len(words)-1] {
			parent = child(parent, w)
		}
		name := words[len(words)-1]
		if c.Refused != "" {
			parent.AddCommand(refused(name, c))
			continue
		}
		parent.AddCommand(same(app, govern, name, c))
	}
}

// child returns the command of that name below parent; a missing one is created hidden.
func child(parent *cobra.Command, name string) *cobra.Command {
	for _, c := range parent.Commands() {
		if c.Name() == name {
			return c
		}
	}
	c := &cobra.Command{Use: name, Hidden: true, Args: cli.Args(cobra.NoArgs), RunE: func(cmd *cobra.Command, _ []string) error {
		var names []string
		for _, c := range cmd.Commands() {
			names = append(names, cmd.CommandPath()+" "+c.Name())
		}
		return cli.Usage("%s needs a command", cmd.CommandPath()).WithHint("%s", strings.Join(names, ", "))
	}}
	parent.AddCommand(c)
	return c
}

func refused(name string, c Command) *cobra.Command {
	return &cobra.Command{Use: name, Hidden: true, DisableFlagParsing: true, RunE: func(cmd *cobra.Command, _ []string) error {
		return cli.Usage("there is no %s: %s", cmd.CommandPath(), c.Refused).WithHint("%s", c.Hint)
	}}
}

// same is a copy of a command under another name with the same flags, so that a flag set on one is set for the command
// that runs.
func same(app *cli.App, govern *cobra.Command, name string, c Command) *cobra.Command {
	target, words := govern, strings.Fields(c.New)
	for len(words) > 0 {
		i := slices.IndexFunc(target.Commands(), func(c *cobra.Command) bool { return c.Name() == words[0] })
		if i < 0 {
			break
		}
		target, words = target.Commands()[i], words[1:]
	}
	if target == govern {
		panic("alias: " + name + " has no target")
	}
	wants := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "%") })
	use := name + strings.TrimPrefix(target.Use, target.Name())
	if wants {
		use = name + " ID"
	}
	if c.Present {
		use = name + " [ID]"
	}
	cmd := &cobra.Command{
		Use: use, Hidden: true, Short: target.Short, Long: target.Long, PreRunE: target.PreRunE,
		Args: func(cmd *cobra.Command, args []string) error {
			if c.Present && len(args) == 0 {
				return nil
			}
			if wants && len(args) != 1 {
				return cli.Usage("%s needs exactly one ID", cmd.CommandPath()).WithHint("%s", cmd.UseLine())
			}
			return target.Args(cmd, fill(words, args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.Present && len(args) == 0 {
				phase, err := presentPhase(app)
				if err != nil {
					return err
				}
				args = []string{phase}
			}
			return target.RunE(cmd, fill(words, args))
		},
	}
	if len(words) == 0 {
		cmd.ValidArgs, cmd.ValidArgsFunction = target.ValidArgs, target.ValidArgsFunction
	}
	cmd.Flags().AddFlagSet(target.Flags())
	return cmd
}

// fill puts the arguments behind the words; the first replaces % in them.
func fill(words, args []string) []string {
	out, rest := slices.Clone(words), args
	for i, w := range words {
		if before, after, ok := strings.Cut(w, "%"); ok && len(args) > 0 {
			out[i], rest = before+args[0]+after, args[1:]
		}
	}
	return append(out, rest...)
}

// presentPhase is the phase of the run, or the first phase before any run.
func presentPhase(app *cli.App) (string, error) {
	p, err := view.Project(app)
	if err != nil {
		return "", err
	}
	v, err := ledger.Read(p.Root)
	if err != nil {
		return "", err
	}
	return cmp.Or(v.State.Phase, p.Config.Phases()[0]), nil
}

// flags adds the flags and makes each command check its own before it runs.
func flags(app *cli.App, govern *cobra.Command) {
	for _, f := range Flags() {
		if f.Command == "" {
			govern.PersistentFlags().BoolVarP(&app.JSON, f.Name, f.Short, app.JSON, "same as --"+f.Same)
			govern.PersistentFlags().Lookup(f.Name).Hidden = true
			continue
		}
		if f.Own {
			continue
		}
		cmd := govern
		for name := range strings.FieldsSeq(f.Command) {
			cmd = child(cmd, name)
		}
		fs := cmd.Flags()
		switch {
		case f.Same != "":
			of := fs.Lookup(f.Same)
			if of == nil {
				of = govern.PersistentFlags().Lookup(f.Same)
			}
			fs.VarPF(of.Value, f.Name, f.Short, "same as --"+f.Same).NoOptDefVal = of.NoOptDefVal
		case f.Value:
			fs.StringP(f.Name, f.Short, "", f.Means)
		default:
			fs.BoolP(f.Name, f.Short, false, f.Means)
		}
		fs.Lookup(f.Name).Hidden = true
		before := cmd.PreRunE
		cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
			if before != nil {
				if err := before(cmd, args); err != nil {
					return err
				}
			}
			return f.check(cmd)
		}
	}
}

// check refuses a given flag whose meaning differs from what happens.
func (f Flag) check(cmd *cobra.Command) error {
	got := cmd.Flags().Lookup(f.Name)
	if got == nil || !got.Changed || f.Same != "" {
		return nil
	}
	if f.Refused != "" {
		return cli.Usage("--%s is not supported: %s", f.Name, f.Refused).WithHint("%s", f.Hint)
	}
	without := fmt.Sprintf("%s, without --%s", cmd.CommandPath(), f.Name)
	if f.Value {
		if !slices.Contains(f.Only, got.Value.String()) {
			return cli.Usage("--%s %s is not supported: %s", f.Name, got.Value, f.Means).WithHint("%s", without)
		}
		return nil
	}
	if on, err := strconv.ParseBool(got.Value.String()); err != nil || !on {
		return cli.Usage("--%s=%s is not supported: %s", f.Name, got.Value, f.Means).WithHint("%s", without)
	}
	if other := cmd.Flags().Lookup(f.Against); other != nil && other.Changed && other.Value.String() == "true" {
		return cli.Usage("--%s and --%s contradict each other: with the first, %s", f.Name, f.Against, f.Means).WithHint("give one of them")
	}
	return nil
}
