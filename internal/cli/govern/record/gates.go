package record

import (
	"cmp"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/governance/gate"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/spf13/cobra"
)

// gateView is one gate, evaluated with the current files.
type gateView struct {
	Phase        string         `json:"phase"`
	Gate         string         `json:"gate"`
	Status       string         `json:"status"`
	Present      bool           `json:"present_phase"`
	Files        []gate.Finding `json:"files"`
	Verification bool           `json:"requires_verification_pass"`
	Human        bool           `json:"requires_human_approval"`
	Approvers    []string       `json:"approvers,omitempty"`
	Approvals    int            `json:"min_approvals"`
	Credentialed bool           `json:"credentialed"`
	Actions      []string       `json:"gate_actions,omitempty"`
	Pending      bool           `json:"pending"`
	// Objections keep the gate from passing.
	Objections []protocol.OpenObjection `json:"blocking_objections,omitempty"`
}

func gates(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "gates [GATE]", Short: "Show what each gate requires, checked against the current files",
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			root, v, err := read(app)
			if err != nil {
				return err
			}
			p, err := project.Load(root)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				if _, ok := p.Config.Gate(args[0]); !ok {
					e := cli.Usage("unknown gate %q", args[0])
					if g := p.Config.Gates; g != nil && g.Len() > 0 {
						return e.WithHint("one of: %s", strings.Join(g.Keys(), ", "))
					}
					return e.WithHint("%s declares none", protocol.ConfigFile)
				}
			}
			history, err := v.History(v.State.ID())
			if err != nil {
				return err
			}
			list := []gateView{}
			for _, phase := range p.Config.Phases() {
				routed, _ := p.Config.Phase(phase)
				g, ok := p.Config.Gate(routed.ExitGate)
				if !ok || len(args) > 0 && args[0] != routed.ExitGate {
					continue
				}
				x, err := viewOf(app, p, governance.Run{Config: p.Config, State: v.State, History: history}, phase, routed.ExitGate, g)
				if err != nil {
					return err
				}
				list = append(list, x)
			}
			return app.Answer(list, func() { printGates(app, list) })
		},
	}
}

func viewOf(app *cli.App, p *project.Project, run governance.Run, phase, id string, g protocol.Gate) (gateView, error) {
	files, warnings, err := project.GateFiles(p.Root, p.Config, phase)
	for _, w := range warnings {
		app.Warnf("%s", w)
	}
	st := run.State
	x := gateView{Phase: phase, Gate: id, Status: cmp.Or(st.PhaseGateStatus.At(id), protocol.GatePending), Present: phase == st.Phase,
		Verification: g.RequiresVerificationPass, Human: g.AsksPerson(), Approvers: g.Approvers, Approvals: g.Approvals(), Credentialed: g.Credentialed,
		Files:   nonNil(gate.Inspect(gate.Input{Config: p.Config, Phase: phase, Files: files, History: run.History, Prior: st.PriorSignOffs})),
		Pending: st.PendingTransition != nil && st.PendingTransition.Gate == id || st.PendingCompletion != nil && st.PendingCompletion.Gate == id}
	if x.Present {
		x.Objections = governance.BlockingObjections(run)
	}
	for _, a := range g.GateActions {
		x.Actions = append(x.Actions, a.Run)
	}
	return x, err
}

func printGates(app *cli.App, list []gateView) {
	if len(list) == 0 {
		app.Notef("no phase has an exit gate")
	}
	for _, g := range list {
		mark := " "
		if g.Present {
			mark = "*"
		}
		app.Printf("%s %s  leaves %s: %s\n", mark, g.Gate, g.Phase, g.Status)
		for _, f := range g.Files {
			state := "ok"
			switch {
			case f.Missing && f.Required:
				state = "missing"
			case f.Missing:
				state = "missing (optional)"
			case len(f.Problems) > 0:
				state = "missing"
			}
			app.Printf("    %-22s %s\n", state, f.Path)
			for _, why := range f.Problems {
				app.Printf("    %-22s - %s\n", "", why)
			}
		}
		for _, o := range g.Objections {
			app.Printf("    %-22s %s of %s: %s\n", "blocked by", o.ID, o.Role, oneLine(o.Statement))
			app.Printf("    %-22s drawbar govern objections resolve %s --reason \"...\"\n", "", o.ID)
		}
		if g.Verification {
			app.Printf("    a passed verification\n")
		}
		switch {
		case g.Credentialed:
			app.Printf("    a person's approval, which no policy replaces\n")
		case g.Human:
			app.Printf("    a person's approval\n")
		}
		if len(g.Approvers) > 0 {
			app.Printf("    decided by %s\n", strings.Join(g.Approvers, ", "))
		}
		if g.Approvals > 1 {
			app.Printf("    approved by %d people\n", g.Approvals)
		}
		for _, a := range g.Actions {
			app.Printf("    runs: %s\n", a)
		}
		if g.Pending {
			app.Printf("    waits for a person: drawbar govern approve\n")
		}
	}
}
