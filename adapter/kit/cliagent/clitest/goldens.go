// Package clitest tests adapters' parsers: goldens of recorded runs, and the order and sums that hold for every run.
//
// Tests that need a process or a conversation belong to packages adaptertest and acptest.
package clitest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// Update is set by go test -update: goldens are rewritten instead of compared.
var Update = flag.Bool("update", false, "rewrite the goldens")

// Request returns a minimal request.
func Request() execution.Request {
	return execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: "drawbar", TurnID: "t", Message: execution.Message{Text: "hello"}}
}

// Run is the request of a recorded run and the exit of its process.
type Run struct {
	Request func(*execution.Request)
	Exit    process.Exit
}

// Recording is a recorded run as the parser gets it.
type Recording struct {
	Name    string // of the transcript, without its ending
	Base    string // its path without its ending
	Request execution.Request
	Stdout  []byte
	Stderr  []byte // content of the .stderr file next to the transcript, nil for none
	Exit    process.Exit
}

// Goldens are recorded runs: a .jsonl file each, and an .events file with the parser's events.
type Goldens struct {
	Pattern string // glob of the transcripts
	Least   int    // minimum number of transcripts
	Runs    map[string]Run
	Listed  bool                               // a transcript that is not in Runs is an error
	Unknown func(name string) bool             // nil, or the transcripts with unknown lines
	Stdout  func(testing.TB, []byte) []byte    // nil, or the agent's text in a recorded conversation
	Span    func(line []byte) (from, to int)   // nil, or the part of a line that the agent wrote and mutations may change
	Log     func(*testing.T, Recording) []byte // nil, or the result of a mutated recording, instead of the events of Replay
	Replay  func(*testing.T, Recording) ([]execution.Event, execution.Result)
	Check   func(*testing.T, []execution.Event, execution.Result)
}

// Test replays every transcript.
func (g Goldens) Test(t *testing.T) {
	used := map[string]bool{}
	for _, file := range Glob(t, g.Pattern, g.Least) {
		r := g.recording(t, file)
		used[r.Name] = true
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			if _, listed := g.Runs[r.Name]; g.Listed && !listed {
				t.Fatal("the transcript is in no table")
			}
			events, res := g.Replay(t, r)
			Compare(t, r.Base+".events", Render(t, events, res))
			if res.UnknownLines != 0 && (g.Unknown == nil || !g.Unknown(r.Name)) {
				t.Errorf("%d lines are unknown", res.UnknownLines)
			}
			g.Check(t, events, res)
		})
	}
	for name := range g.Runs {
		if !used[name] {
			t.Errorf("transcript %s does not exist", name)
		}
	}
}

// recording returns a transcript to replay: for a conversation, only the lines that Stdout attributes to the agent.
func (g Goldens) recording(t testing.TB, file string) Recording {
	t.Helper()
	r := Recording{Base: strings.TrimSuffix(file, filepath.Ext(file)), Request: Request(), Stdout: Read(t, file)}
	if g.Stdout != nil {
		r.Stdout = g.Stdout(t, r.Stdout)
	}
	r.Name = filepath.Base(r.Base)
	run := g.Runs[r.Name]
	if run.Request != nil {
		run.Request(&r.Request)
	}
	r.Exit = run.Exit
	stderr, err := os.ReadFile(r.Base + ".stderr")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	r.Stderr = stderr
	return r
}

// Glob returns the files of a pattern and fails if there are fewer than least.
func Glob(t testing.TB, pattern string, least int) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) < least {
		t.Fatalf("found %d transcripts (%v)", len(files), err)
	}
	return files
}

// Read reads a test data file.
func Read(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Compare compares got with a golden file.
func Compare(t testing.TB, file string, got []byte) {
	t.Helper()
	if *Update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("differs from %s; rewrite it with -update if that is right (-want +got):\n%s", file, diff)
	}
}

// Render writes one line per event and one for the result.
func Render(t testing.TB, events []execution.Event, res execution.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	line := func(head string, v any) {
		body, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(head + " ")
		b.Write(body)
		b.WriteByte('\n')
	}
	for _, e := range events {
		head := string(e.Body.Type())
		if e.Parent != "" {
			head += " from " + e.Parent
		}
		line(head, e.Body)
	}
	line("result", res)
	return b.Bytes()
}
