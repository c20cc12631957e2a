package models

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/ownconfig"
	"github.com/drawbar/drawbar/internal/settings/config"
)

func prices(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "price", Short: "Set the prices of models that Drawbar does not know, or that you pay otherwise",
		Long: `List the prices that you have set, and the models that cost an unknown sum in the runs of the last 30 days.

Prices are US dollars per million tokens. They count from then on: what a run cost is computed when it ends. Where an agent states the cost of a
run itself, that counts.`,
		Example: `  drawbar models price set codex gpt-6-sol --input 3 --output 12 --cache-read 0.3
  drawbar models price rm codex gpt-6-sol`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return listPrices(app) },
	}
	cmd.AddCommand(&cobra.Command{Use: "list", Short: "List your prices, and models in use without one", Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return listPrices(app) }}, setPrice(app), removePrice(app))
	return cmd
}

// priced is a model in "models price list".
type priced struct {
	Agent    string           `json:"agent"`
	Model    string           `json:"modelId"`
	Price    *execution.Price `json:"price,omitempty"`
	PricedOn string           `json:"pricedOn,omitempty"`
	Runs     int              `json:"unpricedRuns,omitempty"` // of a model without a price
}

func listPrices(app *cli.App) error {
	cfg, err := app.Config(app.Dir())
	if err != nil {
		return err
	}
	rows := []priced{}
	for _, m := range cfg.Models() {
		if m.Price != nil {
			rows = append(rows, priced{m.Agent, m.ID, m.Price, m.PricedOn, 0})
		}
	}
	used, err := app.UnpricedModels()
	if err != nil {
		return err
	}
	for _, u := range used {
		rows = append(rows, priced{Agent: u.Agent, Model: u.Model, Runs: u.Runs})
	}
	return app.Answer(rows, func() {
		if len(rows) == 0 {
			app.Notef("you have set no prices, and no model in use lacks one")
			return
		}
		w := app.Table("AGENT", "MODEL", "IN $/M", "OUT $/M", "CACHE READ", "CACHE WRITE", "SET ON", "RUNS WITHOUT")
		for _, r := range rows {
			var without any = ""
			if r.Price == nil {
				without = r.Runs
			}
			in, out, cacheRead, cacheWrite := columns(r.Price)
			w.Row(r.Agent, r.Model, in, out, cacheRead, cacheWrite, r.PricedOn, without)
		}
		w.Flush()
	})
}

// priceOf returns the entry of a model in the configuration, -1 for none.
func priceOf(list []config.Model, agent, id string) int {
	return slices.IndexFunc(list, func(m config.Model) bool { return m.Agent == agent && m.ID == id })
}

// modelOf returns an agent's name and a model's id, which may be one that nobody knows.
func modelOf(app *cli.App, agent, id string) (string, string, error) {
	c, err := client(app)
	if err != nil {
		return "", "", err
	}
	if agent == "*" {
		return agent, id, nil
	}
	entry, err := app.Agent(agent)
	if err != nil {
		return "", "", err
	}
	if m, err := c.Models().Model(entry.Descriptor.Name, id); err == nil {
		id = m.ID
	}
	return entry.Descriptor.Name, id, nil
}

func setPrice(app *cli.App) *cobra.Command {
	var (
		usual, long execution.Price
		above       int64
	)
	cmd := &cobra.Command{Use: "set AGENT MODEL", Short: "Set a model's price; AGENT * is every agent", Args: cli.Args(cobra.ExactArgs(2))}
	f := cmd.Flags()
	optional := map[string]**float64{}
	option := func(name string, into **float64, help string) {
		f.Float64Var(new(float64), name, 0, help)
		optional[name] = into
	}
	for prefix, p := range map[string]*execution.Price{"": &usual, "long-": &long} {
		of := map[string]string{"long-": "of a long prompt: "}[prefix]
		f.Float64Var(&p.Input, prefix+"input", 0, of+"US dollars per million uncached tokens of prompts")
		f.Float64Var(&p.Output, prefix+"output", 0, of+"US dollars per million tokens of answers")
		option(prefix+"cache-read", &p.CacheRead, of+"per million tokens read from a cache (default unknown)")
		option(prefix+"cache-write", &p.CacheWrite, of+"per million tokens written to a cache (default unknown)")
		option(prefix+"cache-write-1h", &p.CacheWrite1h, of+"per million tokens written to a cache for an hour (default unknown)")
	}
	option("thinking", &usual.Thinking, "per million tokens of thinking (default as other output)")
	f.Int64Var(&above, "long-above", 0, "a prompt of more tokens, with what the cache has of it, is a long one")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		isLong := false
		f.Visit(func(flag *pflag.Flag) {
			isLong = isLong || strings.HasPrefix(flag.Name, "long-")
			if into := optional[flag.Name]; into != nil {
				v, _ := f.GetFloat64(flag.Name) // it is one
				*into = &v
			}
		})
		p := usual
		switch {
		case !f.Changed("input") || !f.Changed("output"):
			return cli.Usage("--input and --output are both needed").WithHint("%s %s %s --input 3 --output 12", cmd.CommandPath(), args[0], args[1])
		case isLong && !(f.Changed("long-above") && f.Changed("long-input") && f.Changed("long-output")):
			return cli.Usage("a price of long prompts needs --long-above, --long-input and --long-output").
				WithHint("%s %s %s --input 3 --output 12 --long-above 200000 --long-input 6 --long-output 18", cmd.CommandPath(), args[0], args[1])
		case isLong:
			p.Long = &execution.LongPrice{Above: above, Input: long.Input, Output: long.Output, CacheRead: long.CacheRead, CacheWrite: long.CacheWrite, CacheWrite1h: long.CacheWrite1h}
		}
		agent, id, err := modelOf(app, args[0], args[1])
		if err != nil {
			return err
		}
		return ownconfig.Change(cmd.Context(), app, app.Dir(), "models", func(list []config.Model) ([]config.Model, error) {
			i := priceOf(list, agent, id)
			if i < 0 {
				i, list = len(list), append(list, config.Model{Agent: agent, Model: execution.Model{ID: id}})
			}
			list[i].Price, list[i].PricedOn = &p, time.Now().Format(time.DateOnly)
			return list, nil
		})
	}
	return cmd
}

func removePrice(app *cli.App) *cobra.Command {
	return &cobra.Command{Use: "rm AGENT MODEL", Short: "Forget a price that you have set", Args: cli.Args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent, id, err := modelOf(app, args[0], args[1])
			if err != nil {
				return err
			}
			return ownconfig.Change(cmd.Context(), app, app.Dir(), "models", func(list []config.Model) ([]config.Model, error) {
				i := priceOf(list, agent, id)
				if i < 0 || list[i].Price == nil {
					return nil, execution.Errorf(execution.CodeModelNotFound, "you have set no price of %s for %s", id, agent).WithHint("drawbar models price list")
				}
				list[i].Price, list[i].PricedOn = nil, ""
				if reflect.DeepEqual(list[i], config.Model{Agent: agent, Model: execution.Model{ID: id}}) { // nothing else is said of it
					list = slices.Delete(list, i, i+1)
				}
				return list, nil
			})
		}}
}
