package project

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/internal/settings/trust"
)

// theirs is a project that wants to run one of everything.
const theirs = `{
  "schema_version": "1.0", "project": {"id": "tale", "name": "Tale"},
  "roles": {
    "dev": {"title": "Developer", "mandate": "Build it.", "write_authority": "authoritative", "runtime": "worker"},
    "old": {"adapter": "local_cli", "adapter_config": {"command": ["sh", "old.sh"]}},
    "pm": {"title": "PM", "mandate": "Want it.", "write_authority": "review_only", "runtime": "person"}
  },
  "runtimes": {
    "worker": {"type": "local_cli", "command": ["sh", "-c", "./agent.sh || true"], "cwd": "sub", "env": {"LD_PRELOAD": "x.so", "PATH": "bin:/usr/bin"}},
    "worker.evil": {"type": "local_cli", "command": "curl evil"},
    "bot": {"type": "agent", "agent": "claude", "approve": "yolo"},
    "person": {"type": "manual"}
  },
  "routing": {"build": {"entry_role": "dev", "allowed_next_roles": ["dev", "old", "pm", "human"], "exit_gate": "done"}},
  "gates": {"done": {"requires_human_approval": true, "gate_actions": [{"run": "make ship"}, {"run": "./deploy.sh"}]}},
  "hooks": {"before_gate": [{"name": "post", "type": "http", "url": "https://example.test/x", "headers": {"A": "${HOME}"}, "timeout_ms": 500, "mode": "advisory"}]},
  "policies": [{"id": "again", "rule": "require_reproducible_verification", "action": "warn"}],
  "workflow_kit": {}
}`

func load(t *testing.T, root string) *Project {
	t.Helper()
	p, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestItems(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	place(t, root, "agentxchain.json", theirs)
	place(t, root, "sub/agent.sh", "x")
	place(t, root, "old.sh", "x")
	place(t, root, "sub/x.so", "x")
	place(t, root, "bin/sh", "x")
	place(t, root, "deploy.sh", "x")
	var got []string
	for _, i := range load(t, root).Items() {
		text := i.Place + ": " + strings.ReplaceAll(i.Runs, "\n", "; ")
		for _, f := range i.Files {
			text += " <" + f.Path + ">"
		}
		got = append(got, text)
	}
	want := []string{
		`runtimes.worker: local_cli: sh -c "./agent.sh || true"; cwd "sub"; env {"LD_PRELOAD":"x.so","PATH":"bin:/usr/bin"} <bin/sh> <sub/agent.sh> <sub/x.so>`,
		`runtimes."worker.evil": local_cli: curl evil`,
		`runtimes.bot: agent: claude; approve "yolo"`,
		`roles.old: local_cli: sh old.sh; prompt_transport "stdin" <old.sh>`,
		`hooks.before_gate.post: hook: https://example.test/x; url "https://example.test/x"; headers {"A":"${HOME}"}; timeout_ms 500; mode "advisory"`,
		`gates.done.gate_actions.0: shell: make ship`,
		`gates.done.gate_actions.1: shell: ./deploy.sh <deploy.sh>`,
		`policies.again: runs again the commands that a turn gives as its evidence`,
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
	p := load(t, root)
	for of, n := range map[[2]string]int{{"runtimes", "worker"}: 1, {"runtimes", "local_cli-old"}: 1, {"runtimes", "person"}: 0, {"hooks", "before_gate"}: 1, {"hooks", "on_escalation"}: 0, {"gates", "done"}: 2, {"policies", ""}: 1} {
		if got := p.ItemsOf(of[0], of[1]); len(got) != n {
			t.Errorf("%v: %+v, want %d", of, got, n)
		}
	}
}

// What the user writes is trusted as it is written, and nothing that stood there before.
func TestWritten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ key, value, want string }{
		{"runtimes.worker.startup_watchdog_ms", "5000", ""}, // of a program that nobody has trusted
		{"runtimes.person.type", "local_cli", ""},
		{"runtimes.worker", `{"type": "local_cli", "command": ["true"]}`, "runtimes.worker"},
		{"runtimes.mine", `{"type": "local_cli", "command": ["true"]}`, "runtimes.mine"},
		{"runtimes.bot.model", "opus", "runtimes.bot"}, // which is trusted
		{"gates.done.gate_actions", `[{"run": "true"}]`, "gates.done.gate_actions.0"},
		{"project.goal", "a tale", "runtimes.bot"},
	} {
		root := t.TempDir()
		place(t, root, "agentxchain.json", strings.Replace(theirs, `"person": {"type": "manual"}`, `"person": {"type": "manual", "command": ["curl", "evil"]}`, 1))
		store := trust.Store{File: filepath.Join(t.TempDir(), "trust.json")}
		before := load(t, root)
		if err := store.Trust(t.Context(), root, before.ItemsOf("runtimes", "bot"), false); err != nil {
			t.Fatal(err)
		}
		keys, err := Keys(root, tt.key)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Set(root, tt.key, tt.value); err != nil {
			t.Fatalf("%s: %v", tt.key, err)
		}
		items, err := Written(store, before, load(t, root), keys)
		if err != nil {
			t.Fatal(err)
		}
		var places []string
		for _, i := range items {
			places = append(places, i.Place)
		}
		if got := strings.Join(places, " "); got != tt.want && strings.TrimSpace(strings.Replace(got, "runtimes.bot", "", 1)) != tt.want {
			t.Errorf("%s: %q is trusted, want %q", tt.key, got, tt.want)
		}
	}
}

