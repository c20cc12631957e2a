// Package intake adds work from outside a run: "drawbar govern inject" and "drawbar govern intake". step and run bind
// an approved intent to the next suitable turn.
package intake

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/governance/intent"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/spf13/cobra"
)

// New returns the commands.
func New(app *cli.App) []*cobra.Command {
	cmd := &cobra.Command{
		Use: "intake", Short: "Record, triage and approve work; the next turn gets it", Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(record(app), scan(app), triage(app), approve(app), plan(app), start(app), handoff(app), resolve(app), status(app))
	return []*cobra.Command{inject(app), cmd}
}

// desk is the project of a command.
type desk struct {
	app   *cli.App
	root  string
	p     *project.Project
	state *protocol.State
	now   protocol.Time
}

// open opens the project. A command that decides is refused to a worker within its turn.
func open(app *cli.App, decides string) (*desk, error) {
	p, err := view.Project(app)
	if err != nil {
		return nil, err
	}
	v, err := ledger.Read(p.Root)
	if err != nil {
		return nil, err
	}
	if decides != "" {
		e, done, err := view.Engine(app, decides, false)
		if err != nil {
			return nil, err
		}
		done(nil)
		if err := e.Outside(); err != nil {
			return nil, err
		}
	}
	return &desk{app: app, root: p.Root, p: p, state: &v.State, now: protocol.At(time.Now())}, nil
}

// change reads an intent, changes it and writes it.
func (d *desk) change(id string, fn func(*protocol.Intent) error) error {
	if id == "" {
		return cli.Usage("--intent is missing: which intent?").WithHint("drawbar govern intake status")
	}
	i, err := project.Intent(d.root, id)
	if err != nil {
		return err
	}
	was := i.Status
	if err := fn(&i); err != nil {
		return refused(err, id)
	}
	if err := project.WriteIntent(d.root, i); err != nil {
		return err
	}
	return d.app.Answer(i, func() {
		d.app.Printf("intent %s is %s (was %s)\n", i.IntentID, i.Status, was)
		d.app.Printf("  next  %s\n", next(i))
	})
}

// refused is the error about an intent in the wrong state.
func refused(err error, id string) error {
	if execution.CodeOf(err) != "" {
		return err
	}
	return execution.Errorf(execution.CodeInvalidStateTransition, "%w", err).WithHint("drawbar govern intake status --intent %s", id)
}

// next is the next command for an intent.
func next(i protocol.Intent) string {
	of := " --intent " + i.IntentID
	switch i.Status {
	case protocol.IntentDetected:
		return "drawbar govern intake triage" + of + ` --priority p1 --charter "..." --acceptance "..."`
	case protocol.IntentTriaged:
		return "drawbar govern intake approve" + of
	case protocol.IntentApproved, protocol.IntentPlanned:
		return "drawbar govern step"
	case protocol.IntentExecuting, protocol.IntentBlocked:
		return "drawbar govern intake resolve" + of
	}
	return "nothing: the intent is closed"
}

// items splits values at commas.
func items(text string) []string {
	list := []string{}
	for s := range strings.SplitSeq(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// assessed checks an assessment before anything is written.
func assessed(a intent.Assessment, c *protocol.Config) error {
	switch {
	case !slices.Contains(intent.Priorities(), a.Priority):
		return cli.Usage("--priority %q is unknown", a.Priority).WithHint("one of: %s", strings.Join(intent.Priorities(), ", "))
	case !slices.ContainsFunc(project.Templates(), func(t project.Template) bool { return t.ID == a.Template }):
		return cli.Usage("unknown template %q", a.Template).WithHint("drawbar govern template list")
	case strings.TrimSpace(a.Charter) == "":
		return cli.Usage("--charter is missing: what should be done").WithHint(`--charter "..."`)
	case len(a.Acceptance) == 0:
		return cli.Usage("--acceptance is missing: how to verify that it is done").WithHint(`--acceptance "the button is blue, its test passes"`)
	case a.PreferredRole != "" && !c.Roles.Has(a.PreferredRole):
		return cli.Usage("unknown role %q", a.PreferredRole).WithHint("one of: %s", strings.Join(c.Roles.Keys(), ", "))
	}
	return nil
}

func inject(app *cli.App) *cobra.Command {
	a := intent.Assessment{}
	var acceptance, by string
	var hold bool
	cmd := &cobra.Command{
		Use: "inject TEXT", Short: "Queue urgent work for the next turn",
		Long: "Record, triage and approve work in one command. The next suitable turn is bound to it; the turn's prompt begins with " +
			"TEXT, and\nits result is accepted if it covers what --acceptance requires (strictly for p0, see intent_coverage_mode).",
		Example: "  drawbar govern inject \"Fix the order of the sidebar\" --acceptance \"sidebar is sorted, test added\"\n  drawbar govern step",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			text := strings.TrimSpace(args[0])
			if text == "" {
				return cli.Usage("TEXT is empty: what should be done?").WithHint(`drawbar govern inject "Fix the order of the sidebar"`)
			}
			a.Charter, a.Acceptance = cmp.Or(strings.TrimSpace(a.Charter), text), items(acceptance)
			if acceptance == "" {
				a.Acceptance = []string{text}
			}
			d, err := open(app, "inject")
			if err != nil {
				return err
			}
			if err := assessed(a, d.p.Config); err != nil {
				return err
			}
			return d.inject(text, a, by, hold)
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.Priority, "priority", "p0", "priority: p0, p1, p2 or p3")
	f.StringVar(&a.PreferredRole, "role", "", "only a turn of this role gets it")
	f.StringVar(&a.Template, "template", "generic", "template for its planning files")
	f.StringVar(&a.Charter, "charter", "", "what should be done (default: TEXT)")
	f.StringVar(&acceptance, "acceptance", "", "acceptance criteria, comma-separated (default: TEXT)")
	f.StringVar(&by, "approver", "human", "approver for the record")
	f.BoolVar(&hold, "no-approve", false, "triage it but leave the approval to intake approve")
	return cmd
}

// injected is the answer of inject.
type injected struct {
	IntentID   string `json:"intent_id"`
	EventID    string `json:"event_id"`
	Status     string `json:"status"`
	Priority   string `json:"priority"`
	Known      bool   `json:"deduplicated"`
	Preempting bool   `json:"preemption_marker"`
}

func (d *desk) inject(text string, a intent.Assessment, by string, hold bool) error {
	signal, err := protocol.Marshal(map[string]any{"description": text, "injected": true, "priority": a.Priority})
	if err != nil {
		return err
	}
	e, i, known, err := project.Signal(d.root, protocol.IntakeEvent{Source: "manual", Category: "operator_injection", Signal: signal,
		Evidence: []protocol.SignalProof{{Type: "text", Value: text}}}, d.now)
	if err != nil {
		return err
	}
	out := injected{IntentID: i.IntentID, EventID: e.EventID, Status: i.Status, Priority: intent.Priority(i), Known: known}
	if !known {
		if err := intent.Triage(&i, a, d.p.Config, d.now); err != nil {
			return err
		}
		if !hold {
			if err := intent.Approve(&i, by, "operator injection", d.state, d.now); err != nil {
				return err
			}
		}
		if err := project.WriteIntent(d.root, i); err != nil {
			return err
		}
		out.Status, out.Priority = i.Status, a.Priority
		if out.Preempting = a.Priority == "p0" && !hold; out.Preempting {
			marker, err := protocol.MarshalFile(map[string]any{"intent_id": i.IntentID, "priority": a.Priority, "description": text, "injected_at": d.now})
			if err != nil {
				return err
			}
			if err := project.WriteFiles(d.root, map[string][]byte{protocol.PreemptionFile: marker}); err != nil {
				return err
			}
		}
	}
	return d.app.Answer(out, func() {
		if known {
			d.app.Printf("this work is already recorded: intent %s is %s\n", out.IntentID, out.Status)
		} else {
			d.app.Printf("intent %s (%s) is %s\n", out.IntentID, out.Priority, out.Status)
		}
		d.app.Printf("  next  %s\n", next(i))
	})
}

func triage(app *cli.App) *cobra.Command {
	a := intent.Assessment{}
	var id, acceptance, reason string
	var suppress, reject bool
	cmd := &cobra.Command{
		Use: "triage", Short: "Set the priority, the charter and the acceptance criteria of an intent", Args: cli.Args(cobra.NoArgs),
		RunE: func(_ *cobra.Command, _ []string) error {
			a.Acceptance = items(acceptance)
			d, err := open(app, "intake triage")
			if err != nil {
				return err
			}
			switch {
			case suppress && reject:
				return cli.Usage("--suppress and --reject contradict each other").WithHint("give one of them")
			case (suppress || reject) && reason == "":
				return cli.Usage("--reason is missing: it goes into the record").WithHint(`--reason "..."`)
			case !suppress && !reject && reason != "":
				return cli.Usage("--reason needs --suppress or --reject").WithHint("omit it")
			case !suppress && !reject:
				if err := assessed(a, d.p.Config); err != nil {
					return err
				}
			}
			return d.change(id, func(i *protocol.Intent) error {
				switch {
				case suppress:
					return intent.Suppress(i, reason, d.now)
				case reject:
					return intent.Reject(i, reason, d.now)
				}
				return intent.Triage(i, a, d.p.Config, d.now)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&id, "intent", "", "intent (required)")
	f.StringVar(&a.Priority, "priority", "", "priority: p0, p1, p2 or p3")
	f.StringVar(&a.Template, "template", "generic", "template for its planning files")
	f.StringVar(&a.Charter, "charter", "", "what should be done")
	f.StringVar(&acceptance, "acceptance", "", "acceptance criteria, comma-separated")
	f.BoolVar(&suppress, "suppress", false, "suppress a detected intent")
	f.BoolVar(&reject, "reject", false, "reject a triaged intent")
	f.StringVar(&reason, "reason", "", "reason for --suppress or --reject")
	return cmd
}

func approve(app *cli.App) *cobra.Command {
	var id, by, reason string
	cmd := &cobra.Command{
		Use: "approve", Short: "Approve an intent, so that it gets a turn", Args: cli.Args(cobra.NoArgs),
		RunE: func(_ *cobra.Command, _ []string) error {
			d, err := open(app, "intake approve")
			if err != nil {
				return err
			}
			return d.change(id, func(i *protocol.Intent) error { return intent.Approve(i, by, reason, d.state, d.now) })
		},
	}
	cmd.Flags().StringVar(&id, "intent", "", "intent (required)")
	cmd.Flags().StringVar(&by, "approver", "operator", "approver for the record")
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the record")
	return cmd
}

func plan(app *cli.App) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use: "plan", Short: "Write an approved intent's planning files; existing files stay", Args: cli.Args(cobra.NoArgs),
		RunE: func(_ *cobra.Command, _ []string) error {
			d, err := open(app, "intake plan")
			if err != nil {
				return err
			}
			return d.change(id, func(i *protocol.Intent) error {
				try := *i
				if err := intent.Plan(&try, nil, d.now); err != nil {
					return err
				}
				template := "generic"
				if i.Template != nil {
					template = *i.Template
				}
				files, err := project.PlanFiles(d.root, template, d.p.Config)
				if err != nil {
					return err
				}
				return intent.Plan(i, files, d.now)
			})
		},
	}
	cmd.Flags().StringVar(&id, "intent", "", "intent (required)")
	return cmd
}

func resolve(app *cli.App) *cobra.Command {
	var id, outcome string
	cmd := &cobra.Command{
		Use: "resolve", Short: "Update an intent to match the state of its run", Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if outcome != "" && outcome != protocol.IntentCompleted {
				return cli.Usage("--outcome %q is unknown", outcome).WithHint("--outcome completed")
			}
			d, err := open(app, "intake resolve")
			if err != nil {
				return err
			}
			return d.change(id, func(i *protocol.Intent) error {
				if i.TargetWorkstream != nil && outcome == "" {
					return d.resolveHandedOff(cmd.Context(), i)
				}
				_, err := intent.Resolve(i, outcome != "", d.state, d.now)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&id, "intent", "", "intent (required)")
	cmd.Flags().StringVar(&outcome, "outcome", "", "outcome: completed closes the intent")
	return cmd
}
