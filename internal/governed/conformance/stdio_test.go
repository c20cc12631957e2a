package conformance

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func fakeProgram(t *testing.T, mode string) *Stdio {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Stdio{Claims: claims, Dir: t.TempDir(), Path: exe, Env: append(os.Environ(), "CONFORMANCE_FAKE="+mode)}
}

func TestStdio(t *testing.T) {
	f := fixture(t, "a", 1, "s", `{"a":1}`)
	for _, tc := range []struct{ name, mode, want string }{
		{"pass", `answer 0 {"status":"pass","message":"","actual":{}}`, "pass"},
		{"fail", `answer 1 {"status":"fail","message":"","actual":{}}`, "fail"},
		{"error", `answer 2 {"status":"error"}`, "error"},
		{"not implemented", `answer 3 {"status":"not_implemented"}`, "not_implemented"},
		{"exit code of another verdict", `answer 1 {"status":"pass","actual":{}}`, "answered pass, but exited with 1 instead of 0"},
		{"an unknown exit code", `answer 7 hello`, "exited with 7, not 0 to 3"},
		{"no JSON", `answer 0 hello`, "not a JSON object"},
		{"JSON and more", `answer 0 {"status":"pass"} {}`, "not a JSON object"},
		{"an unknown status", `answer 0 {"status":"passed"}`, "no valid status"},
		{"nothing, and words on standard error", "noise", "it said: cannot find my head"},
		{"too much", "flood", "more than 16777216 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, err := fakeProgram(t, tc.mode).Execute(t.Context(), f)
			if err == nil && string(a.Status) == tc.want {
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %+v, %v, want %s", a, err, tc.want)
			}
		})
	}
}

func TestStdioRunsInItsFolder(t *testing.T) {
	s := fakeProgram(t, "where")
	a, err := s.Execute(t.Context(), fixture(t, "a", 1, "s", `{"a":1}`))
	if err != nil || a.Message != filepath.Base(s.Dir) || string(a.Actual) != `{"a":1}` {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestStdioTimeoutKills(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no signal to ignore")
	}
	_, out, err := Run(t.Context(), fakeProgram(t, "stubborn"), []Fixture{fixture(t, "a", 1, "s", `{}`)}, Options{Timeout: 300 * time.Millisecond})
	if err != nil || out[0].Status != Error || !strings.Contains(out[0].Message, "no answer within 300ms") {
		t.Errorf("got %+v, %v", out, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	if _, err := fakeProgram(t, "stubborn").Execute(ctx, fixture(t, "a", 1, "s", `{}`)); !errors.Is(err, why) {
		t.Errorf("stopped from outside: %v", err)
	}
}

func TestStdioThatCannotStart(t *testing.T) {
	s := Stdio{Claims: claims, Dir: t.TempDir(), Path: filepath.Join(t.TempDir(), "nothing")}
	if _, err := s.Execute(t.Context(), fixture(t, "a", 1, "s", `{}`)); err == nil || !strings.Contains(err.Error(), "start the program") {
		t.Errorf("got %v", err)
	}
}

func TestOpenStdio(t *testing.T) {
	found := func(name string) (string, error) { return "/found/" + name, nil }
	write := func(text string) string {
		dir := t.TempDir()
		file := filepath.Join(dir, filepath.FromSlash(CapabilitiesFile))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	const good = `{"implementation":"i","tiers":[1],"adapter":{"protocol":"stdio-fixture-v1","command":["COMMAND","x"]}}`
	for _, tc := range []struct{ name, text, path, err string }{
		{"by name", strings.Replace(good, "COMMAND", "node", 1), "/found/node", ""},
		{"in the folder", strings.Replace(good, "COMMAND", "bin/run", 1), "DIR/bin/run", ""},
		{"no JSON", "{", "", "unexpected end"},
		{"everything wrong", `{"tiers":[4],"adapter":{"protocol":"http-fixture-v1"}}`, "", "implementation is missing or empty\ntiers names 4, not 1 to 3\nadapter.protocol is \"http-fixture-v1\", not \"stdio-fixture-v1\"\nadapter.command is missing"},
		{"no tiers", `{"implementation":"i","adapter":{"protocol":"stdio-fixture-v1","command":["a"]}}`, "", "tiers is missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := write(tc.text)
			s, err := OpenStdio(dir, nil, found)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), "capabilities.json") {
					t.Errorf("got %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.FromSlash(strings.Replace(tc.path, "DIR", filepath.ToSlash(dir), 1)); s.Path != want || len(s.Args) != 1 || s.Dir != dir {
				t.Errorf("got %+v, want %s", s, want)
			}
		})
	}
	if _, err := OpenStdio(t.TempDir(), nil, found); err == nil || !strings.Contains(err.Error(), CapabilitiesFile) {
		t.Errorf("an empty folder: %v", err)
	}
}
