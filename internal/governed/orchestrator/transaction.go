package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/governed/prompt"
	"github.com/drawbar/drawbar/internal/governed/team"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

// transaction is a change of the record under construction. It holds the project's lock. Inputs are applied to run in
// memory; nothing is written before commit.
type transaction struct {
	e       *Local
	project *project.Project
	ledger  *ledger.Ledger
	run     governance.Run
	work    *workspace.Workspace
	effects []governance.Effect
	before  protocol.State  // as it was read
	told    []govern.Notice // notices to send once it is on disk

	rewritten map[string][]byte // files to replace with the next commit
	removed   []string          // files to remove with it
	deleted   []string          // files of the work tree to delete with it

	noted   []string // changes of git's settings, recorded with the decision about the turn
	telling string   // digest of the git settings that a block reports

	committed bool // something
	assigned  bool // a turn
	decided   bool // something besides

	adopted bool // another program wrote the state

	restored string  // what was restored because another program had written the state
	repeat   *repeat // the turn runs again
	tampered string  // how a hook that could only advise tampered with the record
}

// clockSlack is the clock difference below which no warning is given.
const clockSlack = time.Minute

// locked calls fn with the project's lock held, after completing what a crash left.
func (e *Local) locked(ctx context.Context, doing string, fn func(*transaction) error) error {
	return e.lockedAs(ctx, doing, false, fn)
}

// lockedAs is locked. adopt accepts a state that differs from what the last transaction wrote.
func (e *Local) lockedAs(ctx context.Context, doing string, adopt bool, fn func(*transaction) error) (err error) {
	p, err := project.Load(e.root)
	if err != nil {
		return err
	}
	work, err := e.workspace(ctx)
	if err != nil {
		return err
	}
	l, err := e.open(ctx, doing, adopt, p, work)
	if err != nil {
		return err
	}
	var t *transaction
	defer func() {
		err = errors.Join(err, l.Close())
		if t != nil && t.committed {
			e.tellWebhooks(ctx, p)
			t.anchor(ctx)
			e.publish(ctx, t.assigned)
		}
	}()
	if t, err = e.opened(p, l, work); err != nil {
		return err
	}
	if err := t.adaptElsewhere(ctx); err != nil {
		return err
	}
	if err := t.humanQueue(""); err != nil {
		return err
	}
	if err := t.outside(); err != nil {
		return err
	}
	if err := t.survivors(); err != nil {
		return err
	}
	if err := t.chained(ctx, adopt); err != nil {
		return err
	}
	if err := t.filtering(ctx, doing); err != nil {
		return err
	}
	if err := t.unbooked(); err != nil {
		return err
	}
	if doing == "approve" || doing == "accept" {
		if err := t.kept(ctx); err != nil {
			return err
		}
	}
	return fn(t)
}

// open opens the record for writing.
func (e *Local) open(ctx context.Context, doing string, adopt bool, p *project.Project, work *workspace.Workspace) (*ledger.Ledger, error) {
	return ledger.Open(ctx, e.root, ledger.Options{
		Owner: cmp.Or(e.o.Owner, doing), Wait: e.o.LockWait, Crash: e.o.Crash, AdoptState: adopt, NoForeign: anyLeased(e.root),
		Foreign:         func(sealed, now *protocol.State) error { return foreign(p.Config, sealed, now, adopt) },
		ApplyCheckpoint: func(ctx context.Context, cp ledger.Checkpoint) error { return applyCheckpoint(ctx, work, cp) },
	})
}

