package script

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
)

const (
	fakeVar  = "FAKE_SCRIPT"
	stateVar = "FAKE_SCRIPT_STATE"
)

func TestMain(m *testing.M) { clitest.Main(m, fakeVar, play) }

// play is a script that executes a task.
func play(scenario string, args []string) (int, error) {
	if len(args) != 3 || args[0] != "execute" {
		return 2, fmt.Errorf("usage: execute CONTEXT OUTPUT, not %q", args)
	}
	task, err := os.ReadFile(filepath.Join(args[1], TaskFile))
	if err != nil {
		return 1, err
	}
	if !strings.Contains(string(task), "play ") && scenario != string(adaptertest.Talk) {
		return 1, fmt.Errorf("not the task: %q", task)
	}
	report := "hi there\n"
	switch adaptertest.Scenario(scenario) {
	case adaptertest.Fail, adaptertest.Crash:
		return 3, errors.New("something broke inside")
	case adaptertest.Hang:
		fmt.Println("working")
		time.Sleep(time.Minute)
	case adaptertest.Stubborn:
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		fmt.Println("working")
		time.Sleep(time.Minute)
	case adaptertest.Long:
		report = strings.Repeat("word after word\n", 50)
	}
	for name, text := range map[string]string{ReportFile: report, ResultFile: "pass\n"} {
		if err := os.WriteFile(filepath.Join(args[2], name), []byte(text), 0o600); err != nil {
			return 1, err
		}
	}
	return 0, nil
}

func TestConformance(t *testing.T) {
	adaptertest.Test(t, adaptertest.StandIn{
		Command: "fake-script", Descriptor: Descriptor, ScenarioVar: fakeVar, StateVar: stateVar, Others: []string{"claude", "codex"},
		Cannot: map[adaptertest.Scenario]string{
			adaptertest.Clarify: "it asks nobody", adaptertest.Approval: "it asks nobody", adaptertest.Tool: "it calls no tools",
			adaptertest.Malformed: "text has no format", adaptertest.Talk: "it takes one task", adaptertest.Spend: "it states no tokens",
			adaptertest.Steps: "it shows no model calls", adaptertest.Think: "it shows no thinking",
		},
		Ask: func(_ adaptertest.Scenario, req *execution.Request) { req.Run.Command = []string{"fake-script"} },
	}.Subject(t))
}
