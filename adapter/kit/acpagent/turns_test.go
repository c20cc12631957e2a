package acpagent_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// TestTurnEnds is what the words and errors of an agent become.
func TestTurnEnds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		spec   acpagent.Spec
		reply  string // an error begins with !
		cancel bool
		status execution.Status
		exit   execution.ExitReason
		reason execution.TurnEndReason
		code   execution.ErrorCode
		event  execution.Body // an event of this kind tells why
	}{
		{name: "end_turn", reply: `{"stopReason":"end_turn"}`, status: execution.StatusCompleted, exit: execution.ExitCompleted, reason: execution.TurnCompleted},
		{name: "a word nobody knows", reply: `{"stopReason":"bored"}`, status: execution.StatusCompleted, exit: execution.ExitCompleted, reason: execution.TurnCompleted},
		{name: "max_tokens", reply: `{"stopReason":"max_tokens"}`, status: execution.StatusDeferred, exit: execution.ExitCompleted, reason: execution.TurnLimitReached},
		{name: "max_turn_requests", reply: `{"stopReason":"max_turn_requests"}`, status: execution.StatusDeferred, exit: execution.ExitTurnLimit, reason: execution.TurnLimitReached},
		{name: "refusal", reply: `{"stopReason":"refusal"}`, status: execution.StatusFailed, exit: execution.ExitCompleted, reason: execution.TurnFailed, code: execution.CodeInvalidRequest, event: execution.ErrorEvent{}},
		{name: "cancelled", cancel: true, reply: `{"stopReason":"cancelled"}`, status: execution.StatusFailed, exit: execution.ExitInterrupted, reason: execution.TurnInterrupted, code: execution.CodeInterrupted},
		{name: "cancelled by itself", reply: `{"stopReason":"cancelled"}`, status: execution.StatusFailed, exit: execution.ExitInterrupted, reason: execution.TurnInterrupted, code: execution.CodeInterrupted},
		{name: "an error after cancel", cancel: true, reply: "!-32603 Request was aborted.", status: execution.StatusFailed, exit: execution.ExitInterrupted, reason: execution.TurnInterrupted, code: execution.CodeInterrupted},
		{name: "done before cancel", cancel: true, reply: `{"stopReason":"end_turn"}`, status: execution.StatusCompleted, exit: execution.ExitCompleted, reason: execution.TurnCompleted},
		{name: "an error", reply: "!-32603 it broke", status: execution.StatusFailed, exit: execution.ExitCompleted, reason: execution.TurnFailed, code: execution.CodeInternal, event: execution.ErrorEvent{}},
		{name: "login", reply: "!-32000 Authentication required", status: execution.StatusFailed, exit: execution.ExitCompleted, reason: execution.TurnFailed, code: execution.CodeAuth, event: execution.AuthError{}},
		{name: "wrong key", reply: "!-32603 401 invalid x-api-key", status: execution.StatusFailed, exit: execution.ExitCompleted, reason: execution.TurnFailed, code: execution.CodeAuth, event: execution.AuthError{}},
		{name: "rate limit", reply: "!-32603 429 Too Many Requests", status: execution.StatusFailed, exit: execution.ExitCompleted, reason: execution.TurnFailed, code: execution.CodeRateLimited, event: execution.RateLimitError{}},
		{name: "context", reply: "!-32603 the context window is full", status: execution.StatusFailed, exit: execution.ExitCompleted, reason: execution.TurnFailed, code: execution.CodeContextExceeded, event: execution.ContextExceeded{}},
		{name: "model API", reply: "!-32603 got status 503", status: execution.StatusFailed, exit: execution.ExitCompleted, reason: execution.TurnFailed, code: execution.CodeProvider, event: execution.ErrorEvent{}},
		{name: "an adapter's word", spec: acpagent.Spec{Classify: func(code int64, message string) execution.ErrorCode {
			if code == -7 && message == "quux" {
				return execution.CodeModelNotFound
			}
			return ""
		}}, reply: "!-7 quux", status: execution.StatusFailed, exit: execution.ExitCompleted, reason: execution.TurnFailed, code: execution.CodeModelNotFound, event: execution.ErrorEvent{}},
		{name: "an error as text", spec: acpagent.Spec{FailedText: func(text string, _ execution.Usage) (execution.ErrorCode, bool) {
			return execution.CodeAuth, strings.HasPrefix(text, "some ")
		}}, reply: `{"stopReason":"end_turn"}`, status: execution.StatusFailed, exit: execution.ExitCompleted, reason: execution.TurnFailed, code: execution.CodeAuth, event: execution.AuthError{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := opened(t, tt.spec, newRequest("hi"))
			k.says("some ")
			k.says("text")
			if tt.cancel {
				k.must(execution.Interrupt{})
				if w := k.last(); w.Method != "session/cancel" || w.ID != nil {
					t.Fatalf("the turn was not cancelled: %+v", w)
				}
				k.wrote = k.wrote[:len(k.wrote)-1]
			}
			if fault, ok := strings.CutPrefix(tt.reply, "!"); ok {
				code, message, _ := strings.Cut(fault, " ")
				k.line(`{"jsonrpc":"2.0","id":%v,"error":{"code":%s,"message":%q}}`, k.request().ID, code, message)
			} else {
				k.reply(tt.reply)
			}
			end := one[execution.TurnEnd](k)
			if end.Reason != tt.reason || end.TurnIndex != 0 || end.Error.ErrorCode() != tt.code && tt.reason == execution.TurnFailed {
				t.Errorf("turn_end %+v %+v, want %s %s", end, end.Error, tt.reason, tt.code)
			}
			if tt.event != nil && count(k, tt.event.Type()) != 1 {
				t.Errorf("there is no %s", tt.event.Type())
			}
			k.must(execution.EndInput{})
			res := k.exit()
			if !k.sink.Finished() || res.Status != tt.status || res.ExitReason != tt.exit || res.Error.ErrorCode() != tt.code {
				t.Errorf("finished %v, result %s %s %s, want %s %s %s", k.sink.Finished(), res.Status, res.ExitReason, res.Error.ErrorCode(), tt.status, tt.exit, tt.code)
			}
			if tt.reason == execution.TurnCompleted && (res.Output == nil || res.Output.Text != "some text") {
				t.Errorf("output %+v", res.Output)
			}
			if tt.code == execution.CodeInternal && res.Error.Code != execution.FailureBackendExecution {
				t.Errorf("the agent's failure is %s", res.Error.Code)
			}
			if tt.code == execution.CodeAuth && res.Error.Metadata["hint"] == nil {
				t.Error("nothing says how to log in")
			}
		})
	}
}

