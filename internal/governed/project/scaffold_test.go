package project

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
)

func scaffold(t *testing.T, o ScaffoldOptions) (string, *Project) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "My Tool")
	if _, err := Scaffold(dir, o); err != nil {
		t.Fatal(err)
	}
	p, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, p
}

func readText(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEveryTemplateIsAProjectThatCanRun(t *testing.T) {
	t.Parallel()
	for _, tmpl := range Templates() {
		for name, o := range map[string]ScaffoldOptions{
			"plain": {}, "agent": {Agent: "codex"}, "command": {DevCommand: "my-agent run {prompt}"},
			"both": {Agent: "claude", DevCommand: "./dev.sh", DevPromptTransport: "stdin"},
		} {
			t.Run(tmpl.ID+"/"+name, func(t *testing.T) {
				t.Parallel()
				o.Template = tmpl.ID
				dir, p := scaffold(t, o)
				if len(p.Warnings) > 0 {
					t.Errorf("warnings: %v", p.Warnings)
				}
				if bad := charter.Errors(charter.Admission(p.Config)); len(bad) > 0 {
					t.Errorf("not admitted: %v", bad)
				}
				if bad := charter.Unbuilt(p.Config); len(bad) > 0 {
					t.Errorf("asks for what is not built: %v", bad)
				}
				if p.Config.Template != tmpl.ID || p.Config.Project.Name != "My Tool" || p.Config.Project.ID != "my-tool" {
					t.Errorf("project %+v of template %s", p.Config.Project, p.Config.Template)
				}
				var s protocol.State
				if err := json.Unmarshal([]byte(readText(t, dir, protocol.StateFile)), &s); err != nil {
					t.Fatal(err)
				}
				if s.Status != protocol.RunIdle || s.Phase != "planning" || s.PhaseGateStatus.Len() != 3 || s.RunID != nil || *s.BudgetStatus.RemainingUSD != 50 {
					t.Errorf("state %+v", s)
				}
				for role, path := range p.Config.Prompts.All() {
					if text := readText(t, dir, path); !strings.Contains(text, "{{mandate}}") || strings.Contains(text, "\r") {
						t.Errorf("prompt of %s: %s", role, text)
					}
				}
				for _, phase := range p.Config.Phases() {
					for _, a := range charter.Artifacts(p.Config, phase) {
						if text := readText(t, dir, a.Path); strings.Contains(text, "{{") || !strings.Contains(text, "My Tool") {
							t.Errorf("%s: %s", a.Path, text)
						}
					}
				}
				for _, name := range tmpl.planning {
					if !strings.Contains(readText(t, dir, protocol.PlanningDir, name), "My Tool") {
						t.Errorf("%s is not there", name)
					}
				}
			})
		}
	}
}

func TestScaffoldStaff(t *testing.T) {
	t.Parallel()
	claude := []string{"claude", "--print", "--dangerously-skip-permissions", "--bare"}
	for name, c := range map[string]struct {
		o    ScaffoldOptions
		want map[string]string // role: authority runtime type detail
	}{
		"generic": {ScaffoldOptions{}, map[string]string{
			"pm": "review_only manual-pm manual ", "qa": "review_only manual-qa manual ",
			"dev": "authoritative local-dev local_cli stdin " + strings.Join(claude, "|")}},
		"agent": {ScaffoldOptions{Agent: "codex"}, map[string]string{
			"pm": "review_only manual-pm manual ", "dev": "authoritative agent-dev agent codex", "qa": "review_only agent-qa agent codex",
			"eng_director": "review_only agent-director agent codex"}},
		"agent and command": {ScaffoldOptions{Agent: "claude", DevCommand: "my-agent run {prompt}"}, map[string]string{
			"dev": "authoritative local-dev local_cli argv my-agent|run|{prompt}", "qa": "review_only agent-qa agent claude"}},
		"stdin": {ScaffoldOptions{DevCommand: "claude --print", DevPromptTransport: "stdin"}, map[string]string{
			"dev": "authoritative local-dev local_cli stdin claude|--print"}},
		"bundle": {ScaffoldOptions{DevCommand: "./scripts/dev-agent.sh", DevPromptTransport: "dispatch_bundle_only"}, map[string]string{
			"dev": "authoritative local-dev local_cli dispatch_bundle_only ./scripts/dev-agent.sh"}},
		"default command by bundle": {ScaffoldOptions{DevPromptTransport: "dispatch_bundle_only"}, map[string]string{
			"dev": "authoritative local-dev local_cli dispatch_bundle_only " + strings.Join(claude, "|")}},
		"full": {ScaffoldOptions{Template: "full-local-cli"}, map[string]string{
			"pm": "authoritative local-pm local_cli stdin " + strings.Join(claude, "|"), "eng_director": "authoritative local-director local_cli stdin " + strings.Join(claude, "|")}},
		"full agent": {ScaffoldOptions{Template: "full-local-cli", Agent: "claude"}, map[string]string{"pm": "authoritative agent-pm agent claude"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, p := scaffold(t, c.o)
			for role, want := range c.want {
				r := p.Declared.Roles.At(role)
				rt := p.Declared.Runtimes.At(r.Runtime)
				got := strings.Join([]string{string(r.WriteAuthority), r.Runtime, rt.Type, ""}, " ")
				switch rt.Type {
				case protocol.RuntimeLocalCLI:
					got += rt.PromptTransport + " " + strings.Join(rt.Command.List, "|")
				case protocol.RuntimeAgent:
					got += rt.Agent
				}
				if got != want {
					t.Errorf("%s: %q, want %q", role, got, want)
				}
			}
		})
	}
}

func TestScaffoldRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o          ScaffoldOptions
		want, hint string
	}{
		"ambiguous command":   {ScaffoldOptions{DevCommand: "./dev.sh"}, "receives the prompt", "{prompt}"},
		"blank command":       {ScaffoldOptions{DevCommand: "  "}, "blank", "{prompt}"},
		"argv without place":  {ScaffoldOptions{DevCommand: "./dev.sh", DevPromptTransport: "argv"}, "no {prompt}", "{prompt}"},
		"default argv":        {ScaffoldOptions{DevPromptTransport: "argv"}, "no {prompt}", "--dev-command"},
		"place and stdin":     {ScaffoldOptions{DevCommand: "x {prompt}", DevPromptTransport: "stdin"}, "the prompt transport is stdin", "argv"},
		"unknown transport":   {ScaffoldOptions{DevPromptTransport: "pigeon"}, "unknown prompt transport", "stdin"},
		"agent and transport": {ScaffoldOptions{Agent: "claude", DevPromptTransport: "stdin"}, "in their own way", "--dev-command"},
		"unknown template":    {ScaffoldOptions{Template: "moon"}, `no template "moon"`, "full-local-cli"},
		"bad id":              {ScaffoldOptions{ID: "a b"}, "not a valid project id", ""},
		"long goal":           {ScaffoldOptions{Goal: strings.Repeat("x", 501)}, "501 characters", ""},
		"bad agent":           {ScaffoldOptions{Agent: "-x y"}, "runtimes.agent-dev.agent", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "new")
			_, err := Scaffold(dir, c.o)
			var e *execution.Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) || !strings.Contains(e.Hint, c.hint) || e.Hint == "" {
				t.Errorf("got %v, want %q with hint %q", err, c.want, c.hint)
			}
			if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Error("something was made")
			}
		})
	}
}

