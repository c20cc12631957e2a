// Package host is "drawbar agents host": the agent that this process runs in.
package host

import (
	"maps"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/transport/process"
	"github.com/spf13/cobra"
)

// answer is the answer of the command.
type answer struct {
	Inside bool                `json:"inside"`
	Host   *catalog.HostAgent  `json:"host"`   // the innermost, or null
	Agents []catalog.HostAgent `json:"agents"` // all, the innermost first
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "host", Short: "Show which agent this shell runs in",
		Long: "Show which agent this shell runs in, based on the variables that agents set for the commands they run. API keys are " +
			"ignored. If agents are nested, the innermost comes first.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			c, err := app.Client()
			if err != nil {
				return err
			}
			found := c.Adapters().DetectHost(process.Ancestors())
			a := answer{Inside: len(found) > 0, Agents: found}
			if a.Inside {
				a.Host = &found[0]
			}
			return app.Answer(a, func() {
				if !a.Inside {
					app.Printf("not inside an agent\n")
					return
				}
				for i, h := range found {
					where := "inside"
					if i > 0 {
						where = "which runs inside"
					}
					app.Printf("%s %s (%s confidence: %s)\n", where, h.Agent, h.Confidence, strings.Join(h.Signals, ", "))
					for _, k := range slices.Sorted(maps.Keys(h.Metadata)) {
						app.Printf("  %s: %s\n", k, h.Metadata[k])
					}
				}
			})
		},
	}
}