func count(k *talk, kind execution.EventType) int {
	n := 0
	for _, e := range k.seen {
		if e.Body.Type() == kind {
			n++
		}
	}
	return n
}

// TestErrorsSayMore finds the text in the data of an error.
func TestErrorsSayMore(t *testing.T) {
	t.Parallel()
	for _, data := range []string{`"more"`, `{"details":"more"}`, `{"message":"more"}`, `{"error":{"message":"more"}}`, `{"errorMessage":"more"}`} {
		k := opened(t, acpagent.Spec{}, newRequest("hi"))
		k.line(`{"jsonrpc":"2.0","id":%v,"error":{"code":-32603,"message":"Internal error","data":%s}}`, k.request().ID, data)
		if e := one[execution.ErrorEvent](k); e.Message != "Internal error: more" {
			t.Errorf("%s: %q", data, e.Message)
		}
	}
	k := opened(t, acpagent.Spec{}, newRequest("hi"))
	k.line(`{"jsonrpc":"2.0","id":%v,"error":{}}`, k.request().ID)
	if e := one[execution.ErrorEvent](k); e.Message != "error 0" {
		t.Errorf("%q", e.Message)
	}
}

// TestConversation has several turns in one process: a message sent during a turn makes the next one, and one prompt waits for the
// end of the other.
func TestConversation(t *testing.T) {
	t.Parallel()
	k := opened(t, acpagent.Spec{}, newRequest("one"))
	k.must(execution.Say{ID: "a", Text: "two", When: execution.WhenNow})
	k.must(execution.Say{ID: "b", Text: "three", When: execution.WhenNextTurn})
	if n := strings.Count(k.methods(), "session/prompt"); n != 1 {
		t.Fatalf("%d prompts during the first turn", n)
	}
	k.says("1")
	k.reply(`{"stopReason":"end_turn"}`)
	if taken := one[execution.InputTaken](k); taken.ID != "a" || taken.Steered {
		t.Errorf("input_taken %+v", taken)
	}
	k.refuse(-32603, "this one fails")
	if w := k.last(); w.Method != "session/prompt" || !strings.Contains(string(w.Params), `"three"`) {
		t.Fatalf("after a failed turn: %+v", w)
	}
	k.must(execution.EndInput{})
	if k.sink.Finished() {
		t.Fatal("the run ended within a turn")
	}
	k.says("3")
	k.reply(`{"stopReason":"end_turn"}`)
	if !k.sink.Finished() {
		t.Fatal("the run did not end")
	}
	if err := k.command(execution.Say{ID: "c", Text: "four"}); execution.CodeOf(err) != execution.CodeRunNotActive {
		t.Errorf("a message after the end: %v", err)
	}
	if err := k.command(execution.Interrupt{}); execution.CodeOf(err) != execution.CodeInvalidStateTransition {
		t.Errorf("an interrupt after the end: %v", err)
	}
	var ends []string
	for _, e := range bodies[execution.TurnEnd](k) {
		ends = append(ends, string(e.Reason)+" "+e.Text)
	}
	if diff := cmp.Diff([]string{"completed 1", "failed ", "completed 3"}, ends); diff != "" {
		t.Error(diff)
	}
	if res := k.exit(); res.Status != execution.StatusCompleted || res.Output.Text != "3" {
		t.Errorf("%s %+v", res.Status, res.Output)
	}
}

