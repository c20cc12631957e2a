package project

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/prompt"
	"github.com/google/go-cmp/cmp"
)

const gatherConfig = `{"schema_version":"1.0","project":{"id":"p","name":"P"},
  "roles":{"dev":{"title":"Dev","mandate":"m","write_authority":"authoritative","runtime":"cli"},
           "qa":{"title":"QA","mandate":"m","write_authority":"review_only","runtime":"cli"}},
  "runtimes":{"cli":{"type":"local_cli","command":["x"]}},
  "routing":{"qa":{"entry_role":"qa","allowed_next_roles":["dev","qa"],"exit_gate":"ship"}},
  "gates":{"ship":{"requires_files":["docs/verdict.md","gone.md"]}}}`

// turnOf is the input of a turn that a role is about to get in root.
func turnOf(t *testing.T, role string) prompt.Input {
	t.Helper()
	var c protocol.Config
	if err := json.Unmarshal([]byte(gatherConfig), &c); err != nil {
		t.Fatal(err)
	}
	run := "run_1"
	in := prompt.Input{Config: &c, TurnID: turn, State: protocol.State{RunID: &run, Phase: "qa", Status: protocol.RunActive}}
	in.State.ActiveTurns.Set(turn, &protocol.Turn{TurnID: turn, AssignedRole: role, RuntimeID: "cli", Attempt: 1})
	ref := ".agentxchain/proposed/turn_last"
	in.History = []protocol.HistoryEntry{{TurnID: "turn_last", RunID: run, Role: "dev", Phase: "qa", Summary: "s",
		FilesChanged: []string{"src/a.go", "src/gone.go", ".env", "bin/x", "../out", "away.txt"}, Artifact: protocol.ResultArtifact{Type: "patch", Ref: &ref}}}
	return in
}

// fullProject is a project with all the files that a bundle may show.
func fullProject(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		".agentxchain/prompts/dev.md": "\ufeffDev of {{project_name}}.\n",
		"docs/verdict.md":             "SHIP\n",
		"src/a.go":                    "package a\n",
		".env":                        "TOKEN=sk-secret\n",
		"bin/x":                       "\x7fELF\x00",
		".agentxchain/archive/turns/turn_last/evidence/stdout.log": "one\ntwo\n",
		".agentxchain/proposed/turn_last/PROPOSAL.md":              "# P\n- `n/b.go` — create\n- `../../../etc/passwd` — modify\n- `c.go` — delete now\n",
		".agentxchain/proposed/turn_last/n/b.go":                   "package b\n",
	} {
		lay(t, filepath.Join(root, filepath.FromSlash(name)), text)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(root, "away.txt")); err != nil {
		t.Log(err)
	}
	return root
}

func TestGatherForAReviewer(t *testing.T) {
	t.Parallel()
	root := fullProject(t)
	in := turnOf(t, "qa")
	warnings, err := Gather(root, "", &in)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]prompt.File{
		"docs/verdict.md": {Present: true, Text: "SHIP\n"}, "gone.md": {}, "src/a.go": {Present: true, Text: "package a\n"}, "src/gone.go": {},
		".env": {Present: true, Withheld: true}, "bin/x": {Present: true, Binary: true}, "../out": {}, "away.txt": {},
	}
	if diff := cmp.Diff(want, in.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"docs/verdict.md": "SHIP\n"}, in.GateFiles); diff != "" {
		t.Errorf("files of the gate (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&prompt.Log{Lines: []string{"one", "two"}, Total: 2}, in.Log); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&prompt.Proposal{Ref: ".agentxchain/proposed/turn_last", Summary: "# P\n- `n/b.go` — create\n- `../../../etc/passwd` — modify\n- `c.go` — delete now\n",
		Files: []prompt.ProposedFile{{Path: "n/b.go", Action: "create", File: prompt.File{Present: true, Text: "package b\n"}}, {Path: "c.go", Action: "delete"}}}, in.Proposal); diff != "" {
		t.Errorf("proposal (-want +got):\n%s", diff)
	}
	if len(warnings) != 2 || !strings.Contains(warnings[0], "../out leads out") || !strings.Contains(warnings[1], "away.txt is not shown") {
		t.Errorf("warnings: %q", warnings)
	}
	files, more, err := BuildBundle(in)
	if err != nil || len(more) > 0 {
		t.Fatalf("build: %v, %q", err, more)
	}
	for name, text := range files {
		if strings.Contains(string(text), "sk-secret") {
			t.Errorf("%s shows the content of .env", name)
		}
	}
	if !strings.Contains(string(files["CONTEXT.md"]), "### Dispatch Log Excerpt\n\n```\none\ntwo\n```") {
		t.Errorf("the log of the archived bundle is not in\n%s", files["CONTEXT.md"])
	}
}

