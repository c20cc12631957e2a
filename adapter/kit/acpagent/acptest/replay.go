package acptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// message is one line of a transcript, {"dir":"c2a"|"a2c","msg":{...}}, from client to agent or back.
type message struct {
	Dir string          `json:"dir"`
	Msg json.RawMessage `json:"msg"`
}

type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Prompt  []struct{ Text string } `json:"prompt"`
		Options []struct {
			ID   string `json:"optionId"`
			Kind string `json:"kind"`
		} `json:"options"`
	} `json:"params"`
	Result struct {
		Outcome struct {
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	} `json:"result"`
}

// replay plays a transcript's agent to a parser, and repeats its client's actions.
type replay struct {
	t        testing.TB
	parser   cliagent.Parser
	sink     *cliagent.Sink
	log      strings.Builder
	events   []execution.Event
	asked    map[string][]string // ids of our requests not yet reached in the transcript, by method
	ids      map[string]string   // our ids by the transcript's
	kinds    map[string]string   // of permission options, by request and option
	said     int
	prompted bool
}

// Replay runs a spec's parser over a recorded conversation: it gets the agent's lines, and the client's prompts,
// permission answers and cancellation as commands. It returns the events, the result, and a log of events and written
// lines. Requests that the recorded client made and the parser does not make, and their replies, are omitted. Package
// agent's events about answers and messages are included.
func Replay(t testing.TB, spec acpagent.Spec, req execution.Request, transcript []byte) ([]execution.Event, execution.Result, string) {
	t.Helper()
	r := &replay{t: t, parser: spec.NewParser(req), sink: cliagent.NewSink(false), asked: map[string][]string{}, ids: map[string]string{}, kinds: map[string]string{}}
	r.parser.Open(r.sink)
	r.collect()
	for line := range bytes.Lines(transcript) {
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("a line of the transcript is not a message: %v: %.200s", err, line)
		}
		var e envelope
		switch err := json.Unmarshal(m.Msg, &e); {
		case err != nil && m.Dir == "c2a":
			t.Fatalf("a line of the transcript is not a message: %v: %.200s", err, line)
		case err != nil: // a damaged line, which the parser must handle
			r.parser.Line(process.Stdout, m.Msg, r.sink)
		case m.Dir == "c2a":
			r.client(e)
		default:
			r.agent(m.Msg, e)
		}
		r.collect()
	}
	r.command(execution.EndInput{})
	res := r.parser.Exit(process.Exit{}, r.sink)
	r.collect()
	b, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&r.log, "result %s\n", b)
	return r.events, res, r.log.String()
}

// Said returns the part of a transcript's line that the agent sent, empty for the client's lines.
func Said(line []byte) (from, to int) {
	head := []byte(`{"dir":"a2c","msg":`)
	if !bytes.HasPrefix(line, head) {
		return 0, 0
	}
	return len(head), bytes.LastIndexByte(line, '}')
}

// client repeats an action of the recorded client.
func (r *replay) client(e envelope) {
	switch {
	case e.Method == "":
		id := string(e.ID)
		option := e.Result.Outcome.OptionID
		if kind := r.kinds[id+"/"+option]; kind != "" {
			for _, event := range r.events {
				if q, ok := event.Body.(execution.ApprovalRequired); ok && strings.HasSuffix(string(q.ID), "/"+strings.Trim(id, `"`)) {
					if strings.HasPrefix(kind, "allow") {
						r.add(execution.Event{Body: execution.ApprovalGranted{ID: q.ID}})
					} else {
						r.add(execution.Event{Body: execution.ApprovalDenied{ID: q.ID, ToolName: q.ToolName}})
					}
					r.command(execution.Answer{ID: q.ID, Decision: execution.Decision{Approve: strings.HasPrefix(kind, "allow"), Text: option}})
				}
			}
		}
	case e.ID == nil:
		if e.Method == "session/cancel" {
			r.command(execution.Interrupt{})
		}
	default:
		if a, ok := r.parser.(cliagent.Alarmed); ok && e.Method == "session/prompt" && !r.prompted && len(r.asked[e.Method]) == 0 {
			a.Alarm(r.sink) // the agent is silent after showing a loaded session's history
			r.collect()
		}
		r.prompted = r.prompted || e.Method == "session/prompt"
		if e.Method == "session/prompt" && len(r.asked[e.Method]) == 0 {
			var text []string
			for _, p := range e.Params.Prompt {
				text = append(text, p.Text)
			}
			r.said++
			say := execution.Say{ID: execution.InputID(fmt.Sprintf("said-%d", r.said)), Text: strings.Join(text, "\n"), When: execution.WhenNow}
			r.add(execution.Event{Body: execution.InputQueued(say)})
			r.command(say)
		}
		if waiting := r.asked[e.Method]; len(waiting) > 0 {
			r.ids[string(e.ID)], r.asked[e.Method] = waiting[0], waiting[1:]
		}
	}
}

