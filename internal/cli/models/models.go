// Package models is "drawbar models": the models of agents and of the configuration, with context windows and prices.
package models

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	const long = "List the models that Drawbar knows, that the agents' programs listed when they were last asked (drawbar models refresh), " +
		"and that the configuration adds. Other model ids are passed to the agent unchanged; their price is unknown, never free."
	cmd := &cobra.Command{
		Use: "models [AGENT]", Long: long,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return list(app, args) },
	}
	cmd.AddCommand(
		&cobra.Command{Use: "list [AGENT]", Short: "List models, with context windows and prices", Long: long, Args: cli.Args(cobra.MaximumNArgs(1)),
			RunE: func(_ *cobra.Command, args []string) error { return list(app, args) }},
		&cobra.Command{Use: "refresh [AGENT]", Short: "Ask agents' programs which models they offer", Args: cli.Args(cobra.MaximumNArgs(1)),
			Long: "Ask an agent's program which models it offers you, and keep its answer until the next time. Without AGENT, every installed " +
				"agent whose program lists models is asked. The program may use its own network; Drawbar uses none.",
			Example: "  drawbar models refresh opencode\n  drawbar models list opencode --json",
			RunE:    func(cmd *cobra.Command, args []string) error { return refresh(cmd.Context(), app, args) }},
		&cobra.Command{Use: "show AGENT MODEL", Short: "Show a model's limits, abilities and prices", Args: cli.Args(cobra.ExactArgs(2)),
			RunE: func(_ *cobra.Command, args []string) error { return show(app, args[0], args[1]) }},
		&cobra.Command{Use: "validate AGENT MODEL", Short: "Check whether an agent declares a model; exits with 1 when it does not", Args: cli.Args(cobra.ExactArgs(2)),
			RunE: func(_ *cobra.Command, args []string) error { return validate(app, args[0], args[1]) }},
		estimate(app), prices(app),
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
	rows := []drawbar.OfferedModel{}
	for _, e := range entries {
		models, err := c.Models().Offered(e.Descriptor.Name)
		if err != nil {
			return err
		}
		rows = append(rows, models...)
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
			in, out, cacheRead, cacheWrite := columns(r.Price)
			w.Row(r.Agent, name, window, in, out, cacheRead, cacheWrite, strings.Join(r.Aliases, ", "))
		}
		w.Flush()
	})
}

// columns formats a price, which may be nil.
func columns(p *execution.Price) (in, out, cacheRead, cacheWrite string) {
	if p == nil {
		return "", "", "", ""
	}
	long := p.At(math.MaxInt64)
	return price(&p.Input, &long.Input), price(&p.Output, &long.Output), price(p.CacheRead, long.CacheRead), price(p.CacheWrite, long.CacheWrite)
}

// price formats a price, with that of long prompts if it is another one.
func price(p, long *float64) string {
	switch {
	case p == nil:
		return ""
	case long == nil || *long == *p:
		return fmt.Sprintf("%g", *p)
	}
	return fmt.Sprintf("%g to %g", *p, *long)
}

func show(app *cli.App, agent, id string) error {
	c, err := client(app)
	if err != nil {
		return err
	}
	known, err := c.Models().Model(agent, id)
	if err != nil {
		return err
	}
	offered, err := c.Models().Offered(agent)
	if err != nil {
		return err
	}
	m := offered[slices.IndexFunc(offered, func(o drawbar.OfferedModel) bool { return o.ID == known.ID })]
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
		for _, a := range m.All() {
			field(a.Name, answer(*a.Value))
		}
		field("thinking efforts", cli.Words(m.ThinkingEfforts))
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
			if p.Long != nil {
				text := fmt.Sprintf("above %s tokens input $%g, output $%g", cli.Count(p.Long.Above), p.Long.Input, p.Long.Output)
				if usd := p.Long.CacheRead; usd != nil {
					text += fmt.Sprintf(", cache read $%g", *usd)
				}
				if usd := p.Long.CacheWrite; usd != nil {
					text += fmt.Sprintf(", cache write $%g", *usd)
				}
				field("longer prompts", text)
			}
			field("price from", strings.TrimSpace(string(m.PriceSource)+" "+m.PricedOn))
		} else {
			field("price", "unknown; to set it: drawbar models price set")
		}
		if m.Deprecated {
			field("deprecated", strings.TrimSpace("yes "+m.DeprecatedSince))
			field("successor", m.Successor)
		}
		field("protocol", string(m.Protocol))
		field("argument", strings.TrimSpace(m.ArgKey+" "+m.ArgValue))
		field("source", strings.TrimSpace(string(m.Source)+" "+m.LastUpdated))
		w.Flush()
	})
}

// answer returns yes or no, "unknown" for nil.
func answer(ability *bool) string {
	switch {
	case ability == nil:
		return "unknown"
	case *ability:
		return "yes"
	}
	return "no"
}

// refreshed is the answer of "models refresh" for one agent.
type refreshed struct {
	Agent  string `json:"agent"`
	Models int    `json:"models"` // that the program listed
	Error  string `json:"error,omitempty"`
}

func refresh(ctx context.Context, app *cli.App, names []string) error {
	c, err := client(app)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		if names, err = cli.Able[adapter.ModelLister](app); err != nil {
			return err
		}
		names = slices.DeleteFunc(names, func(name string) bool {
			info, err := c.Detect(ctx, name)
			return err != nil || info == nil || !info.Installed
		})
	}
	var rows []refreshed
	var failed error
	for _, name := range names {
		models, err := c.Models().Refresh(ctx, name)
		r := refreshed{Agent: name}
		if err != nil {
			r.Error = err.Error()
		}
		for _, m := range models {
			r.Agent = m.Agent
			if m.Source == drawbar.ModelFromAgent {
				r.Models++
			}
		}
		rows, failed = append(rows, r), cmp.Or(failed, err)
	}
	if len(rows) == 1 && failed != nil {
		return failed
	}
	err = app.Answer(rows, func() {
		if len(rows) == 0 {
			app.Notef("no installed agent lists its models")
		}
		for _, r := range rows {
			if r.Error != "" {
				app.Notef("%s: %s", r.Agent, r.Error)
				continue
			}
			app.Printf("%s: %d models\n", r.Agent, r.Models)
		}
	})
	return exitcode.If(failed != nil, execution.ExitGeneral, err)
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

// client returns the app's client. Here an invalid configuration is an error, because it can add models.
func client(app *cli.App) (*drawbar.Client, error) {
	if _, err := app.Config(app.Dir()); err != nil {
		return nil, err
	}
	return app.Client()
}
