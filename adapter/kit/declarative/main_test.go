package declarative

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acptest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/adapter/kit/streamjson/streamtest"
)

const (
	fakeVar  = "FAKE_DECLARED"
	stateVar = "FAKE_DECLARED_STATE"
)

func TestMain(m *testing.M) { clitest.Main(m, fakeVar, play) }

// play is an agent in the output format that its first argument names.
func play(scenario string, args []string) (int, error) {
	switch args[0] {
	case "stream":
		return streamtest.Play(scenario, args)
	case "acp":
		return (&acptest.Agent{Scenario: adaptertest.Scenario(scenario), State: os.Getenv(stateVar)}).Serve(), nil
	case "lines":
		return playLines(adaptertest.Scenario(scenario), args[1:])
	}
	if b, err := io.ReadAll(os.Stdin); err != nil || len(b) == 0 {
		return 1, fmt.Errorf("no prompt: %w", err)
	}
	switch adaptertest.Scenario(scenario) {
	case adaptertest.Crash, adaptertest.Fail:
		return 3, errors.New("something broke inside")
	case adaptertest.Hang, adaptertest.Stubborn:
		if scenario == string(adaptertest.Stubborn) {
			signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		}
		fmt.Println("working")
		time.Sleep(time.Minute)
	case adaptertest.Long:
		fmt.Println(strings.Repeat("word after word\n", 50))
	}
	fmt.Println("hi there")
	return 0, nil
}

// linesPlayer is an agent that prints one JSON object a line.
type linesPlayer struct{ args []string }

func (p linesPlayer) say(kind string, members map[string]any) {
	members["kind"] = kind
	b, _ := json.Marshal(members)
	fmt.Println(string(b))
}

// flag returns the word after a flag.
func (p linesPlayer) flag(name string) string {
	for i, a := range p.args {
		if a == name && i+1 < len(p.args) {
			return p.args[i+1]
		}
	}
	return ""
}

func (p linesPlayer) has(name string) bool {
	return strings.Contains(" "+strings.Join(p.args, " ")+" ", " "+name+" ")
}

// session opens a session; false means that there is none with the id to continue.
func (p linesPlayer) session() bool {
	dir, id := os.Getenv(stateVar), fmt.Sprintf("s%s", rand.Text())
	if from := p.flag("--resume") + p.flag("--fork"); from != "" {
		if _, err := os.Stat(filepath.Join(dir, filepath.Base(from))); err != nil {
			p.say("problem", map[string]any{"text": "unknown session " + from})
			return false
		}
		if p.flag("--resume") != "" {
			id = from
		}
	}
	if !p.has("--ephemeral") {
		_ = os.WriteFile(filepath.Join(dir, id), nil, 0o600)
	}
	p.say("begin", map[string]any{"session": map[string]any{"id": id, "model": "m1"}})
	return true
}

func playLines(sc adaptertest.Scenario, args []string) (int, error) {
	p := linesPlayer{args}
	switch sc {
	case adaptertest.Crash:
		return 3, errors.New("something broke inside")
	case adaptertest.Malformed:
		fmt.Println(`{"kind":`)
		return 0, nil
	case adaptertest.Stubborn:
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	}
	if !p.session() {
		return 1, nil
	}
	usage := map[string]any{"input_tokens": 100, "output_tokens": 20, "cost_usd": 0.5}
	call := func() {
		p.say("model", map[string]any{})
		p.say("tokens", map[string]any{"usage": usage})
	}
	call()
	answer := "hi there"
	switch sc {
	case adaptertest.Fail:
		p.say("problem", map[string]any{"text": "no such thing"})
		return 1, nil
	case adaptertest.Hang, adaptertest.Stubborn:
		p.say("piece", map[string]any{"text": "working "})
		time.Sleep(time.Minute)
	case adaptertest.Think:
		p.say("thought", map[string]any{"text": "hm " + p.flag("--effort")})
	case adaptertest.Remember:
		answer = "it was 42"
	case adaptertest.Long:
		answer = strings.Repeat("word after word ", 200)
	case adaptertest.Spend, adaptertest.Steps:
		for i := range 2 {
			time.Sleep(150 * time.Millisecond) // a limit stops it here
			p.say("call", map[string]any{"tool": map[string]any{"id": i, "name": "ls", "input": map[string]any{"a": 1}}})
			p.say("done", map[string]any{"tool": map[string]any{"id": i, "output": "a.txt"}})
			call()
		}
	case adaptertest.Tool, adaptertest.Connect:
		if err := p.useServers(); err != nil {
			return 1, err
		}
		call()
	}
	for _, piece := range strings.SplitAfter(answer, " ") {
		p.say("piece", map[string]any{"text": piece})
	}
	p.say("end", map[string]any{"text": answer})
	return 0, nil
}

// useServers calls the tool echo of every MCP server.
func (p linesPlayer) useServers() error {
	data, err := os.ReadFile(p.flag("--mcp"))
	var file struct{ MCPServers map[string]cliagent.MCPEntry }
	if err != nil || json.Unmarshal(data, &file) != nil {
		return fmt.Errorf("no servers: %w", err)
	}
	for server, e := range file.MCPServers {
		p.say("call", map[string]any{"tool": map[string]any{"id": server, "name": "mcp__" + server + "__echo", "input": map[string]any{"text": "ping"}}})
		output := "pong"
		if e.URL != "" {
			if output, err = adaptertest.CallEcho(e.URL, e.Headers); err != nil {
				return err
			}
		}
		p.say("done", map[string]any{"tool": map[string]any{"id": server, "output": output}})
	}
	return nil
}
