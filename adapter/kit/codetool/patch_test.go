package codetool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPatch: a patch is applied as a whole, or not at all.
func TestPatch(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a": "1\n2\n3\n4\n5\n6\n7\n8\n", "b": "x\ny\n", "dos": "1\r\n2\r\n3\r\n", "end": "1\n2", "twice": "a\nb\na\nb\n", "moved": "x\na\nb\na\nb\n", "dash": "-- q\ny\n"}
	for _, tt := range []struct {
		name, patch string
		want        map[string]string // what differs from files; "-" is a file that is gone
		err         string
	}{
		{"one hunk", "--- a/a\n+++ b/a\n@@ -2,3 +2,3 @@\n 2\n-3\n+drei\n 4\n", map[string]string{"a": "1\n2\ndrei\n4\n5\n6\n7\n8\n"}, ""},
		{"wrong line numbers", "--- a/a\n+++ b/a\n@@ -70,3 +70,3 @@\n 2\n-3\n+drei\n 4\n", map[string]string{"a": "1\n2\ndrei\n4\n5\n6\n7\n8\n"}, ""},
		{"no line numbers", "--- a\n+++ a\n@@\n-3\n+drei\n", map[string]string{"a": "1\n2\ndrei\n4\n5\n6\n7\n8\n"}, ""},
		{"two hunks", "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1,2 +1,4 @@\n+0\n+0\n 1\n 2\n@@ -7,2 +9,1 @@\n 7\n-8\n", map[string]string{"a": "0\n0\n1\n2\n3\n4\n5\n6\n7\n"}, ""},
		{"two files", "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+X\n", map[string]string{"a": "one\n2\n3\n4\n5\n6\n7\n8\n", "b": "X\ny\n"}, ""},
		{"the second fails", "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-z\n+Z\n", nil, "hunk 1 of b does not fit"},
		{"a new file", "--- /dev/null\n+++ b/new/n\n@@ -0,0 +1,2 @@\n+1\n+2\n", map[string]string{"new/n": "1\n2\n"}, ""},
		{"a new file that exists", "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+1\n", nil, "exists, and the patch creates it"},
		{"a deleted file", "--- a/b\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n", map[string]string{"b": "-"}, ""},
		{"deleted with more in it", "--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", nil, "has more than the patch deletes"},
		{"a missing file", "--- a/none\n+++ b/none\n@@ -1 +1 @@\n-x\n+y\n", nil, "none does not exist"},
		{"CRLF", "--- a/dos\n+++ b/dos\n@@ -1,3 +1,3 @@\n 1\n-2\n+zwei\n 3\n", map[string]string{"dos": "1\r\nzwei\r\n3\r\n"}, ""},
		{"no newline at the end", "--- a/end\n+++ b/end\n@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+zwei\n\\ No newline at end of file\n", map[string]string{"end": "1\nzwei"}, ""},
		{"a line behind the end", "--- a/end\n+++ b/end\n@@ -1,2 +1,3 @@\n 1\n 2\n+3\n", map[string]string{"end": "1\n2\n3\n"}, ""},
		{"two places", "--- a/twice\n+++ b/twice\n@@ -9 +9 @@\n-a\n+A\n", nil, "fits at lines 1 and 3"},
		{"the place that it names", "--- a/twice\n+++ b/twice\n@@ -3 +3 @@\n-a\n+A\n", map[string]string{"twice": "a\nb\nA\nb\n"}, ""},
		{"a place that moved", "--- a/moved\n+++ b/moved\n@@ -1 +1,2 @@\n+0\n x\n@@ -4 +5 @@\n-a\n+A\n", map[string]string{"moved": "0\nx\na\nb\nA\nb\n"}, ""},
		{"lines like a header", "--- a/dash\n+++ b/dash\n@@ -1,2 +1,2 @@\n--- q\n+++ r\n y\n", map[string]string{"dash": "++ r\ny\n"}, ""},
		{"additions only", "--- a/b\n+++ b/b\n@@ -1,0 +2 @@\n+new\n", map[string]string{"b": "x\nnew\ny\n"}, ""},
		{"blank context", "--- a/a\n+++ b/a\n@@ -1,1 +1,2 @@\n 1\n+\n", map[string]string{"a": "1\n\n2\n3\n4\n5\n6\n7\n8\n"}, ""},
		{"nothing", "", nil, "the patch has no file"},
		{"no hunk", "--- a/a\n+++ b/a\n", nil, "no hunk for a"},
		{"a hunk without a file", "@@ -1 +1 @@\n-1\n+2\n", nil, "a hunk without --- and +++"},
		{"no change", "--- a/a\n+++ b/a\n@@ -1 +1 @@\n 1\n", nil, "the hunk changes nothing"},
		{"a broken hunk", "--- a/a\n+++ b/a\n@@ -x +1 @@\n-1\n", nil, "is not the beginning of a hunk"},
		{"a broken line", "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\nzwei\n", nil, "begins with a space, - or +"},
		{"a rename", "--- a/a\n+++ b/c\n@@ -1 +1 @@\n-1\n+2\n", nil, "renames a to c"},
		{"a rename without hunks", "diff --git a/a b/c\nrename from a\nrename to c\n", nil, "is not supported"},
		{"one file twice", "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n--- a/./a\n+++ b/./a\n@@ -2 +2 @@\n-2\n+3\n", nil, "has a twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			own := map[string]string{}
			for k, v := range files {
				own[k] = v
			}
			f, dir := folder(t, own)
			a := use(t, f, "patch", in{"patch": tt.patch})
			if !strings.Contains(a.Error, tt.err) || (a.Error == "") != (tt.err == "") {
				t.Errorf("%+v", a)
			}
			for name, was := range files {
				want, differs := tt.want[name]
				if !differs {
					want = was
				}
				got, err := os.ReadFile(filepath.Join(dir, name))
				if gone := err != nil; gone != (want == "-") || !gone && string(got) != want {
					t.Errorf("%s is %q, %v, want %q", name, got, err, want)
				}
			}
			if want, ok := tt.want["new/n"]; ok && content(t, dir, "new/n") != want {
				t.Errorf("the new file is %q", content(t, dir, "new/n"))
			}
			if tt.err == "" && len(a.Files) != len(tt.want) {
				t.Errorf("the events are %v", a.Files)
			}
		})
	}
}

