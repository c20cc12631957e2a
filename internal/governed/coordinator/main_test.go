//go:build unix

package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/testenv"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/orchestrator"
	"github.com/drawbar/drawbar/internal/settings/trust"
	"github.com/drawbar/drawbar/transport/process"
)

const workerEnv = "DRAWBAR_TEST_WORKER"

func TestMain(m *testing.M) {
	process.MaybeKeeper()
	if plan := os.Getenv(workerEnv); plan != "" {
		if err := asWorker(plan); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if root := os.Getenv(driverEnv); root != "" {
		if err := asDriver(root); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	for _, v := range []string{"GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"} {
		os.Setenv(v, "Tester")
	}
	for _, v := range []string{"GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"} {
		os.Setenv(v, "tester@localhost")
	}
	os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	testenv.Setup(0)
	goleak.VerifyTestMain(m)
}

// asWorker takes a turn. The first line of the plan says how, and is taken away: decide=ID phase=PHASE complete file=PATH write=PATH (which
// it does not tell of) wait=FILE (until it is there).
func asWorker(plan string) error {
	var a struct {
		RunID   string `json:"run_id"`
		TurnID  string `json:"turn_id"`
		Role    string `json:"role"`
		Runtime string `json:"runtime_id"`
	}
	b, err := os.ReadFile(filepath.Join(os.Getenv("AGENTXCHAIN_DISPATCH_DIR"), "ASSIGNMENT.json"))
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	if err != nil {
		return err
	}
	text, _ := os.ReadFile(plan) // none is a plain turn
	line, rest, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(plan, []byte(rest), 0o644); err != nil {
		return err
	}
	file := "work-" + a.TurnID + ".txt"
	decisions := []any{}
	r := map[string]any{"schema_version": "1.0", "run_id": a.RunID, "turn_id": a.TurnID, "role": a.Role, "runtime_id": a.Runtime, "status": "completed",
		"summary": "worked on " + file, "objections": []any{}, "artifact": map[string]any{"type": "workspace"}, "proposed_next_role": a.Role,
		"verification": map[string]any{"status": "pass", "commands": []any{"true"}, "evidence_summary": "it runs", "machine_evidence": []any{map[string]any{"command": "true", "exit_code": 0}}}}
	for word := range strings.FieldsSeq(line) {
		switch key, value, _ := strings.Cut(word, "="); key {
		case "decide":
			decisions = append(decisions, map[string]any{"id": value, "category": "scope", "statement": "so it is", "rationale": "because"})
		case "phase":
			r["phase_transition_request"] = value
		case "complete":
			r["run_completion_request"] = true
		case "file":
			file = value
		case "write":
			if err := os.WriteFile(value, []byte("x"), 0o644); err != nil {
				return err
			}
		case "wait":
			for until := time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
				if _, err := os.Stat(value); err == nil {
					break
				}
			}
		}
	}
	if err := os.WriteFile(file, []byte(a.TurnID), 0o644); err != nil {
		return err
	}
	r["decisions"], r["files_changed"] = decisions, []string{file}
	if b, err = json.Marshal(r); err != nil {
		return err
	}
	return os.WriteFile(os.Getenv("AGENTXCHAIN_STAGING_PATH"), b, 0o644)
}

// world is a workspace with the repositories api and web.
type world struct {
	t     testing.TB
	root  string
	crash func(point string)
	env   map[string]string
}

// phases of the repositories: a person approves neither.
const twoPhases = `"build":{"entry_role":"dev","allowed_next_roles":["dev","human"],"exit_gate":"built"},"ship":{"entry_role":"dev","allowed_next_roles":["dev","human"],"exit_gate":"shipped"}`

// newWorld makes a workspace. workstreams is a part of agentxchain-multi.json.
func newWorld(t testing.TB, workstreams string) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root, env: map[string]string{}}
	w.write(protocol.CoordinatorConfigFile, `{"schema_version":"0.1","project":{"id":"p","name":"P"},"repos":{"api":{"path":"./api"},"web":{"path":"./web"}},`+workstreams+`}`)
	self, err := testenv.Self()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"api", "web"} {
		command, _ := json.Marshal([]string{self})
		w.write(id+"/agentxchain.json", fmt.Sprintf(`{"schema_version":"1.0","project":{"id":%q,"name":"P"},
"roles":{"dev":{"title":"Developer","mandate":"Build.","write_authority":"authoritative","runtime":"rt"}},
"runtimes":{"rt":{"type":"local_cli","command":%s,"prompt_transport":"dispatch_bundle_only","env":{"%s":%q}}},
"routing":{%s},"gates":{"built":{},"shipped":{}},"rules":{"challenge_required":false},"workflow_kit":{}}`, id, command, workerEnv, filepath.Join(root, id+".plan"), twoPhases))
		w.write(id+"/.gitignore", "/.agentxchain/\n/TALK.md\n/HUMAN_TASKS.md\n")
		w.git(id, "init", "-q", "-b", "main")
		w.git(id, "add", "-A")
		w.git(id, "commit", "-qm", "start")
	}
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.root, filepath.FromSlash(name)) }