// opened is the transaction of an opened record: the current run, and the repairs to report.
func (e *Local) opened(p *project.Project, l *ledger.Ledger, work *workspace.Workspace) (t *transaction, err error) {
	notes := l.Notes()
	e.mended(notes)
	view := l.View()
	t = &transaction{e: e, project: p, ledger: l, work: work, before: view.State}
	for _, n := range notes {
		if n.What == "restored" || n.What == "displaced" && n.Transaction == "" {
			t.restored = n.Message
		}
		t.adopted = t.adopted || n.What == "adopted" && n.Path == protocol.StateFile
	}
	if s, err := view.Session(); err == nil && s != nil && !s.LastCheckpointAt.IsZero() {
		e.floor.Store(s.LastCheckpointAt.UnixMilli())
		if clock := e.o.Now(); s.LastCheckpointAt.Sub(clock) > clockSlack {
			e.warn(fmt.Sprintf("this machine's clock says %s, but the record was last written at %s: new entries keep that time until the clock passes it (check: date)",
				protocol.At(clock), s.LastCheckpointAt))
		}
	}
	t.run = governance.Run{Config: p.Config, State: view.State.Clone()}
	if t.run.State.Phase == "" {
		if phases := p.Config.Phases(); len(phases) > 0 {
			t.run.State.Phase = phases[0]
		}
	}
	if t.run.State.ProjectID == "" {
		t.run.State.ProjectID = p.Config.Project.ID
	}
	if id := t.run.State.ID(); id != "" {
		t.run.History, err = e.history.Read(view, id)
	}
	return t, err
}

// tell sends a notice once the transaction is on disk.
func (t *transaction) tell(n govern.Notice) { t.told = append(t.told, n) }

func (t *transaction) state() *protocol.State { return &t.run.State }

// do applies an input at the current time, or returns why it is refused, with a hint.
func (t *transaction) do(in governance.Input) error { return t.doAt(t.e.now(), in) }

func (t *transaction) doAt(now protocol.Time, in governance.Input) error {
	run, effects := governance.Transition(t.run, now, in)
	if r := refused(effects); r != nil {
		return refusal(*r)
	}
	t.run = run
	t.effects = append(t.effects, effects...)
	return nil
}

func refused(effects []governance.Effect) *governance.Refused {
	for _, f := range effects {
		if r, ok := f.(governance.Refused); ok {
			return &r
		}
	}
	return nil
}

// refusal is the error of an input that is not legal now.
func refusal(r governance.Refused) error {
	code := execution.CodeInvalidStateTransition
	switch r.Code {
	case governance.CodeInvalidConfig:
		code = execution.CodeConfig
	case governance.CodeInvalidInput, governance.CodeUnknownRole, governance.CodeUnknownRuntime, governance.CodeUnknownObjection:
		code = execution.CodeValidation
	}
	e := &execution.Error{Code: code, Message: r.Message, Cause: r}
	return e.WithHint("%s", r.Next)
}

// knowIDs reads the ids in the record. Only an acceptance needs them.
func (t *transaction) knowIDs() error {
	if t.run.DecisionIDs != nil {
		return nil
	}
	t.run.DecisionIDs, t.run.ObjectionIDs = map[string]bool{}, map[string]bool{}
	decisions, err := t.ledger.View().Decisions("")
	if err != nil {
		return err
	}
	for _, d := range decisions {
		t.run.DecisionIDs[d.ID] = true
	}
	repo, err := t.ledger.View().RepoDecisions()
	if err != nil {
		return err
	}
	for _, d := range repo {
		t.run.DecisionIDs[d.ID] = true
	}
	for _, h := range t.run.History {
		for _, o := range h.Objections {
			t.run.ObjectionIDs[o.ID] = true
		}
	}
	return nil
}

// noteSettings adds changes of git's settings to the first event about a turn that was not accepted.
func noteSettings(events []protocol.Event, turn string, noted []string) error {
	for i, e := range events {
		if len(noted) == 0 || e.Turn == nil || e.Turn.TurnID != turn {
			continue
		}
		payload := map[string]any{}
		if err := json.Unmarshal(e.Payload, &payload); err != nil {
			return fmt.Errorf("the payload of %s: %w", e.EventType, err)
		}
		payload["git_settings"] = noted
		b, err := json.Marshal(payload)
		events[i].Payload = b
		return err
	}
	return nil
}

