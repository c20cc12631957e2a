package modelapi_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gofrs/flock"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/adapter/kit/modelapi/modelapitest"
	"github.com/drawbar/drawbar/adapter/kit/usagescan/usagetest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// store returns the adapter under test.
func store() *modelapi.Adapter {
	a, _ := backend("http://fake.test", nil).Adapter.(*modelapi.Adapter)
	return a
}

func TestSessionStore(t *testing.T) {
	t.Parallel()
	adaptertest.Sessions(t, adaptertest.SessionSubject{Store: store(), Home: "testdata/home", Variable: "DRAWBAR_STATE_DIR", Below: ".local/state/drawbar"})
}

func TestUsageOfSessions(t *testing.T) {
	t.Parallel()
	h := usagetest.Host(t, "testdata/home", nil)
	var input, output, cached, written int64
	models := map[string]int{}
	files := usagetest.Files(t, store(), h)
	for _, f := range files {
		text, err := os.ReadFile(f.Path())
		if err != nil {
			t.Fatal(err)
		}
		seen := map[any]bool{}
		for _, r := range usagetest.Scan(store().NewUsageScanner(t.Context(), h, f), text, 0) {
			input, output, cached, written = input+r.Input, output+r.Output, cached+r.CacheRead, written+r.CacheWrite
			models[r.Model]++
			if seen[r.Key] || r.Session+".jsonl" != f.Rel || r.Project != "/home/user/project" || r.Time == 0 {
				t.Errorf("%+v", r)
			}
			seen[r.Key] = true
		}
	}
	if len(files) != 2 || input != 600 || output != 33 || cached != 30 || written != 7 || models["fake-1"] != 2 || models["fake-2"] != 1 {
		t.Errorf("%d files: %d in, %d out, %d cached, %d written, %v", len(files), input, output, cached, written, models)
	}
}

// talker is a fake API that says what it was told, and an environment with a home of its own.
type talker struct {
	t    *testing.T
	home string
	said []string // of the last call
	hold chan struct{}
}

func newTalker(t *testing.T) *talker { return &talker{t: t, home: t.TempDir()} }

func (k *talker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		k.t.Error(err)
	}
	k.said = nil
	for _, m := range body.Messages {
		k.said = append(k.said, m.Role+" "+string(m.Content))
	}
	if k.hold != nil {
		k.hold <- struct{}{}
		<-r.Context().Done()
		return
	}
	stream(w, chunks(hello, finish, done))
}

func (k *talker) run(change func(o *execution.RunOptions), text string) (execution.Result, []execution.Event) {
	k.t.Helper()
	b := backend("http://fake.test", served(k.ServeHTTP))
	req := request(text)
	req.Run.Cwd, req.Run.Env = k.home, map[string]string{"HOME": k.home}
	change(&req.Run)
	return modelapitest.Run(k.t, b, req, agent.Options{})
}

func (k *talker) files() []string {
	k.t.Helper()
	all, err := filepath.Glob(filepath.Join(k.home, ".local/state/drawbar/sessions/*/*"))
	if err != nil {
		k.t.Fatal(err)
	}
	return all
}

func plainRun(*execution.RunOptions) {}

