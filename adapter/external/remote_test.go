package external

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// TestRemoteRequest: the other side gets its own directory and agent, the entry's variables, and files by content.
func TestRemoteRequest(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := Remote{Name: "box", Directory: "/far" + slotDir, Env: map[string]string{"A": "entry", "B": "entry"}}
	req := clitest.Request()
	req.Run.Agent, req.Run.Cwd, req.Run.Profile, req.Run.SessionID, req.Run.Env = "box", "/near", "p", "s", map[string]string{"B": "run"}
	req.Continuation = &execution.Continuation{State: map[string]any{"agent": "box"}}
	req.Message.Attachments = []execution.Attachment{{FilePath: file}, {URL: "https://example.com/x.png"}}
	got, err := r.request(req, "claude")
	if err != nil {
		t.Fatal(err)
	}
	run := got.Run
	if run.Agent != "claude" || run.Cwd != "/far/near" || run.Profile != "" || run.SessionID != "s" || got.Continuation != nil ||
		len(run.Env) != 2 || run.Env["A"] != "entry" || run.Env["B"] != "run" {
		t.Errorf("%+v", got)
	}
	if a := got.Message.Attachments; a[0].FilePath != "" || a[0].Base64 != "aGVsbG8=" || a[0].Name != "notes.txt" || a[0].MimeType != "text/plain" || a[1].URL == "" {
		t.Errorf("%+v", a)
	}
	if req.Message.Attachments[0].FilePath == "" || len(r.Env) != 2 || r.Env["B"] != "entry" {
		t.Error("the request or the entry changed")
	}
	req.Message.Attachments[0].FilePath = filepath.Join(t.TempDir(), "none")
	if _, err := r.request(req, "claude"); execution.CodeOf(err) != execution.CodeValidation {
		t.Errorf("a file that is missing: %v", err)
	}
}

// TestRemoteLimits: nothing of this side is claimed for the other one, and an agent does not run itself.
func TestRemoteLimits(t *testing.T) {
	t.Parallel()
	r := Remote{Name: "box", Command: []string{"x"}, Host: "host", Notes: []string{"in the corner"}}
	caps := r.narrow(adaptertest.Capable(), "claude")
	if a := caps.Agent; a.MCP || a.Skills || len(a.MCPTransports) > 0 || caps.StructuredToolCalls || !a.TextStreaming || caps.Notes[len(caps.Notes)-1] != "in the corner" {
		t.Errorf("%+v", caps)
	}
	h := adapter.Host{Getenv: func(name string) string { return map[string]string{"DRAWBAR_WITHIN": "other,box"}[name] }}.Complete()
	if _, err := r.Find(t.Context(), h); execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(err.Error(), "box runs itself") {
		t.Errorf("an agent that runs itself: %v", err)
	}
}

// TestGreeting: a login shell may print before the first message, but not without end; a program of this machine may not.
func TestGreeting(t *testing.T) {
	t.Parallel()
	feed := func(remote *Remote, lines ...string) (*cliagent.Sink, *parser) {
		p, s := &parser{name: "fake", says: "fake", remote: remote}, cliagent.NewSink(false)
		p.Open(s)
		for _, line := range lines {
			p.Line(process.Stdout, []byte(line), s)
		}
		return s, p
	}
	r := &Remote{Name: "fake"}
	if s, p := feed(r, "Welcome", "", `{"motd":1}`, "You have mail. "+introduced); s.Failure() != nil || s.UnknownLines() != 0 || !p.known {
		t.Errorf("a greeting: %v, %d unknown lines", s.Failure(), s.UnknownLines())
	}
	if s, _ := feed(r, strings.Split(strings.Repeat("noise\n", maxGreetingLines+1), "\n")...); s.Failure() == nil {
		t.Error("a greeting without end is read")
	}
	if s, _ := feed(r, strings.Repeat("x", maxGreeting+1)); s.Failure() == nil {
		t.Error("a greeting of any size is read")
	}
	if s, _ := feed(nil, "Welcome"); s.Failure() == nil {
		t.Error("a program may greet")
	}
	if s, _ := feed(r, introduced, "later noise"); s.UnknownLines() != 1 {
		t.Error("noise within the conversation is passed over")
	}
}

