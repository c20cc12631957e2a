package intake

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/governance/intent"
	"github.com/drawbar/drawbar/internal/governed/project"
)

func handoff(app *cli.App) *cobra.Command {
	var id, root, workstream string
	cmd := &cobra.Command{
		Use: "handoff", Short: "Give an approved or planned intent to a workstream over several repositories",
		Long: "Give an approved or planned intent to a workstream of agentxchain-multi.json. From then on, the workstream's turns learn of it, in every\n" +
			"repository. When the workstream is complete, intake resolve completes the intent.",
		Example: "  drawbar govern intake handoff --intent ID --coordinator-root .. --workstream contract",
		Args:    cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if workstream == "" {
				return cli.Usage("--workstream is missing: which workstream?").WithHint("drawbar govern multi status")
			}
			d, err := open(app, "intake handoff")
			if err != nil {
				return err
			}
			return d.change(id, func(i *protocol.Intent) error {
				try := *i
				if err := intent.HandOff(&try, protocol.TargetWorkstream{WorkstreamID: workstream}, d.now); err != nil {
					return err
				}
				dir := root
				if dir == "" {
					dir = d.root
				}
				c, done, err := view.CoordinatorAt(app, dir, "intake handoff", false)
				if err != nil {
					return err
				}
				defer done(nil)
				h := protocol.IntakeHandoff{IntentID: i.IntentID, SourceEventID: i.EventID, SourceEventRef: protocol.IntakeEventFile(i.EventID), WorkstreamID: workstream,
					Charter: i.Charter, AcceptanceContract: append([]string{}, i.AcceptanceContract...), EvidenceRefs: []string{protocol.IntakeEventFile(i.EventID)}, HandedOffBy: view.Who().String()}
				if e, err := project.IntakeEvent(d.root, i.EventID); err == nil {
					h.SignalSource, h.SignalCategory = &e.Source, &e.Category
				}
				if h, err = c.HandOff(cmd.Context(), d.root, h); err != nil {
					return err
				}
				st, err := c.Status(cmd.Context())
				if err != nil {
					return err
				}
				return intent.HandOff(i, protocol.TargetWorkstream{CoordinatorRoot: st.Root, WorkstreamID: workstream, SuperRunID: h.SuperRunID}, d.now)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&id, "intent", "", "intent (required)")
	f.StringVar(&workstream, "workstream", "", "workstream (required)")
	f.StringVar(&root, "coordinator-root", "", "folder of agentxchain-multi.json (default: the nearest one above the project)")
	return cmd
}

// resolveHandedOff updates an intent from the run over several repositories that it was handed to.
func (d *desk) resolveHandedOff(ctx context.Context, i *protocol.Intent) error {
	c, done, err := view.CoordinatorAt(d.app, i.TargetWorkstream.CoordinatorRoot, "intake resolve", false)
	if err != nil {
		return err
	}
	defer done(nil)
	st, err := c.Status(ctx)
	if err != nil {
		return err
	}
	_, err = intent.ResolveHandedOff(i, st.State, &st.Barriers, d.now)
	return err
}
