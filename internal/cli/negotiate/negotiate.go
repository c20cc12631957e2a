// Package negotiate is "drawbar agents negotiate": it checks a request against an agent without running it.
package negotiate

import (
	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var flags cli.RequestFlags
	var q struct{ tools, structured, continuation, approvals, trace, attachments string }
	cmd := &cobra.Command{
		Use: "negotiate [AGENT] [PROMPT]", Short: "Show what an agent would do with a request, without running it",
		Long:    "Show what an agent would do with a request, without running it. Takes the flags of \"drawbar run\", and requirements. Exit code 6: unsupported.",
		Example: "  drawbar agents negotiate codex --budget 2 --model gpt-5.4\n  drawbar agents negotiate claude --need-approvals required --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			e, args, err := flags.Agent(app, cmd, args)
			if err != nil {
				return err
			}
			c, err := app.Client()
			if err != nil {
				return err
			}
			prompt := flags.Split(cmd, e.Capabilities().Agent.TakesCommand, args)
			req, err := flags.Request(app, cmd, e.Descriptor.Name, prompt, false)
			if err != nil {
				return err
			}
			req.Requirements = &execution.Requirements{ToolUse: execution.ToolUseLevel(q.tools), StructuredToolCalls: execution.PreferenceLevel(q.structured),
				ContinuationSupport: execution.SupportLevel(q.continuation), ApprovalInterrupts: execution.SupportLevel(q.approvals),
				TraceDepth: execution.TraceDepth(q.trace), Attachments: execution.AttachmentLevel(q.attachments)}
			n, err := c.Negotiate(req, drawbar.RunOptions{})
			if err != nil {
				return err
			}
			return exitcode.If(!n.Supported, execution.ExitCapability, app.Answer(n, func() { show(app, n) }))
		},
	}
	flags.Register(cmd)
	fl := cmd.Flags()
	fl.StringVar(&q.tools, "need-tools", "", "forbidden, allowed or required")
	fl.StringVar(&q.structured, "need-structured-calls", "", "forbidden, preferred or required")
	fl.StringVar(&q.continuation, "need-continuation", "", "none, preferred or required")
	fl.StringVar(&q.approvals, "need-approvals", "", "none, preferred or required")
	fl.StringVar(&q.trace, "need-trace", "", "minimal, standard or detailed")
	fl.StringVar(&q.attachments, "need-attachments", "", "forbidden, allowed or required")
	return cmd
}

func show(app *cli.App, n execution.Negotiation) {
	switch {
	case !n.Supported:
		app.Printf("unsupported\n")
	case n.Degraded:
		app.Printf("supported, degraded\n")
	default:
		app.Printf("supported\n")
	}
	for _, r := range n.Reasons {
		app.Printf("  %-8s %s: %s\n", r.Severity, r.Code, r.Message)
	}
}
