//go:build unix

package turnruntime

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/testenv"
	"github.com/drawbar/drawbar/transport/process"
	"go.uber.org/goleak"
)

const workerEnv = "DRAWBAR_TEST_WORKER"

func TestMain(m *testing.M) {
	process.MaybeKeeper()
	if name := os.Getenv(workerEnv); strings.HasPrefix(name, "mcp ") {
		asServer(name)
		os.Exit(0)
	} else if name != "" {
		asWorker(name, os.Args[1:])
		os.Exit(0)
	}
	testenv.Setup(12)
	goleak.VerifyTestMain(m)
}

const goodResult = `{"schema_version":"1.0","run_id":"run_1","turn_id":"turn_1","role":"dev","runtime_id":"local-dev","status":"completed","summary":"done"}`

// heard is what the worker echo writes down.
type heard struct {
	Args  []string
	Stdin string
	Dir   string
	Env   map[string]string
	File  string // content of the file that the last argument names
}

// asWorker is what the test binary does as the program of a turn.
func asWorker(name string, args []string) {
	staged := os.Getenv("AGENTXCHAIN_STAGING_PATH")
	code := func(i int) int { n, _ := strconv.Atoi(args[i]); return n }
	stage := func(text string) { _ = os.WriteFile(staged, []byte(text), 0o644) }
	switch name {
	case "result": // exit code, content
		stage(args[1])
		os.Exit(code(0))
	case "flat":
		_ = os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(staged)), "turn-result.json"), []byte(args[0]), 0o644)
	case "adapter":
		asAdapter()
	case "exit": // code, what it says on standard output and error
		fmt.Println(args[1])
		fmt.Fprintln(os.Stderr, args[2])
		os.Exit(code(0))
	case "print": // code, file
		b, _ := os.ReadFile(args[1])
		_, _ = os.Stdout.Write(b)
		os.Exit(code(0))
	case "echo":
		in, _ := io.ReadAll(os.Stdin)
		h := heard{Args: args, Stdin: string(in), Env: map[string]string{}}
		h.Dir, _ = os.Getwd()
		for _, e := range os.Environ() {
			k, v, _ := strings.Cut(e, "=")
			h.Env[k] = v
		}
		if len(args) > 0 {
			b, _ := os.ReadFile(args[len(args)-1])
			h.File = string(b)
		}
		b, _ := json.Marshal(h)
		_ = os.WriteFile(filepath.Join(os.Getenv("AGENTXCHAIN_DISPATCH_DIR"), "heard.json"), b, 0o600)
		stage(goodResult)
	case "silent":
		time.Sleep(time.Minute)
	case "tries":
		fmt.Println(`{"type":"system","subtype":"init","session_id":"x","model":"m","claude_code_version":"2.1.0"}`)
		fmt.Println(`{"type":"system","subtype":"api_retry","attempt":1,"error_status":401,"error":"authentication_failed","session_id":"x"}`)
		time.Sleep(time.Minute)
	case "once": // a word, then silence
		fmt.Println("working")
		time.Sleep(time.Minute)
	case "slowly": // stream, number of signs at intervals, then the result
		for range code(1) {
			switch args[0] {
			case "stdout":
				fmt.Println("x")
			case "part":
				fmt.Print("x")
			case "stderr":
				fmt.Fprintln(os.Stderr, "x")
			case "staged":
				stage(`{"half":`)
			}
			time.Sleep(200 * time.Millisecond)
		}
		stage(goodResult)
	case "stubborn": // ignores TERM, with a child that does so too; writes the pids
		signal.Ignore(syscall.SIGTERM)
		if len(args) > 1 {
			child := exec.Command(os.Args[0], args[0])
			_ = child.Start()
			_ = os.WriteFile(args[0], fmt.Appendf(nil, "%d", child.Process.Pid), 0o600)
		}
		fmt.Println("working")
		time.Sleep(time.Minute)
	case "mild": // ends well when told to
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("working")
		<-c
		if len(args) > 0 {
			stage(args[0])
		}
	case "killed":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "flood":
		line := strings.Repeat("y", 1000)
		for range 6000 {
			fmt.Println(line)
		}
		fmt.Println("the last line")
		stage(goodResult)
	}
}

// scene is a turn about to be dispatched.
func scene(t testing.TB, as string, args ...string) Dispatch {
	t.Helper()
	root := t.TempDir()
	self, err := testenv.Self()
	if err != nil {
		t.Fatal(err)
	}
	d := Dispatch{Root: root, Run: "run_1", Phase: "implementation", Turn: protocol.Turn{TurnID: "turn_1", Attempt: 1}, RoleID: "dev",
		Role: protocol.Role{Title: "Developer", Mandate: "Build it.", WriteAuthority: protocol.Authoritative}, RuntimeID: "local-dev",
		Runtime: protocol.Runtime{Type: protocol.RuntimeLocalCLI, Command: protocol.Words{List: append([]string{self}, args...)}},
		Prompt:  "Do this.\n", Context: "Know that.\n", BundleDir: filepath.Join(root, ".agentxchain", "dispatch", "turns", "turn_1"),
		StagedPath: filepath.Join(root, filepath.FromSlash(protocol.StagedFile("turn_1"))), Timeout: time.Minute, Environ: os.Environ(), Getenv: os.Getenv}
	d.Runtime.Env.Set(workerEnv, as)
	d.Runtime.Env.Set("GORACE", "atexit_sleep_ms=0")
	if err := os.MkdirAll(d.BundleDir, 0o755); err != nil {
		t.Fatal(err)
	}
	return d
}

// watcher notes what it hears.
type watcher struct {
	mu       sync.Mutex
	pids     []int
	first    []string
	progress []govern.Progress
	events   []execution.Event
	seen     chan string // the stages, when somebody waits for them
}

func (w *watcher) Attached(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pids = append(w.pids, pid)
}

func (w *watcher) FirstOutput(stream string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.first = append(w.first, stream)
	if w.seen != nil {
		w.seen <- stream
	}
}

func (w *watcher) Progress(p govern.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress = append(w.progress, p)
}

func (w *watcher) Event(e execution.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func transcriptOf(t *testing.T, d Dispatch) string {
	t.Helper()
	return read(t, filepath.Join(d.BundleDir, "evidence", "stdout.log"))
}