// TestServerEnds: when the other Drawbar is gone or the server is told to stop, the agent is stopped before Serve returns.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"end of input", "signal"} {
		stopped := make(chan struct{})
		d := adapter.Descriptor{Name: "fake", New: func() adapter.Adapter {
			return &adaptertest.Fake{Declared: adaptertest.Capable, Script: func(c *adaptertest.Call) execution.Result {
				c.Emit(execution.SessionStart{SessionID: "s"})
				<-c.Ctx.Done()
				close(stopped)
				return execution.Result{Status: execution.StatusFailed, Error: execution.NewResultError(execution.CodeAborted, "stopped")}
			}}
		}}
		fromNear, toServer := io.Pipe()
		fromServer, toNear := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- Server{Descriptor: d}.Serve(ctx, fromNear, toNear) }()
		params, err := json.Marshal(requestParams{clitest.Request()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(toServer, `{"jsonrpc":"2.0","id":1,"method":"execute","params":`+string(params)+"}\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(fromServer).ReadString('\n'); err != nil || !strings.Contains(line, "session_start") {
			t.Fatalf("%s: %q %v", how, line, err)
		}
		go func() { _, _ = io.Copy(io.Discard, fromServer) }() // nobody needs the rest
		if how == "signal" {
			cancel()
		} else if err := toServer.Close(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s: %v", how, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: the server did not end", how)
		}
		select {
		case <-stopped:
		default:
			t.Errorf("%s: the agent outlives its server", how)
		}
		cancel()
		_, _ = toServer.Close(), toNear.Close() // end what still reads
	}
}

// TestServerStreams: what is said for a long answer grows with the answer, not with its square.
func TestServerStreams(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	s := &server{adapter: &adaptertest.Fake{Declared: adaptertest.Capable, Script: adaptertest.Play}, out: &said, inbox: newInbox()}
	s.inbox.put(execution.EndInput{})
	s.execute(t.Context(), json.RawMessage("1"), adaptertest.PlayRequest(adaptertest.Long))
	pieces := bytes.Count(said.Bytes(), []byte(`"text_delta"`))
	if perPiece := said.Len() / max(1, pieces); pieces < 1000 || perPiece > 500 {
		t.Errorf("%d pieces of text, %d bytes for each", pieces, perPiece)
	}
}

// TestServerNegotiates: the other side refuses by what the run lacks there, and states what it has.
func TestServerNegotiates(t *testing.T) {
	t.Parallel()
	d := adapter.Descriptor{Name: "fake", New: func() adapter.Adapter { return &adaptertest.Fake{Declared: adaptertest.Capable} }}
	s := &server{adapter: d.New(), Server: Server{Descriptor: d, Negotiate: func(req execution.Request) (execution.Negotiation, error) {
		n := execution.Negotiation{Reasons: []execution.Reason{{Code: execution.ReasonOther, Severity: execution.SeverityWarning, Message: "slow"}}}
		if req.Run.Interactive {
			n.Reasons = append(n.Reasons, execution.Reason{Code: execution.ReasonOther, Severity: execution.SeverityBlocking, Message: "not there"})
		}
		n.EffectiveCapabilities.Agent.Plugins = true
		n.EffectiveCapabilities.Agent.Verbs = []execution.Verb{execution.VerbAbort}
		return n, nil
	}}}
	ask := func(change func(*execution.RunOptions)) (reasonsReply, error) {
		req := clitest.Request()
		change(&req.Run)
		params, err := json.Marshal(requestParams{req})
		if err != nil {
			t.Fatal(err)
		}
		return s.negotiate(params)
	}
	got, err := ask(func(o *execution.RunOptions) { o.Interactive = true })
	if err != nil || len(got.Reasons) != 1 || got.Reasons[0].Message != "not there" || got.Capabilities.Agent.Plugins || len(got.Capabilities.Agent.Verbs) != 1 {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := ask(func(*execution.RunOptions) {}); err != nil || len(got.Reasons) != 0 {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := ask(func(o *execution.RunOptions) { o.Cwd = "/no/such/place" }); execution.CodeOf(err) != execution.CodeValidation {
		t.Errorf("a directory that is missing: %v", err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{"": here, "testdata/..": here, "~": home} {
		params, err := json.Marshal(requestParams{execution.Request{Run: execution.RunOptions{Cwd: dir}}})
		if err != nil {
			t.Fatal(err)
		}
		if req, err := request(params); req.Run.Cwd != want && err == nil {
			t.Errorf("directory %q is %q, want %q", dir, req.Run.Cwd, want)
		}
	}
}

// TestVerbsOfRun: a verb that the run lacks on the other side is refused here, and not waited for.
func TestVerbsOfRun(t *testing.T) {
	t.Parallel()
	p, s := &parser{name: "box", says: "fake", remote: &Remote{Name: "box"}}, cliagent.NewSink(false)
	p.verbs.Verbs = []execution.Verb{execution.VerbAbort, execution.VerbInterrupt}
	p.Open(s)
	p.Line(process.Stdout, []byte(introduced), s)
	p.Line(process.Stdout, []byte(`{"jsonrpc":"2.0","id":2,"result":{"reasons":[],"capabilities":{"agent":{"verbs":["abort"]}}}}`), s)
	if err := p.Command(execution.Interrupt{}, s); execution.CodeOf(err) != execution.CodeStdinNotAvailable {
		t.Errorf("an interrupt: %v", err)
	}
}