func TestScaffoldGoalAndName(t *testing.T) {
	t.Parallel()
	_, p := scaffold(t, ScaffoldOptions{Goal: "  Ship <it> & \"more\" ", Name: "Ünï Tool", ID: "uni"})
	got := p.Config.Project
	if got.Goal != `Ship <it> & "more"` || got.ID != "uni" || got.Name != "Ünï Tool" || got.DefaultBranch != "main" {
		t.Errorf("%+v", got)
	}
}

func TestScaffoldKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine := map[string]string{".gitignore": "node_modules/\r\n.env\r\n*.log", ".planning/ROADMAP.md": "mine", "TALK.md": "mine too",
		".agentxchain/prompts/dev.md": "my prompt"}
	for name, text := range mine {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	created, err := Scaffold(dir, ScaffoldOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range mine {
		got := readText(t, dir, name)
		if name == ".gitignore" {
			if !strings.HasPrefix(got, text+"\r\n") || strings.Count(got, ".env\r\n") != 1 || strings.Contains(strings.ReplaceAll(got, "\r\n", ""), "\n") {
				t.Errorf(".gitignore: %q", got)
			}
			continue
		}
		if got != text || slices.Contains(created, name) {
			t.Errorf("%s: %q, created %v", name, got, created)
		}
	}
	if !slices.Contains(created, protocol.ConfigFile) || !slices.Contains(created, ".gitignore") {
		t.Errorf("created %v", created)
	}
}

func TestScaffoldAgain(t *testing.T) {
	t.Parallel()
	dir, _ := scaffold(t, ScaffoldOptions{})
	state := `{"schema_version":"1.1","status":"active","run_id":"run_1"}`
	if err := os.WriteFile(filepath.Join(dir, protocol.StateFile), []byte(state), 0o644); err != nil {
		t.Fatal(err)
	}
	old := readText(t, dir, protocol.ConfigFile)
	if _, err := Scaffold(dir, ScaffoldOptions{Template: "library"}); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Fatalf("got %v", err)
	}
	if readText(t, dir, protocol.ConfigFile) != old {
		t.Fatal("a refused scaffold changed the configuration")
	}
	for _, backup := range []string{".bak", ".bak2"} {
		created, err := Scaffold(dir, ScaffoldOptions{Template: "library", Force: true})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(created, protocol.ConfigFile+backup) {
			t.Errorf("created %v", created)
		}
	}
	if readText(t, dir, protocol.ConfigFile+".bak") != old || readText(t, dir, protocol.StateFile) != state {
		t.Error("the old configuration or the record is lost")
	}
	if p, err := Load(dir); err != nil || p.Config.Template != "library" {
		t.Errorf("%v %v", p, err)
	}
}