func TestGatherForAWriter(t *testing.T) {
	t.Parallel()
	in := turnOf(t, "dev")
	if _, err := Gather(fullProject(t), "", &in); err != nil {
		t.Fatal(err)
	}
	if in.Log != nil || in.Proposal != nil || in.Files["src/a.go"].Present {
		t.Errorf("a writer is shown what is a reviewer's: %+v", in)
	}
	if in.RolePromptPath != ".agentxchain/prompts/dev.md" {
		t.Errorf("prompt from %q", in.RolePromptPath)
	}
}

// TestRolePromptReachesTheAgent: the prompt that a project scaffolds for a role stands in PROMPT.md, with its variables.
func TestRolePromptReachesTheAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, config, want string
	}{
		{"the default place", "", "## Role-Specific Instructions\n\nDev of P.\n"},
		{"named in prompts", "my/dev.md", "## Role-Specific Instructions\n\nMine, dev.\n"},
		{"named with a dot", "./my/../my/dev.md", "## Role-Specific Instructions\n\nMine, dev.\n"},
		{"an empty name is none", " ", "## Role-Specific Instructions\n\nDev of P.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := fullProject(t)
			lay(t, filepath.Join(root, "my", "dev.md"), "Mine, {{role}}.\n")
			in := turnOf(t, "dev")
			if c.config != "" {
				in.Config.Prompts.Set("dev", c.config)
			}
			if warnings, err := Gather(root, "", &in); err != nil || len(warnings) > 0 {
				t.Fatalf("got %q, %v", warnings, err)
			}
			files, _, err := BuildBundle(in)
			if err != nil || !strings.Contains(string(files["PROMPT.md"]), c.want) {
				t.Errorf("%v: %q is not in\n%s", err, c.want, files["PROMPT.md"])
			}
		})
	}
}

func TestRolePromptFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path string
		make       func(path string) error
		err, warn  string
	}{
		{"no file at the default place", "", func(p string) error { return os.Remove(p) }, "", ""},
		{"the named file is missing", "my.md", nil, "", "prompts.dev names my.md, which does not exist"},
		{"out of the project", "../my.md", nil, "leads out of the project", ""},
		{"absolute", "/etc/hostname", nil, "leads out of the project", ""},
		{"through a link", "link.md", func(p string) error { return os.Symlink("/etc/hostname", p) }, "leads out of its folder", ""},
		{"a folder", "dir", func(p string) error { return os.Mkdir(p, 0o755) }, "not a regular file", ""},
		{"too large", "big.md", func(p string) error { return os.WriteFile(p, make([]byte, maxRolePrompt+1), 0o644) }, "larger than 256 KiB", ""},
		{"not text", "bin.md", func(p string) error { return os.WriteFile(p, []byte{0xff, 0xfe, 0}, 0o644) }, "not UTF-8", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := fullProject(t)
			in := turnOf(t, "dev")
			path := filepath.Join(root, ".agentxchain", "prompts", "dev.md")
			if c.path != "" {
				in.Config.Prompts.Set("dev", c.path)
				path = filepath.Join(root, c.path)
			}
			if c.make != nil {
				if err := c.make(path); err != nil {
					t.Skip(err)
				}
			}
			warnings, err := Gather(root, "", &in)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || execution.CodeOf(err) != execution.CodeConfig) {
				t.Errorf("got %v, want %q", err, c.err)
			}
			if got := strings.Join(warnings, "\n"); c.warn == "" && got != "" || !strings.Contains(got, c.warn) {
				t.Errorf("warnings %q, want %q", got, c.warn)
			}
			if in.RolePrompt != "" {
				t.Errorf("a prompt was read: %q", in.RolePrompt)
			}
		})
	}
}

func TestGatherReadsTheWorktree(t *testing.T) {
	t.Parallel()
	root, work := fullProject(t), t.TempDir()
	lay(t, filepath.Join(work, "docs", "verdict.md"), "of the worktree\n")
	in := turnOf(t, "qa")
	if _, err := Gather(root, work, &in); err != nil {
		t.Fatal(err)
	}
	if in.Files["docs/verdict.md"].Text != "of the worktree\n" || in.GateFiles["docs/verdict.md"] != "of the worktree\n" || in.Files["src/a.go"].Present {
		t.Errorf("files: %+v", in.Files)
	}
	if in.Log == nil {
		t.Error("the log of the last turn is the project's, not the worktree's")
	}
	if _, err := Gather(root, filepath.Join(work, "none"), &in); execution.CodeOf(err) != execution.CodeConfig {
		t.Errorf("no worktree: %v", err)
	}
}

func TestLogTail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		lines      int
		total      int
		last       string
	}{
		{"empty", "", 0, 0, ""},
		{"blank", "\n\n", 0, 0, ""},
		{"no newline at the end", "a\nb", 2, 2, "b"},
		{"many lines", strings.Repeat("line\n", 1000) + "end\n", prompt.MaxLogLines, 1001, "end"},
		{"more than is kept", strings.Repeat(strings.Repeat("x", 1023)+"\n", 600) + "end", prompt.MaxLogLines, 601, "end"},
		{"one long line", strings.Repeat("x", 2*maxLogTail), 1, 1, strings.Repeat("x", maxLogTail)},
		{"not UTF-8", "a\xffb\n", 1, 1, "a\ufffdb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			lay(t, filepath.Join(root, "stdout.log"), c.text)
			r, err := os.OpenRoot(root)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			l := logTail(r, "stdout.log")
			if l == nil {
				if c.lines > 0 {
					t.Error("no log")
				}
				return
			}
			if len(l.Lines) != c.lines || l.Total != c.total || l.Lines[len(l.Lines)-1] != c.last {
				t.Errorf("%d of %d lines, the last %.40q", len(l.Lines), l.Total, l.Lines[len(l.Lines)-1])
			}
		})
	}
}

