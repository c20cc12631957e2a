package pid

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

const headless = "PID_TEST_HEADLESS"

// As the headless process, the test ends its first thread and continues with the others. During init the first thread runs.
func init() {
	if os.Getenv(headless) == "" {
		return
	}
	go func() {
		for s, _ := ReadStat(os.Getpid()); s.State != 'Z'; s, _ = ReadStat(os.Getpid()) {
			time.Sleep(time.Millisecond)
		}
		os.Stdout.WriteString("ready\n")
		time.Sleep(time.Hour)
	}()
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
}

// A process whose first thread has ended looks like a zombie, but it runs until the last thread ends.
func TestStart(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{headless + "=1"}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "ready" {
		t.Errorf("got %q, %v", line, err)
	}
	if start, ok, err := Start(cmd.Process.Pid); start == 0 || !ok || err != nil {
		t.Errorf("it runs, and got %d, %v, %v", start, ok, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if _, ok, err := Start(cmd.Process.Pid); ok || err != nil {
		t.Errorf("it ended, and got %v, %v", ok, err)
	}
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	tail := " 1 2 3 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0"
	for _, tc := range []struct {
		text string
		want Stat
		ok   bool
	}{
		{"7 (sh) S" + tail, Stat{7, 1, 'S', 4711, false, 1}, true},
		{"7 (a ) Z (b) c) Z" + tail, Stat{7, 1, 'Z', 4711, false, 1}, true},
		{"7 (sh) Z 1 2 3 0 -1 4 0 0 0 0 0 0 0 0 20 0 5 0 4711 0 0", Stat{7, 1, 'Z', 4711, true, 5}, true},
		{"7 (sh) R 1 2 3 0 -1 4194308 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0", Stat{7, 1, 'R', 4711, true, 1}, true},
		{"7 (sh) S 1 2 3 0 -1 x 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0", Stat{}, false},
		{"7 (sh) S 1 2", Stat{}, false},
		{"", Stat{}, false},
		{"7 (sh) S x" + tail[2:], Stat{}, false},
	} {
		if got, ok := parseStat(7, []byte(tc.text)); got != tc.want || ok != tc.ok {
			t.Errorf("%q: got %+v, %t", tc.text, got, ok)
		}
	}
	for _, tc := range []struct {
		s    Stat
		dead bool
	}{{Stat{State: 'S', Threads: 1}, false}, {Stat{State: 'Z', Threads: 1}, true}, {Stat{State: 'Z', Threads: 5}, false}, {Stat{State: 'X'}, true}} {
		if tc.s.Dead() != tc.dead {
			t.Errorf("%+v: dead is %t", tc.s, tc.s.Dead())
		}
	}
	self, ok := ReadStat(os.Getpid())
	if !ok || self.Parent != os.Getppid() || self.Start == 0 {
		t.Errorf("got %+v, %t", self, ok)
	}
}