func (w *world) write(name, content string) {
	w.t.Helper()
	err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755)
	if err == nil {
		err = os.WriteFile(w.path(name), []byte(content), 0o644)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(w.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	return string(b)
}

func (w *world) git(repo string, args ...string) string {
	w.t.Helper()
	c := exec.Command("git", args...)
	c.Dir = w.path(repo)
	out, err := c.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// plan says what the worker of a repository does in its next turns.
func (w *world) plan(repo string, turns ...string) { w.write(repo+".plan", strings.Join(turns, "\n")) }

func (w *world) engine(root string) (govern.Engine, error) {
	return orchestrator.OpenShared(root, orchestrator.Options{Owner: "drawbar govern multi test", Environ: os.Environ(), LockWait: 20 * time.Second,
		Getenv: func(name string) string { return w.env[name] }, Trust: func(string, []trust.Item) error { return nil }})
}

func (w *world) open() *Coordinator {
	return Open(w.root, Options{Open: w.engine, Crash: w.crash, LockWait: 20 * time.Second, Environ: os.Environ(), Trust: func(string, []trust.Item) error { return nil }})
}

func (w *world) init() govern.MultiStatus {
	w.t.Helper()
	st, err := w.open().Init(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

// step wants a step to do that, in that repository.
func (w *world) step(want govern.MultiAction, repo string) govern.MultiReport {
	w.t.Helper()
	r, err := w.open().Step(w.t.Context(), govern.MultiStepOptions{})
	if err != nil {
		w.t.Fatalf("step: %v", err)
	}
	if r.Action != want || r.RepoID != repo {
		w.t.Fatalf("step: %s in %q, want %s in %q: %s %+v %+v", r.Action, r.RepoID, want, repo, r.BlockedReason, r.Blockers, r.Turn)
	}
	if r.Turn != nil && r.Turn.Outcome != govern.OutcomeAccepted && r.Turn.Outcome != govern.OutcomeCompleted {
		w.t.Fatalf("turn: %+v", r.Turn)
	}
	return r
}

func (w *world) approve(want govern.MultiAction) govern.MultiReport {
	w.t.Helper()
	r, err := w.open().ApproveGate(w.t.Context(), govern.MultiApproveOptions{})
	if err != nil || r.Action != want {
		w.t.Fatalf("approve: %+v, %v", r, err)
	}
	return r
}

func (w *world) status() govern.MultiStatus {
	w.t.Helper()
	st, err := w.open().Status(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

func (w *world) barrier(id string) protocol.Barrier {
	w.t.Helper()
	st := w.status()
	return st.Barriers.At(protocol.BarrierID(id))
}

func (w *world) history() (all []protocol.CoordinatorEvent) {
	w.t.Helper()
	for line := range strings.Lines(w.read(protocol.CoordinatorHistoryFile)) {
		var e protocol.CoordinatorEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			w.t.Fatalf("%q: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

func (w *world) count(kind string) (n int) {
	for _, e := range w.history() {
		if e.Type == kind {
			n++
		}
	}
	return n
}

// sound wants everything that follows from the history to be on disk, every accepted turn of the run there once, and the repositories'
// records to be intact.
func (w *world) sound() {
	w.t.Helper()
	ws, err := load(w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	rec, err := read(ws)
	if err != nil {
		w.t.Fatal(err)
	}
	for file, want := range map[string]int{protocol.CoordinatorLedgerFile: len(rec.decisions), protocol.BarrierLedgerFile: len(rec.transitions)} {
		text := w.read(file)
		if got := strings.Count(text, "\n"); got != want || !strings.HasSuffix("\n"+text, "\n") {
			w.t.Errorf("%s has %d lines, want %d", file, got, want)
		}
	}
	var s protocol.CoordinatorState
	if err := json.Unmarshal([]byte(w.read(protocol.CoordinatorStateFile)), &s); err != nil || s.Status != rec.state.Status || s.Phase != rec.state.Phase {
		w.t.Errorf("state.json: %v %v, want %s in %s", s.Status, err, rec.state.Status, rec.state.Phase)
	}
	barriers, _ := protocol.MarshalFile(rec.barriers)
	if got := w.read(protocol.BarriersFile); got != string(barriers) {
		w.t.Errorf("barriers.json: %s\nwant %s", got, barriers)
	}
	for _, p := range ws.places {
		rep, err := ledger.Verify(w.t.Context(), p.root, nil)
		if err != nil || !rep.OK {
			w.t.Errorf("%s: %+v, %v", p.id, rep, err)
		}
		_, history, _, err := readRecord(p.root)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, h := range history {
			n := 0
			for _, e := range rec.run {
				if e.Type == protocol.SuperProjection && e.RepoID == p.id && e.RepoTurnID == h.TurnID {
					n++
				}
			}
			want := 1
			if h.Coordinator == nil || h.Coordinator.Preparing {
				want = 0
			}
			if n != want {
				w.t.Errorf("turn %s of %s is there %d times, want %d", h.TurnID, p.id, n, want)
			}
		}
	}
	left, _ := filepath.Glob(w.path(protocol.CoordinatorBaselinesDir + "/*"))
	if len(left) > 0 && rec.state.Status == protocol.CoordinatorCompleted {
		w.t.Errorf("left behind: %v", left)
	}
}

func hint(err error) string {
	var e *execution.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}