func TestLogOfAnAgent(t *testing.T) {
	t.Parallel()
	root := fullProject(t)
	evidence := filepath.Join(root, ".agentxchain", "archive", "turns", "turn_last", "evidence")
	lay(t, filepath.Join(evidence, "events.jsonl"), `{"type":"tool_result","output":"`+strings.Repeat("x", 1000)+"\"}\n{}\n")
	in := turnOf(t, "qa")
	if _, err := Gather(root, "", &in); err != nil || in.Log.Lines[0] != "one" {
		t.Errorf("what was printed goes first: %+v, %v", in.Log, err)
	}
	os.Remove(filepath.Join(evidence, "stdout.log"))
	if _, err := Gather(root, "", &in); err != nil || in.Log == nil || in.Log.Total != 2 || len([]rune(in.Log.Lines[0])) != maxEventRunes+2 {
		t.Errorf("events: %+v, %v", in.Log, err)
	}
	os.RemoveAll(evidence)
	if _, err := Gather(root, "", &in); err != nil || in.Log != nil {
		t.Errorf("no evidence: %+v, %v", in.Log, err)
	}
}

func TestPreviewEndsAtACharacter(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 4 {
		name := fmt.Sprintf("f%d.txt", i)
		lay(t, filepath.Join(root, name), strings.Repeat("x", i)+strings.Repeat("€", maxPreview/3+10))
		r, err := os.OpenRoot(root)
		if err != nil {
			t.Fatal(err)
		}
		if f, warning := preview(r, name); !f.Cut || f.Binary || warning != "" || !strings.HasSuffix(f.Text, "€") {
			t.Errorf("shift %d: cut %v, binary %v, ends with %q", i, f.Cut, f.Binary, f.Text[len(f.Text)-6:])
		}
		r.Close()
	}
}

func TestSecretNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		".env": true, "a/.env.production": true, ".env.example": false, "keys/server.PEM": true, "id_rsa": true, "id_rsa.pub": false,
		".npmrc": true, "src/env.go": false, "credentials.json": true, "environment.md": false, "x.key": true,
	} {
		if secretName(name) != want {
			t.Errorf("secretName(%q) = %v", name, !want)
		}
	}
}

func TestBuildBundleRefuses(t *testing.T) {
	t.Parallel()
	in := turnOf(t, "dev")
	in.TurnID = "turn_none"
	if _, _, err := BuildBundle(in); execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(err.Error(), "turn_none") {
		t.Errorf("no turn: %v", err)
	}
	in = turnOf(t, "nobody")
	if _, _, err := BuildBundle(in); execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("no role: %v", err)
	}
	in = turnOf(t, "dev")
	role := in.Config.Roles.At("dev")
	role.Adapter, role.AdapterConfig = "local_cli", json.RawMessage(`{"env":{"A":1,"A":2}}`)
	in.Config.Roles.Set("dev", role)
	if _, _, err := BuildBundle(in); execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(err.Error(), "adapter_config of role dev") {
		t.Errorf("settings: %v", err)
	}
}

// TestWholeWay goes from a state to a verified bundle and back to the assignment.
func TestWholeWay(t *testing.T) {
	t.Parallel()
	root := fullProject(t)
	in := turnOf(t, "dev")
	if _, err := Gather(root, "", &in); err != nil {
		t.Fatal(err)
	}
	files, _, err := BuildBundle(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteBundle(root, Bundle{TurnID: turn, Files: files}); err != nil {
		t.Fatal(err)
	}
	if _, err := Seal(root, turn, sealedAt); err != nil {
		t.Fatal(err)
	}
	got, m, faults := ReadBundle(root, turn)
	if len(faults) > 0 || m.RunID != "run_1" || m.Role != "dev" {
		t.Fatalf("%+v, %+v", m, faults)
	}
	if diff := cmp.Diff(files, got); diff != "" {
		t.Errorf("read back: %s", diff)
	}
	var a protocol.Assignment
	if err := json.Unmarshal(got["ASSIGNMENT.json"], &a); err != nil || a.StagingResultPath != ".agentxchain/staging/turn_abc/turn-result.json" {
		t.Errorf("%+v, %v", a, err)
	}
	if fi, err := os.Stat(filepath.Join(root, ".agentxchain", "staging", turn)); err != nil || !fi.IsDir() {
		t.Errorf("no folder for the result: %v", err)
	}
}