func TestSessionsOfRuns(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the state directory of this test is that of Linux")
	}
	k := newTalker(t)
	first, _ := k.run(plainRun, "one with "+key)
	files := k.files()
	if first.Status != execution.StatusCompleted || len(files) != 1 || filepath.Base(files[0]) != first.SessionID+".jsonl" {
		t.Fatalf("%s %+v, files %v", first.Status, first.Error, files)
	}
	for path, want := range map[string]os.FileMode{files[0]: 0o600, filepath.Dir(files[0]): 0o700, filepath.Dir(filepath.Dir(files[0])): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	text, _ := os.ReadFile(files[0])
	if strings.Contains(string(text), key) || !strings.Contains(string(text), "one with [REDACTED]") {
		t.Errorf("the key is in the session:\n%s", text)
	}

	resume := func(o *execution.RunOptions) { o.SessionID = first.SessionID }
	again, events := k.run(resume, "two")
	start := started(events)
	if again.SessionID != first.SessionID || !start.Resumed || len(k.files()) != 1 || strings.Join(k.said, "|") != `user "one with [REDACTED]"|assistant "hello"|user "two"` {
		t.Errorf("resumed: %s %+v %q", again.Status, start, k.said)
	}
	fork, events := k.run(func(o *execution.RunOptions) { o.ForkSessionID = first.SessionID }, "three")
	start = started(events)
	if fork.SessionID == first.SessionID || start.ForkedFrom != first.SessionID || len(k.files()) != 2 || len(k.said) != 5 {
		t.Errorf("forked: %s %+v %q", fork.Status, start, k.said)
	}
	if after, _ := os.ReadFile(files[0]); strings.Contains(string(after), "three") {
		t.Error("the fork was written to its origin")
	}
	k.run(func(o *execution.RunOptions) { o.SessionID = fork.SessionID }, "four")
	if len(k.said) != 7 || k.said[6] != `user "four"` {
		t.Errorf("the fork resumed: %q", k.said)
	}
	k.run(func(o *execution.RunOptions) { o.NoSession = true }, "five")
	if n := len(k.files()); n != 2 {
		t.Errorf("%d sessions after a run without one", n)
	}
	for _, id := range []string{"nosuch", "../fake/" + first.SessionID, ""} {
		if id == "" {
			continue
		}
		res, _ := k.run(func(o *execution.RunOptions) { o.SessionID = id }, "six")
		if res.Status != execution.StatusFailed || res.Error.ErrorCode() != execution.CodeSessionNotFound || len(k.files()) != 2 {
			t.Errorf("session %s: %s %+v", id, res.Status, res.Error)
		}
	}
	host := usagetest.Host(t, k.home, nil)
	listed, problems := store().ListSessions(t.Context(), host)
	if len(listed) != 2 || len(problems) > 0 {
		t.Fatalf("%+v, %v", listed, problems)
	}
	for _, f := range listed {
		s, err := store().ReadSession(t.Context(), host, f)
		if err != nil || len(s.Problems) > 0 {
			t.Fatalf("%v, %v", err, s.Problems)
		}
		var said []string
		for _, m := range s.Messages {
			said = append(said, string(m.Role)+" "+m.Content)
		}
		want := []string{"user one with [REDACTED]", "assistant hello", "user two", "assistant hello"}
		if f.ID == fork.SessionID {
			want = append(want, "user three", "assistant hello", "user four", "assistant hello")
			if s.ForkedFrom != first.SessionID {
				t.Errorf("forked from %q", s.ForkedFrom)
			}
		}
		if !slices.Equal(said, want) || s.Cwd != k.home || s.Model != "fake-1" || s.Usage == nil || s.Usage.Input != 20 || s.Title == "" {
			t.Errorf("%q, want %q; %+v %+v", said, want, s.Summary, s.Usage)
		}
	}
}

func started(events []execution.Event) execution.SessionStart {
	for _, e := range events {
		if s, ok := e.Body.(execution.SessionStart); ok {
			return s
		}
	}
	return execution.SessionStart{}
}

