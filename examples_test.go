package drawbar_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/govern"
)

// TestGovernedTodoApp runs examples/governed-todo-app with the two servers of examples, as its page says.
func TestGovernedTodoApp(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the developer's worker is a shell script")
	}
	bin, root := t.TempDir(), t.TempDir()
	command := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		if name != "go" {
			cmd.Dir = root
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	command("go", "build", "-o", bin, "./examples/mcp-echo-agent", "./examples/mcp-http-echo-agent")
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("DRAWBAR_CONFIG_DIR", t.TempDir())

	server := exec.Command(filepath.Join(bin, "mcp-http-echo-agent"), "-http", "127.0.0.1:0")
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Signal(os.Interrupt)
		if err := server.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}

	if err := os.CopyFS(root, os.DirFS("examples/governed-todo-app")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "agentxchain.json")
	config, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(config), "http://127.0.0.1:8787/mcp", strings.TrimSpace(url), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	command("git", "init", "-q", "-b", "main")
	command("git", "config", "user.name", "Tester")
	command("git", "config", "user.email", "tester@localhost")
	command("git", "add", "-A")
	command("git", "commit", "-qm", "start")
	p, err := drawbar.OpenProject(root, govern.Options{Owner: "test", Trust: func(string, []govern.TrustItem) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"pm", "dev", "qa"} {
		r, err := p.Step(t.Context(), govern.StepOptions{Role: role})
		if err != nil || r.Outcome != govern.OutcomeAccepted || r.Role != role {
			t.Fatalf("%s: %s %s %v %v", role, r.Outcome, r.Code, r.Errors, err)
		}
	}
	command("sh", "todo.sh", "add", "buy", "milk")
	if got := command("sh", "todo.sh", "list"); !strings.Contains(got, "buy milk") {
		t.Errorf("the list is %q", got)
	}
}
