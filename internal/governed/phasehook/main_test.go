//go:build unix

package phasehook

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/testenv"
	"github.com/drawbar/drawbar/transport/process"
	"go.uber.org/goleak"
)

const hookEnv = "DRAWBAR_TEST_HOOK"

func TestMain(m *testing.M) {
	process.MaybeKeeper()
	if name := os.Getenv(hookEnv); name != "" {
		asHook(name, os.Args[1:])
		os.Exit(0)
	}
	testenv.Setup(8)
	goleak.VerifyTestMain(m)
}

// asHook is what the test binary does as the program of a hook.
func asHook(name string, args []string) {
	input, _ := io.ReadAll(os.Stdin)
	switch name {
	case "say":
		fmt.Println(args[0])
	case "exit":
		fmt.Fprintln(os.Stderr, "no:", os.Getenv("DRAWBAR_TEST_API_KEY"))
		os.Exit(3)
	case "flood":
		fmt.Println(`{"verdict":"allow"}` + strings.Repeat(" ", mostOutput+10) + "or not")
	case "stderr":
		fmt.Fprintln(os.Stderr, strings.Repeat("e", 3*mostStderr))
		fmt.Println(`{"verdict":"allow"}`)
	case "echo":
		var e map[string]any
		_ = json.Unmarshal(input, &e)
		e["env"] = []string{os.Getenv("AGENTXCHAIN_HOOK_PHASE"), os.Getenv("AGENTXCHAIN_HOOK_NAME"), os.Getenv("AGENTXCHAIN_RUN_ID"),
			os.Getenv("AGENTXCHAIN_PROJECT_ROOT"), os.Getenv("EXTRA")}
		b, _ := json.Marshal(e)
		out, _ := json.Marshal(map[string]any{"verdict": "allow", "message": string(b)})
		fmt.Println(string(out))
	case "sleep":
		time.Sleep(time.Minute)
	case "family": // starts a child that outlives it unless the tree is killed
		child := exec.Command(os.Args[0], args...)
		child.Env = append(os.Environ(), hookEnv+"=pid")
		_ = child.Start()
		time.Sleep(time.Minute)
	case "pid":
		_ = os.WriteFile(args[0], fmt.Appendf(nil, "%d", os.Getpid()), 0o600)
		time.Sleep(time.Minute)
	case "write": // path=content pairs, then the verdict; "-" removes
		for _, a := range args[1:] {
			path, content, _ := strings.Cut(a, "=")
			switch content {
			case "-":
				_ = os.RemoveAll(path)
			case "link":
				_ = os.RemoveAll(path)
				_ = os.Symlink("/etc/hostname", path)
			case "dir":
				_ = os.RemoveAll(path)
				_ = os.MkdirAll(filepath.Join(path, "x"), 0o755)
			default:
				_ = os.WriteFile(path, []byte(content), 0o644)
			}
		}
		switch args[0] {
		case "fail":
			os.Exit(1)
		case "hang":
			time.Sleep(time.Minute)
		default:
			fmt.Println(args[0])
		}
	}
}

// project is a governed project with a record.
func project(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range record {
		write(t, root, name, content)
	}
	return root
}

var record = map[string]string{protocol.StateFile: `{"status":"active"}` + "\n", protocol.HistoryFile: `{"turn_id":"a"}` + "\n",
	protocol.LedgerFile: `{"id":"DEC-001"}` + "\n"}

func write(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// hook is a hook that the test binary plays.
func hook(t *testing.T, name, mode, as string, args ...string) protocol.Hook {
	t.Helper()
	self, err := testenv.Self()
	if err != nil {
		t.Fatal(err)
	}
	h := protocol.Hook{Name: name, Type: "process", Command: append([]string{self}, args...), TimeoutMS: 10000, Mode: mode}
	h.Env.Set(hookEnv, as)
	h.Env.Set("GORACE", "atexit_sleep_ms=0")
	return h
}

// lines are the lines of a file of the project.
func lines(t *testing.T, root, name string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func contents(t *testing.T, root string, names ...string) map[string]string {
	t.Helper()
	m := map[string]string{}
	for _, n := range names {
		b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(n)))
		if err != nil {
			t.Errorf("%s: %v", n, err)
		}
		m[n] = string(b)
	}
	return m
}
