package gemini

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

const sessionID = "cf5c6b07-1e34-4da0-ba09-29d0c4ad72ac"

var plainArgs = []string{"--output-format=stream-json", "--skip-trust", "--approval-mode=default"}

var quietWorld = newWorld(cliagent.Options{Environ: func() []string { return []string{"HOME=/nowhere"} }})

func launch(req execution.Request) *cliagent.Launch {
	return &cliagent.Launch{Request: req, Dir: filepath.Join(os.TempDir(), "drawbar-test")}
}

// TestArgs has a row for every option that a run of one prompt can carry: an option that is ignored makes its row fail.
func TestArgs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		set   func(*execution.Request)
		args  []string
		stdin string
	}{
		{"nothing", func(*execution.Request) {}, plainArgs, "hello"},
		{"model", func(r *execution.Request) { r.Run.Model = "flash" }, append(slices.Clone(plainArgs), "--model=flash"), "hello"},
		{"yolo", yolo, []string{"--output-format=stream-json", "--skip-trust", "--approval-mode=yolo"}, "hello"},
		{"deny", func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalDeny }, plainArgs, "hello"},
		{"session", func(r *execution.Request) { r.Run.SessionID = sessionID }, append(slices.Clone(plainArgs), "--resume="+sessionID), "hello"},
		{"continuation", func(r *execution.Request) {
			r.Continuation = &execution.Continuation{State: map[string]any{"sessionId": sessionID}}
		}, append(slices.Clone(plainArgs), "--resume="+sessionID), "hello"},
		{"prompt that looks like a flag", func(r *execution.Request) { r.Message.Text = "--yolo\n$(rm -rf /)" }, plainArgs, "--yolo\n$(rm -rf /)"},
		{"added instructions", func(r *execution.Request) { r.Instructions.SystemPrompt = "be brief" }, plainArgs, "be brief\n\nhello"},
		{"long prompt with a limit of turns", func(r *execution.Request) {
			r.Message.Text, r.Run.MaxTurns = execution.Prompt(strings.Repeat("w", maxEcho+1)), 2
		}, plainArgs, strings.Repeat("w", maxEcho+1)},
		{"replaced prompt", func(r *execution.Request) {
			r.Instructions.SystemPrompt, r.Run.SystemPromptMode = "you are a bird", execution.SystemPromptReplace
		}, plainArgs, "hello"},
		{"context", func(r *execution.Request) {
			r.Context = &execution.Context{Blocks: []execution.ContextBlock{{ID: "a", Label: "b", Text: "c"}}}
		}, plainArgs, "<context id=\"a\" label=\"b\">\nc\n</context>\n\nhello"},
	} {
		req := newRequest()
		tt.set(&req)
		inv, err := spawn(launch(req))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.args, inv.Args); diff != "" {
			t.Errorf("%s: arguments (-want +got):\n%s", tt.name, diff)
		}
		if string(inv.Stdin) != tt.stdin || inv.KeepStdin {
			t.Errorf("%s: standard input %q, kept open %v; want %q and its end", tt.name, inv.Stdin, inv.KeepStdin, tt.stdin)
		}
		if twoWay(req) {
			t.Errorf("%s: takes a conversation", tt.name)
		}
	}
}

// TestEnvironment: without the first variable the first of two processes swallows every signal.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	req := newRequest()
	inv, err := spawn(launch(req))
	if err != nil || inv.Env["GEMINI_CLI_NO_RELAUNCH"] != "true" {
		t.Errorf("one shot: %v, %v", inv.Env, err)
	}
	if _, set := inv.Env["GEMINI_SYSTEM_MD"]; set {
		t.Error("Gemini's own prompt is replaced by nothing")
	}
	interactive(&req)
	req.Instructions.SystemPrompt, req.Run.SystemPromptMode = "you are a bird", execution.SystemPromptReplace
	l := launch(req)
	inv, err = quietWorld.spawnConversation(l)
	if err != nil || inv.Env["GEMINI_CLI_NO_RELAUNCH"] != "true" || !strings.HasPrefix(inv.Env["GEMINI_SYSTEM_MD"], l.Dir) {
		t.Errorf("conversation: %v, %v", inv.Env, err)
	}
}