func TestInterrupts(t *testing.T) {
	t.Parallel()
	t.Run("before the first prompt", func(t *testing.T) {
		t.Parallel()
		k := newTalk(t, acpagent.Spec{}, newRequest("hi"))
		k.must(execution.Interrupt{})
		k.reply(able)
		k.reply(session)
		if got, want := k.methods(), "initialize session/new session/prompt session/cancel"; got != want {
			t.Errorf("said %s, want %s", got, want)
		}
	})
	t.Run("twice", func(t *testing.T) {
		t.Parallel()
		k := opened(t, acpagent.Spec{}, newRequest("hi"))
		k.must(execution.Interrupt{})
		k.must(execution.Interrupt{})
		if n := strings.Count(k.methods(), "session/cancel"); n != 1 {
			t.Errorf("the turn was cancelled %d times", n)
		}
	})
	t.Run("between turns", func(t *testing.T) {
		t.Parallel()
		k := opened(t, acpagent.Spec{}, newRequest("hi"))
		k.reply(`{"stopReason":"end_turn"}`)
		if err := k.command(execution.Interrupt{}); execution.CodeOf(err) != execution.CodeInvalidStateTransition {
			t.Errorf("%v", err)
		}
	})
	t.Run("the conversation goes on", func(t *testing.T) {
		t.Parallel()
		k := opened(t, acpagent.Spec{}, newRequest("hi"))
		k.update(`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"sleep","kind":"execute","status":"in_progress"}`)
		k.update(`{"sessionUpdate":"tool_call","toolCallId":"c2","title":"read","kind":"read","status":"pending"}`)
		prompt := k.request()
		k.must(execution.Say{ID: "a", Text: "next"})
		k.must(execution.Interrupt{})
		k.line(`{"jsonrpc":"2.0","id":%v,"result":{"stopReason":"cancelled"}}`, prompt.ID)
		if e := one[execution.ToolError](k); e.ToolCallID != "c1" {
			t.Errorf("%+v", e)
		}
		if w := k.last(); w.Method != "session/prompt" {
			t.Fatalf("%+v", w)
		}
		k.alarm() // there is nothing to wait for any more
		k.reply(`{"stopReason":"end_turn"}`)
		k.must(execution.EndInput{})
		if res := k.exit(); res.Status != execution.StatusCompleted {
			t.Errorf("%s", res.Status)
		}
	})
	t.Run("never answered", func(t *testing.T) {
		t.Parallel()
		k := opened(t, acpagent.Spec{}, newRequest("hi"))
		k.must(execution.Say{ID: "a", Text: "next"})
		k.must(execution.Interrupt{})
		k.alarm()
		if end := one[execution.TurnEnd](k); end.Reason != execution.TurnInterrupted || !k.sink.Finished() {
			t.Errorf("%+v, finished %v", end, k.sink.Finished())
		}
		if c := one[execution.InputCancelled](k); c.ID != "a" {
			t.Errorf("%+v", c)
		}
		k.says("too late")
		if len(bodies[execution.TextDelta](k)) != 0 {
			t.Error("what came after the turn became an event")
		}
		if res := k.exit(); res.Error.ErrorCode() != execution.CodeInterrupted || res.ExitReason != execution.ExitInterrupted {
			t.Errorf("%s %+v", res.ExitReason, res.Error)
		}
	})
}

