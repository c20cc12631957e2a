package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// worker has a turn with a tool and two messages, a second apart, and takes what it is told in between. Then it chats.
func worker(c *at.Call) execution.Result {
	opened(c)
	log := []string{}
	listen := func(moment string) {
		_ = c.Sleep(time.Second)
		for {
			cmd, ok := c.Poll()
			if !ok {
				return
			}
			if say, ok := cmd.(execution.Say); ok {
				c.Emit(execution.InputTaken{ID: say.ID, Steered: true})
				log = append(log, moment+":"+say.Text)
			}
		}
	}
	listen("start")
	c.Emit(execution.ToolCallReady{ToolCallID: "t", ToolName: "look"})
	listen("tool")
	c.Emit(execution.ToolResultEvent{ToolCallID: "t", ToolName: "look"})
	listen("result")
	c.Say("m")
	listen("message")
	ended(c)
	for {
		cmd, err := c.Next()
		if err != nil {
			break
		}
		if say, ok := cmd.(execution.Say); ok {
			c.Emit(execution.InputTaken{ID: say.ID}, execution.TurnStart{})
			_ = c.Sleep(time.Second)
			log = append(log, "turn:"+say.Text)
			ended(c)
		}
		if _, ok := cmd.(execution.EndInput); ok {
			break
		}
	}
	res := at.Completed()
	res.Metadata = map[string]any{"log": strings.Join(log, " ")}
	return res
}

func TestDelivery(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		at   time.Duration
		say  func(*agent.Run) (execution.InputID, error)
		want string
	}{
		{"send", 0, func(r *agent.Run) (execution.InputID, error) { return r.Send("x", "") }, "start:x"},
		{"send now", 1500 * time.Millisecond, func(r *agent.Run) (execution.InputID, error) { return r.Send("x", execution.WhenNow) }, "tool:x"},
		{"send next turn", 0, func(r *agent.Run) (execution.InputID, error) { return r.Send("x", execution.WhenNextTurn) }, "turn:x"},
		{"send after tool", 0, func(r *agent.Run) (execution.InputID, error) { return r.Send("x", execution.WhenAfterTool) }, "result:x"},
		{"send after response", 0, func(r *agent.Run) (execution.InputID, error) { return r.Send("x", execution.WhenAfterResponse) }, "message:x"},
		{"steer", 0, func(r *agent.Run) (execution.InputID, error) { return r.Steer("x", "") }, "message:x"},
		{"steer after tool", 0, func(r *agent.Run) (execution.InputID, error) { return r.Steer("x", execution.WhenAfterTool) }, "result:x"},
		{"steer after tool, no more tools", 2500 * time.Millisecond, func(r *agent.Run) (execution.InputID, error) { return r.Steer("x", execution.WhenAfterTool) }, "message:x"},
		{"steer after response, too late", 3500 * time.Millisecond, func(r *agent.Run) (execution.InputID, error) { return r.Steer("x", "") }, "turn:x"},
		{"queue", 0, func(r *agent.Run) (execution.InputID, error) { return r.Queue("x", "") }, "turn:x"},
		{"queue after tool", 0, func(r *agent.Run) (execution.InputID, error) { return r.Queue("x", execution.WhenAfterTool) }, "result:x"},
		{"continue", 0, func(r *agent.Run) (execution.InputID, error) { return r.Continue("x") }, "turn:x"},
		{"between turns", time.Minute, func(r *agent.Run) (execution.InputID, error) { return r.Queue("x", "") }, "turn:x"},
		{"steer between turns", time.Minute, func(r *agent.Run) (execution.InputID, error) { return r.Steer("x", "") }, "turn:x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := start(t, backend(worker), conversation(), agent.Options{})
				time.Sleep(tt.at + time.Millisecond)
				id, err := tt.say(r)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Minute)
				r.CloseInput()
				r.CloseInput()
				res, events := finish(t, r)
				want(t, res, execution.StatusCompleted, "")
				if res.Metadata["log"] != tt.want {
					t.Errorf("got %q, want %q", res.Metadata["log"], tt.want)
				}
				if q := bodies[execution.InputQueued](events); len(q) != 1 || q[0].ID != id || q[0].Text != "x" {
					t.Errorf("queued: %+v", q)
				}
			})
		})
	}
}

func TestSayErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, backend(chat), conversation(), agent.Options{})
		code := func(_ execution.InputID, err error) execution.ErrorCode { return execution.CodeOf(err) }
		for what, got := range map[string]execution.ErrorCode{
			"empty": code(r.Send(" \n", "")), "send at a wrong moment": code(r.Send("x", "later")),
			"queue at a wrong moment": code(r.Queue("x", "later")), "steer at a wrong moment": code(r.Steer("x", "later")),
		} {
			if got != execution.CodeValidation {
				t.Errorf("%s: %s", what, got)
			}
		}
		r.CloseInput()
		if got := code(r.Send("x", "")); got != execution.CodeStdinNotAvailable && got != execution.CodeRunNotActive {
			t.Errorf("closed: %s", got)
		}
		finish(t, r)
		for _, got := range []execution.ErrorCode{code(r.Send("x", "")), code(r.Queue("x", "")), code(r.Steer("x", "")), code(r.Continue("x"))} {
			if got != execution.CodeRunNotActive {
				t.Errorf("after the end: %s", got)
			}
		}
		one := start(t, backend(hang), request("x"), agent.Options{})
		synctest.Wait()
		if got := code(one.Send("x", "")); got != execution.CodeStdinNotAvailable {
			t.Errorf("not a conversation: %s", got)
		}
		one.Abort(nil)
		finish(t, one)
		mute := start(t, declaring(hang, func(c *execution.Capabilities) { c.Agent.Verbs = nil }), conversation(), agent.Options{})
		synctest.Wait()
		for _, got := range []execution.ErrorCode{code(mute.Send("x", "")), code(mute.Queue("x", "")), code(mute.Steer("x", "")), code(mute.Continue("x"))} {
			if got != execution.CodeCapability {
				t.Errorf("undeclared: %s", got)
			}
		}
		mute.Abort(nil)
		finish(t, mute)
	})
}

