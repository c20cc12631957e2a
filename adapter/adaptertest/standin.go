package adaptertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/testenv"
)

// LinkSelf links the running test binary under the name of an agent's program in a new directory, which it returns.
// With that on PATH the adapter starts the test binary, whose TestMain plays the agent. The test is skipped on systems
// without reliable symbolic links.
func LinkSelf(t testing.TB, name string) (dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in is found through a symbolic link")
	}
	self, err := testenv.Self()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// AskHook runs the command of a hook through a shell with the agent's input, as an agent's program would.
func AskHook(spawn adapter.Spawner, line string, payload any) (adapter.SpawnOutcome, error) {
	said, err := json.Marshal(payload)
	if err != nil {
		return adapter.SpawnOutcome{}, err
	}
	return spawn(context.Background(), adapter.SpawnRequest{Command: "/bin/sh", Args: []string{"-c", line}, Stdin: said})
}

// StandIn is the test binary in place of an agent's program: its TestMain plays the scenario in a variable.
type StandIn struct {
	Command    string // the name of the program
	Descriptor func() adapter.Descriptor
	// ScenarioVar names the variable of the scenario, StateVar that of the folder where the agent keeps its sessions.
	ScenarioVar, StateVar string
	// Ask completes a request for the agent, nil for nothing.
	Ask    func(Scenario, *execution.Request)
	Cannot map[Scenario]string
	Others []string
}

// Subject returns the stand-in as a subject of the suite.
func (in StandIn) Subject(t *testing.T) Subject {
	t.Helper()
	dir, state, grace := LinkSelf(t, in.Command), t.TempDir(), int64(200)
	s := Subject{
		Backend: func() agent.Backend { return agent.BackendOf(in.Descriptor()) },
		Request: func(sc Scenario) execution.Request {
			req := PlayRequest(sc)
			path := dir + string(os.PathListSeparator) + os.Getenv("PATH")
			switch sc {
			case Missing:
				path = t.TempDir()
			case Talk:
				req.Message.Text = "again"
			}
			req.Run.GracePeriodMs = &grace
			req.Run.Env = map[string]string{"PATH": path, in.ScenarioVar: string(sc), in.StateVar: state, "GORACE": "atexit_sleep_ms=0", "HOME": state}
			if in.Ask != nil {
				in.Ask(sc, &req)
			}
			return req
		},
		Cannot: in.Cannot, Answer: "hi", Memory: "42", Source: ".", Others: in.Others, Limit: time.Minute, Grace: 2 * time.Second,
	}
	if runtime.GOOS == "linux" {
		s.Survivors = MarkedProcesses(in.StateVar + "=" + state)
	}
	return s
}

// CallEcho calls the tool of the scenario Tool on the MCP server at a streamable HTTP address, as an agent's program
// would, and returns the raw answer. It implements the protocol independently, so that no tested code tests itself.
func CallEcho(url string, headers map[string]string) (string, error) {
	session := ""
	post := func(message string) (string, error) {
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(message))
		if err != nil {
			return "", err
		}
		for k, v := range headers {
			req.Header.Set(k, v)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		if id := res.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode >= 300 {
			return "", fmt.Errorf("%s: %s (%v)", res.Status, body, err)
		}
		if _, data, ok := bytes.Cut(body, []byte("data: ")); ok {
			data, _, _ = bytes.Cut(data, []byte("\n"))
			body = data
		}
		return string(body), nil
	}
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"fake","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`} {
		if _, err := post(message); err != nil {
			return "", err
		}
	}
	return post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"ping"}}}`)
}