// agent passes on a line of the recorded agent, with our ids in place of the recorded ones.
func (r *replay) agent(line []byte, e envelope) {
	if e.Method == "" {
		id, ok := r.ids[string(e.ID)]
		if !ok {
			return
		}
		var v map[string]json.RawMessage
		if err := json.Unmarshal(line, &v); err != nil {
			r.t.Fatal(err)
		}
		v["id"] = json.RawMessage(id)
		line, _ = json.Marshal(v) // was parsed before
	}
	for _, o := range e.Params.Options {
		r.kinds[string(e.ID)+"/"+o.ID] = o.Kind
	}
	r.parser.Line(process.Stdout, line, r.sink)
}

func (r *replay) command(c execution.Command) {
	r.collect()
	if err := r.parser.Command(c, r.sink); err != nil {
		fmt.Fprintf(&r.log, "! %T: %v\n", c, err)
	}
	r.collect()
}

func (r *replay) add(e execution.Event) {
	b, err := json.Marshal(e.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	kind := string(e.Body.Type())
	if e.Parent != "" {
		kind += " from " + e.Parent
	}
	fmt.Fprintf(&r.log, "%s %s\n", kind, b)
	r.events = append(r.events, e)
}

// collect takes the parser's events and writes.
func (r *replay) collect() {
	for _, e := range r.sink.Take() {
		r.add(e)
	}
	for _, w := range r.sink.TakeWrites() {
		var e envelope
		if err := json.Unmarshal(w, &e); err != nil {
			r.t.Fatalf("the parser wrote invalid JSON: %v: %s", err, w)
		}
		if e.Method != "" && e.ID != nil {
			r.asked[e.Method] = append(r.asked[e.Method], string(e.ID))
		}
		fmt.Fprintf(&r.log, "> %s\n", bytes.TrimSpace(w))
	}
}

// CheckOrder checks the events of a replay against the ordering contract.
func CheckOrder(t testing.TB, events []execution.Event) {
	t.Helper()
	var stream []execution.Event
	res := execution.Result{RunID: "r", Status: execution.StatusDeferred}
	turn := 0
	add := func(e execution.Event) {
		e.Seq, e.Time, e.RunID, e.Agent, e.Turn = uint64(len(stream)+1), time.Unix(0, 0), "r", "acp", max(0, turn-1)
		stream = append(stream, e)
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case execution.TurnStart:
			turn++
			res.TurnCount++
		case execution.TextDelta:
			if e.Parent == "" {
				res.Text += b.Delta
			}
		case execution.TokenUsage:
			u := execution.Usage{Input: b.InputTokens, Output: b.OutputTokens, Thinking: b.ThinkingTokens, Cached: b.CachedTokens, CacheWrite: b.CacheWriteTokens,
				Total: b.InputTokens + b.OutputTokens + b.CachedTokens + b.CacheWriteTokens}
			if res.Usage != nil {
				u = u.Add(*res.Usage)
			}
			res.Usage = &u
		case execution.CostEvent:
			usd := *b.Cost.TotalUSD
			if res.Cost != nil {
				usd += *res.Cost.TotalUSD
			}
			res.Cost = &execution.Cost{TotalUSD: &usd}
		}
		add(e)
	}
	add(execution.Event{Body: execution.Finished{Result: res}})
	if err := adaptertest.CheckOrder(stream, res); err != nil {
		t.Error(err)
	}
}
