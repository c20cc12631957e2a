package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// conversation is a run that waits for what others say.
func conversation(t *testing.T, sc adaptertest.Scenario) *agent.Run {
	t.Helper()
	s := adaptertest.FakeSubject(&adaptertest.Fake{Script: adaptertest.Play})
	req := s.Request(sc)
	req.AssistantID, req.TurnID, req.Message.ID = "a", "t", "m"
	req.Run.Interactive = true
	run, err := agent.New(s.Backend()).Start(context.Background(), req, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		run.Abort(nil)
		<-run.Done()
		if _, err := run.Result(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return run
}

// shortTempDir is for sockets, whose paths must be short.
func shortTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ctl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func served(t *testing.T, run *agent.Run) string {
	t.Helper()
	path := filepath.Join(shortTempDir(t), "private", "c.sock")
	s, err := Serve(path, run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is left behind: %v", err)
		}
	})
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode of the socket: %v, %v", info, err)
		}
	}
	return path
}

func TestConversationFromElsewhere(t *testing.T) {
	run := conversation(t, adaptertest.Simple)
	path := served(t, run)
	ctx := t.Context()
	if r, err := Do(ctx, path, Call{Verb: "status"}); err != nil || !r.OK || r.State.Terminal() {
		t.Errorf("status: %+v, %v", r, err)
	}
	r, err := Do(ctx, path, Call{Verb: "continue", Text: "and again"})
	if err != nil || r.Input == "" {
		t.Errorf("continue: %+v, %v", r, err)
	}
	if _, err := Do(ctx, path, Call{Verb: "close-input"}); err != nil {
		t.Error(err)
	}
	res, err := run.Result(ctx)
	if err != nil || res.Status != execution.StatusCompleted || res.TurnCount != 2 {
		t.Errorf("%s after %d turns: %+v, %v", res.Status, res.TurnCount, res.Error, err)
	}
	if _, err := Do(ctx, path, Call{Verb: "send", Text: "too late"}); execution.CodeOf(err) != execution.CodeRunNotActive {
		t.Errorf("a message after the end: %v", err)
	}
}

func TestAnswerFromElsewhere(t *testing.T) {
	run := conversation(t, adaptertest.Approval)
	path := served(t, run)
	ctx := t.Context()
	var pending []PendingQuestion
	for deadline := time.Now().Add(10 * time.Second); len(pending) == 0; {
		r, err := Do(ctx, path, Call{Verb: "status"})
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("no question came: %+v, %v", r, err)
		}
		pending = r.Pending
	}
	if !pending[0].Approval || pending[0].Text == "" {
		t.Errorf("question %+v", pending[0])
	}
	if _, err := Do(ctx, path, Call{Verb: "answer", Question: "nosuch", Decision: &execution.Decision{}}); execution.CodeOf(err) != execution.CodeInteractionNotFound {
		t.Errorf("an unknown question: %v", err)
	}
	if _, err := Do(ctx, path, Call{Verb: "answer", Question: pending[0].ID}); execution.CodeOf(err) != execution.CodeValidation {
		t.Errorf("an answer without a decision: %v", err)
	}
	if _, err := Do(ctx, path, Call{Verb: "answer", Question: pending[0].ID, Decision: &execution.Decision{Approve: true}}); err != nil {
		t.Error(err)
	}
	if _, err := Do(ctx, path, Call{Verb: "approve"}); execution.CodeOf(err) != execution.CodeNoPendingInteraction {
		t.Errorf("approve with nothing pending: %v", err)
	}
	if _, err := Do(ctx, path, Call{Verb: "abort", Text: "enough"}); err != nil {
		t.Error(err)
	}
	res, err := run.Result(ctx)
	if err != nil || res.Error.ErrorCode() != execution.CodeAborted || !strings.Contains(res.Error.Message, "enough") {
		t.Errorf("%+v, %v", res.Error, err)
	}
}

