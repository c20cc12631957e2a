package project

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
)

func place(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// refused asserts a CONFIG_ERROR with a hint.
func refused(t *testing.T, err error, want ...string) {
	t.Helper()
	var e *execution.Error
	if !errors.As(err, &e) || e.Code != execution.CodeConfig || e.Hint == "" {
		t.Fatalf("%v is no CONFIG_ERROR with a hint", err)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir, _ := scaffold(t, ScaffoldOptions{})
	deep := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{dir, deep, filepath.Join(deep, "not", "there")} {
		if root, err := Find(at); err != nil || root != dir {
			t.Errorf("from %s: %s %v", at, root, err)
		}
	}
	place(t, deep, protocol.ConfigFile, "{}")
	if root, err := Find(deep); err != nil || root != deep {
		t.Errorf("the nearest is %s: %v", root, err)
	}
	_, err := Find(t.TempDir())
	refused(t, err, "no agentxchain.json", "drawbar govern init")
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	good := `{"schema_version":"1.0","project":{"id":"p","name":"P"},"roles":{"d":{"title":"t","mandate":"m","write_authority":"authoritative","runtime":"r"}},"runtimes":{"r":{"type":"manual"}}}`
	for name, c := range map[string]struct {
		make func(t *testing.T, dir string)
		want []string
	}{
		"nothing":     {func(*testing.T, string) {}, []string{"there is no", "drawbar govern init"}},
		"a directory": {func(t *testing.T, dir string) { place(t, dir, protocol.ConfigFile+"/x", "") }, []string{"is a directory"}},
		"a link": {func(t *testing.T, dir string) {
			if err := os.Symlink(place(t, dir, "real.json", good), filepath.Join(dir, protocol.ConfigFile)); err != nil {
				t.Skip(err)
			}
		}, []string{"is a link"}},
		"huge": {func(t *testing.T, dir string) {
			place(t, dir, protocol.ConfigFile, good+strings.Repeat(" ", maxConfigSize))
		}, []string{"too large"}},
		"a mark":  {func(t *testing.T, dir string) { place(t, dir, protocol.ConfigFile, "\xef\xbb\xbf"+good) }, []string{protocol.ConfigFile + ":1:1", "byte order mark"}},
		"no JSON": {func(t *testing.T, dir string) { place(t, dir, protocol.ConfigFile, "{\n\"a\" 1}") }, []string{protocol.ConfigFile + ":2:5", "not JSON"}},
		"twins": {func(t *testing.T, dir string) {
			place(t, dir, protocol.ConfigFile, strings.Replace(good, `"runtimes"`, "\n\"roles\":{},\"runtimes\"", 1))
		}, []string{protocol.ConfigFile + ":2:1", "twice"}},
		"two faults": {func(t *testing.T, dir string) {
			place(t, dir, protocol.ConfigFile, strings.NewReplacer(`"manual"`, `"manua"`, `"id":"p"`, `"id":7`).Replace(good))
		}, []string{"2 errors", "project.id: is a number", `runtimes.r.type: cannot be "manua"`, "did you mean manual", "drawbar govern validate"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c.make(t, dir)
			p, err := Load(dir)
			if p != nil {
				t.Fatal("loaded")
			}
			refused(t, err, c.want...)
		})
	}
}

func TestLoadListsProblems(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, dir, protocol.ConfigFile, `{"schema_version":"3","projet":{}}`)
	_, err := Load(dir)
	var invalid *InvalidError
	if !errors.As(err, &invalid) || len(charter.Errors(invalid.Problems)) != 3 || len(charter.Warnings(invalid.Problems)) != 1 {
		t.Fatalf("%v", err)
	}
	var e *execution.Error
	if !errors.As(err, &e) || len(e.Fields) != 3 || e.Fields[2].Field != "schema_version" {
		t.Errorf("%+v", e)
	}
}

func TestLoadNormalizesAndKeeps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := `{"schema_version":4,"project":{"id":"p","name":"P"},"roles":{"d":{"adapter":"manual","shirt":"red"}},"later":{"a":1}}`
	place(t, dir, protocol.ConfigFile, text)
	p, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	d := p.Config.Roles.At("d")
	if p.Root != dir || string(p.Raw) != text || len(p.Warnings) != 2 || d.Runtime != "manual-d" || p.Declared.Roles.At("d").Runtime != "" ||
		string(p.Config.Extra.At("later")) != `{"a":1}` || p.Declared.Routing != nil || p.Config.Routing.Len() != 3 {
		t.Errorf("%+v %+v", p, d)
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	place(t, dir, "a/b.txt", "12345")
	place(t, outside, "secret", "s")
	for name, target := range map[string]string{"out": outside, "a/file": filepath.Join(outside, "secret"), "in": "a/b.txt", "up": "../" + filepath.Base(outside) + "/secret", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	for rel, want := range map[string]string{"a/b.txt": "12345", "in": "12345", "./a/../a/b.txt": "12345"} {
		if got, err := ReadFile(dir, rel, 5); err != nil || string(got) != want {
			t.Errorf("%s: %q %v", rel, got, err)
		}
	}
	for _, rel := range []string{"../x", "/etc/passwd", "out/secret", "a/file", "up", "loop", "a", "", "a/../../x", "a\x00b"} {
		if got, err := ReadFile(dir, rel, 100); err == nil {
			t.Errorf("%s: read %q", rel, got)
		}
	}
	if _, err := ReadFile(dir, "a/b.txt", 4); !errors.Is(err, repofile.ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	if _, err := ReadFile(dir, "a/none", 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not there: %v", err)
	}
	if runtime.GOOS == "linux" {
		if _, err := ReadFile("/dev", "zero", 4); err == nil {
			t.Error("a device was read")
		}
	}
}

// reference makes one of the projects of testdata/reference.
func reference(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	for _, part := range []string{"project", name} {
		if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "reference", part))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(dir, "gitignore"), filepath.Join(dir, ".gitignore")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestReference holds that a project of the original is a project here, and that its record can be read and loses nothing.
func TestReference(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		status protocol.RunStatus
		turns  int
	}{"idle": {protocol.RunIdle, 0}, "older": {protocol.RunIdle, 0}, "midrun": {protocol.RunActive, 0}, "midturn": {protocol.RunActive, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := reference(t, name)
			p, err := Load(dir)
			if err != nil {
				t.Fatal(err)
			}
			if bad := slices.Concat(p.Warnings, charter.Errors(charter.Admission(p.Config)), charter.Errors(charter.Unbuilt(p.Config))); len(bad) > 0 {
				t.Errorf("%v", bad)
			}
			var s protocol.State
			if err := json.Unmarshal([]byte(readText(t, dir, protocol.StateFile)), &s); err != nil {
				t.Fatal(err)
			}
			if s.Status != want.status || s.ActiveTurns.Len() != want.turns {
				t.Errorf("%s with %d turns", s.Status, s.ActiveTurns.Len())
			}
			readLines[protocol.Event](t, dir, protocol.EventsFile)
			readLines[protocol.LedgerNote](t, dir, protocol.LedgerFile)
			readLines[protocol.RunSummary](t, dir, protocol.RunHistoryFile)
			for _, h := range readLines[protocol.HistoryEntry](t, dir, protocol.HistoryFile) {
				if h.TurnID == "" || h.RunID != s.ID() {
					t.Errorf("%+v", h)
				}
			}
			if name == "midrun" && !s.Extra.Has("operator_commit_reconciliation") {
				t.Error("an unknown key of the state is lost")
			}
		})
	}
}

func readLines[T any](t *testing.T, dir, name string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var list []T
	for line := range strings.Lines(string(data)) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		list = append(list, v)
	}
	return list
}

func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	if _, err := Scaffold(dir, ScaffoldOptions{Agent: "claude"}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Load(dir); err != nil {
			b.Fatal(err)
		}
	}
}
