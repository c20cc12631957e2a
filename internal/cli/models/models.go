// Package models is "drawbar models": the models of agents and of the configuration, with context windows and prices.
package models

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
)

type row struct {
	Agent     string `json:"agent"`
	IsDefault bool   `json:"isDefault,omitempty"`
	execution.Model
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	const long = "List the models that agents declare and that the configuration adds. Other model ids are passed to the agent unchanged; their price is unknown, never free."
	cmd := &cobra.Command{
		Use: "models [AGENT]", Long: long,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return list(app, args) },
	}
	cmd.AddCommand(
		&cobra.Command{Use: "list [AGENT]", Short: "List models, with context windows and prices", Long: long, Args: cli.Args(cobra.MaximumNArgs(1)),
			RunE: func(_ *cobra.Command, args []string) error { return list(app, args) }},
		&cobra.Command{Use: "show AGENT MODEL", Short: "Show a model's limits and prices", Args: cli.Args(cobra.ExactArgs(2)),
			RunE: func(_ *cobra.Command, args []string) error { return show(app, args[0], args[1]) }},
		&cobra.Command{Use: "validate AGENT MODEL", Short: "Check whether an agent declares a model; exits with 1 when it does not", Args: cli.Args(cobra.ExactArgs(2)),
			RunE: func(_ *cobra.Command, args []string) error { return validate(app, args[0], args[1]) }},
		estimate(app),
	)
	return cmd
}

func list(app *cli.App, names []string) error {
	c, err := client(app)
	if err != nil {
		return err
	}
	entries, err := app.Agents(names...)
	if err != nil {
		return err
	}
	rows := []row{}
	for _, e := range entries {
		models, err := c.Models().List(e.Descriptor.Name)
		if err != nil {
			return err
		}
		for _, m := range models {
			rows = append(rows, row{e.Descriptor.Name, m.ID == e.Descriptor.DefaultModel, m})
		}
	}
	return app.Answer(rows, func() {
		w := app.Table("AGENT", "MODEL", "WINDOW", "IN $/M", "OUT $/M", "CACHE READ", "CACHE WRITE", "ALIASES")
		for _, r := range rows {
			name, window := r.ID, ""
			if r.IsDefault {
				name += " (default)"
			}
			if r.Deprecated {
				name += " (deprecated)"
			}
			if r.ContextWindow > 0 {
				window = cli.Count(r.ContextWindow)
			}
			var in, out, cacheRead, cacheWrite string
			if p := r.Price; p != nil {
				in, out, cacheRead, cacheWrite = price(&p.Input), price(&p.Output), price(p.CacheRead), price(p.CacheWrite)
			}
			w.Row(r.Agent, name, window, in, out, cacheRead, cacheWrite, strings.Join(r.Aliases, ", "))
		}
		w.Flush()
	})
}

func price(p *float64) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%g", *p)
}

func show(app *cli.App, agent, id string) error {
	c, err := client(app)
	if err != nil {
		return err
	}
	m, err := c.Models().Model(agent, id)
	if err != nil {
		return err
	}
	return app.Answer(m, func() {
		w := app.Table()
		field := func(name, value string) {
			if value != "" {
				w.Row(name, value)
			}
		}
		tokens := func(n int64) string {
			if n == 0 {
				return "unknown"
			}
			return cli.Count(n) + " tokens"
		}
		field("model", m.ID)
		field("name", m.DisplayName)
		field("provider", m.Provider)
		field("aliases", strings.Join(m.Aliases, ", "))
		field("context window", tokens(m.ContextWindow))
		field("output limit", tokens(m.MaxOutputTokens))
		thinking := "no"
		if m.Thinking {
			thinking = cli.Words(append([]execution.ThinkingEffort{"yes"}, m.ThinkingEfforts...))
		}
		field("thinking", thinking)
		if b := m.ThinkingBudget; b != nil {
			field("thinking budget", fmt.Sprintf("%s to %s tokens", cli.Count(b.Min), cli.Count(b.Max)))
		}
		if p := m.Price; p != nil {
			field("input", fmt.Sprintf("$%g per million tokens", p.Input))
			field("output", fmt.Sprintf("$%g", p.Output))
			for _, part := range []struct {
				name string
				usd  *float64
			}{{"cache read", p.CacheRead}, {"cache write", p.CacheWrite}, {"cache write for an hour", p.CacheWrite1h}, {"thinking output", p.Thinking}} {
				if part.usd != nil {
					field(part.name, fmt.Sprintf("$%g", *part.usd))
				}
			}
		} else {
			field("price", "unknown")
		}
		if m.Deprecated {
			field("deprecated", strings.TrimSpace("yes "+m.DeprecatedSince))
			field("successor", m.Successor)
		}
		w.Flush()
	})
}

