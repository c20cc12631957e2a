package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/adapter"
	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/service"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// TestMain looks for goroutines that the adapter leaves. The server of the protocol's library keeps some of its own for every task.
func TestMain(m *testing.M) {
	var own []goleak.Option
	for _, f := range []string{"internal/taskexec.(*localManager).handleExecution", "internal/taskexec.runProducerConsumer.func4",
		"internal/taskexec.(*executionHandler).processEvents", "a2asrv/eventqueue.newInMemoryEventBroker.func1"} {
		own = append(own, goleak.IgnoreAnyFunction("github.com/a2aproject/a2a-go/v2/"+f))
	}
	goleak.VerifyTestMain(m, own...)
}

const planted = "planted-key-1"

// performer is an agent on the server of the protocol's own library. Its part is the first element of the path.
type performer struct {
	over chan struct{}

	mu        sync.Mutex
	heard     map[string][]string // by context
	cancelled int
	asked     []*proto.Message
}

func (p *performer) hear(m *a2asrv.ExecutorContext) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, m.Message)
	for _, part := range m.Message.Parts {
		if text := part.Text(); text != "" {
			p.heard[m.ContextID] = append(p.heard[m.ContextID], text)
		}
	}
	return p.heard[m.ContextID]
}

// part performs one part.
type part struct {
	*performer
	name string
}

func (p part) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[proto.Event, error] {
	return func(yield func(proto.Event, error) bool) {
		heard := p.hear(x)
		say := func(text string) *proto.Message {
			return proto.NewMessageForTask(proto.MessageRoleAgent, x, proto.NewTextPart(text))
		}
		status := func(s proto.TaskState, m *proto.Message) bool {
			return yield(proto.NewStatusUpdateEvent(x, s, m), nil)
		}
		if p.name == "message" {
			yield(proto.NewMessage(proto.MessageRoleAgent, proto.NewTextPart("hi")), nil)
			return
		}
		if x.StoredTask == nil && !yield(proto.NewSubmittedTask(x, x.Message), nil) || !status(proto.TaskStateWorking, nil) {
			return
		}
		switch p.name {
		case "long":
			id := proto.NewArtifactID()
			for i := range 200 {
				e := proto.NewArtifactUpdateEvent(x, id, proto.NewTextPart(fmt.Sprintf("part %d ", i)))
				if e.Append = i > 0; !yield(e, nil) {
					return
				}
			}
		case "remember":
			yield(proto.NewArtifactEvent(x, proto.NewTextPart("you told me: "+strings.Join(heard, ", "))), nil)
		case "clarify":
			if x.StoredTask == nil {
				status(proto.TaskStateInputRequired, say("which one?"))
				return
			}
			yield(proto.NewArtifactEvent(x, proto.NewTextPart("the "+heard[len(heard)-1])), nil)
		case "fail":
			status(proto.TaskStateFailed, say("it broke "+planted))
			return
		case "reject":
			status(proto.TaskStateRejected, say("not this"))
			return
		case "login":
			status(proto.TaskStateAuthRequired, say("log in first"))
			return
		case "hang":
			if len(heard) == 1 {
				yield(proto.NewArtifactEvent(x, proto.NewTextPart("h")), nil)
				select {
				case <-ctx.Done():
				case <-p.over: // the library ends no task with its server
				}
				status(proto.TaskStateCanceled, nil)
				return
			}
			yield(proto.NewArtifactEvent(x, proto.NewTextPart("hi")), nil)
		case "news":
			status(proto.TaskStateWorking, say("looking"))
			status(proto.TaskStateCompleted, say("found"))
			return
		case "files":
			raw, link := proto.NewRawPart([]byte("abc")), proto.NewFileURLPart("https://files.example/a.pdf", "application/pdf")
			raw.Filename, raw.MediaType = "a.txt", "text/plain"
			yield(proto.NewArtifactEvent(x, proto.NewTextPart("two files "), proto.NewDataPart(map[string]any{"n": 1}), raw, link), nil)
		default:
			e := proto.NewArtifactEvent(x, proto.NewTextPart("h"))
			yield(e, nil)
			yield(proto.NewArtifactUpdateEvent(x, e.Artifact.ID, proto.NewTextPart("i")), nil)
		}
		status(proto.TaskStateCompleted, nil)
	}
}

