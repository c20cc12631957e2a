package project

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/prompt"
	"github.com/google/go-cmp/cmp"
)

const turn = "turn_abc"

var sealedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bundleOf is a bundle of an attempt with a prompt.
func bundleOf(attempt int, text string) Bundle {
	a, _ := protocol.MarshalFile(protocol.Assignment{RunID: "run_1", TurnID: turn, Role: "dev", Attempt: attempt})
	return Bundle{TurnID: turn, Files: map[string][]byte{prompt.AssignmentFile: a, prompt.PromptFile: []byte(text), prompt.ContextFile: []byte("# Context\n")}}
}

func bundlePath(root string, names ...string) string {
	return filepath.Join(append([]string{root, ".agentxchain", "dispatch", "turns", turn}, names...)...)
}

// sealed is a project with a sealed bundle.
func sealed(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := WriteBundle(root, bundleOf(1, "do it\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := Seal(root, turn, sealedAt); err != nil {
		t.Fatal(err)
	}
	return root
}

func lay(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func types(faults []protocol.ManifestError) []string {
	out := []string{}
	for _, f := range faults {
		if f.Detail == "" {
			out = append(out, "no detail")
		}
		out = append(out, f.Type)
	}
	slices.Sort(out)
	return out
}

func TestSealListsWhatIsThere(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := WriteBundle(root, bundleOf(1, "do it\n")); err != nil {
		t.Fatal(err)
	}
	lay(t, bundlePath(root, "a hook's file.txt"), "x")                           // hooks may add files before the bundle is sealed
	lay(t, bundlePath(root, ".PROMPT.md.drawbar-2147483647-ABCDEFGHIJ"), "half") // of a writer that was killed
	lay(t, bundlePath(root, "sub", "deep.txt"), "not counted")
	m, err := Seal(root, turn, sealedAt)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range m.Files {
		paths = append(paths, f.Path)
	}
	if diff := cmp.Diff([]string{"ASSIGNMENT.json", "CONTEXT.md", "PROMPT.md", "a hook's file.txt"}, paths); diff != "" {
		t.Errorf("files: %s", diff)
	}
	raw, err := os.ReadFile(bundlePath(root, "MANIFEST.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"manifest_version": "1.0"`, `"run_id": "run_1"`, `"turn_id": "turn_abc"`, `"role": "dev"`,
		`"finalized_at": "2026-03-01T12:00:00.000Z"`, `"size": 6`, `"sha256": "402436c3df36c2f8a8cd650174563f9865abe29ad72eb3177755c808b51cdf8e"`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s is not in\n%s", want, raw)
		}
	}
	if strings.Contains(string(raw), "MANIFEST.json") || !strings.HasSuffix(string(raw), "}\n") {
		t.Errorf("the manifest lists itself or has no newline:\n%s", raw)
	}
	got, faults := VerifyBundle(root, turn)
	if len(faults) > 0 {
		t.Errorf("a fresh bundle has faults: %+v", faults)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("read back: %s", diff)
	}
}

func TestVerifyBundleFindsEveryFault(t *testing.T) {
	t.Parallel()
	rewrite := func(old, new string) func(*testing.T, string) {
		return func(t *testing.T, root string) {
			raw, _ := os.ReadFile(bundlePath(root, "MANIFEST.json"))
			if !strings.Contains(string(raw), old) {
				t.Fatalf("%q is not in the manifest", old)
			}
			lay(t, bundlePath(root, "MANIFEST.json"), strings.Replace(string(raw), old, new, 1))
		}
	}
	link := func(name, to string) func(*testing.T, string) {
		return func(t *testing.T, root string) {
			_ = os.Remove(bundlePath(root, name))
			if err := os.Symlink(to, bundlePath(root, name)); err != nil {
				t.Skip(err)
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(t *testing.T, root string)
		want   []string
	}{
		{"untouched", func(*testing.T, string) {}, []string{}},
		{"evidence", func(t *testing.T, root string) { lay(t, bundlePath(root, "evidence", "stdout.log"), "x") }, []string{}},
		{"another folder", func(t *testing.T, root string) { lay(t, bundlePath(root, "more", "x"), "x") }, []string{}},
		{"no manifest", func(t *testing.T, root string) { os.Remove(bundlePath(root, "MANIFEST.json")) }, []string{"missing_manifest"}},
		{"no bundle", func(t *testing.T, root string) { os.RemoveAll(bundlePath(root)) }, []string{"missing_manifest"}},
		{"manifest is a link", func(t *testing.T, root string) {
			os.Rename(bundlePath(root, "MANIFEST.json"), bundlePath(root, "evidence-manifest"))
			link("MANIFEST.json", "evidence-manifest")(t, root)
		}, []string{"missing_manifest"}},
		{"manifest is no JSON", func(t *testing.T, root string) { lay(t, bundlePath(root, "MANIFEST.json"), "{") }, []string{"invalid_manifest"}},
		{"manifest is null", func(t *testing.T, root string) { lay(t, bundlePath(root, "MANIFEST.json"), "null") }, []string{"invalid_manifest"}},
		{"manifest is empty", func(t *testing.T, root string) { lay(t, bundlePath(root, "MANIFEST.json"), "") }, []string{"invalid_manifest"}},
		{"manifest too large", func(t *testing.T, root string) {
			lay(t, bundlePath(root, "MANIFEST.json"), strings.Repeat(" ", maxManifest+1)+"{}")
		}, []string{"invalid_manifest"}},
		{"no version", rewrite(`"manifest_version": "1.0",`, ``), []string{"invalid_manifest"}},
		{"empty version", rewrite(`"manifest_version": "1.0",`, `"manifest_version": "",`), []string{"invalid_manifest"}},
		{"no array", rewrite(`"files": [`, `"other": [`), []string{"invalid_manifest"}},
		{"files of another kind", func(t *testing.T, root string) {
			lay(t, bundlePath(root, "MANIFEST.json"), `{"manifest_version":"1.0","files":[7]}`)
		}, []string{"invalid_manifest"}},
		{"of another turn", rewrite(`"turn_id": "turn_abc"`, `"turn_id": "turn_def"`), []string{"invalid_manifest"}},
		{"leads out", rewrite(`"path": "PROMPT.md"`, `"path": "../../../../PROMPT.md"`), []string{"invalid_manifest", "unexpected_file"}},
		{"leads down", rewrite(`"path": "PROMPT.md"`, `"path": "evidence/PROMPT.md"`), []string{"invalid_manifest", "unexpected_file"}},
		{"lists itself", rewrite(`"path": "PROMPT.md"`, `"path": "MANIFEST.json"`), []string{"invalid_manifest", "unexpected_file"}},
		{"lists one twice", rewrite(`"path": "PROMPT.md"`, `"path": "CONTEXT.md"`), []string{"invalid_manifest", "unexpected_file"}},
		{"a file is gone", func(t *testing.T, root string) { os.Remove(bundlePath(root, "CONTEXT.md")) }, []string{"missing_file"}},
		{"a file is a folder", func(t *testing.T, root string) {
			os.Remove(bundlePath(root, "CONTEXT.md"))
			lay(t, bundlePath(root, "CONTEXT.md", "x"), "x")
		}, []string{"missing_file"}},
		{"a file is a link to its content", func(t *testing.T, root string) {
			raw, _ := os.ReadFile(bundlePath(root, "CONTEXT.md"))
			lay(t, bundlePath(root, "evidence", "c"), string(raw))
			link("CONTEXT.md", filepath.Join("evidence", "c"))(t, root)
		}, []string{"missing_file"}},
		{"same size, other content", func(t *testing.T, root string) { lay(t, bundlePath(root, "PROMPT.md"), "do IT\n") }, []string{"digest_mismatch"}},
		{"other size", func(t *testing.T, root string) { lay(t, bundlePath(root, "PROMPT.md"), "do it not\n") }, []string{"digest_mismatch", "size_mismatch"}},
		{"a lie about the size", rewrite(`"size": 6`, `"size": 7`), []string{"size_mismatch"}},
		{"a stranger", func(t *testing.T, root string) { lay(t, bundlePath(root, "ROGUE.txt"), "x") }, []string{"unexpected_file"}},
		{"a strange link", link("ROGUE", "/etc/passwd"), []string{"unexpected_file"}},
		{"one gone and one new", func(t *testing.T, root string) {
			os.Remove(bundlePath(root, "CONTEXT.md"))
			lay(t, bundlePath(root, "ROGUE.txt"), "x")
		}, []string{"missing_file", "unexpected_file"}},
		{"bundle is a link", func(t *testing.T, root string) {
			os.Rename(bundlePath(root), filepath.Join(root, "elsewhere"))
			if err := os.Symlink(filepath.Join(root, "elsewhere"), bundlePath(root)); err != nil {
				t.Skip(err)
			}
		}, []string{"missing_manifest"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := sealed(t)
			c.change(t, root)
			_, faults := VerifyBundle(root, turn)
			if diff := cmp.Diff(c.want, types(faults)); diff != "" {
				t.Errorf("faults (-want +got):\n%s%+v", diff, faults)
			}
			files, _, again := ReadBundle(root, turn)
			if diff := cmp.Diff(types(faults), types(again)); diff != "" {
				t.Errorf("reading says something else: %s", diff)
			}
			if len(again) == 0 && string(files["PROMPT.md"]) != "do it\n" {
				t.Errorf("read %q", files)
			}
		})
	}
}

// TestManifestFixtures runs the public fixtures of the protocol for manifests through the functions of this package.
func TestManifestFixtures(t *testing.T) {
	t.Parallel()
	paths, _ := filepath.Glob(filepath.Join("testdata", "manifest", "DM-*.json"))
	if len(paths) == 0 {
		t.Fatal("no fixtures")
	}
	type files map[string]map[string]string
	for _, p := range paths {
		t.Run(filepath.Base(p), func(t *testing.T) {
			t.Parallel()
			var fx struct {
				Setup struct {
					Bundle  files             `json:"dispatch_bundle"`
					Inject  files             `json:"post_finalize_inject"`
					Tamper  files             `json:"post_finalize_tamper"`
					Delete  json.RawMessage   `json:"post_finalize_delete_manifest"`
					Corrupt map[string]string `json:"post_finalize_corrupt_manifest"`
				}
				Expected struct {
					Errors json.RawMessage `json:"verification_errors"`
				}
			}
			raw, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw, &fx); err != nil {
				t.Fatal(err)
			}
			root := t.TempDir()
			for id, content := range fx.Setup.Bundle {
				b := Bundle{TurnID: id, Files: map[string][]byte{}}
				for name, text := range content {
					b.Files[name] = []byte(text)
				}
				if err := WriteBundle(root, b); err != nil {
					t.Fatal(err)
				}
				if _, err := Seal(root, id, sealedAt); err != nil {
					t.Fatal(err)
				}
			}
			for _, change := range []files{fx.Setup.Inject, fx.Setup.Tamper} {
				for _, content := range change {
					for name, text := range content {
						lay(t, bundlePath(root, name), text)
					}
				}
			}
			if protocol.Is(fx.Setup.Delete) {
				os.Remove(bundlePath(root, "MANIFEST.json"))
			}
			for _, text := range fx.Setup.Corrupt {
				lay(t, bundlePath(root, "MANIFEST.json"), text)
			}
			var list []protocol.ManifestError
			if protocol.Kind(fx.Expected.Errors) == "object" {
				var unordered struct{ Items json.RawMessage }
				_ = json.Unmarshal(fx.Expected.Errors, &unordered)
				fx.Expected.Errors = unordered.Items
			}
			var loose []struct{ Type string }
			if err := json.Unmarshal(fx.Expected.Errors, &loose); err != nil {
				t.Fatal(err)
			}
			for _, e := range loose {
				list = append(list, protocol.ManifestError{Type: e.Type, Detail: "x"})
			}
			_, faults := VerifyBundle(root, turn)
			if diff := cmp.Diff(types(list), types(faults)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSealRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(root string)
		want   string
	}{
		{"no bundle", func(root string) { os.RemoveAll(bundlePath(root)) }, "no such file"},
		{"no assignment", func(root string) { os.Remove(bundlePath(root, "ASSIGNMENT.json")) }, "ASSIGNMENT.json"},
		{"another turn's", func(root string) {
			_ = os.WriteFile(bundlePath(root, "ASSIGNMENT.json"), []byte(`{"turn_id":"turn_def"}`), 0o644)
		}, `for turn "turn_def"`},
		{"a link among the files", func(root string) { _ = os.Symlink("/etc/passwd", bundlePath(root, "x")) }, "not a regular file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			if err := WriteBundle(root, bundleOf(1, "do it\n")); err != nil {
				t.Fatal(err)
			}
			c.change(root)
			_, err := Seal(root, turn, sealedAt)
			if err == nil || !strings.Contains(err.Error(), c.want) || execution.CodeOf(err) != execution.CodeConfig {
				t.Errorf("got %v, want one with %q", err, c.want)
			}
			if _, err := os.Stat(bundlePath(root, "MANIFEST.json")); err == nil {
				t.Error("a manifest was written")
			}
		})
	}
}

func TestRetryRewritesTheBundleAndKeepsTheEvidence(t *testing.T) {
	t.Parallel()
	root := sealed(t)
	lay(t, bundlePath(root, "evidence", "stdout.log"), "attempt one")
	lay(t, bundlePath(root, "HOOK.md"), "of a hook")
	if err := WriteBundle(root, bundleOf(2, "do it again\n")); err != nil {
		t.Fatal(err)
	}
	if _, faults := VerifyBundle(root, turn); len(faults) != 1 || faults[0].Type != "missing_manifest" {
		t.Errorf("a rewritten bundle counts as sealed: %+v", faults)
	}
	if diff := cmp.Diff([]string{"ASSIGNMENT.json", "CONTEXT.md", "PROMPT.md", "evidence"}, namesIn(t, bundlePath(root))); diff != "" {
		t.Errorf("bundle: %s", diff)
	}
	if diff := cmp.Diff([]string{"ASSIGNMENT.json", "CONTEXT.md", "HOOK.md", "MANIFEST.json", "PROMPT.md", "stdout.log"}, namesIn(t, bundlePath(root, "evidence", "attempt-1"))); diff != "" {
		t.Errorf("attempt 1: %s", diff)
	}
	if _, err := Seal(root, turn, sealedAt); err != nil {
		t.Fatal(err)
	}
	// The same attempt again, as after a crash: nothing piles up, the evidence stays.
	lay(t, bundlePath(root, "evidence", "stdout.log"), "attempt two")
	if err := WriteBundle(root, bundleOf(2, "do it again\n")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"attempt-1", "stdout.log"}, namesIn(t, bundlePath(root, "evidence"))); diff != "" {
		t.Errorf("evidence: %s", diff)
	}
	if err := WriteBundle(root, bundleOf(3, "a third time\n")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"attempt-1", "attempt-2"}, namesIn(t, bundlePath(root, "evidence"))); diff != "" {
		t.Errorf("evidence: %s", diff)
	}
	if raw, _ := os.ReadFile(bundlePath(root, "evidence", "attempt-2", "stdout.log")); string(raw) != "attempt two" {
		t.Errorf("the log of attempt 2 is %q", raw)
	}
}

func TestWriteBundleIsNotLedAway(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	for _, c := range []struct {
		name string
		link []string // what is a link to the outside
	}{
		{"the turn's folder", nil},
		{"the evidence", []string{"evidence"}},
		{"a file", []string{"PROMPT.md"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			if len(c.link) > 0 {
				if err := WriteBundle(root, bundleOf(1, "first\n")); err != nil {
					t.Fatal(err)
				}
				os.RemoveAll(bundlePath(root, c.link...))
			} else if err := os.MkdirAll(filepath.Dir(bundlePath(root)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(outside, bundlePath(root, c.link...)); err != nil {
				t.Skip(err)
			}
			if err := WriteBundle(root, bundleOf(2, "do it\n")); err != nil {
				t.Fatal(err)
			}
			if _, err := Seal(root, turn, sealedAt); err != nil {
				t.Fatal(err)
			}
			if got := namesIn(t, outside); len(got) > 0 {
				t.Errorf("written outside: %v", got)
			}
			if fi, err := os.Lstat(bundlePath(root, "PROMPT.md")); err != nil || !fi.Mode().IsRegular() {
				t.Errorf("PROMPT.md: %v, %v", fi, err)
			}
		})
	}
	root := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(root, ".agentxchain")); err != nil {
		t.Skip(err)
	}
	if err := WriteBundle(root, bundleOf(1, "x")); err == nil {
		t.Error("a .agentxchain that leads out of the project is followed")
	}
}

func TestWriteBundleRefusesNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../x", "a/b", "MANIFEST.json", "evidence", "", ".", ".."} {
		if err := WriteBundle(t.TempDir(), Bundle{TurnID: turn, Files: map[string][]byte{name: nil}}); err == nil {
			t.Errorf("the file name %q is taken", name)
		}
	}
	for _, id := range []string{"", "..", "../turn", "a/b", ".hidden", `a\b`} {
		root := t.TempDir()
		if err := WriteBundle(root, Bundle{TurnID: id}); err == nil {
			t.Errorf("the turn id %q is taken", id)
		}
		if got := namesIn(t, root); len(got) > 0 {
			t.Errorf("the turn id %q left %v", id, got)
		}
		if _, faults := VerifyBundle(root, id); len(faults) != 1 || faults[0].Type != "missing_manifest" {
			t.Errorf("the turn id %q: %+v", id, faults)
		}
	}
}

func TestCopyBundle(t *testing.T) {
	t.Parallel()
	root, worktree := sealed(t), t.TempDir()
	lay(t, bundlePath(root, "evidence", "stdout.log"), "x")
	faults, err := CopyBundle(root, worktree, turn)
	if err != nil || len(faults) > 0 {
		t.Fatalf("got %v, %v", faults, err)
	}
	if _, faults := VerifyBundle(worktree, turn); len(faults) > 0 {
		t.Errorf("the copy: %+v", faults)
	}
	if diff := cmp.Diff([]string{"ASSIGNMENT.json", "CONTEXT.md", "MANIFEST.json", "PROMPT.md"}, namesIn(t, bundlePath(worktree))); diff != "" {
		t.Errorf("copied: %s", diff)
	}
	if fi, err := os.Stat(filepath.Join(worktree, ".agentxchain", "staging", turn)); err != nil || !fi.IsDir() {
		t.Errorf("no folder for the result: %v", err)
	}
	lay(t, bundlePath(root, "PROMPT.md"), "do IT\n")
	fresh := t.TempDir()
	if faults, _ := CopyBundle(root, fresh, turn); len(faults) != 1 || faults[0].Type != "digest_mismatch" {
		t.Errorf("a changed bundle: %+v", faults)
	}
	if got := namesIn(t, fresh); len(got) > 0 {
		t.Errorf("a changed bundle was copied: %v", got)
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	run := "run_1"
	s := protocol.State{RunID: &run, Phase: "qa"}
	s.ActiveTurns.Set("turn_b", &protocol.Turn{TurnID: "turn_b", AssignedRole: "qa", RuntimeID: "manual-qa", Attempt: 2, Status: protocol.TurnRetrying, AssignedSequence: 5})
	s.ActiveTurns.Set("turn_a", &protocol.Turn{TurnID: "turn_a", AssignedRole: "dev", RuntimeID: "cli", Attempt: 1, Status: protocol.TurnRunning})
	warnings := map[string][]protocol.AdvisoryWarning{"turn_a": {{Code: "advisory_scope_overlap", Message: "m"}}}
	raw, err := protocol.MarshalFile(Index(s, sealedAt, warnings))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "run_id": "run_1",
  "phase": "qa",
  "updated_at": "2026-03-01T12:00:00.000Z",
  "active_turns": {
    "turn_b": {
      "turn_id": "turn_b",
      "role": "qa",
      "runtime_id": "manual-qa",
      "attempt": 2,
      "status": "retrying",
      "bundle_path": ".agentxchain/dispatch/turns/turn_b",
      "staging_result_path": ".agentxchain/staging/turn_b/turn-result.json",
      "assigned_sequence": 5
    },
    "turn_a": {
      "turn_id": "turn_a",
      "role": "dev",
      "runtime_id": "cli",
      "attempt": 1,
      "status": "running",
      "bundle_path": ".agentxchain/dispatch/turns/turn_a",
      "staging_result_path": ".agentxchain/staging/turn_a/turn-result.json",
      "assigned_sequence": 0,
      "advisory_warnings": [
        {
          "code": "advisory_scope_overlap",
          "message": "m"
        }
      ]
    }
  }
}
`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Errorf("index (-want +got):\n%s", diff)
	}
}

func TestEvidencePath(t *testing.T) {
	t.Parallel()
	root := sealed(t)
	dir, err := EvidencePath(root, turn)
	if err != nil {
		t.Fatal(err)
	}
	lay(t, filepath.Join(dir, "stdout.log"), "late")
	if _, faults := VerifyBundle(root, turn); len(faults) > 0 {
		t.Errorf("evidence written after sealing is a fault: %+v", faults)
	}
	if _, err := EvidencePath(root, "turn_none"); err == nil {
		t.Error("a turn without a bundle has evidence")
	}
}
