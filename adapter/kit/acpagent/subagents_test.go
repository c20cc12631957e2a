package acpagent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// delegating is an agent whose calls named "helper" start sub-agents, and whose updates name the call they are about as "of".
func delegating() acpagent.Spec {
	return acpagent.Spec{
		Steps:    true,
		ToolName: func(c *acpagent.ToolCall) string { return c.MetaField("tool").Str() },
		Parent:   func(u jsonscan.Value) string { return u.Get("_meta").Get("of").Str() },
		Subagent: func(c *acpagent.ToolCall) (acpagent.Subagent, bool) {
			if !c.MetaField("tool").IsStr("helper") {
				return acpagent.Subagent{}, false
			}
			a := acpagent.Subagent{Name: c.InputField("name"), Prompt: c.InputField("prompt"), Summary: c.Text(), Failure: c.MetaField("broke").Str()}
			a.Running, _ = c.MetaField("behind").Bool()
			return a, true
		},
		Notice: func(u jsonscan.Value) (acpagent.Notice, bool) {
			text := u.Get("content").Get("text").Str()
			n := acpagent.Notice{Message: text, Call: u.Get("_meta").Get("ended").Str()}
			if n.End.Summary = text; strings.Contains(text, "broke") {
				n.End.Failure = text
			}
			return n, u.Get("_meta").Get("own").Exists()
		},
	}
}

// told are the events in short, with who they are of, from the first turn on. Pieces of texts are left out.
func told(k *talk) []string {
	var list []string
	for _, e := range k.seen {
		var text string
		switch b := e.Body.(type) {
		case execution.SessionStart, execution.TurnStart, execution.MessageStart, execution.TextDelta, execution.ThinkingStart, execution.ThinkingDelta:
			continue
		case execution.MessageStop:
			text = "said " + b.Text
		case execution.ThinkingStop:
			text = "thought " + b.Thinking
		case execution.TokenUsage:
			text = fmt.Sprint("used ", b.InputTokens)
		case execution.ToolCallStart:
			text = "start " + b.ToolCallID + " " + b.ToolName
		case execution.ToolCallReady:
			text = "ready " + b.ToolCallID
		case execution.ToolResultEvent:
			text = "result " + b.ToolCallID
		case execution.ToolError:
			text = "error " + b.ToolCallID + " " + b.Error
		case execution.SubagentSpawn:
			text = "spawn " + b.SubagentID + " " + b.AgentName + " " + b.Prompt
		case execution.SubagentResult:
			text = "spawned result " + b.SubagentID + " " + b.AgentName + " " + b.Summary
		case execution.SubagentError:
			text = "spawned error " + b.SubagentID + " " + b.AgentName + " " + b.Error
		case execution.ShellStart:
			text = "shell " + b.Command
		case execution.FileRead:
			text = "read " + b.Path
		case execution.Debug:
			text = "note " + b.Message
		case execution.TurnEnd:
			text = "turn " + string(b.Reason) + " " + b.Text
		default:
			text = string(e.Body.Type())
		}
		if e.Parent != "" {
			text = e.Parent + ": " + text
		}
		list = append(list, text)
	}
	return list
}

func piece(text, meta string) string {
	return fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q},"_meta":{%s}}`, text, meta)
}

func thought(text, meta string) string {
	return strings.Replace(piece(text, meta), "agent_message_chunk", "agent_thought_chunk", 1)
}

// end is the end of a model call.
func end(meta string) string {
	return piece("", strings.TrimSuffix(`"usage":{"inputTokens":10,"outputTokens":1},`+meta, ","))
}

func helper(id, status, meta string) string {
	return fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":%q,"title":"x","kind":"other","status":%q,"rawInput":{"name":"scout","prompt":"look"},"_meta":{"tool":"helper"%s}}`, id, status, meta)
}

func helperEnds(id, status, text, meta string) string {
	return fmt.Sprintf(`{"sessionUpdate":"tool_call_update","toolCallId":%q,"status":%q,"content":[{"type":"content","content":{"type":"text","text":%q}}],"_meta":{%s}}`, id, status, text, meta)
}

const (
	begun = "start c1 helper, ready c1, spawn c1 scout look"
	over  = `{"stopReason":"end_turn"}`
)

