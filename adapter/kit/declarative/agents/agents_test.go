package agents

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/adapter/kit/declarative"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
)

// TestEntries: every file is an entry without faults, and the registry accepts its descriptor.
func TestEntries(t *testing.T) {
	t.Parallel()
	if len(Names()) < 3 {
		t.Fatalf("agents %v", Names())
	}
	for _, name := range Names() {
		text, ok := Text(name)
		if !ok {
			t.Fatal(name)
		}
		e, faults := declarative.Read(text)
		if len(faults) > 0 {
			t.Errorf("%s.json: %v", name, faults)
			continue
		}
		if err := catalog.NewRegistry(nil, adapter.Host{}).Register(describe(name)); err != nil {
			t.Error(err)
		}
		if e.Documented == "" || describe(name).Documented != e.Documented {
			t.Errorf("%s.json does not say which document it follows", name)
		}
	}
}

// TestDocumented plays what the vendors' documents show: the command line that they name, and the output that they quote.
func TestDocumented(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the agents are shell scripts")
	}
	for name, c := range map[string]struct {
		fixture string // testdata, with its source in the first line of SOURCES.md
		request func(*execution.Request)
		args    string
		text    string
		session string
		events  string // some of the events
	}{
		"aider": {"aider.txt", func(r *execution.Request) { r.Run.Model, r.Run.ApprovalMode = "sonnet", "yolo" },
			"--message-file FILE --no-pretty --no-stream --no-check-update --no-show-release-notes --model sonnet --yes-always", "Applied edit to hello.js", "", ""},
		"amp": {"amp.jsonl", func(r *execution.Request) { r.Run.SessionID = "T-2775dc92-90ed-4f85-8b73-8f9766029e83" },
			"threads continue T-2775dc92-90ed-4f85-8b73-8f9766029e83 --execute --stream-json", "2 + 2 equals 4.", "T-2775dc92-90ed-4f85-8b73-8f9766029e83",
			"session_resume turn_start step_start token_usage message_start"},
		"crush": {"crush.txt", func(r *execution.Request) { r.Run.SessionID = "s1" }, "run --quiet --session s1", "a terminal agent", "s1", "session_resume"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fixture, err := filepath.Abs(filepath.Join("testdata", c.fixture))
			if err != nil {
				t.Fatal(err)
			}
			script := "#!/bin/sh\ncat >/dev/null\necho \"$*\" > " + dir + "/args\ncat " + fixture + "\n"
			if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			req := clitest.Request()
			req.Message.Text = "what is 2+2?"
			req.Run.Env = map[string]string{"PATH": dir + string(os.PathListSeparator) + os.Getenv("PATH")}
			c.request(&req)
			r, err := agent.New(agent.BackendOf(describe(name))).Start(context.Background(), req, agent.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for e, err := range r.Events(context.Background(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				kinds = append(kinds, string(e.Body.Type()))
			}
			res, err := r.Result(context.Background())
			if err != nil || res.Status != execution.StatusCompleted || !strings.Contains(res.Text, c.text) || res.SessionID != c.session || res.UnknownLines != 0 {
				t.Errorf("%v %s %+v, text %q, session %q, %d unknown lines", err, res.Status, res.Error, res.Text, res.SessionID, res.UnknownLines)
			}
			if !strings.Contains(strings.Join(kinds, " "), c.events) {
				t.Errorf("events %v, want %s", kinds, c.events)
			}
			said, err := os.ReadFile(filepath.Join(dir, "args"))
			if err != nil {
				t.Fatal(err)
			}
			words := strings.Fields(string(said))
			for i, w := range words {
				if strings.HasPrefix(w, "/") {
					words[i] = "FILE"
				}
			}
			if got := strings.Join(words, " "); got != c.args {
				t.Errorf("arguments %s, want %s", got, c.args)
			}
		})
	}
}