// commit writes the effects atomically. checkpoint, if given, is the commit of an acceptance.
func (t *transaction) commit(ctx context.Context, kind commitKind, turn string, cp *checkpoint) (string, error) {
	if err := t.follow(); err != nil {
		return "", err
	}
	decides := kind != commitAssign && kind != commitInterrupted
	if h := team.From(ctx); h != nil {
		if err := h.Fence(ctx, decides); err != nil {
			return "", err
		}
	}
	t.decided = t.decided || decides
	t.assigned = t.assigned || kind == commitAssign
	now := t.e.now()
	tx := ledger.Tx{Kind: string(kind), TurnID: turn, Now: now.Time, Files: map[string][]byte{}}
	maps.Copy(tx.Files, t.rewritten)
	tx.Remove, tx.Delete = t.removed, t.deleted
	last, err := t.fill(&tx)
	if err != nil {
		return "", err
	}
	if err := t.index(now, &tx); err != nil {
		return "", err
	}
	var sha string
	if cp == nil {
		tx.Events = append(tx.Events, last...)
	} else {
		tx.Checkpoint = func(_ []byte, head string) (ledger.Checkpoint, error) {
			return cp.prepare(ctx, t.work, head)
		}
		tx.After = func(made ledger.Checkpoint, tx *ledger.Tx) {
			sha = made.Commit
			// The commit has the time of the acceptance: the events after it must not be older.
			run, effects := governance.Transition(t.run, cp.moment(now), governance.Checkpointed{TurnID: turn, SHA: made.Commit, InAcceptance: true})
			if refused(effects) == nil {
				t.run = run
				for _, f := range effects {
					if e, ok := f.(governance.Emit); ok {
						tx.Events = append(tx.Events, e.Event)
					}
				}
			}
			tx.Events = append(tx.Events, last...)
			tx.State = t.run.State
			tx.Session = t.session(kind, now, made.Commit)
		}
	}
	tx.State = t.run.State
	tx.Session = t.session(kind, now, "")
	err = t.ledger.Commit(ctx, tx)
	t.e.mended(t.ledger.Notes())
	t.effects, t.committed = nil, true
	if err == nil || errors.Is(err, ledger.ErrCheckpointStale) || errors.Is(err, ledger.ErrUnfinished) {
		for _, n := range t.told {
			t.e.note(n)
		}
	}
	t.told = nil
	if errors.Is(err, ledger.ErrCheckpointStale) {
		t.e.warn("the branch moved while the turn was accepted: its files are not committed yet; run: drawbar govern checkpoint")
		sha, err = "", nil
	}
	return sha, err
}

func (t *transaction) repoDecision(id string) (protocol.RepoDecision, error) {
	all, err := t.ledger.View().RepoDecisions()
	if err != nil {
		return protocol.RepoDecision{}, err
	}
	for _, d := range slices.Backward(all) {
		if d.ID == id {
			return d, nil
		}
	}
	return protocol.RepoDecision{}, execution.Errorf(execution.CodeConfig, "%s has no decision %s", protocol.RepoLedgerFile, id)
}

// people writes the files for people: the human queue with its tasks, and the talk.
func (t *transaction) people(human []governance.HumanEntry, talk string, tx *ledger.Tx) error {
	for _, h := range human {
		b, err := protocol.Marshal(h)
		if err != nil {
			return err
		}
		tx.Human = append(tx.Human, b)
	}
	if len(human) > 0 {
		before, err := t.ledger.View().Human()
		if err != nil {
			return err
		}
		old, err := t.readOwn(protocol.HumanTasksFile)
		if err != nil {
			return err
		}
		tx.Files[protocol.HumanTasksFile] = []byte(prompt.HumanTasks(old, append(before, tx.Human...)))
	}
	if talk == "" {
		return nil
	}
	old, err := t.readOwn(protocol.TalkFile)
	if err == nil {
		tx.Files[protocol.TalkFile] = []byte(prompt.AppendTalk(old, talk))
	}
	return err
}

