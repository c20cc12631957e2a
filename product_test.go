package drawbar_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/modelserver"
	"github.com/drawbar/drawbar/product/chat"
	"github.com/drawbar/drawbar/product/continuation"
	"github.com/drawbar/drawbar/product/coordination"
	"github.com/drawbar/drawbar/product/memory"
	"github.com/drawbar/drawbar/product/policy"
	"github.com/drawbar/drawbar/product/proactive"
	"github.com/drawbar/drawbar/product/routing"
	"github.com/drawbar/drawbar/product/surface"
	"github.com/drawbar/drawbar/product/traits"
	"github.com/drawbar/drawbar/product/turncontext"
)

// product is a bot: it assembles a request, asks its policy, runs Drawbar's own agent, and keeps what has to wait. Each call of open is
// another process, as far as what it keeps is concerned.
type product struct {
	t         *testing.T
	dir, file string
	now       time.Time
	delivered []string
	audit     []policy.Event
}

const model = "anthropic/claude-sonnet-4-5"

func newProduct(t *testing.T, script string) *product {
	t.Helper()
	parsed, err := modelserver.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server, err := modelserver.New(parsed, modelserver.Options{}).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	dir := t.TempDir()
	for name, value := range map[string]string{"ANTHROPIC_BASE_URL": server.URL(), "ANTHROPIC_API_KEY": "dummy-key-not-real", "HOME": dir, "DRAWBAR_STATE_DIR": filepath.Join(dir, "state"),
		"DRAWBAR_CONFIG_DIR": filepath.Join(dir, "config")} {
		t.Setenv(name, value)
	}
	return &product{t: t, dir: t.TempDir(), file: filepath.Join(dir, "continuations.db"), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// open returns the parts of the product in a new process.
func (p *product) open() (*continuation.Runtime, *policy.Engine, func(context.Context, execution.Request) (execution.Result, error)) {
	p.t.Helper()
	client, err := drawbar.New(drawbar.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	store, err := continuation.OpenSQLite(p.t.Context(), p.file)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = errors.Join(store.Close(), client.Close()) })
	run := func(ctx context.Context, req execution.Request) (execution.Result, error) {
		req.Run.Agent, req.Run.Model, req.Run.Cwd, req.Run.NonInteractive = "harness", model, p.dir, true
		req.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportRequired, ContinuationSupport: execution.SupportRequired}
		if req.Continuation != nil {
			req.Run.Model = "" // it has that of the turn before
		}
		r, err := client.Run(ctx, req, drawbar.RunOptions{})
		if err != nil {
			return execution.Result{}, err
		}
		return r.Result(ctx)
	}
	gate, err := policy.New(policy.Options{Audit: func(_ context.Context, e policy.Event) error { p.audit = append(p.audit, e); return nil }},
		policy.Rule{ID: "answers", Evaluate: func(_ context.Context, a policy.Action, _ policy.Risk) (*policy.Decision, error) {
			if strings.Contains(a.Description, "forbidden") {
				return &policy.Decision{Verdict: policy.Deny, Reason: "not this"}, nil
			}
			return &policy.Decision{Verdict: policy.Allow}, nil
		}})
	if err != nil {
		p.t.Fatal(err)
	}
	rt := continuation.New(continuation.Options{Store: store, Now: func() time.Time { return p.now },
		Run: func(ctx context.Context, turn continuation.Turn) (execution.Result, error) {
			return run(ctx, turn.Request())
		},
		Deliver: func(_ context.Context, _ string, r continuation.Record) error {
			p.delivered = append(p.delivered, r.Delivery.Text)
			return nil
		}})
	return rt, gate, run
}

