package coordinator

import (
	"context"
	"fmt"
	"slices"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/project"
)

// choice is the repository whose turn it is.
type choice struct {
	repo       *repo
	workstream string
	turn       string // an active turn to continue; empty for a new one
	role       string // of the active turn
	preparing  bool
}

// choose selects the next turn, or says what stands in the way of each candidate.
func (c *Coordinator) choose(ctx context.Context, w *workspace, rec *record, all map[string]*repo) (*choice, []govern.MultiBlocker) {
	s := rec.state
	for _, p := range w.places { // what was begun is finished first
		r := all[p.id]
		if r.err != nil || !s.RepoRuns.Has(p.id) || r.state.Status != protocol.RunActive {
			continue
		}
		if t, l := r.active(&rec.derived); t != nil && !c.carried(ctx, r, t.TurnID) {
			return &choice{repo: r, workstream: l.WorkstreamID, turn: t.TurnID, role: t.AssignedRole, preparing: l.Preparing}, nil
		}
	}
	var why []govern.MultiBlocker
	for _, id := range candidates(w.config, s.Phase) {
		ws, _ := w.config.Workstreams.Get(id)
		if on := waitsFor(ws, &rec.barriers); on != "" {
			why = append(why, govern.MultiBlocker{Code: "dependency_pending", WorkstreamID: id, BarrierID: protocol.BarrierID(on),
				Message: fmt.Sprintf("workstream %s depends on %s", id, on)})
			continue
		}
		for _, repoID := range open(rec.barriers.At(protocol.BarrierID(id))) {
			r := all[repoID]
			if b := stands(r, repoID); b != nil {
				b.WorkstreamID = id
				why = append(why, *b)
				continue
			}
			return &choice{repo: r, workstream: id, preparing: earlier(r, ws.Phase)}, nil
		}
	}
	return nil, why
}

// candidates are the workstreams of a phase, its entry workstream first.
func candidates(c *protocol.CoordinatorConfig, phase string) []string {
	var list []string
	route, _ := c.Routing.Get(phase)
	for id, w := range c.Workstreams.All() {
		switch {
		case w.Phase != phase:
		case id == route.EntryWorkstream:
			list = slices.Insert(list, 0, id)
		default:
			list = append(list, id)
		}
	}
	return list
}

// waitsFor is the workstream that another one waits for; empty if it waits for none.
func waitsFor(w protocol.Workstream, barriers *protocol.Ordered[protocol.Barrier]) string {
	for _, on := range w.DependsOn {
		if b, ok := barriers.Get(protocol.BarrierID(on)); !ok || b.Status != protocol.BarrierSatisfied {
			return on
		}
	}
	return ""
}

// open are the repositories that may work for a workstream now: at first only the entry repository, and one after another if the barrier
// wants an order.
func open(b protocol.Barrier) []string {
	if b.Status == protocol.BarrierSatisfied {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(b.RequiredRepos), func(r string) bool { return slices.Contains(b.SatisfiedRepos, r) })
	if b.Type == protocol.BarrierOrdered || b.Status == protocol.BarrierPending && len(b.SatisfiedRepos) == 0 {
		return rest[:min(len(rest), 1)]
	}
	return rest
}

// stands says why no turn can begin in a repository; nil if one can.
func stands(r *repo, id string) *govern.MultiBlocker {
	b := &govern.MultiBlocker{RepoID: id}
	switch {
	case r == nil:
		b.Code, b.Message = "repo_config_missing", id+" is not in "+protocol.CoordinatorConfigFile
	case r.err != nil:
		b.Code, b.Message, b.Next = "repo_state_missing", id+": its record cannot be read: "+r.err.Error(), r.command("doctor")
	case r.gate() != "":
		b.Code, b.Message, b.Next = "repo_pending_gate", fmt.Sprintf("%s: its gate %s needs approval", id, r.gate()), r.command("approve")
	case r.state.Status == protocol.RunBlocked || r.state.Status == protocol.RunPaused:
		b.Code, b.Message, b.Next = "repo_blocked", fmt.Sprintf("%s: its run is %s", id, r.state.Status), r.command("status")
	case r.state.Status == protocol.RunCompleted:
		b.Code, b.Message, b.Next = "repo_completed", fmt.Sprintf("%s: its run is completed, but the workstream is not", id), r.command("restart --new")
	case len(r.turns()) > 0:
		b.Code, b.Message, b.Next = "repo_busy", fmt.Sprintf("%s: turn %s is active", id, r.turns()[0]), r.command("status")
	default:
		return nil
	}
	return b
}

