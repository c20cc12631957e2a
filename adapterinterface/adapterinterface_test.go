//go:build unix

package adapterinterface_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapterinterface"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
)

func TestMain(m *testing.M) {
	drawbar.Supervise()
	os.Exit(m.Run())
}

// worker stages a result whose identity is that of the turn in its assignment.
const worker = `id() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" "$AGENTXCHAIN_DISPATCH_DIR/ASSIGNMENT.json" | head -1; }
echo work >> work.txt
cat > "$AGENTXCHAIN_STAGING_PATH" <<END
{"schema_version":"1.0","run_id":"$(id run_id)","turn_id":"$AGENTXCHAIN_TURN_ID","role":"dev","runtime_id":"worker","status":"completed","summary":"worked",
"decisions":[],"objections":[],"files_changed":["work.txt"],"artifact":{"type":"workspace"},"verification":{"status":"skipped"},"proposed_next_role":"human"}
END
`

// newProject makes a project whose only role runs on that runtime.
func newProject(t *testing.T, runtime, script string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git on the PATH")
	}
	t.Setenv("DRAWBAR_CONFIG_DIR", t.TempDir())
	root := t.TempDir()
	for name, text := range map[string]string{"agent.sh": script, ".gitignore": "/.agentxchain/\n/TALK.md\n/HUMAN_TASKS.md\n",
		"agentxchain.json": `{"schema_version":"1.0","project":{"id":"p","name":"P"},
"roles":{"dev":{"title":"Dev","mandate":"Build.","write_authority":"` + map[bool]string{true: "review_only", false: "authoritative"}[strings.Contains(runtime, "remote_agent") || strings.Contains(runtime, "api_proxy")] + `","runtime":"worker"}},
"runtimes":{"worker":` + runtime + `},
"routing":{"implementation":{"entry_role":"dev","allowed_next_roles":["dev","human"]}},"rules":{"challenge_required":false},"workflow_kit":{}}`} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "Tester"}, {"config", "user.email", "tester@localhost"}, {"add", "-A"}, {"commit", "-qm", "start"}} {
		if out, err := exec.Command("git", append([]string{"-C", root}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	return root
}

const localCLI = `{"type":"local_cli","command":["sh","agent.sh"],"prompt_transport":"dispatch_bundle_only"}`

// assigned assigns the next turn.
func assigned(t *testing.T, root string) (govern.Engine, adapterinterface.Options) {
	t.Helper()
	o := adapterinterface.Options{Options: govern.Options{Owner: "test", Trust: func(string, []govern.TrustItem) bool { return true }}}
	p, err := drawbar.OpenProject(root, o.Options)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := p.Assign(t.Context(), govern.StepOptions{})
	if err != nil || turn.Outcome != govern.OutcomeAssigned {
		t.Fatalf("%+v %v", turn, err)
	}
	o.Turn = turn.TurnID
	return p, o
}

func TestDispatchLocalCLI(t *testing.T) {
	root := newProject(t, localCLI, worker)
	p, o := assigned(t, root)
	if _, err := adapterinterface.ReadStagedResult(t.Context(), root, o); err == nil {
		t.Error("a result is staged before the dispatch")
	}
	if _, err := adapterinterface.DispatchMCP(t.Context(), root, o); execution.CodeOf(err) != execution.CodeValidation || !strings.Contains(err.Error(), "a runtime of type local_cli, not mcp") {
		t.Errorf("the function of another type: %v", err)
	}
	distrusted := o
	distrusted.Trust = nil
	if _, err := adapterinterface.DispatchLocalCLI(t.Context(), root, distrusted); execution.CodeOf(err) != execution.CodeUntrusted {
		t.Errorf("without trust: %v", err)
	}
	out, err := adapterinterface.DispatchLocalCLI(t.Context(), root, o)
	if err != nil || !out.Staged || out.TurnID != o.Turn || out.Class != "" {
		t.Fatalf("%+v %v", out, err)
	}
	if b, err := adapterinterface.ReadStagedResult(t.Context(), root, o); err != nil || !bytes.Contains(b, []byte(`"summary":"worked"`)) {
		t.Errorf("%s %v", b, err)
	}
	if r, err := p.Accept(t.Context(), govern.AcceptOptions{Turn: o.Turn}); err != nil || r.Outcome != govern.OutcomeAccepted {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := adapterinterface.DispatchLocalCLI(t.Context(), root, adapterinterface.Options{Options: o.Options}); err == nil || !strings.Contains(err.Error(), "no turn is assigned") {
		t.Errorf("without a turn: %v", err)
	}
}

func TestDispatchThatFails(t *testing.T) {
	for name, c := range map[string]struct{ script, class string }{
		"exits":             {"exit 3\n", "exit"},
		"never ends":        {"echo x; sleep 60\n", "timeout"},
		"changes its rules": {worker + "echo >> agentxchain.json\n", "rules_changed"},
	} {
		t.Run(name, func(t *testing.T) {
			root := newProject(t, localCLI, c.script)
			_, o := assigned(t, root)
			if c.class == "timeout" {
				o.Timeout = 300 * time.Millisecond
			}
			out, err := adapterinterface.DispatchLocalCLI(t.Context(), root, o)
			if err != nil || out.Staged || out.Class != c.class || out.Detail == "" || out.Hint == "" {
				t.Errorf("%+v %v", out, err)
			}
		})
	}
}

func TestDispatchRefusesChangedBundle(t *testing.T) {
	root := newProject(t, localCLI, worker)
	_, o := assigned(t, root)
	if err := os.WriteFile(filepath.Join(root, ".agentxchain", "dispatch", "turns", o.Turn, "PROMPT.md"), []byte("do as you like"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := adapterinterface.DispatchLocalCLI(t.Context(), root, o); err == nil || !strings.Contains(err.Error(), "bundle") {
		t.Errorf("got %v", err)
	}
}

func TestDispatchRemoteAgent(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"schema_version":"1.0","turn_id":"t","status":"completed","summary":"reviewed"}`)
	}))
	defer server.Close()
	root := newProject(t, `{"type":"remote_agent","url":"`+server.URL+`"}`, "")
	_, o := assigned(t, root)
	if out, err := adapterinterface.DispatchRemoteAgent(t.Context(), root, o); err != nil || !out.Staged {
		t.Errorf("%+v %v", out, err)
	}
	if b, err := adapterinterface.ReadStagedResult(t.Context(), root, o); err != nil || !bytes.Contains(b, []byte("reviewed")) {
		t.Errorf("%s %v", b, err)
	}
}

func TestDispatchAPIProxy(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"message":{"role":"assistant","content":"{\"schema_version\":\"1.0\",\"turn_id\":\"t\",\"status\":\"completed\",\"summary\":\"thought\"}"},"done":true,
"choices":[{"message":{"role":"assistant","content":"{\"schema_version\":\"1.0\",\"turn_id\":\"t\",\"status\":\"completed\",\"summary\":\"thought\"}"},"finish_reason":"stop"}]}`)
	}))
	defer server.Close()
	root := newProject(t, `{"type":"api_proxy","provider":"ollama","model":"m","base_url":"`+server.URL+`"}`, "")
	_, o := assigned(t, root)
	if out, err := adapterinterface.DispatchAPIProxy(t.Context(), root, o); err != nil || !out.Staged {
		t.Errorf("%+v %v", out, err)
	}
}

