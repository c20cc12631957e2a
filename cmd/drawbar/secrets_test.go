package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// leakEnv makes this binary the agent that prints every secret it can, in every place that there is.
const leakEnv = "DRAWBAR_TEST_LEAK"

// The secrets are made up, and joined here so that no scanner takes them for real ones.
var (
	// inherited are variables whose names tell; nothing in their values does.
	inherited = map[string]string{
		"GITHUB_TOKEN": "inherited-one-Kx81", "VAULT_TOKEN": "inherited two Kx82 with blanks", "PGPASSWORD": "inherited/three+Kx83", "OPENAI_API_KEY": "inherited-four-Kx84",
		"SSH_PASSPHRASE": "correct horse battery Kx85", "SENTRY_DSN": "https://Kx86abcdef0123456789@sentry.example/4", "DATABASE_URL": "postgres://app:Kx87dbpass@db.example/app",
		"SLACK_WEBHOOK": "https://hooks.example/services/T0/B0/Kx88abcdefgh", "PG_CONN": "host=db user=app password=Kx89dbconn", "SESSION_COOKIE": "sid=Kx90cookie; theme=dark",
		"APP_PRIVATE": "inherited \"quoted\" <Kx91>", "ACME_CREDENTIALS": `{"type":"service","client_secret":"Kx92json-inside"}`,
		"MULTI_SECRET": "Kx93 the first line of it\nKx94 the second line of it", "HTTP_PROXY_AUTH": "Basic Kx95proxyauth",
	}
	// given are handed over by --env, or the runtime's env of a governed run.
	given = map[string]string{"DB_PASSWD": "given-one-Kx21", "KEY_PASSPHRASE": "given two Kx22", "APP_COOKIE": "given-three-Kx23", "PRIVATE_PEM": "given-four-Kx24",
		"QUEUE_URL": "amqp://app:Kx25queue@mq.example/"}
	// attached are those of an MCP server.
	attached = []string{"Kx31urltok0123456789", "Kx32urlpass", "Kx33-header-value", "Kx34-arg-joined", "Kx35-arg-behind", "Kx36plainname0123"}
	// shaped are known by their form alone.
	shaped = []string{
		"sk-" + "ant-api03-Kx41Qw8Er7Ty6Ui5Op4AA", "sk-" + "proj-Kx42d3dEf6hIj9kLm2nOp5q", "ghp_" + "Kx43efghij0123456789abcdefghij012345",
		"github_pat_" + "Kx44CDEFG0abcdefghijkl_mnop", "glpat-" + "Kx45efghij0123456789", "AKIA" + "KX46ODNN7EXAMPLE", "xoxb-" + "123456789012-Kx47ef",
		"xapp-" + "1-Kx48234567-1234567890-abcdef", "AIza" + "SyKx49456789abcdefghijklmnopqrstuv0", "ya29." + "Kx50fH6SMBx-0123456789abcdef", "GOCSPX-" + "Kx51EFGH0123ijklMNOP4567",
		"npm_" + "Kx52efghij0123456789abcdefghij012345", "eyJ" + "Kx53ciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijk", "sk_" + "live_Kx54bcdefghij0123456789",
		"SG." + "Kx55efghijklmnop0123.ABCDEFGHIJ0123456789abcdefghijABC", "pypi-" + "Kx56IcHlwaS5vcmcCJDAwMDAwMDAwLTAwMDAtMDAw", "hvs." + "Kx57SIJabcdefghij0123456789",
		"dop_v1_" + "0123456789abcdef0123456789abcdefKx58", "AGE-SECRET-KEY-" + "1KX59QPQZRFR7ZZ2WCV05AAAA", "shpat_" + "Kx60456789abcdef0123456789abcdef",
		"xai-" + "Kx61efghij0123456789ABCDEFGHIJ", "gsk_" + "Kx62efghij0123456789ABCDEFGHIJ", "lin_api_" + "Kx63efghij0123456789ABCDEFGHIJ",
		"AccountKey=" + "Kx64y8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2==", "Bearer " + "Kx65efgh12345678==",
		"Basic " + base64.StdEncoding.EncodeToString([]byte("Kx66user:hunter2hunter2")), "postgres://alice:" + "Kx67Planted9@db.example/x", "password=" + "Kx68correct-horse-9",
		"-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEowKx69AKCAQEA0123456789abcdefghij\nKLMNOKx70UVWXYZabcdefghij\n-----END RSA " + "PRIVATE KEY-----", "hf_" + "Kx71efghij0123456789abcdefghij0123",
	}
	// cores are what of the secrets must not stand anywhere. That of Basic is its text in base64.
	cores = func() []string {
		var list []string
		for i := 21; i <= 95; i++ {
			if i <= 25 || i >= 31 && i <= 36 || i >= 41 && i <= 71 && i != 46 && i != 59 && i != 66 || i >= 81 {
				list = append(list, fmt.Sprintf("Kx%d", i))
			}
		}
		return append(list, "KX46", "KX59", base64.StdEncoding.EncodeToString([]byte("Kx66us")))
	}()
)

