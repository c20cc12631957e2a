//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// described are entries for real programs, one for each output format with a structure.
var described = map[string]string{
	"claude": `{"command": ["claude", "-p", "--output-format=stream-json", "--verbose", "--include-partial-messages", "--allowedTools=Bash", "{options}"],
		"output": {"format": "stream-json"}, "options": {"model": ["--model", "{model}"], "resume": ["--resume", "{session}"]},
		"capabilities": {"cost": true}, "version": {"args": ["--version"]}}`,
	"codex": `{"command": ["codex", "exec", "--json", "--skip-git-repo-check", "{options}", "-"], "output": {"format": "json-lines", "events": [
		{"event": "session", "when": {"type": "thread.started"}, "session": "thread_id"},
		{"event": "step", "when": {"type": "turn.started"}},
		{"event": "message", "when": {"type": "item.completed", "item.type": "agent_message"}, "text": "item.text"},
		{"event": "ignore", "when": {"type": "item.completed", "item.type": "error"}},
		{"event": "tool-start", "when": {"type": "item.started", "item.type": "command_execution"}, "id": "item.id", "name": "item.type", "input": "item"},
		{"event": "tool-end", "when": {"type": "item.completed", "item.type": "command_execution"}, "id": "item.id", "output": "item.aggregated_output"},
		{"event": "error", "when": {"type": "turn.failed"}, "error": "error.message"},
		{"event": "result", "when": {"type": "turn.completed"}, "usage": "usage"}]},
		"options": {"model": ["--model", "{model}"], "resume": ["resume", "{session}"]}, "version": {"args": ["--version"]}}`,
	"qwen": `{"command": ["qwen", "--acp", "--approval-mode", "default"], "output": {"format": "acp"}, "version": {"args": ["--version"]}}`,
}

// TestDescribed: entries of the configuration run real programs: an answer, its tokens, a session that is continued.
func TestDescribed(t *testing.T) {
	t.Parallel()
	for _, k := range kits {
		entry, ok := described[k.name]
		if !ok {
			continue
		}
		forAgent(t, k.name, func(t *testing.T) {
			l := newLab(t, k, `{"turns":[{"text":"Hello from the scripted model.","chunks":5},{"text":"Hello again."}]}`)
			file := filepath.Join(l.root, "described.json")
			if err := os.WriteFile(file, []byte(entry), 0o600); err != nil {
				t.Fatal(err)
			}
			l.drawbar(nil, "agents", "add", "described", "--file", file)
			l.drawbar(nil, "agents", "test", "described")
			o := l.stream("run", "described", "--json", "--cwd", l.work, "say hello")
			o.completed(t)
			if o.result.Text != "Hello from the scripted model." || o.result.SessionID == "" || o.result.UnknownLines != 0 {
				t.Errorf("text %q, session %q, %d lines could not be parsed", o.result.Text, o.result.SessionID, o.result.UnknownLines)
			}
			if u := o.result.Usage; u == nil || u.Input != 100 || u.Output != 20 {
				t.Errorf("usage %+v, want 100 in and 20 out", u)
			}
			again := l.stream("run", "described", "--json", "--cwd", l.work, "--session", o.result.SessionID, "and again")
			again.completed(t)
			if start := bodies[execution.SessionStart](again); again.result.Text != "Hello again." || len(start) == 0 || !start[0].Resumed {
				t.Errorf("text %q, session %+v", again.result.Text, start)
			}
		})
	}
}