func (p part) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[proto.Event, error] {
	return func(yield func(proto.Event, error) bool) {
		p.mu.Lock()
		p.cancelled++
		p.mu.Unlock()
		yield(proto.NewStatusUpdateEvent(x, proto.TaskStateCanceled, nil), nil)
	}
}

// serve starts the agent. Paths are /PART/TRANSPORT, where the transport is rpc, rest or poll.
func serve(t *testing.T) (*httptest.Server, *performer) {
	t.Helper()
	p := &performer{heard: map[string][]string{}, over: make(chan struct{})}
	t.Cleanup(func() { close(p.over) })
	var mu sync.Mutex
	parts := map[string]http.Handler{}
	s := httptest.NewServer(nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer "+planted {
			http.Error(w, "who is "+got+"?", http.StatusUnauthorized)
			return
		}
		name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		transport, rest, _ := strings.Cut(rest, "/")
		root := "/" + name + "/" + transport
		mu.Lock()
		h := parts[root]
		if h == nil {
			handler := a2asrv.NewHandler(part{p, name})
			if h = a2asrv.NewJSONRPCHandler(handler); transport == "rest" {
				h = a2asrv.NewRESTHandler(handler)
			}
			h = http.StripPrefix(root, h)
			parts[root] = h
		}
		mu.Unlock()
		if "/"+rest == cardPath {
			binding := proto.TransportProtocolJSONRPC
			if transport == "rest" {
				binding = proto.TransportProtocolHTTPJSON
			}
			a2asrv.NewStaticAgentCardHandler(&proto.AgentCard{Name: "Fake", Description: "a fake", Version: "1.2.3",
				SupportedInterfaces: []*proto.AgentInterface{proto.NewAgentInterface(s.URL+root, binding)},
				Capabilities:        proto.AgentCapabilities{Streaming: transport != "poll"}, DefaultInputModes: []string{"text/plain", "image/*"}, DefaultOutputModes: []string{"text/plain"},
			}).ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
	t.Cleanup(s.Close)
	return s, p
}

func described(base string) adapter.Descriptor {
	access := service.Access{Name: "far", Title: "Far", Base: base, BaseVars: []string{"FAR_BASE_URL"}, KeyVars: []string{"FAR_KEY"}}
	return Describe(access, nil, adapter.Descriptor{DisplayName: "Far"})
}

func request(base, text string) execution.Request {
	return execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: "a", TurnID: "t",
		Message: execution.Message{ID: "m", Text: execution.Prompt(text), ReceivedAt: time.Unix(1, 0)},
		Run:     execution.RunOptions{Env: map[string]string{"FAR_KEY": planted, "FAR_BASE_URL": base}}}
}

// ask runs a request to its end.
func ask(t *testing.T, req execution.Request, opts agent.Options) (execution.Result, []execution.Event) {
	t.Helper()
	run, err := agent.New(agent.BackendOf(described("http://127.0.0.1:1"))).Start(t.Context(), req, opts)
	if err != nil {
		t.Fatal(err)
	}
	var events []execution.Event
	for e, err := range run.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	res, err := run.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal([]any{res, events}); err != nil || strings.Contains(string(text), planted) {
		t.Errorf("the key is in the result or an event (%v): %s", err, text)
	}
	return res, events
}