// TestCloseInputWithQueue ends after what is queued, one turn each.
func TestCloseInputWithQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, backend(worker), conversation(), agent.Options{})
		for _, text := range []string{"a", "b", "c"} {
			if _, err := r.Queue(text, ""); err != nil {
				t.Fatal(err)
			}
		}
		r.CloseInput()
		res, events := finish(t, r)
		if res.Metadata["log"] != "turn:a turn:b turn:c" || res.TurnCount != 4 {
			t.Errorf("got %v, %d turns", res.Metadata["log"], res.TurnCount)
		}
		if n := len(bodies[execution.InputTaken](events)); n != 3 {
			t.Errorf("%d taken", n)
		}
	})
}

// TestQueueIsCancelled tells what became of messages that nobody took.
func TestQueueIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, backend(hang), conversation(), agent.Options{})
		synctest.Wait()
		var ids []execution.InputID
		for _, when := range []execution.When{execution.WhenNow, execution.WhenNextTurn} { // one is handed over, one waits
			id, err := r.Send("x", when)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		synctest.Wait()
		r.Abort(nil)
		_, events := finish(t, r)
		var cancelled []execution.InputID
		for _, b := range bodies[execution.InputCancelled](events) {
			cancelled = append(cancelled, b.ID)
		}
		if !slices.Equal(cancelled, ids) {
			t.Errorf("cancelled %v, want %v", cancelled, ids)
		}
	})
}

// TestSubAgentsEndNoTurn: what waits for the end of the turn waits for the agent's own.
func TestSubAgentsEndNoTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		early := false
		b := backend(func(c *at.Call) execution.Result {
			opened(c)
			_ = c.Sleep(time.Second)
			c.EmitFrom("t", execution.TurnEnd{Reason: execution.TurnCompleted})
			_ = c.Sleep(time.Second)
			for {
				cmd, ok := c.Poll()
				if say, said := cmd.(execution.Say); said {
					early = true
					c.Emit(execution.InputTaken{ID: say.ID, Steered: true})
				}
				if !ok {
					break
				}
			}
			ended(c)
			return at.Completed()
		})
		r := start(t, b, conversation(), agent.Options{})
		synctest.Wait()
		if _, err := r.Queue("x", ""); err != nil {
			t.Fatal(err)
		}
		finish(t, r)
		if early {
			t.Error("the message came before the end of the turn")
		}
	})
}

// TestRefusedMessage goes on with the next one, and ends.
func TestRefusedMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := backend(func(c *at.Call) execution.Result {
			opened(c)
			_ = c.Sleep(time.Second)
			ended(c)
			for {
				cmd, err := c.Next()
				if err != nil {
					return at.Failed(execution.CodeAborted, err.Error())
				}
				switch cmd := cmd.(type) {
				case execution.Say:
					if cmd.Text == "bad" {
						c.Emit(execution.InputCancelled{ID: cmd.ID, Reason: "cannot"})
						continue
					}
					c.Emit(execution.InputTaken{ID: cmd.ID}, execution.TurnStart{})
					c.Say(cmd.Text)
					ended(c)
				case execution.EndInput:
					return at.Completed()
				}
			}
		})
		r := start(t, b, conversation(), agent.Options{MaxElapsed: time.Hour})
		for _, text := range []string{"bad", "good", "bad"} {
			if _, err := r.Queue(text, ""); err != nil {
				t.Fatal(err)
			}
		}
		r.CloseInput()
		res, events := finish(t, r)
		want(t, res, execution.StatusCompleted, "")
		if res.Text != "good" || len(bodies[execution.InputCancelled](events)) != 2 {
			t.Errorf("got %q, %v", res.Text, types(events))
		}
	})
}

// TestQueuedBeforeTaken races senders against an agent that takes messages at once.
func TestQueuedBeforeTaken(t *testing.T) {
	t.Parallel()
	for range 50 {
		r := start(t, backend(chat), conversation(), agent.Options{})
		done := make(chan struct{})
		for i := range 4 {
			go func() {
				defer func() { done <- struct{}{} }()
				for j := range 5 {
					if _, err := r.Send(fmt.Sprint(i, j), ""); err != nil {
						t.Error(err)
					}
				}
			}()
		}
		for range 4 {
			<-done
		}
		r.CloseInput()
		res, events := finish(t, r)
		if n := len(bodies[execution.InputTaken](events)); n != 20 || res.TurnCount != 21 {
			t.Fatalf("%d taken, %d turns", n, res.TurnCount)
		}
	}
}

// TestQueuedBeforeTakenByAnIdleAgent: an agent that waits takes a message at once.
func TestQueuedBeforeTakenByAnIdleAgent(t *testing.T) {
	t.Parallel()
	turns := make(chan struct{}, 1)
	r := start(t, backend(chat), conversation(), agent.Options{Handlers: []agent.Handler{agent.On(func(execution.Event, execution.TurnEnd) { turns <- struct{}{} })}})
	for range 3000 {
		<-turns
		if _, err := r.Send("x", ""); err != nil {
			t.Fatal(err)
		}
	}
	<-turns
	r.CloseInput()
	finish(t, r)
}
