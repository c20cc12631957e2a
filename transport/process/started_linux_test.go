package process

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestStarted(t *testing.T) {
	t.Parallel()
	const slack = 2 * time.Second
	before := time.Now()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	at, ok := Started(cmd.Process.Pid)
	if !ok || at.Before(before.Add(-slack)) || at.After(time.Now().Add(slack)) {
		t.Errorf("the child started at %v, %v, after %v", at, ok, before)
	}
	if mine, ok := Started(os.Getpid()); !ok || mine.After(at) {
		t.Errorf("this test started at %v, %v, and its child at %v", mine, ok, at)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if at, ok := Started(cmd.Process.Pid); ok {
		t.Errorf("an ended process started at %v", at)
	}
}
