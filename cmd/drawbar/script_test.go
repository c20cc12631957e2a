package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"

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