func TestConversationArgs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		set  func(*execution.Request)
		args string
	}{
		{"interactive", interactive, "--acp --skip-trust --approval-mode=default"},
		{"interactive yolo with a model", func(r *execution.Request) { interactive(r); yolo(r); r.Run.Model = "pro" }, "--acp --skip-trust --approval-mode=yolo --model=pro"},
		{"MCP server", func(r *execution.Request) {
			r.Run.MCPServers = []execution.MCPServer{{Name: "x", Transport: execution.MCPStdio, Command: "x", Env: map[string]string{"KEY": "secret"}}}
		}, "--acp --skip-trust --approval-mode=default"},
		{"tools", func(r *execution.Request) { r.Tools = []execution.Tool{{Name: "x"}} }, "--acp --skip-trust --approval-mode=default"},
		{"attachment", attach(execution.Attachment{FilePath: "/a.png"}), "--acp --skip-trust --approval-mode=default"},
		{"questions wanted", func(r *execution.Request) {
			r.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportPreferred}
		}, "--acp --skip-trust --approval-mode=default"},
		{"long prompt", func(r *execution.Request) { r.Message.Text = execution.Prompt(strings.Repeat("w", maxEcho+1)) }, "--acp --skip-trust --approval-mode=default"},
		{"long context", func(r *execution.Request) {
			r.Context = &execution.Context{Blocks: []execution.ContextBlock{{Text: strings.Repeat("w", maxEcho)}}}
		}, "--acp --skip-trust --approval-mode=default"},
		{"session", func(r *execution.Request) { interactive(r); r.Run.SessionID = sessionID }, "--acp --skip-trust --approval-mode=default"},
	} {
		req := newRequest()
		tt.set(&req)
		if !twoWay(req) {
			t.Errorf("%s: takes no conversation", tt.name)
		}
		inv, err := quietWorld.spawnConversation(launch(req))
		if got := strings.Join(inv.Args, " "); err != nil || got != tt.args || len(inv.Stdin) > 0 {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.args)
		}
	}
}

func attach(a execution.Attachment) func(*execution.Request) {
	return func(r *execution.Request) { r.Message.Attachments = []execution.Attachment{a} }
}

func TestRefusedBeforeTheStart(t *testing.T) {
	t.Parallel()
	long := newRequest()
	long.Message.Text = execution.Prompt(strings.Repeat("w", maxPrompt+1))
	if _, err := spawn(launch(long)); execution.CodeOf(err) != execution.CodeValidation || !strings.Contains(err.Error(), "put the text into a file") {
		t.Errorf("a prompt that Gemini would cut off: %v", err)
	}
	// Gemini takes these for other things than a session's name.
	for _, id := range []string{"latest", "5", "cf5c6b07", "cf5c6b07-1e34-4da0-ba09-29d0c4ad72aX", "../../etc/passwd"} {
		req := newRequest()
		req.Run.SessionID = id
		if _, err := spawn(launch(req)); execution.CodeOf(err) != execution.CodeSessionNotFound {
			t.Errorf("session %q, one shot: %v", id, err)
		}
		if _, err := quietWorld.spawnConversation(launch(req)); execution.CodeOf(err) != execution.CodeSessionNotFound {
			t.Errorf("session %q, conversation: %v", id, err)
		}
	}
}

