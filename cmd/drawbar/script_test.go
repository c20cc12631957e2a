package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/drawbar/drawbar/internal/modelserver"
)

// serveModel is "model FILE": it serves the script in FILE for the rest of the test and sets ANTHROPIC_BASE_URL.
func serveModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: model FILE")
	}
	parsed, err := modelserver.Parse([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	m, err := modelserver.New(parsed, modelserver.Options{}).Listen(context.Background(), "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = m.Close() }) // the script has passed or failed already
	ts.Setenv("ANTHROPIC_BASE_URL", m.URL())
}

// exits is "exits CODE COMMAND ARGS": it runs a command and fails unless it exits with the code. Its output is there for
// stdout and stderr.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("%s exits with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// big is "big FILE BYTES": it writes a file of that many letters.
func big(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: big FILE BYTES")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat("prompt ", n/7+1)[:n]), 0o600))
}

// turnSeen is the active turn of the governed project at hand, as another terminal sees it.
type turnSeen struct {
	run, id, role, runtime string
	carried                bool
}

func activeTurn(ts *testscript.TestScript) turnSeen {
	cmd := exec.Command(ts.Getenv("DRAWBAR"), "govern", "status", "--json")
	cmd.Dir, cmd.Env = ts.MkAbs("."), append(os.Environ(), "XDG_STATE_HOME="+ts.Getenv("XDG_STATE_HOME"))
	out, err := cmd.Output()
	ts.Check(err)
	var s struct {
		Data struct {
			RunID string `json:"run_id"`
			Turns []struct {
				ID      string `json:"turn_id"`
				Role    string `json:"assigned_role"`
				Runtime string `json:"runtime_id"`
				Live    *struct{ Stage string }
			} `json:"active_turns"`
		}
	}
	ts.Check(json.Unmarshal(out, &s))
	if len(s.Data.Turns) == 0 {
		return turnSeen{}
	}
	t := s.Data.Turns[0]
	return turnSeen{s.Data.RunID, t.ID, t.Role, t.Runtime, t.Live != nil && (t.Live.Stage == "waiting" || t.Live.Stage == "running")}
}

// carried is "carried ROLE": it waits until a turn of the role is being carried out, and sets TURN to its id.
func carried(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: carried ROLE")
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		t := activeTurn(ts)
		if t.role == args[0] && t.carried {
			ts.Setenv("TURN", t.id)
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no turn of %s is carried out: %+v", args[0], t)
		}
	}
}

// handIn is "hand-in ROLE FILE": it hands in a turn result as a person does, with the ids of the active turn put in.
func handIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hand-in ROLE FILE")
	}
	t := activeTurn(ts)
	if t.role != args[0] {
		ts.Fatalf("the active turn is %+v", t)
	}
	r := map[string]any{}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &r))
	r["schema_version"], r["run_id"], r["turn_id"], r["role"], r["runtime_id"] = "1.0", t.run, t.id, t.role, t.runtime
	b, err := json.Marshal(r)
	ts.Check(err)
	path := ts.MkAbs(filepath.Join(".agentxchain", "staging", t.id, "turn-result.json"))
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(os.WriteFile(path, b, 0o600))
}
