package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/spf13/cobra"
)

// runReport is a run's report for people.
type runReport struct {
	Project    protocol.Project            `json:"project"`
	Run        runLine                     `json:"run"`
	Phase      string                      `json:"phase,omitempty"` // of the current run
	Gates      protocol.Ordered[string]    `json:"gates"`
	Turns      []protocol.HistoryEntry     `json:"turns"`
	Decisions  []protocol.LedgerDecision   `json:"decisions"`
	Objections []governance.ObjectionStory `json:"objections"`
	Rulings    []ruling                    `json:"rulings"` // what people and policies decided
	Stops      []protocol.Event            `json:"stops"`   // faults and interruptions
}

// ruling is a decision of a person or of a policy.
type ruling struct {
	At   protocol.Time `json:"at"`
	What string        `json:"what"`
	By   string        `json:"by,omitempty"`
	Why  string        `json:"why,omitempty"`
}

// stops are the events about work that was lost, refused or blocked.
var stops = []string{"turn_rejected", "turn_reissued", "acceptance_failed", "run_blocked", "gate_failed", "turn_stalled", "turn_start_failed", "turn_conflicted",
	"human_escalation_raised", "budget_exceeded_warn"}

func report(app *cli.App) *cobra.Command {
	var run, out string
	cmd := &cobra.Command{
		Use: "report", Short: "Write a readable report of a run: turns, decisions, objections, approvals",
		Long: "Write what happened in a run as a page in Markdown, to standard output or to a new file. verify shows whether the " +
			"record can be\ntrusted; audit does both.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			root, v, err := read(app)
			if err != nil {
				return err
			}
			r, err := reportOf(root, v, run)
			if err != nil {
				return err
			}
			if out != "" && out != "-" {
				return write(app, out, []byte(page(r)))
			}
			return app.Answer(r, func() { app.Printf("%s", page(r)) })
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "run (default: the current one)")
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write, which must not exist (default: standard output)")
	return cmd
}

func auditRun(app *cli.App) *cobra.Command {
	var run string
	cmd := &cobra.Command{
		Use: "audit", Short: "Show what happened in a run and whether its record can be trusted",
		Long: "Check the record against its hash chain and its commits, as verify does, and write what happened in a run, as report " +
			"does. The exit\ncode is 1 when the record does not match.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, v, err := read(app)
			if err != nil {
				return err
			}
			r, err := reportOf(root, v, run)
			if err != nil {
				return err
			}
			held, err := verified(cmd.Context(), root, "")
			if err != nil {
				return err
			}
			return answerVerified(app, held, map[string]any{"report": r, "verification": held}, func() {
				app.Printf("%s\n## The record\n\n```\n", page(r))
				printVerification(app, held)
				app.Printf("```\n")
			})
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "run (default: the current one)")
	return cmd
}

// reportOf collects the report of a run; an empty id is the current run.
func reportOf(root string, v *ledger.View, run string) (r runReport, err error) {
	if run = cmp.Or(run, v.State.ID()); run == "" {
		return r, execution.Errorf(execution.CodeSessionNotFound, "no run yet").WithHint("drawbar govern step")
	}
	p, err := project.Load(root)
	if err != nil {
		return r, err
	}
	runs, err := runsOf(v)
	if err != nil {
		return r, err
	}
	i := slices.IndexFunc(runs, func(l runLine) bool { return l.RunID == run })
	if i < 0 {
		return r, noRun(run)
	}
	r = runReport{Project: p.Config.Project, Run: runs[i], Decisions: []protocol.LedgerDecision{}, Rulings: []ruling{}, Stops: []protocol.Event{}}
	if r.Run.Present {
		r.Phase, r.Gates = v.State.Phase, v.State.PhaseGateStatus
	}
	if r.Turns, err = v.History(run); err != nil {
		return r, err
	}
	lines, err := v.Ledger(run)
	if err != nil {
		return r, err
	}
	var notes []protocol.LedgerNote
	for _, l := range lines {
		if l.Note != nil {
			notes = append(notes, *l.Note)
		} else {
			r.Decisions = append(r.Decisions, *l.Decision)
		}
	}
	r.Turns, r.Objections = nonNil(r.Turns), nonNil(governance.Objections(r.Turns, notes))
	events, err := v.EventsOf(run)
	for _, e := range events {
		r.note(e)
	}
	return r, err
}