// TestConformance runs the suite over both transports, and without streams.
func TestConformance(t *testing.T) {
	for _, transport := range []string{"rpc", "rest", "poll"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			s, _ := serve(t)
			d := described("http://127.0.0.1:1")
			cannot := map[at.Scenario]string{}
			for _, sc := range []at.Scenario{at.Tool, at.Approval, at.Stubborn, at.Steps, at.Spend, at.Think, at.Structure, at.Connect} {
				cannot[sc] = "a service shows no tools, tokens or thinking"
			}
			cannot[at.Crash], cannot[at.Malformed] = "a service does not crash here", "its broken answers have a test of their own"
			if transport == "poll" {
				cannot[at.Long] = "it does not stream"
			}
			at.Test(t, at.Subject{
				Backend: func() agent.Backend { return agent.BackendOf(d) },
				Request: func(sc at.Scenario) execution.Request {
					name := string(sc)
					if sc == at.Simple || sc == at.Talk {
						name = "remember" // of one context
					}
					base := s.URL + "/" + name + "/" + transport
					if sc == at.Missing {
						base = "http://127.0.0.1:1"
					}
					req := request(base, "")
					req.Message, req.AssistantID, req.TurnID = execution.Message{Text: "hello"}, "", ""
					return req
				},
				Cannot: cannot, Memory: "hello", Source: ".", Others: []string{"claude", "codex"}, Limit: 30 * time.Second, Grace: 5 * time.Second,
			})
		})
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	s, p := serve(t)
	for _, tt := range []struct {
		part, text, code string
		status           execution.Status
	}{
		{"simple", "hi", "", execution.StatusCompleted},
		{"message", "hi", "", execution.StatusCompleted},
		{"news", "lookingfound", "", execution.StatusCompleted},
		{"fail", "", "PROVIDER_ERROR", execution.StatusFailed},
		{"reject", "", "INVALID_REQUEST", execution.StatusFailed},
		{"login", "", "AUTH_ERROR", execution.StatusFailed},
	} {
		for _, transport := range []string{"rpc", "rest", "poll"} {
			res, events := ask(t, request(s.URL+"/"+tt.part+"/"+transport, "hello"), agent.Options{})
			code := ""
			if res.Error != nil {
				code = string(res.Error.ErrorCode())
			}
			if tt.part == "news" && transport == "poll" {
				res.Text = tt.text // what the agent said between two questions for the task is not told
			}
			if res.Status != tt.status || res.Text != tt.text || code != tt.code {
				t.Errorf("%s over %s: %s %q %s, want %s %q %s (%+v)", tt.part, transport, res.Status, res.Text, code, tt.status, tt.text, tt.code, res.Error)
			}
			if tt.part == "news" && (res.Output.Text != "found" || transport != "poll" && !said(events, "looking")) {
				t.Errorf("%s: the news is not shown", transport)
			}
		}
	}
	for _, m := range p.asked {
		if m.Role != proto.MessageRoleUser || m.TaskID != "" || m.ContextID != "" {
			t.Errorf("a first message: %+v", m)
		}
	}
}

func said(events []execution.Event, text string) bool {
	for _, e := range events {
		if m, ok := e.Body.(execution.MessageStop); ok && m.Text == text {
			return true
		}
	}
	return false
}

// A question is answered in the turn, or by a later run of the session.
func TestClarification(t *testing.T) {
	t.Parallel()
	s, _ := serve(t)
	for _, transport := range []string{"rpc", "rest", "poll"} {
		base := s.URL + "/clarify/" + transport
		res, _ := ask(t, request(base, "paint it"), agent.Options{OnInput: func(_ context.Context, q execution.InputRequired) (string, error) {
			if q.Question != "which one?" {
				t.Errorf("the question is %q", q.Question)
			}
			return "door", nil
		}})
		if res.Status != execution.StatusCompleted || res.Text != "the door" {
			t.Errorf("%s: %s %q %+v", transport, res.Status, res.Text, res.Error)
		}
		res, _ = ask(t, request(base, "paint it"), agent.Options{})
		if res.Status != execution.StatusNeedsClarification || res.Output.Text != "which one?" || res.Continuation == nil {
			t.Fatalf("%s: %s %q %+v", transport, res.Status, res.Text, res.Continuation)
		}
		again := request(base, "wall")
		again.Continuation = res.Continuation
		if res, _ = ask(t, again, agent.Options{}); res.Status != execution.StatusCompleted || res.Text != "the wall" {
			t.Errorf("%s, later: %s %q %+v", transport, res.Status, res.Text, res.Error)
		}
		res, _ = ask(t, request(base, "paint it"), agent.Options{OnInput: func(context.Context, execution.InputRequired) (string, error) {
			return "", errors.New("nobody is here")
		}})
		if res.Status != execution.StatusFailed || res.Error.ErrorCode() != execution.CodeInterrupted {
			t.Errorf("%s, refused: %s %+v", transport, res.Status, res.Error)
		}
	}
}