// TestSubagents: what a sub-agent says and does is its own, under the call that started it, and that call says how it ended.
func TestSubagents(t *testing.T) {
	t.Parallel()
	readByC1 := `{"sessionUpdate":"tool_call","toolCallId":"c2","title":"x","kind":"read","status":"completed","locations":[{"path":"/a"}],"_meta":{"tool":"read","of":"c1"}}`
	for _, tt := range []struct {
		name    string
		updates []string
		answer  string
		want    string // events, without the steps
		steps   int
		text    string
	}{
		{name: "text and thoughts", updates: []string{piece("I ask.", ""), helper("c1", "in_progress", ""), end(""), thought("hm", `"of":"c1"`), piece("in", `"of":"c1"`), piece("side", `"of":"c1"`), end(`"of":"c1"`),
			helperEnds("c1", "completed", "inside", `"tool":"helper"`), piece("Done.", ""), end("")}, answer: over, steps: 2, text: "Done.",
			want: "said I ask., " + begun + ", used 10, c1: thought hm, c1: said inside, c1: used 10, spawned result c1 scout inside, result c1, said Done., used 10, turn completed Done."},
		{name: "calls", updates: []string{helper("c1", "in_progress", ""), end(""), piece("I read.", `"of":"c1"`), readByC1, helperEnds("c1", "completed", "read it", `"tool":"helper"`)}, answer: over, steps: 1,
			want: begun + ", used 10, c1: said I read., c1: start c2 read, c1: ready c2, c1: result c2, c1: read /a, spawned result c1 scout read it, result c1, turn completed "},
		{name: "two at once", updates: []string{helper("c1", "in_progress", ""), helper("c3", "in_progress", ""), end(""), piece("a1", `"of":"c1"`), piece("b1", `"of":"c3"`), piece("a2", `"of":"c1"`), piece("b2", `"of":"c3"`)}, answer: over, steps: 1,
			want: begun + ", start c3 helper, ready c3, spawn c3 scout look, used 10, c1: said a1a2, c3: said b1b2, turn completed "},
		{name: "one starts another", updates: []string{helper("c1", "in_progress", ""), end(""), helper("c3", "in_progress", `,"of":"c1"`), piece("deep", `"of":"c3"`), helperEnds("c3", "completed", "deep", `"tool":"helper","of":"c1"`),
			helperEnds("c1", "completed", "up", `"tool":"helper"`)}, answer: over, steps: 1,
			want: begun + ", used 10, c1: start c3 helper, c1: ready c3, c1: spawn c3 scout look, c3: said deep, c1: spawned result c3 scout deep, c1: result c3, spawned result c1 scout up, result c1, turn completed "},
		{name: "a failed call", updates: []string{helper("c1", "in_progress", ""), end(""), helperEnds("c1", "failed", "no", `"tool":"helper"`)}, answer: over, steps: 1,
			want: begun + ", used 10, spawned error c1 scout no, error c1 no, turn completed "},
		{name: "a failure that the call does not show", updates: []string{helper("c1", "in_progress", ""), end(""), helperEnds("c1", "completed", "no", `"tool":"helper","broke":"why"`)}, answer: over, steps: 1,
			want: begun + ", used 10, spawned error c1 scout why, result c1, turn completed "},
		{name: "interrupted, when the last update does not say what it is about", updates: []string{helper("c1", "in_progress", ""), end(""), piece("half", `"of":"c1"`), helperEnds("c1", "in_progress", "at work", `"progress":true`)},
			answer: `{"stopReason":"cancelled"}`, steps: 1,
			want: begun + ", used 10, c1: said half, spawned error c1 scout the turn was interrupted, error c1 the turn was interrupted, turn interrupted "},
		{name: "behind its call", updates: []string{helper("c1", "in_progress", ""), end(""), helperEnds("c1", "completed", "started", `"tool":"helper","behind":true`), piece("I wait.", ""), piece("c1 is over", `"own":1,"ended":"c1"`), piece("c1 is over", `"own":1,"ended":"c1"`),
			piece("Good.", ""), end("")}, answer: over, steps: 2, text: "Good.",
			want: begun + ", used 10, result c1, said I wait., spawned result c1 scout c1 is over, note c1 is over, said Good., used 10, turn completed Good."},
		{name: "behind its call, and fails", updates: []string{helper("c1", "in_progress", ""), end(""), helperEnds("c1", "completed", "started", `"tool":"helper","behind":true`), piece("c1 broke", `"own":1,"ended":"c1"`)}, answer: over, steps: 1,
			want: begun + ", used 10, result c1, spawned error c1 scout c1 broke, turn completed "},
		{name: "what a sub-agent says is never the program's own", updates: []string{helper("c1", "in_progress", ""), end(""), piece("mine", `"own":1,"of":"c1"`)}, answer: over, steps: 1,
			want: begun + ", used 10, c1: said mine, turn completed "},
		{name: "a note of the program", updates: []string{piece("a", ""), piece("by the way", `"own":1`), piece("b", ""), end("")}, answer: over, steps: 1, text: "b",
			want: "said a, note by the way, said b, used 10, turn completed b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := opened(t, delegating(), newRequest("hi"))
			for _, u := range tt.updates {
				k.update(u)
			}
			if strings.Contains(tt.answer, "cancelled") {
				k.must(execution.Interrupt{})
			}
			k.reply(tt.answer)
			var got []string
			steps := 0
			for _, line := range told(k) {
				switch line {
				case string(execution.StepStart{}.Type()):
				case string(execution.StepEnd{}.Type()):
					steps++
				default:
					got = append(got, line)
				}
			}
			if diff := cmp.Diff(strings.Split(tt.want, ", "), got); diff != "" {
				t.Error(diff)
			}
			if steps != tt.steps {
				t.Errorf("%d steps of the agent itself, want %d", steps, tt.steps)
			}
			res := k.exit()
			if res.Output == nil {
				res.Output = &execution.Output{}
			}
			if res.Output.Text != tt.text {
				t.Errorf("the answer is %q, want %q", res.Output.Text, tt.text)
			}
			if n := k.sink.UnknownLines(); n != 0 {
				t.Errorf("%d lines are unknown", n)
			}
		})
	}
}