// TestDispatchMCP: a server that does not speak the protocol is an outcome, not an error.
func TestDispatchMCP(t *testing.T) {
	root := newProject(t, `{"type":"mcp","command":["sh","agent.sh"]}`, "exit 3\n")
	_, o := assigned(t, root)
	if out, err := adapterinterface.DispatchMCP(t.Context(), root, o); err != nil || out.Staged || out.Class != "mcp_failure" {
		t.Errorf("%+v %v", out, err)
	}
}

func TestManual(t *testing.T) {
	root := newProject(t, `{"type":"manual"}`, "")
	_, o := assigned(t, root)
	var text bytes.Buffer
	if err := adapterinterface.PrintManualDispatchInstructions(t.Context(), &text, root, o); err != nil || !strings.Contains(text.String(), o.Turn) || !strings.Contains(text.String(), "turn-result.json") {
		t.Errorf("%s %v", text.String(), err)
	}
	short := o
	short.Timeout = 50 * time.Millisecond
	if out, err := adapterinterface.WaitForStagedResult(t.Context(), root, short); err != nil || out.Staged || out.Class != "timeout" {
		t.Errorf("nobody writes: %+v %v", out, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if out, err := adapterinterface.WaitForStagedResult(cancelled, root, o); err != nil || !out.Cancelled {
		t.Errorf("cancelled: %+v %v", out, err)
	}
	time.AfterFunc(50*time.Millisecond, func() {
		_ = os.WriteFile(filepath.Join(root, ".agentxchain", "staging", o.Turn, "turn-result.json"), []byte(`{"schema_version":"1.0","turn_id":"t","status":"completed","summary":"by hand"}`), 0o600)
	})
	if out, err := adapterinterface.WaitForStagedResult(t.Context(), root, o); err != nil || !out.Staged || out.TurnID != o.Turn {
		t.Errorf("%+v %v", out, err)
	}
}

// TestExternalRunner compiles examples/external-runner as the module that it is, and runs it.
func TestExternalRunner(t *testing.T) {
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(repo, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	root, dir := newProject(t, localCLI, worker), t.TempDir()
	mod := strings.Replace(read("examples/external-runner/go.mod"), "=> ../..", fmt.Sprintf("=> %q", filepath.ToSlash(repo)), 1)
	for _, block := range regexp.MustCompile(`(?s)\nrequire (?:\(.*?\n\)|[^\n]+)\n`).FindAllString(read("go.mod"), -1) {
		mod += block // go mod tidy would add these, from the network
	}
	for name, text := range map[string]string{"go.mod": mod, "go.sum": read("go.sum"), "main.go": read("examples/external-runner/main.go")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-o", "runner", ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(answer string) (string, error) {
		cmd := exec.Command(filepath.Join(dir, "runner"), root)
		cmd.Stdin = strings.NewReader(answer)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("n\n"); err == nil || !strings.Contains(out, "would run: local_cli: sh agent.sh") {
		t.Errorf("%v %s", err, out)
	}
	out, err := run("y\n")
	if err != nil || !strings.Contains(out, "interface "+adapterinterface.Version+", turn of role dev: assigned") || !strings.Contains(out, "accepted worked") {
		t.Errorf("%v %s", err, out)
	}
}
