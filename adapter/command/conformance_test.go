package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
)

const (
	fakeVar  = "FAKE_COMMAND"
	stateVar = "FAKE_COMMAND_STATE"
)

func TestMain(m *testing.M) { clitest.Main(m, fakeVar, play) }

// play is a program that gets its prompt in the way that its first argument names, and answers with text.
func play(scenario string, args []string) (int, error) {
	prompt := ""
	switch way, rest, _ := strings.Cut(args[0], "="); way {
	case "in":
		b, err := io.ReadAll(os.Stdin)
		if err != nil {
			return 1, err
		}
		prompt = string(b)
	case "file":
		b, err := os.ReadFile(rest)
		if err != nil {
			return 1, err
		}
		prompt = string(b)
	case "say":
		prompt = rest
	}
	if !strings.Contains(prompt, "play ") && scenario != string(adaptertest.Talk) {
		return 1, fmt.Errorf("not the prompt: %q", prompt)
	}
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
		for range 50 {
			fmt.Println("word after word")
		}
	}
	fmt.Println("hi there")
	return 0, nil
}

// TestConformance runs the suite with the prompt delivered in each of the three ways.
func TestConformance(t *testing.T) {
	for name, arg := range map[string]string{"stdin": "in", "file": "file={prompt_file}", "argument": "say={prompt}"} {
		t.Run(name, func(t *testing.T) {
			adaptertest.Test(t, adaptertest.StandIn{
				Command: "fake-program", Descriptor: Descriptor, ScenarioVar: fakeVar, StateVar: stateVar, Others: []string{"claude", "codex"},
				Cannot: map[adaptertest.Scenario]string{
					adaptertest.Clarify: "it asks nobody", adaptertest.Approval: "it asks nobody", adaptertest.Tool: "it calls no tools",
					adaptertest.Malformed: "text has no format", adaptertest.Talk: "it takes one prompt", adaptertest.Spend: "it states no tokens",
					adaptertest.Steps: "it shows no model calls", adaptertest.Think: "it shows no thinking",
				},
				Ask: func(_ adaptertest.Scenario, req *execution.Request) { req.Run.Command = []string{"fake-program", arg} },
			}.Subject(t))
		})
	}
}