// TestSessionAfterAKill: at whatever byte the process was killed, the session goes on with what was written whole.
func TestSessionAfterAKill(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the state directory of this test is that of Linux")
	}
	whole, err := os.ReadFile("testdata/home/.local/state/drawbar/sessions/fake/0a1b2c3d-0000-4000-8000-000000000001.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	const id = "0a1b2c3d-0000-4000-8000-000000000001"
	k := newTalker(t)
	k.run(plainRun, "make the directory")
	path := filepath.Join(filepath.Dir(k.files()[0]), id+".jsonl")
	firstLine := strings.IndexByte(string(whole), '\n') + 1
	for _, at := range []int{0, 10, firstLine, firstLine + 50, len(whole) / 3, len(whole) / 2, len(whole) - 1, len(whole)} {
		if err := os.WriteFile(path, whole[:at], 0o600); err != nil {
			t.Fatal(err)
		}
		res, _ := k.run(func(o *execution.RunOptions) { o.SessionID = id }, "go on")
		if at < firstLine {
			if res.Status != execution.StatusFailed || !strings.Contains(res.Error.Message, "it is empty") {
				t.Errorf("cut at %d: %s %+v", at, res.Status, res.Error)
			}
			continue
		}
		if res.Status != execution.StatusCompleted || !strings.Contains(k.said[len(k.said)-1], "go on") {
			t.Errorf("cut at %d: %s %+v %q", at, res.Status, res.Error, k.said)
		}
		again, _ := k.run(func(o *execution.RunOptions) { o.SessionID = id }, "and on")
		text, _ := os.ReadFile(path)
		if again.Status != execution.StatusCompleted || !strings.HasPrefix(string(text), string(whole[:strings.LastIndexByte(string(whole[:at]), '\n')+1])) {
			t.Errorf("cut at %d, again: %s %+v\n%s", at, again.Status, again.Error, text)
		}
	}
	// A call whose result was not written has one, because APIs want one.
	calls := `{"type":"session","version":1}` + "\n" + `{"type":"messages","messages":[{"parts":[{"kind":"text","text":"do"}]},{"model":true,"parts":[{"kind":"tool_call","id":"c1","name":"x","input":"{}"}]}]}` + "\n"
	if err := os.WriteFile(path, []byte(calls), 0o600); err != nil {
		t.Fatal(err)
	}
	if res, _ := k.run(func(o *execution.RunOptions) { o.SessionID = id }, "go on"); res.Status != execution.StatusCompleted || !strings.Contains(strings.Join(k.said, "|"), "the run ended before this call had a result") {
		t.Errorf("an open call: %s %+v %q", res.Status, res.Error, k.said)
	}
	for text, want := range map[string]string{
		"hello\n":                               "line 1: ",
		`{"type":"session","version":2}` + "\n": "line 1: version 2 is not supported",
		`{"type":"messages"}` + "\n":            "line 1: it is not the first record",
		`{"type":"session","version":1}` + "\n" + `{"type":"messages","from":3}` + "\n":                                 "line 2: it follows 3 messages, and there are 0",
		`{"type":"session","version":1}` + "\n" + `{"type":"messages","messages":[{"parts":[{"kind":"song"}]}]}` + "\n": `line 2: a part has the unknown kind "song"`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		res, _ := k.run(func(o *execution.RunOptions) { o.SessionID = id }, "go on")
		if res.Status != execution.StatusFailed || !strings.Contains(res.Error.Message, want) {
			t.Errorf("%s: %s %+v, want %s", text, res.Status, res.Error, want)
		}
		if after, _ := os.ReadFile(path); string(after) != text {
			t.Errorf("a session that cannot be continued was changed: %s", after)
		}
	}
}

// TestTwoWriters: one run goes on with a session at a time; another is refused, and may fork it.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the state directory of this test is that of Linux")
	}
	k := newTalker(t)
	first, _ := k.run(plainRun, "one")
	slow := &talker{t: t, home: k.home, hold: make(chan struct{})}
	b := backend("http://fake.test", served(slow.ServeHTTP))
	req := request("slow")
	req.Run.Env, req.Run.SessionID, req.Run.Cwd = map[string]string{"HOME": k.home}, first.SessionID, k.home
	run, err := agent.New(b).Start(t.Context(), req, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	<-slow.hold
	res, _ := k.run(func(o *execution.RunOptions) { o.SessionID = first.SessionID }, "two")
	if res.Status != execution.StatusFailed || !strings.Contains(res.Error.Message, "another run goes on with it") {
		t.Errorf("%s %+v", res.Status, res.Error)
	}
	if res, _ := k.run(func(o *execution.RunOptions) { o.ForkSessionID = first.SessionID }, "three"); res.Status != execution.StatusCompleted {
		t.Errorf("a fork: %s %+v", res.Status, res.Error)
	}
	run.Abort(nil)
	if _, err := run.Result(t.Context()); err != nil {
		t.Fatal(err)
	}
	if res, _ := k.run(func(o *execution.RunOptions) { o.SessionID = first.SessionID }, "four"); res.Status != execution.StatusCompleted ||
		strings.Join(k.said, "|") != `user "one"|assistant "hello"|user [{"text":"slow","type":"text"},{"text":"four","type":"text"}]` {
		t.Errorf("after it: %s %+v %q", res.Status, res.Error, k.said)
	}
	if got := k.prompts(first.SessionID); !slices.Equal(got, []string{"one", "slow", "four"}) {
		t.Errorf("the session has %q", got)
	}
}