// TestSubagentAsks: a permission that a sub-agent asks for is its own, and one that is refused ends the sub-agent whose start it was.
func TestSubagentAsks(t *testing.T) {
	t.Parallel()
	const options = `[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}]`
	k := opened(t, delegating(), newRequest("hi"))
	k.update(helper("c1", "in_progress", ""))
	k.ask(`{"toolCallId":"c2","title":"x","kind":"execute","status":"pending","rawInput":{"command":"ls"},"_meta":{"tool":"shell","of":"c1"}}`, options)
	q := one[execution.ApprovalRequired](k)
	for _, e := range k.seen {
		if e.Body.Type() == q.Type() && e.Parent != "c1" {
			t.Errorf("the question is of %q", e.Parent)
		}
	}
	k.must(execution.Answer{ID: q.ID, Decision: execution.Decision{Approve: true}})
	if list := told(k); list[len(list)-1] != "c1: shell ls" {
		t.Errorf("%q", list)
	}

	k = opened(t, delegating(), newRequest("hi"))
	k.ask(strings.Replace(helper("c1", "pending", ""), `"sessionUpdate":"tool_call",`, "", 1), options)
	k.must(execution.Answer{ID: one[execution.ApprovalRequired](k).ID, Decision: execution.Decision{Reason: "no"}})
	if e := one[execution.SubagentError](k); e.SubagentID != "c1" || e.AgentName != "scout" || e.Error != "no" {
		t.Errorf("%+v", e)
	}
}

// TestModelName: a session's model is called what people call it.
func TestModelName(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		named func(id, name string) string
		model string // as the session names it
		want  string
	}{
		"plain":              {model: "m1", want: "m1"},
		"more in the id":     {model: "login|m2", want: "Model Two"},
		"an adapter's":       {named: func(id, name string) string { return strings.ToLower(name) + "/" + id }, model: "m1", want: "model one/m1"},
		"one that is absent": {named: func(string, string) string { return "never" }, model: "m9", want: "m9"},
	} {
		k := newTalk(t, acpagent.Spec{ModelName: tt.named}, newRequest("hi"))
		k.reply(able)
		k.reply(`{"sessionId":"s1","models":{"currentModelId":"` + tt.model + `","availableModels":[{"modelId":"m1","name":"Model One"},{"modelId":"login|m2","name":"Model Two"}]}}`)
		if got := one[execution.SessionStart](k).Model; got != tt.want {
			t.Errorf("%s: the model is called %q, want %q", name, got, tt.want)
		}
	}
}
