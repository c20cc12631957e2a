package adaptertest_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/execution"
)

func TestFakePassesAConsumersPanicOn(t *testing.T) {
	t.Parallel()
	defer func() {
		if p := recover(); p != "mine" {
			t.Errorf("recovered %v, want the consumer's own panic", p)
		}
	}()
	for range (&at.Fake{}).Execute(t.Context(), at.PlayRequest(at.Simple), closed{}) {
		panic("mine")
	}
}

func TestBackendIsThere(t *testing.T) {
	t.Parallel()
	for _, declared := range []func() execution.Capabilities{at.Capable, at.Bare} {
		if err := declared().Validate(); err != nil {
			t.Error(err)
		}
	}
}

// TestHelperProcess is not a test but the child of TestSurvivors.
func TestHelperProcess(t *testing.T) {
	if os.Getenv("DRAWBAR_TEST_CHILD") == "" {
		t.Skip("run by TestSurvivors")
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func TestSurvivors(t *testing.T) {
	t.Parallel()
	marker := "DRAWBAR_TEST_MARKER=" + filepath.Base(t.TempDir()) + strconv.Itoa(os.Getpid())
	child := exec.Command(os.Args[0], "-test.run=^TestHelperProcess$")
	child.Env = append(os.Environ(), "DRAWBAR_TEST_CHILD=1", "GORACE=atexit_sleep_ms=0", marker)
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pids")
	if err := at.ProcessesIn(file)(); err != nil {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(child.Process.Pid)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	probes := map[string]func() error{"noted": at.ProcessesIn(file)}
	if runtime.GOOS == "linux" {
		probes["marked"] = at.MarkedProcesses(marker)
	}
	pid := strconv.Itoa(child.Process.Pid)
	for name, probe := range probes {
		if err := probe(); err == nil || !strings.Contains(err.Error(), pid) {
			t.Errorf("%s: got %v, want process %s found", name, err, pid)
		}
	}
	_ = stdin.Close()
	time.Sleep(20 * time.Millisecond) // a zombie until Wait, which is not a survivor
	if runtime.GOOS == "linux" {
		for name, probe := range probes {
			if err := probe(); err != nil {
				t.Errorf("%s counts a zombie: %v", name, err)
			}
		}
	}
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	for name, probe := range probes {
		if err := probe(); err != nil {
			t.Errorf("%s after the end: %v", name, err)
		}
	}
	if err := os.WriteFile(file, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := at.ProcessesIn(file)(); err == nil {
		t.Error("a file without process ids is taken for one")
	}
}

func TestCheckImports(t *testing.T) {
	t.Parallel()
	if err := at.CheckImports("../../execution"); err != nil {
		t.Errorf("execution: %v", err)
	}
	if err := at.CheckImports(t.TempDir()); err == nil {
		t.Error("a folder in no module passes")
	}
}