// TestProtectsSessions: Gemini loses a session that it loads within the minute in which it began.
func TestProtectsSessions(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "an [odd] home*")
	chats := filepath.Join(home, ".gemini", "tmp", "work", "chats")
	if err := os.MkdirAll(chats, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(chats, "session-2026-11-20T16-56-"+sessionID[:8]+".jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, env, run, at, session string
		refused                     bool
	}{
		{"the same minute", "HOME=" + home, "", "2026-11-20T16:56:59Z", sessionID, true},
		{"another zone", "HOME=" + home, "", "2026-11-20T18:56:00+02:00", sessionID, true},
		{"the next minute", "HOME=" + home, "", "2026-11-20T16:57:00Z", sessionID, false},
		{"another session", "HOME=" + home, "", "2026-11-20T16:56:59Z", "00000000-0000-4000-8000-000000000000", false},
		{"another home", "HOME=/nowhere", "", "2026-11-20T16:56:59Z", sessionID, false},
		{"its own home", "GEMINI_CLI_HOME=" + home, "", "2026-11-20T16:56:59Z", sessionID, true},
		{"the home of the run", "HOME=/nowhere", home, "2026-11-20T16:56:59Z", sessionID, true},
	} {
		at, err := time.Parse(time.RFC3339, tt.at)
		if err != nil {
			t.Fatal(err)
		}
		req := newRequest()
		interactive(&req)
		req.Run.SessionID = tt.session
		if tt.run != "" {
			req.Run.Env = map[string]string{"HOME": tt.run}
		}
		w := world{environ: func() []string { return []string{tt.env} }, now: func() time.Time { return at }}
		_, err = w.spawnConversation(launch(req))
		if (execution.CodeOf(err) == execution.CodeInvalidStateTransition) != tt.refused {
			t.Errorf("%s: %v, want it refused: %v", tt.name, err, tt.refused)
		}
		// One prompt at a time goes on in the same file.
		req.Run.Interactive = false
		if _, err := spawn(launch(req)); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestConversationRequest: what reaches Gemini in a file is not said again, and a continuation names the session.
func TestConversationRequest(t *testing.T) {
	t.Parallel()
	req := newRequest()
	interactive(&req)
	req.Run.Cwd = "/w"
	req.Instructions.SystemPrompt, req.Instructions.DeveloperPrompt, req.Run.SystemPromptMode = "you are a bird", "sing", execution.SystemPromptReplace
	req.Continuation = &execution.Continuation{State: map[string]any{"sessionId": sessionID}}
	said := converse(t, req)
	if !strings.Contains(said, `"session/load"`) || !strings.Contains(said, sessionID) {
		t.Errorf("the session is not loaded:\n%s", said)
	}
	if strings.Contains(said, "you are a bird") || !strings.Contains(said, `"sing"`) {
		t.Errorf("the prompt that replaces Gemini's own is said, or what is added is not:\n%s", said)
	}
	if strings.Contains(said, "authenticate") || strings.Contains(said, `"readTextFile":true`) || strings.Contains(said, "set_mode") {
		t.Errorf("said what changes the user's settings, breaks Gemini's tools or makes a text of the agent:\n%s", said)
	}
}

// TestTextsBesideImages: Gemini drops an image that comes with a resource.
func TestTextsBesideImages(t *testing.T) {
	t.Parallel()
	req := newRequest()
	req.Run.Cwd = "/w"
	req.Message.Attachments = []execution.Attachment{{Base64: "aGk=", MimeType: "image/png"}, {Base64: "aGk=", MimeType: "text/plain", Name: "note.txt"}, {Base64: "aGk=", MimeType: "application/pdf"}}
	said := converse(t, req)
	if strings.Contains(said, `"resource"`) || strings.Count(said, `"image"`) != 2 || !strings.Contains(said, "application/pdf") || !strings.Contains(said, "note.txt") {
		t.Errorf("said\n%s", said)
	}
}

// converse is what a conversation says up to its first prompt.
func converse(t *testing.T, req execution.Request) string {
	t.Helper()
	p, s := newConversation(req), cliagent.NewSink(false)
	p.Open(s)
	p.Line(0, []byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true,"audio":true,"embeddedContext":true}}}}`), s)
	p.Line(0, []byte(`{"jsonrpc":"2.0","id":2,"result":{"sessionId":"`+sessionID+`"}}`), s)
	if req.Run.SessionID != "" || req.Continuation != nil {
		p.Alarm(s) // the history of a loaded session is over
	}
	var said strings.Builder
	for _, w := range s.TakeWrites() {
		said.Write(w)
	}
	if !strings.Contains(said.String(), "session/prompt") {
		t.Fatalf("there is no prompt:\n%s", said.String())
	}
	return said.String()
}