// TestItemsOfServices: where a service is and which variable holds its key is part of what is trusted; secrets are not.
func TestItemsOfServices(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	config := func(token string) string {
		return `{"schema_version": "1.0", "project": {"id": "tale", "name": "Tale"},
  "roles": {"qa": {"title": "QA", "mandate": "Doubt.", "write_authority": "review_only", "runtime": "api"}},
  "runtimes": {
    "api": {"type": "api_proxy", "provider": "openai", "model": "m", "auth_env": "K", "base_url": "https://api.test/x"},
    "far": {"type": "remote_agent", "url": "https://far.test/turn", "headers": {"Authorization": "Bearer ` + token + `", "x-team": "blue"}, "timeout_ms": 5},
    "tool": {"type": "mcp", "command": "node", "args": ["server.js"]}
  },
  "routing": {"qa": {"entry_role": "qa", "allowed_next_roles": ["qa", "human"]}}, "workflow_kit": {}}`
	}
	runs := func(token string) (all []string) {
		place(t, root, "agentxchain.json", config(token))
		for _, i := range load(t, root).Items() {
			all = append(all, strings.ReplaceAll(i.Runs, "\n", "; "))
		}
		return all
	}
	got := runs("kk-secret-0123456789")
	if len(got) != 3 || got[0] != `api_proxy: openai m; model "m"; provider "openai"; auth_env "K"; base_url "https://api.test/x"` ||
		!strings.HasPrefix(got[1], `remote_agent: https://far.test/turn; url "https://far.test/turn"; headers {"Authorization":"sha256:`) ||
		!strings.HasSuffix(got[1], `,"x-team":"blue"}; timeout_ms 5`) || strings.Contains(got[1], "kk-secret") || got[2] != "mcp: node server.js" {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if other := runs("kk-other-9876543210"); other[1] == got[1] {
		t.Error("another token is not another item")
	}
}

// TestItemsOfAdapters: a custom adapter is shown with its module or command, and a changed module is another item.
func TestItemsOfAdapters(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	place(t, root, "agentxchain.json", `{
  "schema_version": "1.0", "project": {"id": "tale", "name": "Tale"},
  "roles": {"dev": {"adapter": "js"}, "ops": {"title": "Ops", "mandate": "Run it.", "write_authority": "authoritative", "runtime": "worker"}},
  "runtimes": {"worker": {"type": "program", "adapter_config": {"queue": "q"}}},
  "adapters": {"js": {"module": "./adapters/a.mjs"}, "program": {"command": ["sh", "adapter.sh"], "env": {"MODE": "x"}}},
  "routing": {"build": {"entry_role": "dev", "allowed_next_roles": ["dev", "ops", "human"]}}, "workflow_kit": {}
}`)
	place(t, root, "adapters/a.mjs", "x")
	place(t, root, "adapter.sh", "x")
	items := load(t, root).Items()
	var got []string
	for _, i := range items {
		got = append(got, i.Place+": "+strings.ReplaceAll(i.Runs, "\n", "; ")+" <"+i.Files[0].Path+">")
	}
	want := []string{`runtimes.worker: program: sh adapter.sh; adapter_config {"queue":"q"}; env {"MODE":"x"} <adapter.sh>`, `roles.dev: js: node ./adapters/a.mjs <adapters/a.mjs>`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	place(t, root, "adapters/a.mjs", "y")
	if now := load(t, root).Items(); !trust.Same(now[0], items[0]) || trust.Same(now[1], items[1]) {
		t.Error("the changed module is the same item, or the unchanged command is not")
	}
}
