package project

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

const settled = `{
    "schema_version": "1.0",
    "project": {"id": "p", "name": "P"},
    "roles": {
        "dev": {"title": "Dev", "mandate": "m", "write_authority": "authoritative", "runtime": "local.dev"}
    },
    "runtimes": {"local.dev": {"type": "local_cli", "command": ["x"]}},
    "routing": {
        "plan": {"entry_role": "dev", "allowed_next_roles": ["dev", "human"]},
        "build": {"entry_role": "dev"}
    },
    "budget": {
        "cost_rates": {
            "deepseek-v3": {"input_per_1m": 1, "output_per_1m": 2},
            "a.b": {"input_per_1m": 1, "output_per_1m": 2}
        }
    },
    "note": {"a.b": 1}
}
`

func TestSet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, value, old, want, becomes string }{
		"a text":              {"project.goal", "Ship it", "", `"Ship it"`, `"name": "P", "goal": "Ship it"`},
		"a text that is JSON": {"project.goal", "42", "", `"42"`, `"goal": "42"`},
		"a quoted text":       {"project.name", `"Q"`, `"P"`, `"Q"`, `"name": "Q"`},
		"a number":            {"budget.per_run_max_usd", "12.5", "", `12.5`, `"per_run_max_usd": 12.5`},
		"a flag":              {"rules.challenge_required", "false", "", `false`, `"challenge_required": false`},
		"a list":              {"routing.plan.allowed_next_roles", `["human"]`, `["dev", "human"]`, `["human"]`, `"human"`},
		"a command in words":  {`runtimes.local.dev.command`, `my-agent run {prompt}`, `["x"]`, `"my-agent run {prompt}"`, `"command": "my-agent run {prompt}"`},
		"a known dotted id":   {`budget.cost_rates.a.b.input_per_1m`, "3", "1", "3", `"a.b": {"input_per_1m": 3,`},
		"a quoted id":         {`budget.cost_rates."a.b".output_per_1m`, "3", "2", "3", `"output_per_1m": 3}`},
		"an id in one quote":  {`budget.cost_rates.'a.b'.output_per_1m`, "3", "2", "3", `"output_per_1m": 3}`},
		"the shorter id":      {`budget.cost_rates.deepseek-v3.input_per_1m`, "0.27", "1", "0.27", `"deepseek-v3": {"input_per_1m": 0.27,`},
		"the version":         {"schema_version", "4", `"1.0"`, "4", `"schema_version": 4`},
		"our own":             {"workspace", "worktree", "", `"worktree"`, `"workspace": "worktree"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := place(t, dir, protocol.ConfigFile, settled)
			old, now, err := Set(dir, c.path, c.value)
			if err != nil {
				t.Fatal(err)
			}
			if string(old) != c.old || string(now) != c.want {
				t.Errorf("from %s to %s, want from %s to %s", old, now, c.old, c.want)
			}
			text := readText(t, file)
			if !strings.Contains(text, c.becomes) {
				t.Errorf("%s is not in\n%s", c.becomes, text)
			}
			kept := 0
			for line := range strings.Lines(settled) {
				if strings.Contains(text, strings.TrimRight(line, ",\n")) {
					kept++
				}
			}
			if all := strings.Count(settled, "\n"); kept < all-1 {
				t.Errorf("%d of %d lines kept:\n%s", kept, all, text)
			}
			got, err := Get(dir, c.path)
			if err != nil || !sameJSON(got, []byte(c.want)) {
				t.Errorf("get: %s %v", got, err)
			}
			if entries, _ := os.ReadDir(dir); len(entries) != 1 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

// TestSetDottedModel is the case of specification 001: a model whose id has dots, beside one that is its beginning.
func TestSetDottedModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, dir, protocol.ConfigFile, settled)
	for key, value := range map[string]string{"input_per_1m": "0.27", "output_per_1m": "1.1"} {
		if _, _, err := Set(dir, "budget.cost_rates.deepseek-v3.1."+key, value); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r := p.Config.Budget.CostRates.At("deepseek-v3.1"); r.InputPer1M != 0.27 || r.OutputPer1M != 1.1 {
		t.Errorf("%+v", r)
	}
	if r := p.Config.Budget.CostRates.At("deepseek-v3"); r.InputPer1M != 1 {
		t.Errorf("the other model: %+v", r)
	}
}

func TestSetReplacesObjectsInPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, dir, protocol.ConfigFile, settled)
	if _, _, err := Set(dir, "routing.plan", `{"allowed_next_roles":["human"]}`); err != nil {
		t.Fatal(err)
	}
	got, err := Get(dir, "routing.plan")
	if err != nil || strings.Contains(string(got), "entry_role") {
		t.Errorf("%s %v", got, err)
	}
	p, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if phases := p.Config.Phases(); strings.Join(phases, " ") != "plan build" {
		t.Errorf("phases %v", phases)
	}
	if _, _, err := Set(dir, "routing", `{"b":{},"a":{}}`); err != nil {
		t.Fatal(err)
	}
	if p, err = Load(dir); err != nil || strings.Join(p.Config.Phases(), " ") != "b a" {
		t.Errorf("%v %v", p.Config.Phases(), err)
	}
}

func TestSetRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, value, want string }{
		"an unknown key":      {"project.gaol", "x", "did you mean project.goal"},
		"an unknown role key": {"roles.dev.titel", "x", "did you mean roles.dev.title"},
		"an unknown top":      {"polices", "[]", "did you mean policies"},
		"a key of a runtime":  {"runtimes.local.dev.comand", "x", "did you mean"},
		"a wrong type":        {"budget.per_run_max_usd", "much", "is a string, not a number"},
		"a wrong value":       {"roles.dev.write_authority", "owner", "authoritative"},
		"a lost runtime":      {"roles.dev.runtime", "nowhere", "is not declared"},
		"no JSON":             {"policies", "[", "requires JSON"},
		"below a text":        {"project.name.first", "x", "no key"},
		"no key":              {"", "x", "name the key"},
		"an open quote":       {`budget.cost_rates."a.b`, "x", "unterminated"},
		"an empty key":        {"project..name", "x", "empty key"},
		"what cannot be":      {"schema_version", "2.0", "1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := place(t, dir, protocol.ConfigFile, settled)
			_, _, err := Set(dir, c.path, c.value)
			var e *execution.Error
			if !errors.As(err, &e) || e.Code != execution.CodeConfig || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if readText(t, file) != settled {
				t.Error("the file was changed")
			}
		})
	}
}

