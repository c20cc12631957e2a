package external

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// scenarioVar names the scenario that the test binary plays as a program that uses Serve, faultVar how it goes wrong as another one.
const (
	scenarioVar = "FAKE_EXTERNAL"
	stateVar    = "FAKE_EXTERNAL_STATE"
	faultVar    = "FAKE_EXTERNAL_FAULT"
)

func TestMain(m *testing.M) {
	process.MaybeKeeper()
	if fault := os.Getenv(faultVar); fault != "" {
		playFault(fault)
		return
	}
	if scenario := os.Getenv(scenarioVar); scenario != "" {
		d := served(adaptertest.Scenario(scenario))
		if scenario == sessionsScenario {
			d.New = remembers
		}
		if err := Serve(d, "1.2.3", []string{"simple"}, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// served is the reference adapter without what its memory holds from one process to the next.
func served(sc adaptertest.Scenario) adapter.Descriptor {
	return adapter.Descriptor{Name: "fake", DisplayName: "Fake", DefaultModel: "fake-1", Models: []execution.Model{{ID: "fake-1"}},
		New: func() adapter.Adapter {
			return distinct{&adaptertest.Fake{
				Declared: func() execution.Capabilities {
					c := adaptertest.Capable()
					c.ContinuationSupport, c.Agent.CanResume, c.Agent.CanFork, c.Agent.CanRunEphemeral = "", false, false, false
					return c
				},
				Script: func(c *adaptertest.Call) execution.Result { return play(sc, c) },
			}}
		}}
}

// sessionsScenario is that of an adapter with sessions: it says what it was asked to do with them.
const sessionsScenario = "sessions"

func remembers() adapter.Adapter {
	return &adaptertest.Fake{Declared: adaptertest.Capable, Script: func(c *adaptertest.Call) execution.Result {
		start, run := execution.SessionStart{SessionID: "new"}, c.Request.Run
		switch {
		case run.SessionID == "gone":
			return execution.Result{Status: execution.StatusFailed, Error: execution.NewResultError(execution.CodeSessionNotFound, "there is no session gone")}
		case run.SessionID != "":
			start = execution.SessionStart{SessionID: run.SessionID, Resumed: true}
		case run.ForkSessionID != "":
			start = execution.SessionStart{SessionID: run.ForkSessionID + "-copy", ForkedFrom: run.ForkSessionID}
		}
		c.Emit(start)
		c.Say("in " + start.SessionID)
		res := adaptertest.Completed()
		res.SessionID = start.SessionID
		return res
	}}
}

// distinct gives the sessions of each process ids of their own.
type distinct struct{ *adaptertest.Fake }

func (d distinct) Execute(ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
	id := func(s string) string { return fmt.Sprint(s, "-", os.Getpid()) }
	return func(yield func(execution.Event, error) bool) {
		for e, err := range d.Fake.Execute(ctx, req, in) {
			switch b := e.Body.(type) {
			case execution.SessionStart:
				b.SessionID = id(b.SessionID)
				e.Body = b
			case execution.Finished:
				b.Result.SessionID = id(b.Result.SessionID)
				e.Body = b
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func play(sc adaptertest.Scenario, c *adaptertest.Call) execution.Result {
	switch sc {
	case adaptertest.Crash:
		fmt.Fprintln(os.Stderr, "fake: broken")
		os.Exit(3)
	case adaptertest.Malformed:
		fmt.Println(`{"jsonrpc":"2.0","id":3,"result":{"status":"great"}}`)
		<-c.Ctx.Done() // its input has ended
		os.Exit(0)
	case adaptertest.Stubborn:
		signal.Ignore(syscall.SIGTERM)
	case adaptertest.Tool:
		for _, s := range c.Request.Run.MCPServers {
			c.Emit(execution.MCPToolCallStart{ToolCallID: "t1", Server: s.Name, ToolName: "echo", Input: json.RawMessage(`{"text":"ping"}`)})
			answer, err := adaptertest.CallEcho(s.URL, s.Headers)
			if err != nil {
				c.Emit(execution.MCPToolError{ToolCallID: "t1", Server: s.Name, ToolName: "echo", Error: err.Error()})
				continue
			}
			c.Emit(execution.MCPToolResult{ToolCallID: "t1", Server: s.Name, ToolName: "echo", Output: json.RawMessage(answer)})
		}
		c.Say("hi")
		return adaptertest.Completed()
	}
	return adaptertest.Play(c)
}

const (
	introduced = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agent":{"name":"fake"},"capabilities":{"agent":{"verbs":["abort","interrupt","send"],"supportsMultiTurn":true,"structuredSessionTransport":"persistent","supportsInteractiveMode":true,"supportsStdinInjection":true}}}}`
	completed  = `{"jsonrpc":"2.0","id":3,"result":{"status":"completed","output":{"text":"hi"}}}`
)

// playFault is a program that goes wrong in one way.
func playFault(fault string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	say := func(line string) { fmt.Println(line) }
	if noisy, ok := strings.CutPrefix(fault, "prints "); ok {
		say(noisy)
	}
	for in.Scan() {
		line := in.Text()
		switch {
		case strings.Contains(line, `"method":"initialize"`):
			if reply, ok := strings.CutPrefix(fault, "replies "); ok {
				say(`{"jsonrpc":"2.0","id":1,` + reply + `}`)
				continue
			}
			if fault == "mute" {
				continue
			}
			say(introduced)
		case strings.Contains(line, `"method":"negotiate"`):
			switch reply, ok := strings.CutPrefix(fault, "negotiates "); {
			case ok:
				say(`{"jsonrpc":"2.0","id":2,"result":` + reply + `}`)
			case fault == "asks":
				say(`{"jsonrpc":"2.0","id":"q-1","method":"fs/read","params":{}}`)
			default:
				say(`{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no such method"}}`)
			}
		case strings.Contains(line, `"id":"q-1"`): // what Drawbar answered becomes the text
			say(`{"jsonrpc":"2.0","id":2,"result":{}}`)
			text, _ := json.Marshal(line)
			say(`{"jsonrpc":"2.0","method":"event","params":{"type":"text_delta","delta":` + string(text) + `,"accumulated":` + string(text) + `}}`)
		case strings.Contains(line, `"method":"message"`):
			say(`{"jsonrpc":"2.0","id":4,"error":{"code":-32000,"message":"not now"}}`)
			say(completed) // the reply to execute
		case strings.Contains(line, `"method":"execute"`):
			if reply, ok := strings.CutPrefix(fault, "executes "); ok {
				say(`{"jsonrpc":"2.0","id":3,` + reply + `}`)
				continue
			}
			if event, ok := strings.CutPrefix(fault, "tells "); ok {
				say(event)
			}
			if fault != "waits" {
				say(completed)
				continue
			}
			say(`{"jsonrpc":"2.0","method":"event","params":{"type":"turn_start","turnIndex":0}}`)
			say(`{"jsonrpc":"2.0","method":"event","params":{"type":"turn_end","turnIndex":0,"reason":"completed"}}`)
		}
	}
	if fault == "stays" || fault == "mute" {
		time.Sleep(time.Hour)
	}
}