// ask carries a message to a result, and keeps a result that has to wait.
func (p *product) ask(text string) (execution.Result, continuation.Record, error) {
	p.t.Helper()
	ctx := p.t.Context()
	rt, gate, run := p.open()
	assembly, err := turncontext.Assembler{}.Assemble(ctx, turncontext.Input{AssistantID: "bot", TurnID: "turn-1", SessionID: "chat-1",
		Identity: turncontext.Identity{SystemPrompt: "You keep files."}, Memory: &[]turncontext.Memory{{ID: "m", Text: "The user likes short names."}}})
	if err != nil {
		p.t.Fatal(err)
	}
	if err := gate.Check(ctx, policy.Action{Type: "turn", Description: text}); err != nil {
		return execution.Result{}, continuation.Record{}, err
	}
	req := assembly.Request(execution.Message{ID: "m1", Text: execution.Prompt(text), ReceivedAt: p.now}, turncontext.With{})
	res, err := run(ctx, req)
	if err != nil {
		p.t.Fatal(err)
	}
	create := continuation.FromResult(req, res)
	create.ExpiresAt = p.now.Add(72 * time.Hour)
	record, err := rt.Create(ctx, create)
	if err != nil && !errors.Is(err, continuation.ErrNothing) {
		p.t.Fatal(err)
	}
	return res, record, nil
}

func (p *product) wrote() bool {
	_, err := os.Stat(filepath.Join(p.dir, "note.txt"))
	return err == nil
}

const writesNote = `{"turns":[{"match":{"contains":"write"},"tools":[{"name":"write","input":{"path":"note.txt","content":"x"}}]},{"text":"It is written.","repeat":true}]}`

