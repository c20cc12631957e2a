//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
)

// kept is an agent with a name whose sessions are in a database.
type kept struct {
	name, file string
	call       string   // of its shell
	list       []string // lists its MCP servers
	skills     []string // lists its skills
	forks      bool
}

var databases = []kept{
	{name: "opencode", file: ".local/share/opencode/opencode.db", call: `{"name":"bash","input":{"command":%s,"description":"run it"}}`,
		list: []string{"opencode", "debug", "config"}, skills: []string{"opencode", "debug", "skill"}, forks: true},
	{name: "goose", file: ".local/share/goose/sessions/sessions.db", call: `{"name":"shell","input":{"command":%s}}`,
		list: []string{"goose", "info", "-v"}, skills: []string{"goose", "skills", "list"}},
}

func forEachDatabase(t *testing.T, f func(t *testing.T, k kept)) {
	t.Helper()
	t.Parallel()
	for _, k := range databases {
		forAgent(t, k.name, func(t *testing.T) { f(t, k) })
	}
}

// beside are the files of a database.
func (k kept) beside(t *testing.T, l *lab) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(l.home, k.file+"*"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no database of %s: %v", k.name, err)
	}
	return strings.Join(list, " ")
}

// TestSessionsInADatabase: what the agent wrote is listed, shown, searched, resumed and forked, and its costs are those that the model
// server sent.
func TestSessionsInADatabase(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, k kept) {
		l := newLab(t, kit{name: k.name}, fmt.Sprintf(`{"turns":[{"thinking":"a thought of mine","text":"I look at the quokka.","tools":[%s],"usage":{"input":500,"output":50}},
			{"text":"The word is quokka.","usage":{"input":600,"output":60}},{"text":"It was the quokka."},{"text":"Another way."}],"side":{"usage":{"input":90,"output":9}}}`, fmt.Sprintf(k.call, q("echo wombat"))))
		first := l.run("--approve", "yolo", "--tag", "zoo", "remember the quokka")
		first.completed(t)
		before := k.beside(t, l)
		found := answer[listing](l, "sessions", "list", "--agent", k.name)
		if len(found.Sessions) != 1 || len(found.Problems) != 0 {
			t.Fatalf("listed %+v", found)
		}
		s := found.Sessions[0]
		if s.SessionID != first.result.SessionID || s.Title == "" || s.Cwd != l.work || s.Model == "" || s.TurnCount == nil || *s.TurnCount != 1 || !slices.Equal(s.Tags, []string{"zoo"}) {
			t.Errorf("the summary is %+v, the session %s", s, first.result.SessionID)
		}
		shown := answer[history.Session](l, "sessions", "show", s.UnifiedID)
		said, results := "", ""
		for _, m := range shown.Messages {
			if m.Role == history.RoleAssistant {
				said += m.Content + "|"
			}
			if m.ToolResult != nil {
				results += m.ToolResult.Output
			}
		}
		if said != "I look at the quokka.|The word is quokka.|" || !strings.Contains(results, "wombat") || shown.Messages[0].Content != "remember the quokka" ||
			shown.Usage == nil || shown.Usage.Input != 1100 || shown.Usage.Output != 110 || len(shown.UnknownRecords) > 0 || len(shown.Problems) > 0 {
			t.Errorf("said %q, results %q, usage %+v, %v %v", said, results, shown.Usage, shown.UnknownRecords, shown.Problems)
		}
		if hits := answer[struct{ Total int }](l, "sessions", "search", "WOMBAT"); hits.Total != 1 {
			t.Errorf("%d sessions have what the tool said", hits.Total)
		}
		if c := answer[costs](l, "sessions", "cost", "--by", "session").Groups; len(c) != 1 || c[0].InputTokens != 1100 || c[0].OutputTokens != 110 {
			t.Errorf("the costs are %+v", c)
		}
		if after := k.beside(t, l); after != before {
			t.Errorf("the files are %s, were %s", after, before)
		}
		l.run("--session", s.UnifiedID, "which word?").completed(t)
		if again := answer[history.Session](l, "sessions", "show", s.UnifiedID); *again.TurnCount != 2 {
			t.Errorf("%d turns after the second", *again.TurnCount)
		}
		forked := l.run("--fork", s.UnifiedID, "another way")
		if !k.forks {
			partly(t, "a session cannot be forked over ACP; refused before anything is said to a model")
			forked.want(t, execution.StatusUnsupported, execution.CodeCapability, execution.ExitCapability)
			return
		}
		forked.completed(t)
		if fork := answer[history.Session](l, "sessions", "show", k.name+":"+forked.result.SessionID); *fork.TurnCount != 3 {
			t.Errorf("the fork has %d turns", *fork.TurnCount)
		}
		if c := answer[costs](l, "sessions", "cost").Groups; len(c) != 1 || c[0].InputTokens != 1100+100+100 {
			t.Errorf("what the fork repeats is counted again: %+v", c)
		}
	})
}

// TestCostOfAStoppedRunInADatabase: the tokens of a run that was stopped come from the database, which has those of the calls whose tools
// have ended.
func TestCostOfAStoppedRunInADatabase(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, k kept) {
		l := newLab(t, kit{name: k.name}, fmt.Sprintf(`{"turns":[{"text":"one","usage":{"input":50000,"output":100},"tools":[%s]},{"text":"two","tools":[%s]}]}`,
			fmt.Sprintf(k.call, q("echo x")), fmt.Sprintf(k.call, q("sleep 60"))))
		o := l.run("--approve", "yolo", "--timeout", "40s", "go")
		if c := o.result.Cost; c == nil || c.InputTokens < 50000 || c.OutputTokens < 100 {
			t.Errorf("the tokens of a run that was stopped: %+v, %+v", c, o.result.Error)
		}
	})
}

// TestSettingsOfAcpAgents: what Drawbar writes is what the agent's own program lists.
func TestSettingsOfAcpAgents(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, k kept) {
		l := newLab(t, kit{name: k.name}, `{"turns":[]}`)
		l.drawbar(nil, "mcp", "add", k.name, "ours", "--env", "A=it's", "--", "/bin/true", "an arg")
		l.drawbar(nil, "mcp", "add", k.name, "ours-http", "--url", address)
		out := l.agent(k.list...)
		for _, want := range []string{"ours", "ours-http", "/bin/true", "an arg", "it's", address} {
			if !strings.Contains(out, want) {
				t.Errorf("%v does not say %q:\n%s", k.list, want, out)
			}
		}
		l.drawbar(nil, "mcp", "remove", k.name, "ours-http")
		if out := l.agent(k.list...); strings.Contains(out, "ours-http") || !strings.Contains(out, "ours") {
			t.Errorf("after the removal:\n%s", out)
		}
		src := filepath.Join(l.root, "greet-drawbar")
		if err := os.Mkdir(src, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(src, "SKILL.md"), []byte("---\nname: greet-drawbar\ndescription: Greets people. Use when somebody arrives.\n---\nGreet.\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if o := l.command("skills", "add", src, "--agent", k.name); o.code != 0 {
			t.Fatalf("add: %s", o.stderr)
		}
		if out := l.agent(k.skills...); !strings.Contains(out, "greet-drawbar") {
			t.Errorf("not listed\n%s", out)
		}
	})
}