func validate(app *cli.App, agent, id string) error {
	c, err := client(app)
	if err != nil {
		return err
	}
	v, err := c.Models().Validate(agent, id)
	if err != nil {
		return err
	}
	err = app.Answer(v, func() {
		app.Printf("%s: %s\n", v.Status, v.Message)
		if v.Status == drawbar.ModelUnknown && len(v.Suggestions) > 0 {
			app.Notef("similar: %s", strings.Join(v.Suggestions, ", "))
		}
	})
	return exitcode.If(!v.Valid, execution.ExitGeneral, err)
}

// estimation is the answer of "models estimate".
type estimation struct {
	Agent string          `json:"agent"`
	Model string          `json:"modelId"`
	Usage execution.Usage `json:"usage"`
	USD   float64         `json:"totalUsd"`
}

func estimate(app *cli.App) *cobra.Command {
	var u execution.Usage
	cmd := &cobra.Command{Use: "estimate AGENT MODEL", Short: "Estimate what a number of tokens costs", Args: cli.Args(cobra.ExactArgs(2)),
		Example: "  drawbar models estimate claude opus --input 100000 --output 5000 --cache-read 400000",
		RunE: func(_ *cobra.Command, args []string) error {
			for name, n := range map[string]int64{"input": u.Input, "output": u.Output, "cache-read": u.Cached, "cache-write": u.CacheWrite, "thinking": u.Thinking} {
				if n < 0 {
					return cli.Usage("--%s %d is out of range", name, n).WithHint("0 or more tokens")
				}
			}
			if u.Thinking > u.Output {
				return cli.Usage("--thinking %d is more than --output %d, which includes it", u.Thinking, u.Output)
			}
			c, err := client(app)
			if err != nil {
				return err
			}
			m, err := c.Models().Model(args[0], args[1])
			if err != nil {
				return err
			}
			usd, err := c.Models().Estimate(args[0], args[1], u)
			if err != nil {
				return err
			}
			if usd == nil {
				return execution.Errorf(execution.CodeCapability, "the price of %s, or of this kind of token, is unknown", m.ID).
					WithHint("declare it under \"models\" in the configuration: drawbar config schema")
			}
			u.Total = u.Input + u.Output + u.Cached + u.CacheWrite
			return app.Answer(estimation{args[0], m.ID, u, *usd}, func() { app.Printf("$%.4f\n", *usd) })
		}}
	f := cmd.Flags()
	f.Int64Var(&u.Input, "input", 0, "uncached tokens of the prompt")
	f.Int64Var(&u.Output, "output", 0, "tokens of the answer, including thinking")
	f.Int64Var(&u.Cached, "cache-read", 0, "tokens read from a cache")
	f.Int64Var(&u.CacheWrite, "cache-write", 0, "tokens written to a cache")
	f.Int64Var(&u.Thinking, "thinking", 0, "thinking tokens, included in --output")
	return cmd
}

// client returns the app's client. Here an invalid configuration is an error, because it can add models.
func client(app *cli.App) (*drawbar.Client, error) {
	if _, err := app.Config(app.Dir()); err != nil {
		return nil, err
	}
	return app.Client()
}
