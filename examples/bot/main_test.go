package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/internal/modelserver"
)

// TestBot: an approval that is given two days later, over what another process would find.
func TestBot(t *testing.T) {
	script, err := modelserver.Parse([]byte(`{"turns":[{"match":{"contains":"write"},"tools":[{"name":"write","input":{"path":"note.txt","content":"x"}}]},{"text":"It is written.","repeat":true}]}`))
	if err != nil {
		t.Fatal(err)
	}
	server, err := modelserver.New(script, modelserver.Options{}).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	dir := t.TempDir()
	for name, value := range map[string]string{"ANTHROPIC_BASE_URL": server.URL(), "ANTHROPIC_API_KEY": "dummy-key-not-real", "HOME": dir, "DRAWBAR_STATE_DIR": filepath.Join(dir, "state"),
		"DRAWBAR_CONFIG_DIR": filepath.Join(dir, "config")} {
		t.Setenv(name, value)
	}
	t.Chdir(t.TempDir())
	file, agent, model = filepath.Join(dir, "bot.db"), "harness", "anthropic/claude-sonnet-4-5"
	say := func(at string, args ...string) string {
		t.Helper()
		clock = func() time.Time { now, _ := time.Parse(time.RFC3339, at); return now }
		var out bytes.Buffer
		if err := bot(t.Context(), &out, args); err != nil {
			return "error: " + err.Error()
		}
		return out.String()
	}
	wrote := func() bool { _, err := os.Stat("note.txt"); return err == nil }
	const friday, sunday = "2026-01-02T00:00:00Z", "2026-01-04T00:00:00Z"
	asked := say(friday, "ask", "write the note")
	id, what, _ := strings.Cut(asked, " waits for ")
	if strings.TrimSpace(what) != "approval_resolution" || wrote() {
		t.Fatalf("%q", asked)
	}
	if out := say(sunday, "list"); !strings.Contains(out, id+"  pending  approval_resolution  change files") {
		t.Errorf("%q", out)
	}
	if out := say(sunday, "answer", id, "maybe"); !strings.Contains(out, "neither approved nor denied") || wrote() {
		t.Errorf("%q", out)
	}
	if out := say(sunday, "answer", id, "approve"); out != "It is written.\n" || !wrote() {
		t.Errorf("%q", out)
	}
	if out := say(sunday, "answer", id, "approve"); !strings.HasPrefix(out, "error: ") {
		t.Errorf("%q", out)
	}
	if out := say(sunday, "ask", "transfer the money"); !strings.Contains(out, "moves no money") {
		t.Errorf("%q", out)
	}
	if out := say(sunday, "dance"); !strings.Contains(out, "usage") {
		t.Errorf("%q", out)
	}
}