// TestDiesWithinATurn leaves the judgement to the kit, and cancels what waited.
func TestDiesWithinATurn(t *testing.T) {
	t.Parallel()
	k := opened(t, acpagent.Spec{}, newRequest("hi"))
	k.says("half a")
	k.must(execution.Say{ID: "a", Text: "next"})
	res := k.exit()
	if res.Status != "" || res.Error != nil || res.SessionID != "s1" {
		t.Errorf("%s %+v %q", res.Status, res.Error, res.SessionID)
	}
	if c := one[execution.InputCancelled](k); c.ID != "a" {
		t.Errorf("%+v", c)
	}
}

// TestGarbage: whatever a line is, the conversation goes on.
func TestGarbage(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100_000)
	tests := []struct {
		name, line string
		unknown    int
	}{
		{"nothing", "", 0}, {"blanks", " \t ", 0}, {"text", "Loading...", 1}, {"half a message", `{"jsonrpc":"2.0","method":"session/upd`, 1}, {"deep", deep, 1},
		{"a number", "42", 1}, {"an array", `[{"jsonrpc":"2.0"}]`, 1}, {"an empty object", `{}`, 1}, {"bytes", "\xff\xfe\x00", 1},
		{"an answer to nobody", `{"jsonrpc":"2.0","id":99,"result":{}}`, 1}, {"an answer with a word for an id", `{"jsonrpc":"2.0","id":"x","result":{}}`, 1},
		{"an answer of the handshake again", `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`, 1}, {"an answer without anything", `{"jsonrpc":"2.0","id":3}`, 1},
		{"an error without an id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`, 1},
		{"an unknown notification", `{"jsonrpc":"2.0","method":"agent/hello","params":{}}`, 1}, {"an extension", `{"jsonrpc":"2.0","method":"_agent/hello","params":{}}`, 0},
		{"a quiet notification", `{"jsonrpc":"2.0","method":"agent/quiet"}`, 0}, {"an update of no kind", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1"}}`, 1},
		{"an update of another kind", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"dream"}}}`, 1},
		{"an update of another session", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s2","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"no"}}}}`, 0},
		{"a call without an id", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","title":"x"}}}`, 1},
		{"a chunk without content", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk"}}}`, 0},
		{"a plan without entries", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"plan"}}}`, 0},
		{"commands", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"available_commands_update","availableCommands":[]}}}`, 0},
		{"a mode", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"current_mode_update","currentModeId":"plan"}}}`, 0},
		{"options", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"config_option_update","configOptions":[]}}}`, 0},
		{"a title", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"session_info_update","title":"x"}}}`, 0},
		{"an echo", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"hi"}}}}`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := opened(t, acpagent.Spec{Quiet: []string{"agent/quiet"}}, newRequest("hi"))
			before, prompt := len(k.seen), k.request()
			k.line("%s", tt.line)
			if n := k.sink.UnknownLines(); n != tt.unknown {
				t.Errorf("%d lines are unknown, want %d", n, tt.unknown)
			}
			if len(k.seen) != before {
				t.Errorf("it made the events %+v", k.seen[before:])
			}
			k.says("on we go")
			k.line(`{"jsonrpc":"2.0","id":%v,"result":{"stopReason":"end_turn"}}`, prompt.ID)
			k.line(`{"jsonrpc":"2.0","id":%v,"result":{"stopReason":"end_turn"}}`, prompt.ID) // said twice
			if end := one[execution.TurnEnd](k); end.Text != "on we go" {
				t.Errorf("%+v", end)
			}
			if k.sink.UnknownLines() != tt.unknown+1 {
				t.Error("the second answer was not counted")
			}
		})
	}
}

