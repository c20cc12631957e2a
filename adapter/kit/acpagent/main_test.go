package acpagent_test

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acptest"
	"github.com/drawbar/drawbar/transport/process"
)

// fakeVar names how the test binary goes wrong as an agent, exampleVar the scenario that it plays as the agent of the example.
const (
	fakeVar      = "FAKE_ACP_AGENT"
	exampleVar   = "FAKE_TERN"
	exampleState = "FAKE_TERN_STATE"
)

func TestMain(m *testing.M) {
	process.MaybeKeeper()
	if part := os.Getenv(fakeVar); part != "" {
		playFault(part)
		return
	}
	if scenario := os.Getenv(exampleVar); scenario != "" {
		os.Exit((&acptest.Agent{Scenario: adaptertest.Scenario(scenario), State: os.Getenv(exampleState)}).Serve())
	}
	goleak.VerifyTestMain(m)
}

// giant is the length of a text in one line.
const giant = 3 << 20

// playFault is an agent that goes wrong in one way.
func playFault(part string) {
	in := bufio.NewScanner(os.Stdin)
	say := func(line string) { fmt.Println(line) }
	switch part {
	case "mute":
		for in.Scan() {
		}
		time.Sleep(time.Hour)
	case "no-agent":
		fmt.Fprintln(os.Stderr, "usage: no-agent [FILE]")
		os.Exit(64)
	}
	for in.Scan() {
		line := in.Text()
		switch {
		case strings.Contains(line, `"initialize"`):
			if part == "dies-early" {
				os.Exit(9)
			}
			say(`{"jsonrpc":"2.0","id":99,"result":{"stopReason":"end_turn"}}`) // nobody asked
			say(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`)
		case strings.Contains(line, `"session/new"`):
			say(`{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}`)
		case strings.Contains(line, `"session/prompt"`):
			say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"half a"}}}}`)
			switch part {
			case "giant":
				say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` +
					strings.Repeat("x", giant) + `"}}}}`)
				say(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`)
			case "dies":
				fmt.Fprintln(os.Stderr, "out of memory")
				os.Exit(9)
			case "stays", "exits-7":
				say("Loading...")
				say(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`)
			}
		}
	}
	switch part {
	case "stays":
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Hour)
	case "exits-7":
		os.Exit(7)
	}
}