// readOwn reads a file that Drawbar writes for people; empty if there is none.
func (t *transaction) readOwn(name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(t.e.root, filepath.FromSlash(name)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", execution.Errorf(execution.CodeConfig, "read %s: %w", name, err)
	}
	return string(b), nil
}

// index writes the index of active turns.
func (t *transaction) index(now protocol.Time, tx *ledger.Tx) error {
	b, err := protocol.MarshalFile(project.Index(t.run.State, now.Time, nil))
	if err != nil {
		return err
	}
	tx.Files[protocol.DispatchIndexFile] = b
	return nil
}

// fill adds the effects to a transaction. late are the events after the checkpoint.
func (t *transaction) fill(tx *ledger.Tx) (last []protocol.Event, err error) {
	var human []governance.HumanEntry
	for _, f := range t.effects {
		switch f := f.(type) {
		case governance.AppendHistory:
			tx.History = append(tx.History, f.Entry)
		case governance.AppendDecision:
			tx.Ledger = append(tx.Ledger, f.Decision)
		case governance.AppendNote:
			tx.Ledger = append(tx.Ledger, f.Note)
		case governance.AppendRepoDecision:
			tx.RepoDecisions = append(tx.RepoDecisions, f.Decision)
		case governance.OverrideRepoDecision:
			old, err := t.repoDecision(f.ID)
			if err != nil {
				return nil, err
			}
			old.Status, old.OverriddenBy = "overridden", &f.By
			tx.RepoDecisions = append(tx.RepoDecisions, old)
		case governance.Emit:
			if f.AfterCheckpoint {
				last = append(last, f.Event)
			} else {
				tx.Events = append(tx.Events, f.Event)
			}
		case governance.RaiseHuman:
			human = append(human, f.Entry)
		case governance.ResolveHuman:
			human = append(human, f.Entry)
		case governance.Summarize:
			tx.Runs = append(tx.Runs, f.Summary)
		case governance.Archive:
			tx.Archive = append(tx.Archive, f.TurnID)
		case governance.Warn:
			t.e.warn(f.Message)
		case governance.KeepRejected:
			if err := t.keepRejected(f, tx); err != nil {
				return nil, err
			}
		}
	}
	if len(tx.History) == 0 { // an acceptance has them in its entry
		if err := noteSettings(tx.Events, tx.TurnID, t.noted); err != nil {
			return nil, err
		}
	}
	var talk strings.Builder
	for _, h := range tx.History {
		if h.Status != "reissued" {
			talk.WriteString(prompt.Talk(h, prompt.TalkNotes{}))
		}
	}
	return last, t.people(human, talk.String(), tx)
}

// keepRejected moves a rejected result to the folder for rejected results.
func (t *transaction) keepRejected(f governance.KeepRejected, tx *ledger.Tx) error {
	data, where, err := project.ReadStaged(t.workRoot(f.TurnID), f.TurnID)
	if errors.Is(err, project.ErrNoResult) {
		return nil
	}
	if err != nil {
		// A file that is too large or not regular cannot be kept in the record, only named in the rejection.
		t.e.warn(fmt.Sprintf("cannot keep the rejected result of turn %s: %v", f.TurnID, err))
		return nil
	}
	tx.Files[protocol.RejectedDir+"/"+f.Name] = cleanResult(t.redactor(f.TurnID), data)
	if t.workRoot(f.TurnID) == t.e.root {
		tx.Remove = append(tx.Remove, where)
	}
	return nil
}