// TestUnknownRequests are answered, because the agent waits.
func TestUnknownRequests(t *testing.T) {
	t.Parallel()
	for method, unknown := range map[string]int{"fs/read_text_file": 1, "fs/write_text_file": 1, "terminal/create": 1, "craft/drainMidTurnQueue": 1, "agent/quiet": 0, "_agent/x": 0} {
		k := opened(t, acpagent.Spec{Quiet: []string{"agent/quiet"}}, newRequest("hi"))
		k.line(`{"jsonrpc":"2.0","id":"r1","method":%q,"params":{}}`, method)
		if a := k.answerTo("r1"); a.Error == nil || a.Error.Code != -32601 || !strings.Contains(a.Error.Message, method) {
			t.Errorf("%s: %+v", method, a)
		}
		if n := k.sink.UnknownLines(); n != unknown {
			t.Errorf("%s: %d lines are unknown, want %d", method, n, unknown)
		}
	}
	k := opened(t, acpagent.Spec{}, newRequest("hi"))
	k.line(`{"jsonrpc":"2.0","id":"r2","method":"session/request_permission","params":{"sessionId":"s1"}}`)
	if a := k.answerTo("r2"); a.Error == nil || a.Error.Code != -32602 {
		t.Errorf("%+v", a)
	}
}