// TestScaffoldUndoes holds that a failure leaves nothing behind but what was there.
func TestScaffoldUndoes(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	for name, spoil := range map[string]func(dir string) error{
		"a file for a folder": func(dir string) error { return os.WriteFile(filepath.Join(dir, ".planning"), nil, 0o644) },
		"a link out of it":    func(dir string) error { return os.Symlink(outside, filepath.Join(dir, ".planning")) },
		"a linked ignore list": func(dir string) error {
			return os.Symlink(filepath.Join(outside, "x"), filepath.Join(dir, ".gitignore"))
		},
		"a link for .agentxchain": func(dir string) error { return os.Symlink(outside, filepath.Join(dir, ".agentxchain")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := spoil(dir); err != nil {
				t.Skip(err)
			}
			if _, err := Scaffold(dir, ScaffoldOptions{}); err == nil {
				t.Fatal("made")
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 {
				t.Errorf("left behind: %v %v", entries, err)
			}
			if left, _ := os.ReadDir(outside); len(left) > 0 {
				t.Errorf("written outside: %v", left)
			}
		})
	}
}

func TestIgnored(t *testing.T) {
	t.Parallel()
	for _, line := range Ignored() {
		if strings.HasPrefix(protocol.PromptsDir+"/", line) {
			t.Errorf("%s hides the prompts", line)
		}
	}
	for _, want := range []string{".agentxchain/archive/", ".agentxchain/locks/", ".agentxchain/worktrees/", protocol.ChainFile, ".env"} {
		if !slices.Contains(Ignored(), want) {
			t.Errorf("%s is not ignored", want)
		}
	}
}
