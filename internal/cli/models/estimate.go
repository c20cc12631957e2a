package models

import (
	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
)

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
					WithHint("drawbar models price set %s %s --input USD --output USD", args[0], m.ID)
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