// TestPatchTakenBack: a patch that fails while it is stored leaves every file as it was.
func TestPatchTakenBack(t *testing.T) {
	t.Parallel()
	f, dir := folder(t, map[string]string{"a": "1\n", "b": "1\n", "c": "1\n", "old": "1\n"})
	begin := func(name string) change {
		p, err := f.find(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := f.change(p, false)
		if err != nil {
			t.Fatal(err)
		}
		c.new = []byte("2\n")
		return c
	}
	gone := begin("old")
	gone.remove, gone.new = true, nil
	list := []change{begin("a"), begin("new"), gone, begin("b"), begin("c")}
	if err := os.WriteFile(filepath.Join(dir, "b"), []byte("theirs\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.storeAll(list); err == nil || !strings.Contains(err.Error(), "b has changed meanwhile") || strings.Contains(err.Error(), "stays changed") {
		t.Error(err)
	}
	for name, want := range map[string]string{"a": "1\n", "b": "theirs\n", "c": "1\n", "old": "1\n"} {
		if got := content(t, dir, name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("the new file stays")
	}
}

// FuzzPatch: no diff breaks the parser, and what it makes of a file is a text.
func FuzzPatch(f *testing.F) {
	f.Add("--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n 1\n-2\n+3\n+4\n\\ No newline at end of file\n", "1\n2\n")
	f.Add("--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+1\n", "")
	f.Add("--- a/a\n+++ b/a\n@@\n-x\n@@ -9 @@\n+y", "x\r\n")
	f.Fuzz(func(t *testing.T, patch, before string) {
		parts, err := parsePatch(patch)
		if err != nil {
			return
		}
		for _, p := range parts {
			if p.path == "" {
				continue
			}
			after, err := patched([]byte(before), p.hunks, "f")
			if err != nil {
				continue
			}
			removed, added := 0, 0
			for _, h := range p.hunks {
				for _, l := range h.lines {
					switch l[0] {
					case '-':
						removed++
					case '+':
						added++
					}
				}
			}
			count := func(s string) (n int) {
				for range strings.Lines(s) {
					n++
				}
				return n
			}
			if got, want := count(string(after)), count(before)-removed+added; got != want {
				t.Errorf("%q and %q make %q: %d lines, want %d", before, patch, after, got, want)
			}
		}
	})
}
