package turnresult

import (
	"path"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

func TestLexicalPath(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]string{ // a fault's type behind !
		"src/a.go": "src/a.go", "./src//a.go": "src/a.go", "src/../b": "b", `src\a.go`: "src/a.go", "dir/": "dir", ".github/x": ".github/x", ".gitignore": ".gitignore",
		"a b/ü.md": "a b/ü.md", "..x/a": "..x/a", "a..b": "a..b", ".planning/x.md": ".planning/x.md", ".agentxchain/reviews/r.md": ".agentxchain/reviews/r.md",
		".agentxchain/proposed/turn_1/PROPOSAL.md": ".agentxchain/proposed/turn_1/PROPOSAL.md", "git:abc123": "git:abc123", "turn:turn_1": "turn:turn_1", "https://x.org/pull/3": "https:/x.org/pull/3", "TALK.md": "TALK.md",
		"": "!empty_path", "  ": "!empty_path", ".": "!invalid_path", "a/..": "!invalid_path", "a\x00b": "!invalid_path", "a\nb": "!invalid_path", "\xff": "!invalid_path", "a/ .../b": "!invalid_path",
		"/etc/passwd": "!path_escape", `\etc`: "!path_escape", `\\server\share`: "!path_escape", "//server/share": "!path_escape", `C:\x`: "!path_escape", "c:/x": "!path_escape", "C:x": "!path_escape", "file:///etc": "!path_escape",
		"..": "!path_escape", "../x": "!path_escape", "a/../../x": "!path_escape", `..\x`: "!path_escape", `a\..\..\x`: "!path_escape", `a/..\../x`: "!path_escape",
		".agentxchain/state.json": "!reserved_path_violation", ".AgentXchain/State.JSON": "!reserved_path_violation", `.agentxchain\state.json`: "!reserved_path_violation", "a/../.agentxchain/state.json": "!reserved_path_violation",
		".agentxchain/\u017ftate.json": "!reserved_path_violation", ".agentxchain/lock.json": "!reserved_path_violation", ".agentxchain/history.jsonl.": "!reserved_path_violation", ".agentxchain /state.json": "!reserved_path_violation",
		".agentxchain/state.json::$DATA": "!reserved_path_violation", ".agent\u200bxchain/state.json": "!reserved_path_violation", "AGENTX~1/state.json": "!reserved_path_violation", ".agentxchain": "!reserved_path_violation",
		".agentxchain/chain.jsonl": "!reserved_path_violation", ".agentxchain/locks/x": "!reserved_path_violation", ".agentxchain/transactions/accept/t.json": "!reserved_path_violation",
		".git": "!reserved_path_violation", ".git/config": "!reserved_path_violation", ".GIT/config": "!reserved_path_violation", "sub/.Git/hooks/x": "!reserved_path_violation", ".git./config": "!reserved_path_violation",
		".git::$INDEX_ALLOCATION/x": "!reserved_path_violation", "GIT~1/config": "!reserved_path_violation", ".g\u200cit/config": "!reserved_path_violation",
	} {
		clean, fault := LexicalPath(p)
		switch {
		case strings.HasPrefix(want, "!"):
			if fault == nil || fault.Type != want[1:] || clean != "" || fault.Path != p || fault.Stage != protocol.StageArtifact || fault.Message == "" || fault.Expected == "" {
				t.Errorf("%q: got %q %+v, want %s", p, clean, fault, want)
			}
		case fault != nil || clean != want:
			t.Errorf("%q: got %q %+v, want %q", p, clean, fault, want)
		}
	}
}

func FuzzLexicalPath(f *testing.F) {
	for _, p := range []string{"a/b", `..\x`, ".git/x", ".agentxchain/state.json", "C:x", "a/./../b"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		clean, fault := LexicalPath(p)
		if fault != nil {
			return
		}
		if clean != path.Clean(clean) || path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || strings.ContainsAny(clean, "\\\x00") ||
			protocol.Reserved(clean) || strings.EqualFold(strings.SplitN(clean, "/", 2)[0], ".git") {
			t.Fatalf("%q became %q", p, clean)
		}
		if again, fault := LexicalPath(clean); fault != nil || again != clean {
			t.Fatalf("%q became %q became %q %v", p, clean, again, fault)
		}
	})
}