// TestPromptBlocks is what a message with instructions and attachments becomes.
func TestPromptBlocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "notes & more.txt")
	if err := os.WriteFile(file, []byte("remember </file> this"), 0o600); err != nil {
		t.Fatal(err)
	}
	full := newRequest("do it")
	full.Instructions.SystemPrompt = "be brief"
	full.Context = &execution.Context{Blocks: []execution.ContextBlock{{ID: "1", Label: "L", Text: "context"}}}
	full.Message.Attachments = []execution.Attachment{
		{Name: "a.png", Base64: "iVBORw0KGgo=", MimeType: "image/png"}, {FilePath: file}, {Name: "b.mp3", Base64: "aGk=", MimeType: "audio/mpeg"},
		{Name: "c.pdf", Base64: "JVBERi0=", MimeType: "application/pdf"}, {Name: "site", URL: "https://example.com/x"}, {URL: "data:image/png;base64,iVBORw0KGgo="},
	}
	plain := newRequest("do it")
	plain.Message.Attachments = []execution.Attachment{{FilePath: file}, {Name: "site", URL: "https://example.com/x"}}
	uri := "file://" + strings.ReplaceAll(filepath.ToSlash(file), " ", "%20")
	inline := []map[string]any{{"type": "text", "text": "do it"},
		{"type": "text", "text": "<file name=\"notes &amp; more.txt\">\nremember &lt;/file> this\n</file>"}, {"type": "resource_link", "name": "site", "uri": "https://example.com/x"}}
	tests := []struct {
		name string
		spec acpagent.Spec
		req  execution.Request
		init string
		want []map[string]any
	}{
		{"everything", acpagent.Spec{}, full, able, []map[string]any{
			{"type": "text", "text": "be brief\n\n<context id=\"1\" label=\"L\">\ncontext\n</context>"}, {"type": "text", "text": "do it"},
			{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
			{"type": "resource", "resource": map[string]any{"uri": uri, "text": "remember </file> this", "mimeType": "text/plain"}},
			{"type": "audio", "data": "aGk=", "mimeType": "audio/mpeg"},
			{"type": "resource", "resource": map[string]any{"uri": "file:///c.pdf", "blob": "JVBERi0=", "mimeType": "application/pdf"}},
			{"type": "resource_link", "name": "site", "uri": "https://example.com/x"},
			{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}}},
		{"what every agent takes", acpagent.Spec{}, plain, bare, inline},
		{"texts without resources", acpagent.Spec{InlineTexts: true}, plain, able, inline},
		{"instructions elsewhere", acpagent.Spec{InstructionsInArgs: true}, full, able, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := newTalk(t, tt.spec, tt.req)
			k.reply(tt.init)
			k.reply(session)
			var params struct{ Prompt []map[string]any }
			if err := json.Unmarshal(k.last().Params, &params); err != nil {
				t.Fatal(err)
			}
			if tt.want == nil {
				if params.Prompt[0]["text"] != "do it" {
					t.Errorf("the first block is %v", params.Prompt[0])
				}
				return
			}
			if diff := cmp.Diff(tt.want, params.Prompt); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestBlobs: content that an agent is known to drop is refused before anything is said to a model.
func TestBlobs(t *testing.T) {
	t.Parallel()
	pdf := func(mediaType string) bool { return mediaType == "application/pdf" }
	for _, tt := range []struct {
		blobs func(string) bool
		a     execution.Attachment
		taken bool
	}{
		{pdf, execution.Attachment{Name: "c.pdf", Base64: "JVBERi0=", MimeType: "application/pdf"}, true},
		{pdf, execution.Attachment{Name: "film.mp4", Base64: "aGk=", MimeType: "video/mp4"}, false},
		{acpagent.NoBlobs, execution.Attachment{Name: "c.pdf", Base64: "JVBERi0=", MimeType: "application/pdf"}, false},
		{acpagent.NoBlobs, execution.Attachment{Name: "a.txt", Base64: "aGk=", MimeType: "text/plain"}, true},
		{acpagent.NoBlobs, execution.Attachment{Name: "a.png", Base64: "iVBORw0KGgo=", MimeType: "image/png"}, true},
	} {
		req := newRequest("hi")
		req.Message.Attachments = []execution.Attachment{tt.a}
		k := newTalk(t, acpagent.Spec{Blobs: tt.blobs}, req)
		k.reply(able)
		if went := k.last().Method == "session/new"; went != tt.taken {
			t.Errorf("%s: accepted %v, want %v", tt.a.Name, went, tt.taken)
		}
	}
}

// TestAttachmentsBeforeTheStart are faults that are found while nothing runs.
func TestAttachmentsBeforeTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	latin := filepath.Join(dir, "latin.txt")
	if err := os.WriteFile(latin, []byte("caf\xe9"), 0o600); err != nil {
		t.Fatal(err)
	}
	spawned := false
	spec := acpagent.Spec{Name: "agent", Spawn: func(*cliagent.Launch) (cliagent.Invocation, error) {
		spawned = true
		return cliagent.Invocation{}, nil
	}}
	tests := map[string]execution.Attachment{
		"no such file":     {FilePath: filepath.Join(dir, "nosuch")},
		"a directory":      {FilePath: dir},
		"no UTF-8":         {FilePath: latin},
		"malformed base64": {Name: "x", Base64: "!!", MimeType: "image/png"},
		"empty base64":     {Name: "x", URL: "data:image/png;base64,"},
		"plain data URL":   {Name: "x", URL: "data:text/plain,hi"},
		"too large":        {Name: "x", Base64: base64.StdEncoding.EncodeToString(make([]byte, 32<<20+1)), MimeType: "image/png"},
	}
	for name, a := range tests {
		req := newRequest("hi")
		req.Message.Attachments = []execution.Attachment{{Name: "fine", Base64: "aGk=", MimeType: "image/png"}, a}
		_, err := spec.Launch(&cliagent.Launch{Request: req, Dir: dir})
		if execution.CodeOf(err) != execution.CodeValidation || !strings.Contains(err.Error(), "attachments[1]") || strings.Contains(err.Error(), "attachments[0]") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if spawned {
		t.Error("the command line was made for a request that is refused")
	}
	inv, err := spec.Launch(&cliagent.Launch{Request: newRequest("hi"), Dir: dir})
	if err != nil || !inv.KeepStdin || !spawned {
		t.Errorf("%+v %v", inv, err)
	}
}
