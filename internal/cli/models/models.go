// Package models is "drawbar models": the models that agents declare, with their windows and prices.
package models

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
)

type row struct {
	Agent     string `json:"agent"`
	IsDefault bool   `json:"isDefault,omitempty"`
	execution.Model
}

// New makes the command.
func New(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "models [AGENT]", Short: "List the models that agents declare, with context windows and prices",
		Long: "List the models that agents declare. Any other model id is passed on to the agent as it is; its price is unknown, never free.",
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := app.Client()
			if err != nil {
				return err
			}
			names := args
			if len(args) == 0 {
				for _, i := range c.Adapters().List() {
					names = append(names, i.Agent)
				}
			}
			rows := []row{}
			for _, name := range names {
				e, err := c.Adapters().Get(name)
				if err != nil {
					return err
				}
				for _, m := range e.Descriptor.Models {
					rows = append(rows, row{e.Descriptor.Name, m.ID == e.Descriptor.DefaultModel, m})
				}
			}
			return app.Answer(rows, func() {
				w := tabwriter.NewWriter(app.Out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "AGENT\tMODEL\tWINDOW\tIN $/M\tOUT $/M\tCACHE READ\tCACHE WRITE")
				for _, r := range rows {
					name, window := r.ID, "-"
					if r.IsDefault {
						name += " (default)"
					}
					if r.ContextWindow > 0 {
						window = cli.Count(r.ContextWindow)
					}
					in, out, cr, cw := "-", "-", "-", "-"
					if p := r.Price; p != nil {
						in, out, cr, cw = fmt.Sprintf("%g", p.Input), fmt.Sprintf("%g", p.Output), price(p.CacheRead), price(p.CacheWrite)
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Agent, name, window, in, out, cr, cw)
				}
				w.Flush()
			})
		},
	}
}

func price(p *float64) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf("%g", *p)
}
