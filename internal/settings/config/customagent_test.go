package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// TestCustomAgents: agents of both files are read, and every fault of a file is named with its field and its line.
func TestCustomAgents(t *testing.T) {
	t.Parallel()
	user, project := t.TempDir(), t.TempDir()
	write := func(dir, text string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (*Config, error) {
		return Read(project, func(name string) string { return map[string]string{"DRAWBAR_CONFIG_DIR": user}[name] })
	}
	write(user, `{"customAgents": {"mine": {"command": ["x"]}, "other": {"command": ["y"]}}}`)
	write(filepath.Join(project, ".drawbar"), "{\n// ours\n\"customAgents\": {\"ours\": {\"command\": [\"./z\"],},}}")
	cfg, err := read()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range cfg.CustomAgents() {
		got = append(got, string(a.Scope)+" "+a.Name+" "+a.Entry.Command[0])
	}
	if want := "global mine x, global other y, project ours ./z"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if v, ok := cfg.Get("customAgents.mine"); !ok || string(v.Value) != `{"command": ["x"]}` {
		t.Errorf("%s %v", v.Value, ok)
	}

	write(user, "{\"customAgents\": {\n\"mine\": {\"comand\": [\"x\"]},\n\"Big One\": {},\n\"last\": 7}}")
	_, err = read()
	for _, want := range []string{"customAgents.mine.comand is not allowed here (did you mean command?) (line 2)", "customAgents.mine.command is missing",
		`customAgents."Big One" is not a valid agent name`, "(line 3)", "customAgents.last is a number, not an object (line 4)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	if e := new(execution.Error); !asError(err, &e) || len(e.Fields) != 4 {
		t.Errorf("%+v", e)
	}
}

func asError(err error, e **execution.Error) bool {
	got, ok := err.(*execution.Error)
	*e = got
	return ok
}
