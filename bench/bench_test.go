package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/claude"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/hookrelay"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/testenv"
)

const fakeVar = "DRAWBAR_BENCH_FAKE"

func TestMain(m *testing.M) {
	if n := os.Getenv(fakeVar); n != "" && filepath.Base(os.Args[0]) == "claude" {
		fake(n)
		return
	}
	drawbar.Supervise()
	testenv.Setup(0)
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// messagePieces are the pieces of one message. Each event states the text so far, which makes a single long one quadratic.
const messagePieces = 50

// fake is an agent that says n pieces of text in the vendor's format, as fast as it can.
func fake(n string) {
	var count int
	fmt.Sscan(n, &count)
	w := bufio.NewWriterSize(os.Stdout, 64<<10)
	fmt.Fprintln(w, `{"type":"system","subtype":"init","cwd":"/","session_id":"3e9aff7c-30b8-4cef-81f9-f1ec28d4b8e5","tools":[],"mcp_servers":[],"model":"m","permissionMode":"default","uuid":"1"}`)
	for said := 0; said < count; {
		fmt.Fprintln(w, `{"type":"stream_event","event":{"type":"message_start","message":{"id":"msg_1","model":"m","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}},"session_id":"s","parent_tool_use_id":null,"uuid":"2"}`)
		fmt.Fprintln(w, `{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}},"session_id":"s","parent_tool_use_id":null,"uuid":"3"}`)
		for range min(messagePieces, count-said) {
			fmt.Fprintln(w, `{"type":"stream_event","event":{"delta":{"text":"word ","type":"text_delta"},"index":0,"type":"content_block_delta"},"session_id":"s","parent_tool_use_id":null,"uuid":"4"}`)
			said++
		}
		fmt.Fprintln(w, `{"type":"stream_event","event":{"type":"content_block_stop","index":0},"session_id":"s","parent_tool_use_id":null,"uuid":"5"}`)
		fmt.Fprintln(w, `{"type":"stream_event","event":{"type":"message_stop"},"session_id":"s","parent_tool_use_id":null,"uuid":"6"}`)
	}
	fmt.Fprintln(w, `{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"num_turns":1,"result":"done","session_id":"3e9aff7c-30b8-4cef-81f9-f1ec28d4b8e5","total_cost_usd":0.001,"usage":{"input_tokens":1,"output_tokens":1},"modelUsage":{},"permission_denials":[],"terminal_reason":"completed","uuid":"7"}`)
	w.Flush()
}

// world is a directory with the fake under the vendor's name, and the environment to run it.
func world(b *testing.B, pieces int) (dir string, env []string) {
	b.Helper()
	dir = adaptertest.LinkSelf(b, "claude")
	return dir, []string{"PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + dir, "XDG_STATE_HOME=" + filepath.Join(dir, "state"),
		fmt.Sprintf("%s=%d", fakeVar, pieces)}
}

// built is the directory of the program, which TestMain removes.
var built string

var build = sync.OnceValues(func() (out string, err error) {
	if built, err = os.MkdirTemp("", "drawbar-bench-*"); err != nil {
		return "", err
	}
	out = filepath.Join(built, "drawbar")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, "../cmd/drawbar")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return out, nil
})

func command(b *testing.B, env []string, name string, args ...string) {
	b.Helper()
	for b.Loop() {
		cmd := exec.Command(name, args...)
		cmd.Env = env
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Run(); err != nil {
			b.Fatalf("%v\n%s", err, errs.Bytes())
		}
	}
}

// BenchmarkEmpty is the start of a Go program that does nothing.
func BenchmarkEmpty(b *testing.B) {
	dir := b.TempDir()
	source := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "empty"), source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	command(b, os.Environ(), filepath.Join(dir, "empty"))
}

// BenchmarkHookRelay is the command of an agent's hook, from its start to the run's answer.
func BenchmarkHookRelay(b *testing.B) {
	bin, err := build()
	if err != nil {
		b.Fatal(err)
	}
	server, err := hookrelay.Open(func(context.Context, string, []byte) hookrelay.Answer { return hookrelay.Answer{} }, time.Minute)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Close() })
	file := filepath.Join(b.TempDir(), "relay")
	if err := os.WriteFile(file, server.File(), 0o600); err != nil {
		b.Fatal(err)
	}
	command(b, os.Environ(), bin, "hook-relay", file, "!preToolUse")
}

// BenchmarkVersion is the start of the program.
func BenchmarkVersion(b *testing.B) {
	bin, err := build()
	if err != nil {
		b.Fatal(err)
	}
	_, env := world(b, 0)
	command(b, env, bin, "version")
}

// BenchmarkBareChild and BenchmarkRunChild are the same agent, alone and through "drawbar run".
func BenchmarkBareChild(b *testing.B) {
	dir, env := world(b, 10)
	command(b, env, filepath.Join(dir, "claude"))
}

func BenchmarkRunChild(b *testing.B) {
	bin, err := build()
	if err != nil {
		b.Fatal(err)
	}
	_, env := world(b, 10)
	command(b, env, bin, "run", "claude", "hi")
}

// BenchmarkRunStream is a long answer through the whole program: 200,000 pieces, as JSON and with its record.
func BenchmarkRunStream(b *testing.B) {
	bin, err := build()
	if err != nil {
		b.Fatal(err)
	}
	_, env := world(b, 200_000)
	command(b, env, bin, "run", "claude", "--json", "hi")
}

// BenchmarkChildren is 200 agents at once with 2,000 events each; none may be lost.
func BenchmarkChildren(b *testing.B) {
	const agents, pieces = 200, 2000
	dir, _ := world(b, pieces)
	for b.Loop() {
		var wg sync.WaitGroup
		limit := make(chan struct{}, agents)
		for range agents {
			wg.Go(func() {
				limit <- struct{}{}
				defer func() { <-limit }()
				a := agent.New(agent.Backend{Name: "claude", Adapter: claude.New(cliagent.Options{})})
				req := execution.Request{AssistantID: "a", TurnID: "t", Message: execution.Message{ID: "m", Text: "hi"},
					Run: execution.RunOptions{Cwd: dir, Env: map[string]string{"PATH": dir, fakeVar: fmt.Sprint(pieces)}}}
				run, err := a.Start(context.Background(), req, agent.Options{})
				if err != nil {
					b.Error(err)
					return
				}
				n := 0
				for e, err := range run.Events(context.Background(), 0) {
					if err != nil {
						b.Error(err)
					}
					if _, ok := e.Body.(execution.TextDelta); ok {
						n++
					}
				}
				if n != pieces {
					res, _ := run.Result(context.Background())
					b.Errorf("%d of %d events arrived: %+v", n, pieces, res.Error)
				}
			})
		}
		wg.Wait()
	}
	b.ReportMetric(float64(agents*pieces*b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(runtime.NumGoroutine()), "goroutines")
}
