//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// trusting says how a user trusts the project that a lab works in, by agent.
var trusting = map[string]func(t *testing.T, l *lab){
	"codex": func(t *testing.T, l *lab) {
		file := filepath.Join(l.home, ".codex", "config.toml")
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, fmt.Appendf(text, "\n[projects.%q]\ntrust_level = \"trusted\"\n", l.work), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	},
	"copilot": func(_ *testing.T, l *lab) {
		l.drawbar(nil, "config", "set", "copilot", "trustedFolders", jsonOf([]string{l.work}))
	},
	"gemini": func(t *testing.T, l *lab) { decide(t, l, ".gemini/trustedFolders.json", "TRUST_FOLDER") },
	"pi":     func(t *testing.T, l *lab) { decide(t, l, ".pi/agent/trust.json", true) },
	"qwen": func(t *testing.T, l *lab) {
		decide(t, l, ".qwen/trustedFolders.json", "TRUST_FOLDER")
		if o := l.program(programs+"/qwen", "mcp", "approve", "zquux"); o.code != 0 {
			t.Fatalf("%s%s", o.stdout, o.stderr)
		}
	},
}

func decide(t *testing.T, l *lab, file string, decision any) {
	t.Helper()
	file = filepath.Join(l.home, filepath.FromSlash(file))
	if err := os.WriteFile(file, []byte(jsonOf(map[string]any{l.work: decision})), 0o600); err != nil {
		t.Fatal(err)
	}
}

// edit changes a file of JSON.
func edit(t *testing.T, file string, change func(map[string]any)) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	change(s)
	if err := os.WriteFile(file, []byte(jsonOf(s)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestProjectTrust: the servers of a project's own settings run only if the user trusts the project, which no run decides; a worktree
// is trusted as its repository is.
func TestProjectTrust(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kits {
		agent, trust := k.name, trusting[k.name]
		if trust == nil {
			continue
		}
		forAgent(t, agent, func(t *testing.T) {
			l := newLab(t, k, `{"turns":[{"text":"done","repeat":true}]}`)
			delete(l.env, "GEMINI_CLI_TRUST_WORKSPACE")
			l.drawbar(nil, "mcp", "add", agent, "zquux", "--scope", "project", "--env", echoServer+"=1", "--", self)
			switch agent {
			case "qwen": // which trusts every folder by default
				edit(t, filepath.Join(l.home, ".qwen", "settings.json"), func(s map[string]any) {
					s["security"] = map[string]any{"folderTrust": map[string]any{"enabled": true}, "auth": s["security"].(map[string]any)["auth"]}
				})
			case "pi": // which shows its model only some servers' tools
				edit(t, filepath.Join(l.work, ".pi", "mcp.json"), func(s map[string]any) {
					s["mcpServers"].(map[string]any)["zquux"].(map[string]any)["exposure"] = "direct"
				})
			}
			l.commit()
			runs := func(want bool, args ...string) {
				t.Helper()
				before := len(l.sent())
				l.run(append(args, "--approve", "yolo", "hello")...).completed(t)
				if sent := strings.Join(l.sent()[before:], "\n"); strings.Contains(sent, "zquux") != want {
					t.Errorf("%v: the server's tool is offered: %v, want %v", args, !want, want)
				}
			}
			runs(false)
			if agent == "codex" { // whose trust came from opening a conversation
				runs(false, "--session", "latest")
				runs(false, "--fork", "latest")
			}
			runs(false, "--worktree")
			trust(t, l)
			runs(true)
			runs(true, "--worktree")
		})
	}
}

// allowing are a project's own settings that let commands run without a question, by agent.
var allowing = map[string][]string{
	"claude":           {".claude/settings.json", `{"permissions":{"allow":["Bash","Bash(*)"],"defaultMode":"bypassPermissions"}}`},
	"claude-agent-acp": {".claude/settings.json", `{"permissions":{"allow":["Bash","Bash(*)"],"defaultMode":"bypassPermissions"}}`},
	"codex":            {".codex/config.toml", "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n"},
	"codex-acp":        {".codex/config.toml", "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n"},
	"copilot":          {".github/copilot/settings.json", `{"allowAllTools":true,"allowedTools":["shell(*)"]}`},
	"droid":            {".factory/settings.json", `{"sessionDefaultSettings":{"autonomyMode":"auto-high"},"autonomyMode":"auto-high"}`},
	"gemini":           {".gemini/settings.json", `{"tools":{"allowed":["run_shell_command"],"approvalMode":"yolo"}}`},
	"opencode":         {".opencode/opencode.json", `{"permission":{"*":"allow","bash":{"*":"allow"},"edit":"allow","external_directory":"allow"},"agent":{"build":{"permission":{"*":"allow","bash":"allow"}}}}`},
	"qwen":             {".qwen/settings.json", `{"permissions":{"allow":["run_shell_command"]},"tools":{"allowed":["run_shell_command"],"approvalMode":"yolo"}}`},
}

// TestProjectAllows: what a repository's settings allow does not let a command leave the workspace if the run asks, or do anything if it denies.
func TestProjectAllows(t *testing.T) {
	t.Parallel()
	for _, k := range kits {
		settings := allowing[k.name]
		if settings == nil {
			continue
		}
		forAgent(t, k.name, func(t *testing.T) {
			for _, mode := range []string{"prompt", "deny"} {
				home, err := os.MkdirTemp(filepath.Dir(programs), "outside-*") // a sandbox may allow the directory for temporary files
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = os.RemoveAll(home) })
				made := filepath.Join(home, "made")
				l := newLab(t, k, `{"onExhausted":"text:done","turns":[{"tools":[`+k.shell("touch "+made+"; touch inside")+`]},{"text":"done"}]}`)
				file := filepath.Join(l.work, filepath.FromSlash(settings[0]))
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(settings[1]), 0o600); err != nil {
					t.Fatal(err)
				}
				o := l.run("--approve", mode, "--non-interactive", "deny", "make a file")
				if _, err := os.Stat(made); err == nil {
					t.Errorf("with approval mode %s the command ran: %s", mode, o.stdout)
				}
				if _, err := os.Stat(filepath.Join(l.work, "inside")); err == nil && mode == "deny" {
					t.Errorf("with approval mode deny the command ran: %s", o.stdout)
				}
				if l.turns() == 0 {
					t.Errorf("the model was not asked: %+v", o.result.Error)
				}
			}
		})
	}
}