// carried reports whether a process runs the turn.
func (c *Coordinator) carried(ctx context.Context, r *repo, turn string) bool {
	e, err := c.o.Open(r.root)
	if err != nil {
		return false
	}
	st, err := e.Status(ctx)
	if err != nil {
		return false // the turn's own command says why
	}
	return slices.ContainsFunc(st.Turns, func(t govern.TurnStatus) bool { return t.TurnID == turn && t.Carrier != nil })
}

// earlier reports whether the repository is in a phase before that of the workstream, by its own order of phases.
func earlier(r *repo, phase string) bool {
	p, err := project.Load(r.root)
	if err != nil {
		return false // the turn's own command says why
	}
	phases := p.Config.Phases()
	at, of := slices.Index(phases, r.state.Phase), slices.Index(phases, phase)
	return at >= 0 && of > at
}

// gate is a gate over all repositories, as it stands now.
type gate struct {
	kind, id, from, to string
	repos, human       []string
	blockers           []govern.MultiBlocker
	person             bool // whether a person has to approve it
}

func (g gate) ready() bool { return g.id != "" && len(g.blockers) == 0 }

func (g *gate) block(code, repo, workstream, barrier, next, format string, args ...any) {
	g.blockers = append(g.blockers, govern.MultiBlocker{Code: code, RepoID: repo, WorkstreamID: workstream, BarrierID: barrier, Message: fmt.Sprintf(format, args...), Next: next})
}

// evaluateGate evaluates the next gate of that kind.
func evaluateGate(w *workspace, rec *record, all map[string]*repo, kind string) gate {
	switch kind {
	case protocol.GatePhase:
		return phaseGate(w, rec, all)
	case protocol.GateBarrier:
		return barrierGate(w, rec)
	}
	return completionGate(w, rec, all)
}

// nextGate is the gate that comes next, as it stands now.
func nextGate(w *workspace, rec *record, all map[string]*repo) gate {
	if g := barrierGate(w, rec); g.ready() {
		return g
	}
	phases := w.config.Phases()
	switch i := slices.Index(phases, rec.state.Phase); {
	case i < 0:
		g := gate{}
		g.block("phase_unknown", "", "", "", "", "the run is in phase %s, which %s no longer has", rec.state.Phase, protocol.CoordinatorConfigFile)
		return g
	case i < len(phases)-1:
		return phaseGate(w, rec, all)
	}
	return completionGate(w, rec, all)
}

// barrierGate asks for a person's approval of a barrier that other workstreams of the phase wait for. Others are approved with the phase.
func barrierGate(w *workspace, rec *record) gate {
	for _, ws := range w.config.Workstreams.All() {
		if ws.Phase != rec.state.Phase {
			continue
		}
		on := waitsFor(ws, &rec.barriers)
		b, ok := rec.barriers.Get(protocol.BarrierID(on))
		if on == "" || !ok || b.Type != protocol.BarrierHuman || !delivered(b) {
			continue
		}

		return gate{kind: protocol.GateBarrier, id: protocol.BarrierID(on), repos: b.RequiredRepos, human: []string{protocol.BarrierID(on)}, person: true}
	}
	return gate{}
}

// barriers blocks the gate at barriers that are not satisfied, of one phase or of all.
func (g *gate) barriers(w *workspace, rec *record, phase string) {
	for id, ws := range w.config.Workstreams.All() {
		if phase != "" && ws.Phase != phase {
			continue
		}
		barrierID := protocol.BarrierID(id)
		b, ok := rec.barriers.Get(barrierID)
		switch {
		case !ok:
			g.block("barrier_missing", "", id, barrierID, "", "workstream %s has no barrier", id)
		case b.Status == protocol.BarrierSatisfied:
		case b.Type == protocol.BarrierHuman && delivered(b):
			g.human = append(g.human, barrierID)
		default:
			g.block("barrier_unsatisfied", "", id, barrierID, "", "workstream %s: its barrier is %s", id, b.Status)
		}
	}
}

// settled blocks the gate at a repository that is in the middle of something.
func (g *gate) settled(r *repo, id string, end bool) {
	if r == nil || r.err != nil {
		g.block("repo_state_missing", id, "", "", "", "%s: its record cannot be read", id)
		return
	}
	if r.state.Status == protocol.RunBlocked {
		g.block("repo_blocked", id, "", "", r.command("status"), "%s: its run is blocked", id)
	}
	if n := len(r.turns()); n > 0 {
		g.block("repo_active_turns", id, "", "", r.command("status"), "%s: turn %s is active", id, r.turns()[0])
	}
	switch {
	case !end && r.gate() != "":
		g.block("repo_pending_gate", id, "", "", r.command("approve"), "%s: its gate %s needs approval", id, r.gate())
	case end && r.state.Status != protocol.RunCompleted && r.state.PendingCompletion == nil && r.gate() != "":
		g.block("repo_not_completion_ready", id, "", "", r.command("approve"), "%s: its gate %s needs approval", id, r.gate())
	case end && r.state.Status != protocol.RunCompleted && r.state.PendingCompletion == nil:
		g.block("repo_not_completion_ready", id, "", "", r.command("run"), "%s: its run is in phase %s and has not requested its completion", id, r.state.Phase)
	}
}

