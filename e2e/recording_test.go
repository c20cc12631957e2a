//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/modelserver"
	"github.com/drawbar/drawbar/internal/modelserver/cassette"
)

// recorded are the agents of the wires that are recorded: one wire each, and Gemini's.
var recorded = []string{"claude", "codex", "gemini"}

// forRecorded runs a test for one agent of each wire.
func forRecorded(t *testing.T, f func(t *testing.T, k kit)) {
	t.Helper()
	t.Parallel()
	for _, k := range kits {
		if slices.Contains(recorded, k.name) {
			t.Run(k.name, func(t *testing.T) { t.Parallel(); f(t, k) })
		}
	}
}

// TestModelRecordedAndReplayed: a turn with a tool, recorded in front of a model, is repeated from the recording in another home and
// another directory on the same prompt, and on no other.
func TestModelRecordedAndReplayed(t *testing.T) {
	forRecorded(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"placeholder"}]}`)
		l = relab(t, l, fmt.Sprintf(`{"turns":[{"text":"I write it.","tools":[%s]},{"text":"All done."}]}`, k.write(filepath.Join(l.work, "hello.txt"), "hi there")))
		file := filepath.Join(l.root, "cassette.jsonl")
		to, err := cassette.Create(file, false)
		if err != nil {
			t.Fatal(err)
		}
		upstream, err := url.Parse(l.server.URL())
		if err != nil {
			t.Fatal(err)
		}
		recorder := modelserver.NewRecorder(modelserver.RecordOptions{To: to, Upstreams: map[modelserver.Wire]*url.URL{"": upstream}})
		defer recorder.Close()
		running, err := recorder.Listen(context.Background(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.redirect(running.URL())
		first := l.run("--approve", "yolo", "write it")
		if err := errors.Join(running.Close(), to.Close()); err != nil {
			t.Fatal(err)
		}
		first.completed(t)

		n := bareLab(t, k, `{"turns":[]}`)
		replayer, err := modelserver.OpenReplay(file, modelserver.ReplayOptions{})
		if err != nil {
			t.Fatal(err)
		}
		replaying, err := replayer.Listen(context.Background(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = replaying.Close() }()
		n.redirect(replaying.URL())
		if k.warm != nil {
			k.warm(n)
		}
		again := n.run("--approve", "yolo", "write it")
		again.completed(t)
		if b, err := os.ReadFile(filepath.Join(n.work, "hello.txt")); err != nil || strings.TrimSpace(string(b)) != "hi there" {
			t.Errorf("the file in the directory of the replay: %q, %v", b, err)
		}
		if diff := cmp.Diff(first.result.Usage, again.result.Usage); diff != "" || first.result.Text != again.result.Text || again.result.TurnCount != 1 {
			t.Errorf("%q and %q, %s", first.result.Text, again.result.Text, diff)
		}
		for _, r := range replayer.Requests() {
			if r.Side == "" && r.Exhausted {
				t.Errorf("a turn was not in the recording: request %d: %.2000s", r.Seq, r.Body)
			}
		}
		if l.turns() != 2 || n.turns() != 0 {
			t.Errorf("the model was asked %d times at the recording and %d times at the replay", l.turns(), n.turns())
		}
		other := n.run("--approve", "yolo", "write something else")
		if other.result.Status == execution.StatusCompleted || !strings.Contains(other.stdout+other.stderr, "the nearest one is in line") {
			t.Errorf("another prompt: %s\n%s", other.result.Status, other.stderr)
		}
	})
}

// TestRunRecordedAndReplayed: a run is repeated where its agent is not installed.
func TestRunRecordedAndReplayed(t *testing.T) {
	forRecorded(t, func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"All done."}]}`, k.shell("echo out; exit 3")))
		file := filepath.Join(l.root, "run.jsonl")
		first := l.run("--approve", "yolo", "--record", file, "do it")
		first.completed(t)
		n := bareLab(t, k, `{"turns":[]}`)
		n.env["PATH"] = "/usr/bin:/bin"
		again := n.run("--approve", "yolo", "--replay", file, "do it")
		again.completed(t)
		for _, r := range []*execution.Result{&first.result, &again.result} {
			r.RunID, r.TurnID, r.DurationMs, r.Trace, r.Cost = "", "", 0, nil, nil
		}
		if diff := cmp.Diff(first.result, again.result); diff != "" {
			t.Error(diff)
		}
		types := func(o outcome) (list []string) {
			for _, e := range o.events {
				switch e.Body.(type) {
				case execution.Debug, execution.Log:
				default:
					list = append(list, string(e.Body.Type()))
				}
			}
			return list
		}
		if diff := cmp.Diff(types(first), types(again)); diff != "" {
			t.Error(diff)
		}
		if refused := n.command("run", k.name, "--cwd", n.work, "--approve", "yolo", "--replay", file, "do something else"); refused.code != execution.ExitUsage ||
			!strings.Contains(refused.stderr, "message.text: recorded") {
			t.Errorf("another prompt: exit %d\n%s", refused.code, refused.stderr)
		}
	})
}