// TestCloseAnswers: the caller whose abort ends the run gets its answer although the server closes meanwhile. Callers that keep their
// connection, with that answer or waiting with their next call, do not keep the server open.
func TestCloseAnswers(t *testing.T) {
	run := conversation(t, adaptertest.Hang)
	path := filepath.Join(shortTempDir(t), "c.sock")
	var s *Server
	ready := make(chan struct{})
	closed := make(chan error, 1)
	s, err := serve(path, run, func(r *agent.Run, c Call) Reply {
		<-ready
		reply := Apply(r, c)
		if c.Verb == "abort" {
			<-r.Done()
			go func() { closed <- s.Close() }()
			for closing := false; !closing; time.Sleep(time.Millisecond) {
				s.mu.Lock()
				closing = s.closed
				s.mu.Unlock()
			}
		}
		return reply
	})
	if err != nil {
		t.Fatal(err)
	}
	close(ready)
	ask := func(call string) (r Reply, err error) {
		c, err := net.Dial("unix", path)
		if err != nil {
			return r, err
		}
		t.Cleanup(func() { c.Close() })
		if _, err := c.Write([]byte(call + "\n")); err != nil {
			return r, err
		}
		err = json.NewDecoder(c).Decode(&r)
		return r, err
	}
	for _, call := range []string{`{"verb":"status"}`, `{"verb":"abort","text":"enough"}`} {
		if r, err := ask(call); err != nil || !r.OK {
			t.Errorf("%s: %+v, %v", call, r, err)
		}
	}
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(callLimit / 2): // after callLimit they would be gone in any case
		t.Error("a caller that sends nothing keeps the server open")
	}
}

func TestEveryVerbIsKnown(t *testing.T) {
	run := conversation(t, adaptertest.Simple)
	for _, v := range execution.EnumValues()["Verb"] {
		if r := Apply(run, Call{Verb: v, Text: "x"}); r.Error != nil && strings.Contains(r.Error.Message, "unknown verb") {
			t.Errorf("%s: %v", v, r.Error)
		}
	}
	if r := Apply(run, Call{Verb: "dance"}); r.OK || r.Error.Code != execution.CodeValidation {
		t.Errorf("an unknown verb: %+v", r)
	}
}

func TestBadCalls(t *testing.T) {
	run := conversation(t, adaptertest.Simple)
	path := served(t, run)
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("this is no JSON\n{\"verb\":\"status\"}\n")); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(c)
	var bad, good Reply
	if err := errors.Join(d.Decode(&bad), d.Decode(&good)); err != nil || bad.Error == nil || !good.OK {
		t.Errorf("%+v %+v %v", bad, good, err)
	}
	if _, err := Do(t.Context(), path+".nosuch", Call{Verb: "status"}); err == nil {
		t.Error("a run that is not there answered")
	}
	if runtime.GOOS != "windows" {
		open := t.TempDir()
		if err := os.Chmod(open, 0o777); err != nil {
			t.Fatal(err)
		}
		if s, err := Serve(filepath.Join(open, "s"), run); err == nil {
			_ = s.Close() // it must not have been opened
			t.Error("a socket was opened where others may write")
		}
	}
}

// TestCallsTakeNoMemory: large calls that never end are read one at a time, and further callers get through.
func TestCallsTakeNoMemory(t *testing.T) {
	run := conversation(t, adaptertest.Simple)
	path := served(t, run)
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	garbage := bytes.Repeat([]byte("x"), 512<<10)
	var wg sync.WaitGroup
	for range 150 {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		wg.Go(func() {
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = c.Write(garbage)
		})
	}
	wg.Wait()
	if r, err := Do(t.Context(), path, Call{Verb: "status"}); err != nil || !r.OK {
		t.Errorf("%+v %v", r, err)
	}
	runtime.GC()
	runtime.ReadMemStats(&now)
	if grown := int64(now.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("callers took %d bytes", grown)
	}
}

// TestRemoveDead: the sockets of killed servers go; those that are listened at, young ones and other files stay.
func TestDoWithoutASocket(t *testing.T) {
	_, err := Do(t.Context(), filepath.Join(t.TempDir(), "control.sock"), Call{Verb: "send", Text: "hi"})
	if execution.CodeOf(err) != execution.CodeStdinNotAvailable || !strings.Contains(err.Error(), "takes no messages") {
		t.Errorf("%v", err)
	}
}

func TestRemoveDead(t *testing.T) {
	t.Parallel()
	dir := shortTempDir(t)
	listen := func(name string, dead bool) {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, name)})
		if err != nil {
			t.Fatal(err)
		}
		if dead {
			l.SetUnlinkOnClose(false)
			l.Close()
			return
		}
		t.Cleanup(func() { l.Close() })
	}
	listen("dead.sock", true)
	listen("live.sock", false)
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	names := func() (names []string) {
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	removeDead(dir, time.Now().Add(-deadAge))
	if got := names(); len(got) != 3 {
		t.Errorf("young ones: %v are left", got)
	}
	removeDead(dir, time.Now().Add(time.Minute))
	if diff := cmp.Diff([]string{"file", "live.sock"}, names()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