func phaseGate(w *workspace, rec *record, all map[string]*repo) gate {
	s, phases := rec.state, w.config.Phases()
	i := slices.Index(phases, s.Phase)
	if i < 0 || i == len(phases)-1 {
		return gate{}
	}
	g := gate{kind: protocol.GatePhase, from: s.Phase, to: phases[i+1], id: "phase_transition:" + s.Phase + "->" + phases[i+1], person: true}
	for _, id := range s.RepoRuns.Keys() {
		for _, ws := range w.config.Workstreams.All() {
			if ws.Phase == s.Phase && slices.Contains(ws.Repos, id) && !slices.Contains(g.repos, id) {
				g.repos = append(g.repos, id)
				g.settled(all[id], id, false)
			}
		}
	}
	g.barriers(w, rec, s.Phase)
	return g
}

func completionGate(w *workspace, rec *record, all map[string]*repo) gate {
	g := gate{kind: protocol.GateCompletion, id: protocol.InitiativeGate, person: true}
	declared, ok := w.config.Gates.Get(protocol.InitiativeGate)
	if ok && declared.HumanApproval != nil {
		g.person = *declared.HumanApproval
	}
	if g.repos = declared.RequiresRepos; !ok {
		for _, p := range w.places {
			if p.required {
				g.repos = append(g.repos, p.id)
			}
		}
	}
	for _, id := range g.repos {
		g.settled(all[id], id, true)
	}
	g.barriers(w, rec, "")
	g.person = g.person || len(g.human) > 0
	return g
}

// request asks for the next gate, or says what has to happen before. A gate that needs no person passes.
func (c *Coordinator) request(ctx context.Context, w *workspace, rec *record, all map[string]*repo, why []govern.MultiBlocker) (govern.MultiReport, error) {
	g := nextGate(w, rec, all)
	if !g.ready() {
		rep := report(rec, govern.MultiWaiting)
		rep.Blockers, rep.Next = waiting(append(why, g.blockers...), rep.Next)
		return rep, nil
	}
	kinds := map[string]string{protocol.GatePhase: protocol.SuperPhaseRequested, protocol.GateCompletion: protocol.SuperEndRequested, protocol.GateBarrier: protocol.SuperBarrierAsked}
	e := c.event(rec.state, kinds[g.kind])
	e.Gate, e.From, e.To, e.RequiredRepos, e.HumanBarriers = g.id, g.from, g.to, g.repos, g.human
	if err := rec.add(e); err != nil {
		return govern.MultiReport{}, err
	}
	if g.person {
		return report(rec, govern.MultiGate), nil
	}
	if rep, err := c.beforeGate(ctx, w, rec, *rec.state.PendingGate); rep != nil || err != nil {
		return orZero(rep), err
	}
	if err := rec.add(c.approval(rec.state, g, nil, "")); err != nil {
		return govern.MultiReport{}, err
	}
	return report(rec, govern.MultiCompleted), nil
}

// approval is the event of an approved gate.
func (c *Coordinator) approval(s *protocol.CoordinatorState, g gate, by *protocol.Person, comment string) protocol.CoordinatorEvent {
	kinds := map[string]string{protocol.GatePhase: protocol.SuperPhaseApproved, protocol.GateCompletion: protocol.SuperCompleted, protocol.GateBarrier: protocol.SuperBarrierApproved}
	e := c.event(s, kinds[g.kind])
	e.Gate, e.From, e.To, e.HumanBarriers, e.By, e.Comment = g.id, g.from, g.to, g.human, by, comment
	return e
}

// waiting lists each blocker once, and the first command that resolves one; next if none does.
func waiting(all []govern.MultiBlocker, next string) ([]govern.MultiBlocker, string) {
	var list []govern.MultiBlocker
	for _, b := range all {
		if !slices.ContainsFunc(list, func(o govern.MultiBlocker) bool { return o.Message == b.Message }) {
			list = append(list, b)
		}
	}
	if i := slices.IndexFunc(list, func(b govern.MultiBlocker) bool { return b.Next != "" }); i >= 0 {
		next = list[i].Next
	}
	return list, next
}