// session is session.json after this transaction.
func (t *transaction) session(kind commitKind, now protocol.Time, commit string) *protocol.Session {
	st := t.state()
	s := &protocol.Session{SessionID: newID("session"), RunID: st.ID(), StartedAt: now}
	if old, err := t.ledger.View().Session(); err == nil && old != nil && old.RunID == st.ID() {
		s.SessionID, s.StartedAt, s.LastTurnID, s.LastRole, s.BaselineRef = old.SessionID, old.StartedAt, old.LastTurnID, old.LastRole, old.BaselineRef
		s.AgentContext = old.AgentContext
	}
	s.LastCheckpointAt, s.CheckpointReason, s.RunStatus, s.Phase, s.LastPhase = now, kind.reason(), st.Status, st.Phase, st.Phase
	s.LastCompletedTurnID, s.ActiveTurnIDs = st.LastCompletedTurnID, st.ActiveTurns.Keys()
	if s.ActiveTurnIDs == nil {
		s.ActiveTurnIDs = []string{}
	}
	for id, turn := range st.ActiveTurns.All() {
		s.LastTurnID, s.LastRole = &id, &turn.AssignedRole
		s.AgentContext, _ = json.Marshal(map[string]string{"adapter": turn.RuntimeID, "dispatch_dir": protocol.BundleDir(id)})
		if b := turn.Baseline; b != nil {
			dirty := !b.Clean
			s.BaselineRef = protocol.SessionBaseline{GitHead: b.HeadRef, WorkspaceDirty: &dirty}
			if b.Branch != "" {
				s.BaselineRef.GitBranch = &b.Branch
			}
		}
	}
	if commit != "" {
		s.BaselineRef.GitHead = &commit
	}
	if p := st.PendingTransition; p != nil {
		s.PendingGate = &p.Gate
	}
	s.PendingRunCompletion = st.PendingCompletion != nil
	s.Blocked = st.Status == protocol.RunBlocked
	return s
}

// commitKind is the kind of a transaction, as named in its journal.
type commitKind string

const (
	commitStart             commitKind = "start"
	commitAdopt             commitKind = "adopt"
	commitAssign            commitKind = "assign_turn"
	commitAccept            commitKind = "accept_turn"
	commitFail              commitKind = "fail_acceptance"
	commitReject            commitKind = "reject_turn"
	commitReissue           commitKind = "reissue_turn"
	commitInterrupted       commitKind = "interrupted"
	commitCheckpoint        commitKind = "checkpoint"
	commitApproval          commitKind = "approval" // one of several approvals
	commitApprovePhase      commitKind = "approve_phase"
	commitApproveCompletion commitKind = "approve_completion"
	commitDecline           commitKind = "decline"
	commitObjection         commitKind = "objection"
	commitProposal          commitKind = "proposal"
	commitBlock             commitKind = "block"
	commitUnblock           commitKind = "unblock"
	commitResume            commitKind = "resume"
	commitRestart           commitKind = "restart"
	commitTemplate          commitKind = "template_set"
)

// reason is the reason in session.json for such a transaction.
func (k commitKind) reason() string {
	switch k {
	case commitAssign:
		return "turn_assigned"
	case commitAccept:
		return "turn_accepted"
	case commitFail:
		return "acceptance_failed"
	case commitApprovePhase:
		return "phase_approved"
	case commitApproveCompletion:
		return "run_completed"
	case commitBlock:
		return "blocked"
	case commitReissue:
		return "turn_reissued"
	}
	return string(k)
}

// worktree makes the turn's worktree, or finds it, and says which submodules are empty in it.
func (t *transaction) worktree(ctx context.Context, turn string) (string, protocol.Baseline, error) {
	dir, base, without, err := t.work.Worktree(ctx, turn)
	if len(without) > 0 {
		t.e.warn(fmt.Sprintf("the worktree of turn %s has submodules without their files: %s; their repositories in the project lack the commit or cannot be read", turn, strings.Join(without, ", ")))
	}
	return dir, base, err
}

// workRoot is where the files of a turn are: the project, or the turn's worktree.
func (t *transaction) workRoot(turn string) string {
	return turnRoot(t.e.root, t.state().ActiveTurns.At(turn))
}

func turnRoot(root string, turn *protocol.Turn) string {
	if turn != nil && turn.Worktree != "" {
		return filepath.Join(root, filepath.FromSlash(turn.Worktree))
	}
	return root
}