// TestSetMendsStepByStep holds that an error that was there already does not stop another from being mended.
func TestSetMendsStepByStep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, dir, protocol.ConfigFile, strings.NewReplacer(`"name": "P"`, `"name": 7`, `"runtime": "local.dev"`, `"runtime": "x"`).Replace(settled))
	if _, _, err := Set(dir, "project.name", "P"); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil {
		t.Fatal("the runtime is still wrong")
	}
	if _, _, err := Set(dir, "roles.dev.runtime", "local.dev"); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err != nil {
		t.Error(err)
	}
}

func TestSetTouchesNoOtherFile(t *testing.T) {
	t.Parallel()
	for name, make1 := range map[string]func(dir string) error{
		"link":      func(dir string) error { return os.Symlink("real", filepath.Join(dir, protocol.ConfigFile)) },
		"directory": func(dir string) error { return os.Mkdir(filepath.Join(dir, protocol.ConfigFile), 0o755) },
		"nothing":   func(string) error { return nil },
		"broken": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, protocol.ConfigFile), []byte(`{"a":`), 0o644)
		},
		"twins": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, protocol.ConfigFile), []byte(`{"a":1,"a":2}`), 0o644)
		},
	} {
		dir := t.TempDir()
		place(t, dir, "real", settled)
		if err := make1(dir); err != nil {
			t.Skip(err)
		}
		if _, _, err := Set(dir, "project.goal", "x"); execution.CodeOf(err) != execution.CodeConfig {
			t.Errorf("%s: %v", name, err)
		}
		if readText(t, dir, "real") != settled {
			t.Errorf("%s: another file was changed", name)
		}
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, dir, protocol.ConfigFile, settled)
	for path, want := range map[string]string{"project.id": `"p"`, "note": `{"a.b": 1}`, `note."a.b"`: "1", "runtimes.local.dev.type": `"local_cli"`, "": strings.TrimSpace(settled)} {
		if got, err := Get(dir, path); err != nil || string(got) != want {
			t.Errorf("%s: %s %v", path, got, err)
		}
	}
	place(t, dir, protocol.ConfigFile, strings.Replace(settled, `"note": {"a.b": 1}`, `"files": {"a": {"b": 1}, "a.b": 2}`, 1))
	for path, want := range map[string]string{"files.a.b": "2", "files.a": `{"b": 1}`} { // of two keys that are there the longer one
		if got, err := Get(dir, path); err != nil || string(got) != want {
			t.Errorf("%s: %s %v", path, got, err)
		}
	}
	_, err := Get(dir, "rules.max_turn_retries")
	refused(t, err, "not set", "default is 2")
	_, err = Get(dir, "project.goal")
	refused(t, err, "not set", "config set project.goal")
}

func TestSetAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, dir, protocol.ConfigFile, settled)
	var wg sync.WaitGroup
	for _, path := range []string{"project.goal", "project.default_branch", "project.name", "template"} {
		wg.Go(func() {
			if _, _, err := Set(dir, path, "all"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	p, err := Load(dir)
	if err != nil || p.Config.Project.Goal != "all" || p.Config.Project.DefaultBranch != "all" || p.Config.Project.Name != "all" || p.Config.Template != "all" {
		t.Errorf("%+v %v", p, err)
	}
}

func FuzzGet(f *testing.F) {
	for _, s := range []string{"project.id", `a."b.c".d`, "'", `"`, "..", "budget.cost_rates.x.y.z", "roles.dev."} {
		f.Add(s)
	}
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, protocol.ConfigFile), []byte(settled), 0o644); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		value, err := Get(dir, path)
		if (value == nil) == (err == nil) {
			t.Fatalf("%s %v", value, err)
		}
	})
}