// prompts returns what the user said in a session.
func (k *talker) prompts(id string) (said []string) {
	k.t.Helper()
	host := usagetest.Host(k.t, k.home, nil)
	files, _ := store().ListSessions(k.t.Context(), host)
	for _, f := range files {
		if f.ID != id {
			continue
		}
		s, err := store().ReadSession(k.t.Context(), host, f)
		if err != nil {
			k.t.Fatal(err)
		}
		for _, m := range s.Messages {
			if m.Role == "user" {
				said = append(said, m.Content)
			}
		}
	}
	return said
}

// TestSavedAtOnce: what was said is in the file when the next thing happens, with the tokens of each call once.
func TestSavedAtOnce(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the state directory of this test is that of Linux")
	}
	k := newTalker(t)
	text := func() string {
		t.Helper()
		b, err := os.ReadFile(k.files()[0])
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	calls := 0
	b := backend("http://fake.test", served(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		if calls > 1 {
			if s := text(); !strings.Contains(s, `"kind":"tool_call"`) || !strings.Contains(s, "pong") || strings.Contains(s, `"turn_end"`) {
				t.Errorf("at the second call the session has\n%s", s)
			}
			stream(w, chunks(hello, finish, done))
			return
		}
		stream(w, chunks(`{"model":"fake-1","choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"echo","arguments":"{}"}}]}}]}`,
			`{"choices":[{"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`, done))
	}))
	req := request("one")
	req.Run.Env, req.Run.Cwd, req.Tools = map[string]string{"HOME": k.home}, k.home, []execution.Tool{{Name: "echo"}}
	res, _ := modelapitest.Run(t, b, req, agent.Options{Tools: func(context.Context, execution.ToolCall) (execution.ToolResult, error) {
		if s := text(); !strings.Contains(s, `"text":"one"`) {
			t.Errorf("at the call of the tool the session has\n%s", s)
		}
		return execution.ToolResult{Output: json.RawMessage(`"pong"`)}, nil
	}})
	if s := text(); res.Status != execution.StatusCompleted || strings.Count(s, `"usage":{"input":10,"output":5`) != 2 || strings.Count(s, `"usage"`) != 2 || strings.Count(s, `"reason":"completed"`) != 1 {
		t.Errorf("%s %+v\n%s", res.Status, res.Error, s)
	}
}