// note adds an event to the report.
func (r *runReport) note(e protocol.Event) {
	var p struct {
		Gate      string `json:"gate_id"`
		By        string `json:"by"`
		Comment   string `json:"comment"`
		Reason    string `json:"reason"`
		Rule      string `json:"rule"`
		Objection string `json:"objection_id"`
		Status    string `json:"status"`
	}
	_ = json.Unmarshal(e.Payload, &p) // other payloads contain nothing for the report
	why := cmp.Or(p.Comment, p.Reason, p.Rule)
	switch e.EventType {
	case "gate_approved":
		r.Rulings = append(r.Rulings, ruling{e.Timestamp, "approved the gate " + p.Gate, p.By, why})
	case "gate_declined":
		r.Rulings = append(r.Rulings, ruling{e.Timestamp, "declined the gate " + p.Gate, p.By, why})
	case "objection_updated":
		if p.By != "" {
			r.Rulings = append(r.Rulings, ruling{e.Timestamp, "called objection " + p.Objection + " " + p.Status, p.By, why})
		}
	case "human_escalation_resolved", "escalation_resolved":
		r.Rulings = append(r.Rulings, ruling{e.Timestamp, "resolved the run's request", p.By, why})
	default:
		if slices.Contains(stops, e.EventType) {
			r.Stops = append(r.Stops, e)
		}
	}
}

// page is the report in Markdown.
func page(r runReport) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# %s: run %s\n", cmp.Or(r.Project.Name, r.Project.ID), r.Run.RunID)
	line("* status: %s", cmp.Or(string(r.Run.Status), "unknown"))
	if r.Run.Blocked != "" {
		line("* blocked: %s", r.Run.Blocked)
	}
	if r.Phase != "" && r.Run.Status != protocol.RunCompleted {
		line("* phase: %s", r.Phase)
	}
	line("* phases with work: %s", cmp.Or(strings.Join(r.Run.Phases, ", "), "none"))
	line("* started: %s, ended: %s", at(r.Run.StartedAt), at(r.Run.EndedAt))
	line("* turns: %d by %s", r.Run.Turns, cmp.Or(strings.Join(r.Run.Roles, ", "), "nobody"))
	line("* cost: %s", dollars(r.Run.CostUSD))
	for gate, status := range r.Gates.All() {
		line("* gate %s: %s", gate, status)
	}
	turns := func(h protocol.HistoryEntry) []string {
		took := ""
		if h.DurationMS > 0 {
			took = view.Duration(h.DurationMS)
		}
		return []string{h.TurnID, h.Role, h.Phase, h.Status, h.NormalizedVerification.Status, at(h.AcceptedAt), took, costOf(h), strings.Join(h.FilesChanged, ", "), h.Summary}
	}
	section(&b, "Turns", "turn | role | phase | status | verification | accepted | took | cost | files | summary", r.Turns, turns)
	section(&b, "Decisions", "id | role | category | status | statement | rationale", r.Decisions, func(d protocol.LedgerDecision) []string {
		return []string{d.ID, d.Role, d.Category, d.Status, d.Statement, d.Rationale}
	})
	section(&b, "Objections", "id | severity | status | role | against | statement | last word", r.Objections, func(o governance.ObjectionStory) []string {
		said := ""
		if last := o.Words[len(o.Words)-1]; len(o.Words) > 1 {
			said = cmp.Or(last.By, last.Role) + ": " + last.Text
		}
		return []string{o.ID, o.Severity, o.Status, o.Role, o.AgainstTurnID, o.Statement, said}
	})
	section(&b, "Who decided", "when | who | what | why", r.Rulings, func(d ruling) []string { return []string{at(d.At), d.By, d.What, d.Why} })
	section(&b, "Problems along the way", "when | what | turn | why", r.Stops, func(e protocol.Event) []string {
		turn := ""
		if e.Turn != nil {
			turn = e.Turn.TurnID
		}
		return []string{at(e.Timestamp), strings.ReplaceAll(e.EventType, "_", " "), turn, whyOf(e)}
	})
	return b.String()
}

// section writes a list as a titled table; nothing for an empty one.
func section[T any](b *strings.Builder, title, head string, list []T, row func(T) []string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n| %s |\n|%s\n", title, head, strings.Repeat("---|", strings.Count(head, "|")+1))
	for _, x := range list {
		cells := row(x)
		for j, c := range cells {
			cells[j] = cmp.Or(strings.ReplaceAll(oneLine(c), "|", `\|`), "-")
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}

// whyOf is the reason in an event.
func whyOf(e protocol.Event) string {
	var p struct {
		Reason  string   `json:"reason"`
		Message string   `json:"message"`
		Detail  string   `json:"detail"`
		Reasons []string `json:"reasons"`
		Errors  []string `json:"errors"`
	}
	_ = json.Unmarshal(e.Payload, &p)
	return cmp.Or(p.Reason, p.Detail, p.Message, strings.Join(p.Reasons, "; "), strings.Join(p.Errors, "; "))
}