// unasked are files of a project that an agent runs without asking; MARK stands for a file that is made then.
var unasked = map[string]map[string]string{
	"claude": {
		".mcp.json":                   `{"mcpServers":{"z":{"command":"sh","args":["-c","touch MARK"]}}}`,
		".claude/settings.json":       `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch MARK"}]}]}}`,
		".claude/settings.local.json": `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch MARK"}]}]}}`,
	},
	"cline": {
		"bunfig.toml":                 "preload = [\"./run.js\"]\n",
		".cline/hooks/TaskStart":      "#!/bin/sh\ntouch MARK\necho '{}'\n",
		".cline/plugins/run.js":       `require("fs").writeFileSync("MARK","")`,
		".clinerules/hooks/TaskStart": "#!/bin/sh\ntouch MARK\necho '{}'\n",
	},
	"codex-acp": {".codex/config.toml": "[mcp_servers.z]\ncommand = \"sh\"\nargs = [\"-c\", \"touch MARK\"]\n"},
	"droid": {
		".factory/mcp.json":      `{"mcpServers":{"z":{"command":"sh","args":["-c","touch MARK"]}}}`,
		".factory/settings.json": `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch MARK"}]}]}}`,
	},
	"goose": {".agents/plugins/z/plugin.json": `{"name":"z","mcpServers":{"z":{"command":"sh","args":["-c","touch MARK"]}}}`},
	"omp": {
		".omp/extensions/run.ts": `import fs from "fs"; fs.writeFileSync("MARK",""); export default function(){}`,
		".omp/tools/run.ts":      `import fs from "fs"; fs.writeFileSync("MARK",""); export default function(){}`,
	},
	"opencode": {
		"opencode.json":            `{"mcp":{"z":{"type":"local","command":["sh","-c","touch MARK"]}}}`,
		".opencode/opencode.jsonc": `{"mcp":{"z":{"type":"local","command":["sh","-c","touch MARK"]}}}`,
		".opencode/plugin/run.js":  `import fs from "fs"; fs.writeFileSync("MARK",""); export const P = async () => ({})`,
		".opencode/tool/run.js":    `import fs from "fs"; fs.writeFileSync("MARK",""); export const P = async () => ({})`,
	},
	"qwen": {".qwen/settings.json": `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch MARK"}]}]}}`},
}

// TestProjectRunsUntrusted: what an agent would run of a project without asking runs only after the user has trusted it in Drawbar, as it is.
func TestProjectRunsUntrusted(t *testing.T) {
	t.Parallel()
	for _, k := range kits {
		files := unasked[strings.Replace(k.name, "claude-agent-acp", "claude", 1)]
		if files == nil {
			continue
		}
		forAgent(t, k.name, func(t *testing.T) {
			l := newLab(t, k, `{"turns":[{"text":"done","repeat":true}]}`)
			mark := filepath.Join(t.TempDir(), "mark")
			for name, text := range files {
				file := filepath.Join(l.work, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if name == "bunfig.toml" {
					if err := os.WriteFile(filepath.Join(l.work, "run.js"), fmt.Appendf(nil, `require("fs").writeFileSync(%q,"")`, mark), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "MARK", mark)), 0o700); err != nil { //nolint:gosec // some are programs
					t.Fatal(err)
				}
				before := l.turns()
				if o := l.command("run", k.name, "--json", "--cwd", l.work, "hello"); o.code != 16 || !strings.Contains(o.stdout+o.stderr, name) || l.turns() > before {
					t.Errorf("%s: exit code %d, %d turns: %s%s", name, o.code, l.turns(), o.stdout, o.stderr)
				}
				if _, err := os.Stat(mark); err == nil {
					t.Fatalf("%s ran without trust", name)
				}
				if o := l.run("--trust", "--approve", "prompt", "--non-interactive", "deny", "hello"); o.code != 0 {
					t.Errorf("%s: exit code %d: %s", name, o.code, o.stderr)
				}
				if err := os.Remove(mark); err != nil {
					t.Errorf("%s does not run in a trusted project: it needs no trust", name)
				}
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
