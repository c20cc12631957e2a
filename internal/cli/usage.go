package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/near"
)

// values say in words what a flag takes, by the type of its value.
var values = map[string]string{"float64": "a number", "int": "a whole number", "int64": "a whole number", "uint64": "a whole number, 0 or more",
	"duration": "a duration such as 90s or 20m", "bool": "true or false"}

// FlagError says what is wrong with a flag of a command.
func FlagError(c *cobra.Command, err error) error {
	help := c.CommandPath() + " --help"
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := "--" + e.GetSpecifiedName()
		if short := e.GetSpecifiedShortnames(); short != "" {
			return Usage("%s: unknown flag -%s in -%s", c.CommandPath(), e.GetSpecifiedName(), short).WithHint("%s", help)
		}
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				known = append(known, "--"+f.Name)
			}
		})
		if meant := near.Word(name, known); meant != "" {
			help = meant + "; " + help
		}
		return Usage("%s: unknown flag %s", c.CommandPath(), name).WithHint("%s", help)
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if what := values[e.GetFlag().Value.Type()]; what != "" {
			return Usage("%s: --%s %q is not %s", c.CommandPath(), e.GetFlag().Name, e.GetValue(), what).WithHint("%s", help)
		}
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return Usage("%s: --%s has no value", c.CommandPath(), e.GetFlag().Name).WithHint("%s", help)
	}
	return Usage("%s: %v", c.CommandPath(), err).WithHint("%s", help)
}

// Exclusive refuses a command with more than one of these flags.
func Exclusive(cmd *cobra.Command, flags ...string) {
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		stated := ""
		for _, name := range flags {
			switch f := cmd.Flags().Lookup(name); {
			case f == nil || !f.Changed:
			case stated != "":
				return Usage("--%s and --%s contradict each other", stated, name).WithHint("give one of them")
			default:
				stated = name
			}
		}
		if before == nil {
			return nil
		}
		return before(cmd, args)
	}
}

// Args wraps a cobra argument check: its error says which argument is missing, or which one is too many.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil {
			return nil
		}
		return argsError(cmd, args, err).WithHint("%s", cmd.UseLine())
	}
}

func argsError(cmd *cobra.Command, args []string, err error) *execution.Error {
	var required, all []string
	words := strings.Fields(cmd.Use)
	for _, w := range words[min(1, len(words)):] {
		if strings.HasPrefix(strings.TrimLeft(w, "{[("), "-") {
			break // flags
		}
		if !strings.HasPrefix(w, "[") {
			required = append(required, strings.TrimSuffix(w, "..."))
		}
		all = append(all, w)
	}
	switch {
	case cmd.HasAvailableSubCommands() && len(args) > 0:
		names := map[string]string{}
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				names[c.Name()] = c.CommandPath()
			}
		}
		e := Usage("%s has no command %q", cmd.CommandPath(), args[0])
		if meant := near.Words(args[0], names); len(meant) > 0 {
			e = Usage("%s has no command %q; did you mean %s?", cmd.CommandPath(), args[0], strings.Join(meant, " or "))
		}
		return e
	case len(args) < len(required):
		missing := required[len(args):]
		is := "is"
		if len(missing) > 1 {
			is = "are"
		}
		return Usage("%s: %s %s missing", cmd.CommandPath(), strings.Join(missing, " and "), is)
	case len(args) > len(all):
		return Usage("%s: the argument %q is not expected", cmd.CommandPath(), args[len(all)])
	}
	return Usage("%s: %v", cmd.CommandPath(), err)
}
