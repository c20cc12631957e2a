package ledger

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

func TestHistoryReader(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, filepath.FromSlash(protocol.HistoryFile))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	line := func(run, turn string) string { return `{"turn_id":"` + turn + `","run_id":"` + run + `"}` + "\n" }
	var r HistoryReader
	for _, step := range []struct {
		name, content, run, want string
	}{
		{"the first", line("run_1", "a"), "run_1", "a"},
		{"the same again", line("run_1", "a"), "run_1", "a"},
		{"two more", line("run_1", "a") + line("run_2", "x") + line("run_1", "b"), "run_1", "a b"},
		{"another run", line("run_1", "a") + line("run_2", "x") + line("run_1", "b"), "run_2", "x"},
		{"one more", line("run_1", "a") + line("run_2", "x") + line("run_1", "b") + line("run_2", "y"), "run_2", "x y"},
		{"shorter", line("run_2", "x"), "run_2", "x"},
		{"half a line", line("run_2", "x") + `{"turn_id":`, "run_2", "error"},
		{"mended", line("run_2", "x") + line("run_2", "z"), "run_2", "x z"},
		{"another file", line("run_2", "p") + line("run_2", "q") + line("run_2", "r"), "run_2", "p q r"},
		{"damage behind", line("run_2", "p") + line("run_2", "q") + line("run_2", "r") + "[\"run_2\"]\n", "run_2", "error"},
	} {
		if err := os.WriteFile(path, []byte(step.content), 0o600); err != nil {
			t.Fatal(err)
		}
		v, err := Read(root)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Read(v, step.run)
		ids := make([]string, len(got))
		for i, h := range got {
			ids[i] = h.TurnID
		}
		have := strings.Join(ids, " ")
		if err != nil {
			if !isDamage(err) || !strings.Contains(err.Error(), "line "+map[bool]string{true: "4", false: "2"}[step.name == "damage behind"]) {
				t.Errorf("%s: %v", step.name, err)
			}
			have = "error"
		}
		if have != step.want {
			t.Errorf("%s: %s", step.name, cmp.Diff(step.want, have))
		}
	}
}