// TestOtherAgents: an agent over the API has sessions of its own. A continuation contains its conversation, whose session goes on in
// the form that it has there.
func TestOtherAgents(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	a, _ := backend("http://fake.test", served(k.ServeHTTP)).Adapter.(*modelapi.Adapter)
	run := func(past *modelapi.Past, session, text string) (res execution.Result) {
		req := request(text)
		req.Run.Env, req.Run.SessionID = map[string]string{"HOME": k.home}, session
		for e, err := range a.Run(t.Context(), modelapi.Agent{Name: "other", Prefix: "fake/", Past: past}, req, closed{}) {
			if f, ok := e.Body.(execution.Finished); err != nil || ok && f.Result.Status != execution.StatusCompleted {
				t.Errorf("%+v, %v", f.Result, err)
			} else if ok {
				res = f.Result
			}
		}
		return res
	}
	first := run(nil, "", "one")
	if files := k.files(); len(files) != 1 || filepath.Base(filepath.Dir(files[0])) != "other" {
		t.Fatalf("files %v", files)
	}
	run(nil, first.SessionID, "two")
	if got := strings.Join(k.said, "|"); got != `user "one"|assistant "hello"|user "two"` {
		t.Errorf("resumed: %q", got)
	}
	getenv := func(name string) string { return map[string]string{"HOME": k.home}[name] }
	if got := modelapi.SessionsOf("other").Model(getenv, first.SessionID); got != "fake/fake-1" {
		t.Errorf("the session's model is %q", got)
	}
	past := &modelapi.Past{Messages: modelapi.Conversation{{Parts: []modelapi.Part{{Kind: modelapi.Text, Text: "in short"}}}}}
	run(past, first.SessionID, "three")
	run(nil, first.SessionID, "four")
	if got := strings.Join(k.said, "|"); !strings.HasPrefix(got, `user [{"text":"in short"`) || !strings.HasSuffix(got, `user "four"`) || strings.Contains(got, `"one"`) {
		t.Errorf("after a continuation: %q", got)
	}
	run(past, "0a1b2c3d-0000-4000-8000-00000000000f", "elsewhere")
	if n := len(k.files()); n != 2 {
		t.Errorf("%d sessions after the continuation of one that is not here", n)
	}
}

type closed struct{}

func (closed) Receive(context.Context) (execution.Command, error) { return nil, io.EOF }

// TestUnkept: a run whose session cannot be written runs, and says so.
func TestUnkept(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	file := filepath.Join(k.home, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, env := range []map[string]string{{"DRAWBAR_STATE_DIR": file}, {"DRAWBAR_STATE_DIR": "relative"}, {"HOME": ""}} {
		res, events := k.run(func(o *execution.RunOptions) { o.Env = env }, "hi")
		if !slices.ContainsFunc(events, func(e execution.Event) bool {
			d, ok := e.Body.(execution.Debug)
			return ok && strings.HasPrefix(d.Message, "the conversation is not kept as a session: ")
		}) || res.Status != execution.StatusCompleted {
			t.Errorf("%v: %s %+v", env, res.Status, res.Error)
		}
	}
}

func FuzzSessions(f *testing.F) {
	adaptertest.FuzzSessions(f, adaptertest.SessionSubject{Store: store(), Home: "testdata/home", Variable: "DRAWBAR_STATE_DIR", Below: ".local/state/drawbar"},
		".local/state/drawbar/sessions/fake/x.jsonl", "x")
}

// TestRemoveSession: a session is deleted once, but not while a run continues it. An unknown id deletes nothing.
func TestRemoveSession(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	res, _ := k.run(plainRun, "remember")
	if runtime.GOOS != "linux" {
		t.Skip("the state directory of this test is that of Linux")
	}
	h := adapter.Host{Home: k.home, Platform: runtime.GOOS, Getenv: func(string) string { return "" }}
	if root := store().SessionRoots(h); len(k.files()) != 1 || filepath.Dir(k.files()[0]) != root[0] {
		t.Fatalf("%v in %v", k.files(), root)
	}
	lock := flock.New(k.files()[0])
	if ok, err := lock.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if err := store().RemoveSession(h, res.SessionID); execution.CodeOf(err) != execution.CodeInvalidStateTransition || len(k.files()) != 1 {
		t.Errorf("a session of a live run: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"../" + res.SessionID, "x", ""} {
		if err := store().RemoveSession(h, id); execution.CodeOf(err) != execution.CodeSessionNotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
	if err := store().RemoveSession(h, res.SessionID); err != nil || len(k.files()) != 0 {
		t.Errorf("%v, left %v", err, k.files())
	}
	if err := store().RemoveSession(h, res.SessionID); execution.CodeOf(err) != execution.CodeSessionNotFound {
		t.Errorf("once more: %v", err)
	}
}