// An interrupt and a time limit cancel the task at the agent.
func TestCancel(t *testing.T) {
	t.Parallel()
	s, p := serve(t)
	req := request(s.URL+"/hang/rpc", "wait")
	req.Run.TimeoutMs = 300
	if res, _ := ask(t, req, agent.Options{}); res.Error == nil || res.Error.ErrorCode() != execution.CodeTimeout {
		t.Errorf("%s %+v", res.Status, res.Error)
	}
	req.Run.TimeoutMs, req.Run.InactivityTimeoutMs = 0, 300
	if res, _ := ask(t, req, agent.Options{}); res.Error == nil || res.Error.ErrorCode() != execution.CodeInactivityTimeout || res.ExitReason != execution.ExitInactivity {
		t.Errorf("%s %s %+v", res.Status, res.ExitReason, res.Error)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancelled != 2 {
		t.Errorf("the task was cancelled %d times", p.cancelled)
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	s, p := serve(t)
	req := request(s.URL+"/files/rpc", "hello")
	req.Instructions.SystemPrompt = "be brief"
	req.Message.Attachments = []execution.Attachment{{Base64: "iVBORw0KGgo=", MimeType: "image/png", Name: "dot.png"}, {Base64: "aGk=", MimeType: "text/markdown", Name: "a.md"}}
	res, _ := ask(t, req, agent.Options{})
	if res.Status != execution.StatusCompleted || res.Text != `two files {"n":1}` {
		t.Fatalf("%s %q %+v", res.Status, res.Text, res.Error)
	}
	files, err := json.Marshal(res.Metadata["files"])
	want := `[{"base64":"YWJj","bytes":3,"mediaType":"text/plain","name":"a.txt"},{"mediaType":"application/pdf","name":"","url":"https://files.example/a.pdf"}]`
	if err != nil || string(files) != want {
		t.Errorf("files %s, %v", files, err)
	}
	parts := p.asked[0].Parts
	if len(parts) != 3 || parts[0].MediaType != "image/png" || parts[0].Filename != "dot.png" || len(parts[0].Raw()) != 8 ||
		parts[1].Text() != "<file name=\"a.md\">\nhi\n</file>" || parts[2].Text() != "be brief\n\nhello" {
		t.Errorf("sent %+v %+v", parts, p.asked[0])
	}
	req.Message.Attachments = []execution.Attachment{{Base64: "JVBERi0xLjQ=", MimeType: "application/pdf", Name: "page.pdf"}}
	if res, _ := ask(t, req, agent.Options{}); res.Error == nil || res.Error.ErrorCode() != execution.CodeValidation || len(p.asked) != 1 {
		t.Errorf("a PDF: %s %+v after %d messages", res.Status, res.Error, len(p.asked))
	}
	req.Run.Model = "m"
	if n := agent.New(agent.BackendOf(described(s.URL))).Negotiate(req, agent.Options{}); n.Supported {
		t.Error("a model is accepted")
	}
}

// What is wrong with a card is found before anything is sent, and says what to do.
func TestBadServers(t *testing.T) {
	t.Parallel()
	var base string
	texts := map[string]string{
		"host":    `{"name":"x","supportedInterfaces":[{"url":"http://other.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`,
		"grpc":    `{"name":"x","supportedInterfaces":[{"url":"BASE/rpc","protocolBinding":"GRPC","protocolVersion":"1.0"}]}`,
		"old":     `{"name":"x","supportedInterfaces":[{"url":"BASE/rpc","protocolBinding":"JSONRPC","protocolVersion":"0.3"}]}`,
		"none":    `{"name":"x","supportedInterfaces":[null]}`,
		"html":    `<html>`,
		"large":   `{"name":"` + strings.Repeat("x", maxCard) + `"}`,
		"garbage": `{"name":"x","supportedInterfaces":[{"url":"BASE/garbage","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`,
		"nothing": `{"name":"x","capabilities":{"streaming":true},"supportedInterfaces":[{"url":"BASE/nothing","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`,
		"strange": `{"name":"x","supportedInterfaces":[{"url":"BASE/strange","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`,
	}
	sent := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if "/"+rest == cardPath {
			switch text := texts[name]; name {
			case "redirect":
				http.Redirect(w, r, "http://other.example/", http.StatusFound)
			case "missing":
				http.NotFound(w, r)
			default:
				_, _ = w.Write([]byte(strings.ReplaceAll(text, "BASE", base)))
			}
			return
		}
		sent++
		switch name {
		case "garbage":
			_, _ = w.Write([]byte("<html>" + r.Header.Get("Authorization")))
		case "nothing":
			w.Header().Set("Content-Type", "text/event-stream")
		case "strange":
			var call struct{ ID any }
			_ = json.NewDecoder(r.Body).Decode(&call)
			_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": call.ID, "result": map[string]any{
				"task": map[string]any{"id": "1", "contextId": "c", "status": map[string]any{"state": "TASK_STATE_FAILED", "message": map[string]any{
					"messageId": "m", "role": "ROLE_AGENT", "parts": []any{map[string]any{"text": "no"}}}}}}})
		}
	}))
	defer s.Close()
	base = s.URL
	for name, want := range map[string]string{
		"host": "CONFIG_ERROR names another host", "grpc": "CAPABILITY_ERROR GRPC", "old": "CAPABILITY_ERROR version 0.3", "none": "CAPABILITY_ERROR names none",
		"html": "PARSE_ERROR cannot be read", "large": "PARSE_ERROR too large", "redirect": "PROVIDER_ERROR redirect", "missing": "PROVIDER_ERROR has no card",
		"garbage": "PROVIDER_ERROR decode", "nothing": "INVALID_OUTPUT neither a message nor a task", "strange": "PROVIDER_ERROR no",
	} {
		before := sent
		res, _ := ask(t, request(s.URL+"/"+name, "hello"), agent.Options{})
		code, words, _ := strings.Cut(want, " ")
		if res.Error == nil || string(res.Error.ErrorCode()) != code || !strings.Contains(res.Error.Message, words) {
			t.Errorf("%s: %s %+v, want %s", name, res.Status, res.Error, want)
		}
		if refused := name != "garbage" && name != "nothing" && name != "strange"; refused && sent != before {
			t.Errorf("%s: something was sent", name)
		}
	}
	req := request(s.URL+"/host", "hello")
	req.Run.Env["FAR_KEY"] = ""
	if res, _ := ask(t, req, agent.Options{}); res.Error == nil || res.Error.ErrorCode() != execution.CodeAuth {
		t.Errorf("without a key: %+v", res.Error)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	s, _ := serve(t)
	a := New(service.Access{Name: "far", Title: "Far", Base: s.URL + "/simple/rpc", KeyVars: []string{"FAR_KEY"}}, []string{"a note"}, Options{})
	h := adapter.Host{Getenv: func(name string) string { return map[string]string{"FAR_KEY": planted}[name] }}
	in, err := a.Probe(t.Context(), h)
	if err != nil || !in.Installed || in.Version != "1.2.3" || in.Notes != "Fake: a fake" {
		t.Errorf("%+v, %v", in, err)
	}
	if in, err = a.Probe(t.Context(), adapter.Host{Getenv: func(string) string { return "wrong" }}); err != nil || in.Installed || !strings.Contains(in.Notes, "401") {
		t.Errorf("a wrong key: %+v, %v", in, err)
	}
	if notes := a.Capabilities().Notes; notes[len(notes)-1] != "a note" {
		t.Errorf("notes %q", notes)
	}
}
