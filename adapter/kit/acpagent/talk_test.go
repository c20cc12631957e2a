package acpagent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// talk is a conversation with a parser in which the test is the agent.
type talk struct {
	t      *testing.T
	parser cliagent.Parser
	sink   *cliagent.Sink
	wrote  []written
	seen   []execution.Event
	asks   int
}

// written is what the parser said.
type written struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

const (
	able    = `{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true,"audio":true,"embeddedContext":true},"mcpCapabilities":{"http":true,"sse":true}},"authMethods":[{"id":"key","name":"API key","description":"set AGENT_KEY"}]}`
	bare    = `{"protocolVersion":1,"authMethods":[]}`
	session = `{"sessionId":"s1"}`
)

func newTalk(t *testing.T, spec acpagent.Spec, req execution.Request) *talk {
	t.Helper()
	if spec.Name == "" {
		spec.Name = "agent"
	}
	k := &talk{t: t, parser: spec.NewParser(req), sink: cliagent.NewSink(false)}
	k.parser.Open(k.sink)
	k.collect()
	return k
}

// opened is a conversation whose first prompt has been said.
func opened(t *testing.T, spec acpagent.Spec, req execution.Request) *talk {
	t.Helper()
	k := newTalk(t, spec, req)
	k.reply(able)
	k.reply(session)
	if k.last().Method != "session/prompt" {
		t.Fatalf("no prompt was said: %+v", k.wrote)
	}
	return k
}

func (k *talk) collect() {
	k.t.Helper()
	for _, w := range k.sink.TakeWrites() {
		var m written
		if err := json.Unmarshal(w, &m); err != nil || w[len(w)-1] != '\n' {
			k.t.Fatalf("no line of JSON was written: %v: %q", err, w)
		}
		k.wrote = append(k.wrote, m)
	}
	k.seen = append(k.seen, k.sink.Take()...)
}

func (k *talk) last() written {
	k.t.Helper()
	if len(k.wrote) == 0 {
		k.t.Fatal("nothing was written")
	}
	return k.wrote[len(k.wrote)-1]
}

// line is a line of the agent.
func (k *talk) line(format string, args ...any) {
	k.t.Helper()
	line := format
	if len(args) > 0 {
		line = fmt.Sprintf(format, args...)
	}
	k.parser.Line(process.Stdout, []byte(line), k.sink)
	k.collect()
}

// request is the last request of the parser that waits.
func (k *talk) request() written {
	k.t.Helper()
	for i := len(k.wrote) - 1; i >= 0; i-- {
		if k.wrote[i].Method != "" && k.wrote[i].ID != nil {
			return k.wrote[i]
		}
	}
	k.t.Fatal("there is no request")
	return written{}
}

func (k *talk) reply(result string) {
	k.t.Helper()
	k.line(`{"jsonrpc":"2.0","id":%v,"result":%s}`, k.request().ID, result)
}

func (k *talk) refuse(code int, message string) {
	k.t.Helper()
	k.line(`{"jsonrpc":"2.0","id":%v,"error":{"code":%d,"message":%q}}`, k.request().ID, code, message)
}

func (k *talk) update(update string) {
	k.t.Helper()
	k.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":%s}}`, update)
}

func (k *talk) says(text string) {
	k.t.Helper()
	k.update(fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}`, text))
}

// ask is the agent asking for a permission; it returns the id of the request.
func (k *talk) ask(call, options string) string {
	k.t.Helper()
	id := fmt.Sprintf("q%d", k.asks)
	k.asks++
	k.line(`{"jsonrpc":"2.0","id":%q,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":%s,"options":%s}}`, id, call, options)
	return id
}

func (k *talk) command(c execution.Command) error {
	k.t.Helper()
	err := k.parser.Command(c, k.sink)
	k.collect()
	return err
}

func (k *talk) must(c execution.Command) {
	k.t.Helper()
	if err := k.command(c); err != nil {
		k.t.Fatalf("%T: %v", c, err)
	}
}

func (k *talk) alarm() {
	k.t.Helper()
	k.parser.(cliagent.Alarmed).Alarm(k.sink)
	k.collect()
}

// exit is the end of the agent.
func (k *talk) exit() execution.Result {
	res := k.parser.Exit(process.Exit{}, k.sink)
	k.collect()
	return res
}

// answerTo is what the parser answered to a request of the agent.
func (k *talk) answerTo(id string) written {
	k.t.Helper()
	var found []written
	for _, w := range k.wrote {
		if w.Method == "" && w.ID == id {
			found = append(found, w)
		}
	}
	if len(found) != 1 {
		k.t.Fatalf("request %s was answered %d times: %+v", id, len(found), found)
	}
	return found[0]
}

// option is the option that was chosen for a request of the agent, cancelled for none.
func (k *talk) option(id string) string {
	k.t.Helper()
	var r struct {
		Outcome struct{ Outcome, OptionID string }
	}
	if err := json.Unmarshal(k.answerTo(id).Result, &r); err != nil {
		k.t.Fatal(err)
	}
	if r.Outcome.Outcome == "selected" {
		return r.Outcome.OptionID
	}
	return r.Outcome.Outcome
}

// bodies are the events of one kind.
func bodies[T execution.Body](k *talk) []T {
	var list []T
	for _, e := range k.seen {
		if b, ok := e.Body.(T); ok {
			list = append(list, b)
		}
	}
	return list
}

// one is the only event of its kind.
func one[T execution.Body](k *talk) T {
	k.t.Helper()
	list := bodies[T](k)
	if len(list) != 1 {
		var zero T
		k.t.Fatalf("there are %d events %T: %+v", len(list), zero, list)
	}
	return list[0]
}

// methods are the methods of what was written, in order.
func (k *talk) methods() string {
	var list []string
	for _, w := range k.wrote {
		if w.Method != "" {
			list = append(list, w.Method)
		}
	}
	return strings.Join(list, " ")
}

// failed is the error with which the conversation broke off.
func (k *talk) failed() *execution.Error {
	k.t.Helper()
	err := k.sink.Failure()
	if err == nil {
		k.t.Fatalf("the conversation did not fail: %s", k.methods())
	}
	return err
}
