package proposal

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

func TestChangeDiff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change Change
		want   string
	}{
		"create":       {Change{File: File{Path: "a"}, New: []byte("x\n")}, "--- /dev/null\n+++ b/a\n@@ -0,0 +1,1 @@\n+x\n"},
		"delete":       {Change{File: File{Path: "a"}, Old: []byte("x\n")}, "--- a/a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n"},
		"modify":       {Change{File: File{Path: "a"}, Old: []byte("x\n"), New: []byte("y\n")}, "--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-x\n+y\n"},
		"create empty": {Change{File: File{Path: "a"}, New: []byte{}}, "--- /dev/null\n+++ b/a\n"},
		"same":         {Change{File: File{Path: "a"}, Old: []byte("x"), New: []byte("x")}, ""},
		"gone already": {Change{File: File{Path: "a"}}, ""},
	} {
		if got := c.change.Diff(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestWritable: a folder that cannot be written is found before, and nothing is left of the search.
func TestWritable(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{".agentxchain", "src", "locked"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	changes := func(paths ...string) (all []Change) {
		for _, p := range paths {
			all = append(all, Change{File: File{Path: p}, New: []byte("x")})
		}
		return all
	}
	if err := Writable(root, changes("a.txt", "src/b.txt", "new/deep/c.txt")); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{".", "src", ".agentxchain"} {
		if left, err := filepath.Glob(filepath.Join(root, dir, ".drawbar-*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("nothing is read-only for this user")
	}
	if err := os.Chmod(filepath.Join(root, "locked"), 0o555); err != nil {
		t.Fatal(err)
	}
	if err := Writable(root, changes("a.txt", "locked/b.txt")); err == nil || !strings.Contains(err.Error(), "locked/b.txt") {
		t.Errorf("%v", err)
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	all := []Proposal{{TurnID: "a", Status: Applied}, {TurnID: "b", Status: Open}, {TurnID: "c", Status: Partly}}
	if p, err := Choose(all, "a"); err != nil || p.TurnID != "a" {
		t.Errorf("%v %v", p, err)
	}
	if p, err := Choose(all[:2], ""); err != nil || p.TurnID != "b" {
		t.Errorf("%v %v", p, err)
	}
	for turn, in := range map[string][]Proposal{"": all, "x": all, " ": all[:1]} {
		if p, err := Choose(in, strings.TrimSpace(turn)); err == nil {
			t.Errorf("%q: %+v", turn, p)
		}
	}
}

// TestDeriveNothing: who may write, and who reviews with their own hands, has no derived files.
func TestDeriveNothing(t *testing.T) {
	t.Parallel()
	content := "x"
	changes := []protocol.ProposedChange{{Path: "a", Action: Create, Content: &content}}
	h := protocol.HistoryEntry{TurnID: "turn_1", Artifact: protocol.ResultArtifact{Type: protocol.ArtifactReview}}
	for _, c := range []struct {
		authority protocol.Authority
		runtime   string
		changes   []protocol.ProposedChange
		want      string
	}{
		{protocol.Authoritative, protocol.RuntimeLocalCLI, changes, ""},
		{protocol.ReviewOnly, protocol.RuntimeManual, changes, ""},
		{protocol.ReviewOnly, protocol.RuntimeMCP, nil, ""},
		{protocol.ReviewOnly, protocol.RuntimeAPIProxy, changes, ".agentxchain/reviews/turn_1--review.md"},
		{protocol.Proposed, protocol.RuntimeRemoteAgent, nil, ".agentxchain/reviews/turn_1--review.md"},
		{protocol.Proposed, protocol.RuntimeMCP, changes, ".agentxchain/proposed/turn_1"},
	} {
		d, err := Derive(t.TempDir(), h, c.changes, c.authority, c.runtime)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if d != nil {
			got = d.Ref
		}
		if got != c.want {
			t.Errorf("%s on %s: %q, want %q", c.authority, c.runtime, got, c.want)
		}
	}
}

// FuzzSnapshot: whatever another program left in a proposal's folder, nothing panics, and a snapshot without a fault names
// files of the project only.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(`{"files":[{"path":"a","action":"create","existed":false,"sha256":null}]}`))
	f.Add([]byte(`{"files":[{"path":"../../etc/passwd","action":"modify","existed":true,"sha256":"sha256:0"}]}`))
	f.Add([]byte(`{"files":[{"path":"a","action":"delete"},{"path":"./a","action":"x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		files, fault := parse(data)
		if fault != "" {
			return
		}
		for _, c := range files {
			if !filepath.IsLocal(filepath.FromSlash(c.Path)) || strings.HasPrefix(c.Path, ".git/") || protocol.Reserved(c.Path) {
				t.Errorf("%q can be applied", c.Path)
			}
		}
	})
}
