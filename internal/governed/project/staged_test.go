package project

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

const (
	ownFile  = ".agentxchain/staging/turn_1/turn-result.json"
	flatFile = ".agentxchain/staging/turn-result.json"
)

// stage writes files of a new project and gives its root.
func stage(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestReadStaged(t *testing.T) {
	t.Parallel()
	const result = `{"turn_id":"turn_1"}`
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // the content
		where string
		err   error
	}{
		{"own", map[string]string{ownFile: result}, result, ownFile, nil},
		{"own before flat", map[string]string{ownFile: result, flatFile: `{"turn_id":"turn_1","x":1}`}, result, ownFile, nil},
		{"flat", map[string]string{flatFile: result}, result, flatFile, nil},
		{"flat in a fence", map[string]string{flatFile: "ok\n```\n" + result + "\n```"}, "ok\n```\n" + result + "\n```", flatFile, nil},
		{"flat beside an empty own", map[string]string{ownFile: "{}", flatFile: result}, result, flatFile, nil},
		{"flat of another turn", map[string]string{flatFile: `{"turn_id":"turn_0"}`}, "", flatFile, ErrStaleStaging},
		{"flat of another turn in a fence", map[string]string{flatFile: "```\n{\"turn_id\":\"turn_0\"}\n```"}, "", flatFile, ErrStaleStaging},
		{"flat of no turn", map[string]string{flatFile: `{"a":1}`}, `{"a":1}`, flatFile, nil},
		{"own of another turn is for the validation", map[string]string{ownFile: `{"turn_id":"turn_0"}`}, `{"turn_id":"turn_0"}`, ownFile, nil},
		{"not JSON is for the validation", map[string]string{ownFile: "done!"}, "done!", ownFile, nil},
		{"absent", nil, "", ownFile, ErrNoResult},
		{"blank", map[string]string{ownFile: " \n\t\n"}, "", ownFile, ErrNoResult},
		{"nothing", map[string]string{ownFile: ""}, "", ownFile, ErrNoResult},
		{"empty object", map[string]string{ownFile: "\ufeff{ \n }\n"}, "", ownFile, ErrNoResult},
		{"other turn's", map[string]string{".agentxchain/staging/turn_2/turn-result.json": result}, "", ownFile, ErrNoResult},
		{"largest", map[string]string{ownFile: result + strings.Repeat(" ", MaxStagedResult-len(result))}, result + strings.Repeat(" ", MaxStagedResult-len(result)), ownFile, nil},
		{"one byte more", map[string]string{ownFile: result + strings.Repeat(" ", MaxStagedResult-len(result)+1)}, "", ownFile, ErrTooLarge},
		{"a file for a folder", map[string]string{".agentxchain/staging/turn_1": "x"}, "", ownFile, ErrNotRegular},
		{"a folder for a file", map[string]string{ownFile + "/x": "x"}, "", ownFile, ErrNotRegular},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			data, where, err := ReadStaged(stage(t, c.files), "turn_1")
			if string(data) != c.want || where != c.where || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("got %d bytes of %q, %v", len(data), where, err)
			}
			if err != nil {
				check(t, err, where)
			}
			if wants := c.err == ErrNoResult || c.err == ErrStaleStaging; errors.Is(err, ErrNoResult) != wants {
				t.Errorf("a reason to wait on: %v", err)
			}
		})
	}
}

// check fails unless the error is one of ours that names the file and what to do.
func check(t *testing.T, err error, where string) {
	t.Helper()
	var e *execution.Error
	if !errors.As(err, &e) || e.Code != execution.CodeInvalidOutput || e.Hint == "" || !strings.Contains(e.Message, filepath.Dir(where)) {
		t.Errorf("a poor error: %+v", err)
	}
}

func TestReadStagedSparse(t *testing.T) {
	t.Parallel()
	root := stage(t, map[string]string{ownFile: "{"})
	if err := os.Truncate(filepath.Join(root, ownFile), 100<<20); err != nil {
		t.Fatal(err)
	}
	data, where, err := ReadStaged(root, "turn_1")
	if data != nil || !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %d bytes, %v", len(data), err)
	}
	check(t, err, where)
}

func TestReadStagedFollowsNoLink(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: links need a privilege on Windows")
	}
	outside := stage(t, map[string]string{"secret.json": `{"turn_id":"turn_1"}`, "turn_1/turn-result.json": `{"turn_id":"turn_1"}`})
	for name, link := range map[string][2]string{ // where the link is, and where it leads
		"a file outside":        {ownFile, filepath.Join(outside, "secret.json")},
		"a file inside":         {ownFile, "../../../a.json"},
		"nothing":               {ownFile, "nowhere"},
		"a folder outside":      {".agentxchain/staging", outside},
		"a folder inside":       {".agentxchain/staging", "../elsewhere"},
		"the turn's folder":     {".agentxchain/staging/turn_1", filepath.Join(outside, "turn_1")},
		"the whole folder":      {".agentxchain", outside},
		"a flat file elsewhere": {flatFile, filepath.Join(outside, "secret.json")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := stage(t, map[string]string{"a.json": `{"turn_id":"turn_1"}`, "elsewhere/turn_1/turn-result.json": `{"turn_id":"turn_1"}`})
			at := filepath.Join(root, filepath.FromSlash(link[0]))
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(link[1], at); err != nil {
				t.Fatal(err)
			}
			data, where, err := ReadStaged(root, "turn_1")
			if data != nil || !errors.Is(err, ErrNotRegular) {
				t.Fatalf("read %q, %v", data, err)
			}
			if !strings.Contains(err.Error(), "is a link") {
				t.Errorf("got %v", err)
			}
			_ = where
		})
	}
}

func TestReadStagedRefusesIDs(t *testing.T) {
	t.Parallel()
	root := stage(t, map[string]string{ownFile: `{"turn_id":"turn_1"}`, ".agentxchain/turn-result.json": "x"})
	for _, id := range []string{"", ".", "..", "../staging/turn_1", "a/b", `..\x`, "C:x", "a\x00"} {
		if data, _, err := ReadStaged(root, id); data != nil || execution.CodeOf(err) != execution.CodeValidation {
			t.Errorf("%q: %q, %v", id, data, err)
		}
	}
	if _, _, err := ReadStaged(filepath.Join(root, "nowhere"), "turn_1"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a root that is not there: %v", err)
	}
}

func TestMeaningful(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, " ": false, "{}": false, "{\n}": false, "{ } ": false, "{} {}": true, "{}}": true, "{": true, "null": true, `{"a":1}`: true} {
		if meaningful([]byte(text)) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	if meaningful(bytes.Repeat([]byte("\n"), 1<<20)) {
		t.Error("blank lines mean nothing")
	}
}
