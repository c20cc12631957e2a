package process

import (
	"bufio"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	proc "github.com/drawbar/drawbar/internal/base/pid"
	"github.com/drawbar/drawbar/transport/process/internal/supervisor"
)

// A process whose first thread has ended shows its environment only on the others. It is found by it, also where it was started
// before the tag was set.
func TestFindsAProcessWithoutItsFirstThread(t *testing.T) {
	t.Parallel()
	run := t.TempDir()
	mark := markOf(run)
	s := fake(t, "headless")
	c := exec.Command(s.Path)
	c.Env = append(s.Env, supervisor.MarkName+"="+mark)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill() // the test may have
		_ = c.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.TrimSpace(line) != "ready" {
		t.Fatalf("%q, %v", line, err)
	}
	for _, tree := range []supervisor.Tree{{Mark: mark}, {Mark: mark, All: true}} {
		if !slices.ContainsFunc(tree.Find(), func(s proc.Stat) bool { return s.PID == c.Process.Pid }) {
			t.Errorf("not found, all %v", tree.All)
		}
	}
	if got := Survivors(run)[run]; got != 1 {
		t.Errorf("survivors of the run: %d", got)
	}
	if n, err := EndSurvivors(run, 10*time.Second); n != 1 || err != nil {
		t.Errorf("killed %d, %v", n, err)
	}
}