// everything is what the agent prints, one secret a line.
func everything() string {
	var b strings.Builder
	for _, vars := range []map[string]string{inherited, given} {
		for _, name := range slices.Sorted(maps.Keys(vars)) {
			fmt.Fprintf(&b, "%s=%s\n", name, vars[name])
		}
	}
	for _, s := range append(slices.Clone(attached), shaped...) {
		fmt.Fprintf(&b, "look: %s\n", s)
	}
	return b.String()
}

// playLeak is the agent: Claude Code's stream, or a governed turn. It prints everything it knows everywhere it can.
func playLeak() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("2.1.329 (Claude Code)")
		os.Exit(0)
	}
	text := everything()
	f, err := os.OpenFile(os.Getenv(leakEnv), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(f, "%q\n", os.Args)
	_ = f.Close()
	fmt.Fprint(os.Stderr, text)
	enc := json.NewEncoder(os.Stdout)
	enc.SetEscapeHTML(false)
	type obj = map[string]any
	emit := func(o obj) { o["session_id"] = "11111111-2222-4333-8444-555555555555"; _ = enc.Encode(o) }
	emit(obj{"type": "system", "subtype": "init", "cwd": ".", "mcp_servers": []any{}, "model": "claude-opus-5-5", "permissionMode": "default", "claude_code_version": "2.1.329"})
	fmt.Print(text) // lines that no parser knows
	emit(obj{"type": "an_unknown_line", "text": text})
	usage := obj{"input_tokens": 100, "output_tokens": 20}
	message := func(id string, content ...any) obj {
		return obj{"type": "assistant", "parent_tool_use_id": nil, "message": obj{"id": id, "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": content, "usage": usage}}
	}
	event := func(e obj) { emit(obj{"type": "stream_event", "event": e, "parent_tool_use_id": nil}) }
	event(obj{"type": "message_start", "message": obj{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": []any{}, "usage": usage}})
	for i, kind := range []string{"thinking", "text"} {
		event(obj{"type": "content_block_start", "index": i, "content_block": obj{"type": kind, kind: ""}})
		for rest := text; rest != ""; {
			n := min(5, len(rest))
			event(obj{"type": "content_block_delta", "index": i, "delta": obj{"type": kind + "_delta", kind: rest[:n]}})
			rest = rest[n:]
		}
		event(obj{"type": "content_block_stop", "index": i})
	}
	input := obj{"command": "curl " + text}
	emit(message("msg_1", obj{"type": "thinking", "thinking": text}, obj{"type": "text", "text": text}, obj{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": input}))
	event(obj{"type": "message_stop"})
	for _, failed := range []bool{false, true} {
		emit(obj{"type": "user", "parent_tool_use_id": nil, "message": obj{"role": "user", "content": []any{obj{"type": "tool_result", "tool_use_id": "toolu_1", "content": text, "is_error": failed}}}})
	}
	if path := os.Getenv("AGENTXCHAIN_STAGING_PATH"); path != "" {
		stageLeak(path, text)
	}
	failed := os.Getenv("DRAWBAR_TEST_LEAK_FAILS") != ""
	emit(obj{"type": "result", "subtype": map[bool]string{false: "success", true: "error_during_execution"}[failed], "is_error": failed, "num_turns": 1, "result": text, "errors": []any{text},
		"total_cost_usd": 0.01, "usage": usage, "duration_ms": 5})
	if failed {
		os.Exit(1)
	}
	os.Exit(0)
}

func stageLeak(path, text string) {
	var a struct {
		RunID, TurnID, Role, Runtime string
	}
	var m map[string]any
	b, err := os.ReadFile(filepath.Join(os.Getenv("AGENTXCHAIN_DISPATCH_DIR"), "ASSIGNMENT.json"))
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		panic(err)
	}
	a.RunID, _ = m["run_id"].(string)
	a.TurnID, _ = m["turn_id"].(string)
	a.Role, _ = m["role"].(string)
	a.Runtime, _ = m["runtime_id"].(string)
	out, _ := json.Marshal(map[string]any{
		"schema_version": "1.0", "run_id": a.RunID, "turn_id": a.TurnID, "role": a.Role, "runtime_id": a.Runtime, "status": "completed", "summary": text,
		"proposed_next_role": "dev", "phase_transition_request": nil, "run_completion_request": false, "artifact": map[string]any{"type": "workspace", "ref": nil},
		"files_changed": []string{"work.txt"}, "objections": []any{},
		"decisions":    []any{map[string]any{"id": "DEC-001", "category": "scope", "statement": text, "rationale": text}},
		"verification": map[string]any{"status": "pass", "commands": []string{"true"}, "evidence_summary": text, "machine_evidence": []any{map[string]any{"command": "true", "exit_code": 0}}},
	})
	_ = os.WriteFile("work.txt", []byte(a.TurnID), 0o600)
	if err := os.WriteFile(path, out, 0o600); err != nil {
		panic(err)
	}
}

// leakHome is a machine with drawbar, the leaking agent and all the secrets in its environment.
type leakHome struct {
	dir string
	env []string
}

func newLeakHome(t *testing.T) leakHome {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the agent is a link to this binary")
	}
	h := leakHome{dir: t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"home", "bin", "repo", "state", "tmp"} {
		if err := os.Mkdir(filepath.Join(h.dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"claude", "drawbar"} {
		if err := os.Symlink(self, filepath.Join(h.dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	h.env = []string{"HOME=" + filepath.Join(h.dir, "home"), "PATH=" + filepath.Join(h.dir, "bin") + ":" + os.Getenv("PATH"), "XDG_STATE_HOME=" + filepath.Join(h.dir, "state"),
		"TMPDIR=" + filepath.Join(h.dir, "tmp"), "NO_COLOR=1", "GORACE=atexit_sleep_ms=0", leakEnv + "=" + filepath.Join(h.dir, "argv"), actsAsDrawbar + "=1", "ANTHROPIC_API_KEY=dummy-key-not-real"}
	for name, value := range inherited {
		h.env = append(h.env, name+"="+value)
	}
	return h
}

// run runs a command in the repository.
func (h leakHome) run(t *testing.T, extra []string, name string, args ...string) string {
	t.Helper()
	path := name
	if name == "drawbar" {
		path = filepath.Join(h.dir, "bin", name)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = filepath.Join(h.dir, "repo"), append(slices.Clone(h.env), extra...)
	out, err := cmd.CombinedOutput()
	if err != nil && len(extra) == 0 {
		t.Fatalf("%s %.60q: %v\n%.3000s", name, args, err, out)
	}
	return string(out)
}

// leaked finds the secrets that stand in the files below the folders.
func (h leakHome) leaked(t *testing.T, folders ...string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	files := 0
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(h.dir, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			files++
			text := string(b)
			if strings.HasPrefix(filepath.Base(path), "events") {
				text += joined(b)
			}
			for _, core := range cores {
				if strings.Contains(text, core) {
					found[core] = append(found[core], path)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files == 0 {
		t.Error("there is no file; the test proves nothing")
	}
	return found
}

// joined is the text of the deltas of an events file, by kind.
func joined(b []byte) string {
	texts := map[string]string{}
	for line := range strings.Lines(string(b)) {
		var e struct{ Type, Delta string }
		if json.Unmarshal([]byte(line), &e) == nil && e.Delta != "" {
			texts[e.Type] += e.Delta
		}
	}
	return strings.Join(slices.Collect(maps.Values(texts)), "\n")
}

func report(t *testing.T, what string, found map[string][]string) {
	t.Helper()
	t.Logf("%s: %d of %d secrets in clear", what, len(found), len(cores))
	for core, paths := range found {
		t.Errorf("%s: %s stands in %s", what, core, strings.Join(slices.Compact(paths), ", "))
	}
}

// TestRunShowsNoSecret plants secrets in everything that an agent gets and prints, and looks for them in everything that is shown and kept.
func TestRunShowsNoSecret(t *testing.T) {
	t.Parallel()
	h := newLeakHome(t)
	servers, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"web":  map[string]any{"type": "http", "url": "https://bob:" + attached[1] + "@mcp.example/x?tok=" + attached[0], "headers": map[string]string{"X-Thing": attached[2]}},
		"tool": map[string]any{"command": "/bin/true", "args": []string{"--api-key=" + attached[3], "--token", attached[4]}, "env": map[string]string{"PLAIN": attached[5]}},
	}})
	config := filepath.Join(h.dir, "mcp.json")
	if err := os.WriteFile(config, servers, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"run", "claude", "--approve", "yolo", "--json", "--debug", "--mcp", config, "--tag", shaped[0], "-p", "use " + strings.Join(shaped, " and ")}
	for name, value := range given {
		args = append(args, "--env", name+"="+value)
	}
	text := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--json" })
	shown := h.run(t, nil, "drawbar", args...) + h.run(t, nil, "drawbar", text...) + h.run(t, []string{"DRAWBAR_TEST_LEAK_FAILS=1"}, "drawbar", args...)
	report(t, "run", h.leaked(t, "state", "tmp"))
	// The arguments of the agent, as another user of the machine may see them.
	b, err := os.ReadFile(filepath.Join(h.dir, "argv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, core := range cores {
		if strings.Contains(string(b), core) {
			t.Errorf("%s stands in the arguments of the agent", core)
		}
	}
	all := shown + joined([]byte(shown)) + h.run(t, nil, "drawbar", "ps", "--all", "--json") + h.run(t, nil, "drawbar", "logs", "--json", lastRun(t, h))
	for _, core := range cores {
		if strings.Contains(all, core) {
			t.Errorf("%s is printed", core)
		}
	}
	if strings.Count(all, "[REDACTED]") < 100 {
		t.Errorf("little was taken out; the test proves nothing")
	}
}

func lastRun(t *testing.T, h leakHome) string {
	t.Helper()
	return strings.Fields(h.run(t, nil, "drawbar", "ps", "--all", "--quiet"))[0]
}

// TestGovernedRunKeepsNoSecret is the same for a governed run, by a program and by an agent.
func TestGovernedRunKeepsNoSecret(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"local_cli", "agent"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := newLeakHome(t)
			for i, s := range attached { // a runtime has no MCP servers
				h.env = append(h.env, fmt.Sprintf("ATTACHED_%d_KEY=%s", i, s))
			}
			rt := map[string]any{"type": "local_cli", "command": []string{"claude"}, "env": given}
			if kind == "agent" {
				rt = map[string]any{"type": "agent", "agent": "claude", "approve": "yolo", "env": given}
			}
			config, _ := json.Marshal(map[string]any{
				"schema_version": "1.0", "project": map[string]any{"id": "tale", "name": "Tale"},
				"roles":    map[string]any{"dev": map[string]any{"title": "Developer", "mandate": "Build it.", "write_authority": "authoritative", "runtime": "worker"}},
				"runtimes": map[string]any{"worker": rt},
				"routing":  map[string]any{"build": map[string]any{"entry_role": "dev", "allowed_next_roles": []string{"dev", "human"}, "exit_gate": "built"}},
				"gates":    map[string]any{"built": map[string]any{}}, "workflow_kit": map[string]any{},
			})
			repo := filepath.Join(h.dir, "repo")
			if err := os.WriteFile(filepath.Join(repo, "agentxchain.json"), config, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(repo, ".gitignore"), []byte(".agentxchain/\nTALK.md\nHUMAN_TASKS.md\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, line := range []string{"init -q -b main", "config user.name Tester", "config user.email tester@example.com", "add -A", "commit -q -m start"} {
				h.run(t, nil, "git", strings.Fields(line)...)
			}
			out := h.run(t, nil, "drawbar", "govern", "step", "--trust")
			if !strings.Contains(out, "accepted") {
				t.Fatalf("%.3000s", out)
			}
			if err := os.Rename(filepath.Join(repo, "agentxchain.json"), filepath.Join(h.dir, "kept.json")); err != nil {
				t.Fatal(err) // the user's own file
			}
			if err := os.Rename(filepath.Join(repo, ".git"), filepath.Join(h.dir, "git")); err != nil {
				t.Fatal(err) // compressed
			}
			report(t, "govern "+kind, h.leaked(t, "state", "tmp", "repo"))
			if err := os.Rename(filepath.Join(h.dir, "git"), filepath.Join(repo, ".git")); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(h.dir, "kept.json"), filepath.Join(repo, "agentxchain.json")); err != nil {
				t.Fatal(err)
			}
			shown := h.run(t, nil, "git", "log", "--format=%B") + h.run(t, nil, "drawbar", "govern", "export") + h.run(t, nil, "drawbar", "govern", "status", "--json")
			for _, core := range cores {
				if strings.Contains(strings.ReplaceAll(shown, string(config), ""), core) && !slices.ContainsFunc(slices.Collect(maps.Values(given)), func(v string) bool { return strings.Contains(v, core) }) {
					t.Errorf("%s stands in a commit, the export or the status", core)
				}
			}
		})
	}
}