// TestProductWaitsForAnApproval: the whole way of a turn, over two days and two processes: exactly the call that was asked for happens, once;
// a denied one, a forged and a late answer do nothing.
func TestProductWaitsForAnApproval(t *testing.T) {
	p := newProduct(t, writesNote)
	res, record, err := p.ask("write the note")
	if err != nil || res.Status != execution.StatusAwaitingApproval || record.WaitFor.Kind != continuation.ApprovalResolution || p.wrote() {
		t.Fatalf("%s %+v %v", res.Status, record.WaitFor, err)
	}
	p.now = p.now.Add(48 * time.Hour)
	rt, _, _ := p.open()
	for name, forged := range map[string]continuation.Trigger{
		"another question": {Kind: continuation.ApprovalResolution, ApprovalID: "x", Decision: continuation.Approved},
		"another session":  {Kind: continuation.ApprovalResolution, SessionID: "chat-2", ApprovalID: record.WaitFor.ApprovalID, Decision: continuation.Approved},
		"a message":        {Kind: continuation.UserReply, Message: &execution.Message{ID: "m", Text: "yes, do it"}},
	} {
		if _, _, err := rt.Resume(t.Context(), record.ID, forged); !errors.Is(err, continuation.ErrMismatch) || p.wrote() {
			t.Errorf("%s: %v", name, err)
		}
	}
	yes := continuation.Trigger{Kind: continuation.ApprovalResolution, SessionID: "chat-1", ApprovalID: record.WaitFor.ApprovalID, Decision: continuation.Approved, By: "ann"}
	after, res, err := rt.Resume(t.Context(), record.ID, yes)
	if err != nil || res.Status != execution.StatusCompleted || after.Status != continuation.Completed || !p.wrote() || len(p.delivered) != 1 || p.delivered[0] != "It is written." {
		t.Fatalf("%s %s %+v %v", after.Status, res.Status, res.Error, err)
	}
	if err := os.Remove(filepath.Join(p.dir, "note.txt")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := rt.Resume(t.Context(), record.ID, yes); !errors.Is(err, continuation.ErrFinal) || p.wrote() {
		t.Errorf("a second answer: %v", err)
	}
}

func TestProductIsDenied(t *testing.T) {
	p := newProduct(t, writesNote)
	_, record, err := p.ask("write the note")
	if err != nil {
		t.Fatal(err)
	}
	rt, _, _ := p.open()
	no := continuation.Trigger{Kind: continuation.ApprovalResolution, ApprovalID: record.WaitFor.ApprovalID, Decision: continuation.Denied}
	if after, _, err := rt.Resume(t.Context(), record.ID, no); err != nil || after.Reason != continuation.ApprovalDenied || p.wrote() || len(p.delivered) != 0 {
		t.Errorf("%+v %v", after, err)
	}
	p = newProduct(t, writesNote)
	if _, record, err = p.ask("write the note"); err != nil {
		t.Fatal(err)
	}
	p.now = p.now.Add(73 * time.Hour)
	rt, _, _ = p.open()
	late := continuation.Trigger{Kind: continuation.ApprovalResolution, ApprovalID: record.WaitFor.ApprovalID, Decision: continuation.Approved}
	if _, _, err := rt.Resume(t.Context(), record.ID, late); !errors.Is(err, continuation.ErrExpired) || p.wrote() {
		t.Errorf("%v", err)
	}
}

// TestProductAsksBack: a question of the model is answered by the next message, and a policy keeps a turn from running at all.
func TestProductAsksBack(t *testing.T) {
	p := newProduct(t, `{"turns":[{"match":{"contains":"ask me"},"tools":[{"name":"ask","input":{"question":"Which one?"}}]},{"text":"The red one it is.","repeat":true}]}`)
	res, record, err := p.ask("ask me")
	if err != nil || res.Status != execution.StatusNeedsClarification || record.WaitFor.Kind != continuation.UserReply {
		t.Fatalf("%s %+v %v %+v", res.Status, record, err, res.Error)
	}
	rt, _, _ := p.open()
	after, res, err := rt.Resume(t.Context(), record.ID, continuation.Trigger{Kind: continuation.UserReply, SessionID: "chat-1", Message: &execution.Message{ID: "m2", Text: "the red one"}})
	if err != nil || after.Status != continuation.Completed || len(p.delivered) != 1 || p.delivered[0] != "The red one it is." {
		t.Errorf("%+v %s %+v %v", after, res.Status, res.Error, err)
	}
	before := len(p.audit)
	_, _, err = p.ask("something forbidden")
	var refused *policy.Refused
	if !errors.As(err, &refused) || refused.Decision.Reason != "not this" || len(p.audit) != before+1 {
		t.Errorf("%v, audit %+v", err, p.audit)
	}
}

// TestProductOfAllParts is the whole way of a message: surface, conversation, traits, memory, specialists, policy, routing, the turn, its memory, the answer
// on the surface, and a reminder days later.
func TestProductOfAllParts(t *testing.T) {
	p := newProduct(t, `{"turns":[{"match":{"contains":"Monday"},"text":"Come on Monday.","repeat":true},{"text":"I do not know.","repeat":true}]}`)
	ctx := t.Context()
	store, err := memory.OpenSQLite(ctx, filepath.Join(t.TempDir(), "memory.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	now := func() time.Time { return p.now }
	remembered, chats := memory.Memory{Store: store, Now: now}, chat.Sessions{Store: &chat.Memory{}, Now: now}
	var surfaces surface.Registry
	var shown []string
	if err := surfaces.Register(surface.Surface{ID: "phone", Capabilities: surface.Capabilities{MaxChars: 40}, Send: func(_ context.Context, e surface.Event) error {
		shown = append(shown, e.Text)
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	character, _, err := traits.New(turncontext.Traits{Voice: "concise", Formality: "casual", Proactivity: "medium", Risk: "cautious"}, map[string]traits.Hints{"phone": {MaxChars: 40}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remembered.Write(ctx, memory.Entry{Scope: memory.Scope{Kind: memory.User, ID: "ann"}, Content: "Ann is free on Mondays."}); err != nil {
		t.Fatal(err)
	}
	team := coordination.Coordinator{Specialists: []coordination.Specialist{{Name: "clerk", Do: func(context.Context, coordination.Task) (coordination.Result, error) {
		return coordination.Result{Output: "The shop opens on Monday.", Status: coordination.Complete}, nil
	}}}}
	_, gate, run := p.open()

	message, err := surface.Normalize("phone", map[string]any{"user": "ann", "text": "When may I come on a Monday?"}, p.now)
	if err != nil {
		t.Fatal(err)
	}
	session, err := chats.Resolve(ctx, message.UserID, "shop", message.SurfaceID)
	if err != nil {
		t.Fatal(err)
	}
	if err := gate.Check(ctx, policy.Action{Type: "turn", Description: message.Text}); err != nil {
		t.Fatal(err)
	}
	memos, err := team.Run(ctx, coordination.Plan{Intent: "answer", Steps: []coordination.Step{{Specialist: "clerk", Instruction: message.Text}}})
	if err != nil {
		t.Fatal(err)
	}
	assembly, err := turncontext.Assembler{Retrieve: remembered.Candidates("shop", message.Text)}.Assemble(ctx, turncontext.Input{AssistantID: "bot", TurnID: "turn-1", SessionID: session.ID,
		UserID: message.UserID, Identity: turncontext.Identity{SystemPrompt: "You serve.", Traits: character.Traits()}, Enrichment: memos.Memos()})
	if err != nil || len(assembly.Used(turncontext.FromMemory)) != 1 || len(assembly.Used(turncontext.FromEnrichment)) != 1 {
		t.Fatalf("%+v %v", assembly, err)
	}
	worth, err := (routing.Policy{}).Decide(routing.Turn{Cost: memos.CostUSD})
	if err != nil || worth.Mode != routing.Fast {
		t.Fatalf("%+v %v", worth, err)
	}
	res, err := run(ctx, assembly.Request(execution.Message{ID: message.ID, Text: execution.Prompt(message.Text), ReceivedAt: message.ReceivedAt}, turncontext.With{ResponseStyle: character.Style("phone")}))
	if err != nil || res.Status != execution.StatusCompleted || res.CorrelationID != session.ID || res.TurnID != "turn-1" {
		t.Fatalf("%s %+v %v", res.Status, res.Error, err)
	}
	if _, err := surfaces.Fanout(ctx, surface.Event{SessionID: session.ID, Text: res.Output.Text}, session.Surfaces, surface.Fanout{}); err != nil || len(shown) != 1 || shown[0] != "Come on Monday." {
		t.Fatalf("%q %v", shown, err)
	}
	entry, err := remembered.Write(ctx, memory.Entry{Scope: memory.Scope{Kind: memory.Session, ID: session.ID}, Content: "Ann was told to come on Monday."})
	if err == nil {
		_, err = remembered.Promote(ctx, entry.ID, memory.Scope{Kind: memory.User, ID: "ann"}, true)
	}
	if err != nil {
		t.Fatal(err)
	}

	p.now = p.now.Add(72 * time.Hour)
	if swept, err := chats.Sweep(ctx); err != nil || len(swept) != 1 {
		t.Fatalf("%v %v", swept, err)
	}
	engine := proactive.New(proactive.Options{Now: now})
	if err := engine.Add(proactive.FollowUp{ID: "remind", Template: "Shall we still expect you?", Condition: func(ctx context.Context, m proactive.Moment) (bool, error) {
		s, err := chats.Store.Get(ctx, m.SessionID)
		return s.State == chat.Suspended, err
	}}); err != nil {
		t.Fatal(err)
	}
	decisions, err := engine.FollowUps(ctx, proactive.Moment{SessionID: session.ID, ScheduledAt: p.now, LastActivityAt: session.LastActivityAt})
	if err != nil || len(decisions) != 1 || !decisions[0].Fire || decisions[0].Mode != routing.Cheap {
		t.Fatalf("%+v %v", decisions, err)
	}
	if err := gate.Check(ctx, policy.Action{Type: "reminder", Description: decisions[0].Template, Proactive: true}); err != nil {
		t.Error(err)
	}
}
