//go:build unix

package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/testenv"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/workspace"
	"github.com/drawbar/drawbar/internal/settings/trust"
	"github.com/drawbar/drawbar/transport/process"
	"go.uber.org/goleak"
)

const workerEnv = "DRAWBAR_TEST_WORKER"

func TestMain(m *testing.M) {
	process.MaybeKeeper()
	if name := os.Getenv(workerEnv); name != "" {
		asWorker(name)
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
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	testenv.Setup(0)
	goleak.VerifyTestMain(m)
}

// project is a governed project in a folder of its own.
type world struct {
	t    testing.TB
	root string

	mu      sync.Mutex
	notices []govern.Notice
}

// runtimeOf is a runtime whose program is this test binary in the role of a worker.
func runtimeOf(worker string, args ...string) string {
	self, err := testenv.Self()
	if err != nil {
		panic(err)
	}
	command, _ := json.Marshal(append([]string{self}, args...))
	return fmt.Sprintf(`{"type":"local_cli","command":%s,"prompt_transport":"dispatch_bundle_only","env":{"%s":%q}}`, command, workerEnv, worker)
}

const manualRuntime = `{"type":"manual"}`

// one is a configuration with one role that may write, and one phase. more is put between its keys.
func one(runtime, more string) string {
	return `{"schema_version":"1.0","project":{"id":"p","name":"P"},
"roles":{"dev":{"title":"Developer","mandate":"Build.","write_authority":"authoritative","runtime":"dev-rt"}},
"runtimes":{"dev-rt":` + runtime + `},
"routing":{"implementation":{"entry_role":"dev","allowed_next_roles":["dev","human"],"exit_gate":"done"}},
"gates":{"done":{"requires_verification_pass":true}},"rules":{"challenge_required":false}` + more + `,"workflow_kit":{}}`
}

// three is a configuration with three roles and three phases.
func three(pm, dev, qa, more string) string {
	return `{"schema_version":"1.0","project":{"id":"p","name":"P"},
"roles":{"pm":{"title":"Product Manager","mandate":"Plan.","write_authority":"review_only","runtime":"pm-rt"},
"dev":{"title":"Developer","mandate":"Build.","write_authority":"authoritative","runtime":"dev-rt"},
"qa":{"title":"QA","mandate":"Doubt.","write_authority":"review_only","runtime":"qa-rt"}},
"runtimes":{"pm-rt":` + pm + `,"dev-rt":` + dev + `,"qa-rt":` + qa + `},
"routing":{"planning":{"entry_role":"pm","allowed_next_roles":["pm","human"],"exit_gate":"planned"},
"implementation":{"entry_role":"dev","allowed_next_roles":["dev","qa","human"],"exit_gate":"built"},
"qa":{"entry_role":"qa","allowed_next_roles":["dev","qa","human"],"exit_gate":"shipped"}},
"gates":{"planned":{"requires_files":[".planning/PLAN.md"],"requires_human_approval":true},
"built":{"requires_verification_pass":true},"shipped":{"requires_human_approval":true}}` + more + `,"workflow_kit":{}}`
}

// newProject makes a project in a repository with one commit.
func newProject(t testing.TB, config string) *world {
	t.Helper()
	p := bare(t, config)
	p.git("init", "-q", "-b", "main")
	p.git("add", "-A")
	p.git("commit", "-qm", "start")
	return p
}

// bare makes a project without a repository.
func bare(t testing.TB, config string) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &world{t: t, root: root}
	p.write("agentxchain.json", config)
	p.write(".gitignore", "/.agentxchain/\n/TALK.md\n/HUMAN_TASKS.md\n")
	p.write("README.md", "start\n")
	return p
}

func (p *world) write(name, content string) {
	p.t.Helper()
	path := filepath.Join(p.root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *world) read(name string) string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.root, filepath.FromSlash(name)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.t.Fatal(err)
	}
	return string(b)
}

func (p *world) git(args ...string) string {
	p.t.Helper()
	c := exec.Command("git", args...)
	c.Dir, c.Env = p.root, append(os.Environ(), "FILTER_BRANCH_SQUELCH_WARNING=1") // it would wait ten seconds
	out, err := c.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *world) engine(change ...func(*Options)) *Local {
	p.t.Helper()
	o := Options{Owner: "drawbar govern test", Getenv: os.Getenv, Environ: os.Environ(), LockWait: 20 * time.Second, Notice: func(n govern.Notice) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.notices = append(p.notices, n)
	}}
	for _, f := range change {
		f(&o)
	}
	if o.Trust == nil {
		o.Trust = anything
	}
	e, err := Open(p.root, o)
	if err != nil {
		p.t.Fatal(err)
	}
	return e
}

// heard are the texts of the notices of a kind.
func (p *world) heard(kind govern.NoticeKind) (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.notices {
		if n.Kind == kind {
			all = append(all, n.Text)
		}
	}
	return all
}

// forget drops what was heard.
func (p *world) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notices = nil
}

// step carries a turn and wants it to end so.
func (p *world) step(want govern.Outcome, o ...govern.StepOptions) govern.Report {
	p.t.Helper()
	var opt govern.StepOptions
	if len(o) > 0 {
		opt = o[0]
	}
	r, err := p.engine().Step(p.t.Context(), opt)
	if err != nil {
		p.t.Fatalf("step: %v", err)
	}
	if r.Outcome != want {
		p.t.Fatalf("step: %s, want %s: %s %v %+v", r.Outcome, want, r.Code, r.Errors, r.Reason)
	}
	p.agree(r)
	return r
}

// agree wants status to name the command that a report named, and its hint no other.
func (p *world) agree(r govern.Report) {
	p.t.Helper()
	s, err := p.engine().Status(p.t.Context())
	if err != nil || s.Next != r.Next {
		p.t.Errorf("the command says %q is next, status says %q (%v)", r.Next, s.Next, err)
	}
	if _, then, ok := strings.Cut(r.Hint, "then: "); ok && then != r.Next {
		p.t.Errorf("the command says %q is next, and tells to do: %s", r.Next, r.Hint)
	}
}

func (p *world) view() *ledger.View {
	p.t.Helper()
	v, err := ledger.Read(p.root)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

func (p *world) state() *protocol.State { return &p.view().State }

func (p *world) history() []protocol.HistoryEntry {
	p.t.Helper()
	all, err := p.view().History("")
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// accepted are the ids of the accepted turns, in order.
func (p *world) accepted() (ids []string) {
	for _, h := range p.history() {
		if h.Status != "reissued" {
			ids = append(ids, h.TurnID)
		}
	}
	return ids
}

func (p *world) events(kind string) []protocol.Event {
	p.t.Helper()
	all, err := p.view().EventsOf("")
	if err != nil {
		p.t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(e protocol.Event) bool { return e.EventType != kind })
}

// stage puts what a worker would stage.
func (p *world) stage(turn, content string) {
	p.write(protocol.StagedFile(turn), content)
}

// sound holds the whole record to what must always be so.
func (p *world) sound() {
	p.t.Helper()
	if err := soundness(p.t.Context(), p.root); err != nil {
		p.t.Error(err)
	}
}

// soundness looks for an accepted turn that is there twice, has no checkpoint or two, a record that does not fit its chain, and
// leftovers that matter.
func soundness(ctx context.Context, root string) error {
	v, err := ledger.Read(root)
	if err != nil {
		return err
	}
	history, err := v.History("")
	if err != nil {
		return err
	}
	work, err := workspace.Open(ctx, root)
	if err != nil {
		return err
	}
	heads, err := work.Heads(ctx)
	if err != nil {
		return err
	}
	rep, err := ledger.Verify(ctx, root, heads)
	if err != nil {
		return err
	}
	var faults []error
	if !rep.OK {
		faults = append(faults, fmt.Errorf("the record does not fit its chain: %+v", rep.Broken))
	}
	if rep.Pending != "" {
		faults = append(faults, fmt.Errorf("a transaction is not finished: %s", rep.Pending))
	}
	seen := map[string]int{}
	for _, h := range history {
		if h.Status != "reissued" {
			seen[h.TurnID]++
		}
	}
	if work.Kind() == workspace.Git {
		c := exec.CommandContext(ctx, "git", "log", "--format=%(trailers:key=AgentXchain-Turn,valueonly,separator=%x2c)")
		c.Dir = root
		out, err := c.Output()
		if err != nil && len(history) > 0 {
			return fmt.Errorf("git log: %w", err)
		}
		made := map[string]int{}
		for id := range strings.FieldsSeq(string(out)) {
			made[id]++
		}
		for id, n := range made {
			if n != 1 || seen[id] == 0 {
				faults = append(faults, fmt.Errorf("turn %s has %d checkpoints and %d lines in the history", id, n, seen[id]))
			}
		}
		for id := range seen {
			if made[id] == 0 {
				faults = append(faults, fmt.Errorf("turn %s is accepted and has no checkpoint", id))
			}
		}
		for _, rest := range []string{"drawbar-index-*", "index.lock", "HEAD.lock", "refs/heads/*.lock"} {
			if left, _ := filepath.Glob(filepath.Join(root, ".git", filepath.FromSlash(rest))); len(left) > 0 {
				faults = append(faults, fmt.Errorf("left behind: %v", left))
			}
		}
	}
	for id, n := range seen {
		if n > 1 {
			faults = append(faults, fmt.Errorf("turn %s stands %d times in the history", id, n))
		}
		if v.State.ActiveTurns.Has(id) {
			faults = append(faults, fmt.Errorf("turn %s is accepted and active", id))
		}
	}
	if left, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(protocol.TransactionsDir), "*")); len(left) > 0 {
		faults = append(faults, fmt.Errorf("journals are left: %v", left))
	}
	return errors.Join(faults...)
}

// hint is what an error says to type next.
func hint(err error) string {
	var e *execution.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

// workers are what the test binary does as the program of a turn.
var workers = map[string]func(*worker){}

func init() {
	maps.Copy(workers, map[string]func(*worker){
		"ok": func(w *worker) { w.append("work.txt"); w.stage(w.result("work.txt")) },
		"complete": func(w *worker) {
			w.append("work.txt")
			r := w.result("work.txt")
			r["run_completion_request"] = true
			w.stage(r)
		},
		"pm": func(w *worker) {
			w.put(".planning/PLAN.md", "# Plan\n")
			r := w.result(".planning/PLAN.md")
			r["artifact"] = map[string]any{"type": "review"}
			r["objections"] = []any{objection("OBJ-001", "low", "the scope may grow")}
			r["phase_transition_request"], r["proposed_next_role"] = "implementation", "human"
			w.stage(r)
		},
		"dev": func(w *worker) {
			w.put("src/app.txt", "hello\n")
			r := w.result("src/app.txt")
			r["phase_transition_request"], r["proposed_next_role"] = "qa", "qa"
			w.stage(r)
		},
		"qa": func(w *worker) {
			r := w.result()
			r["artifact"] = map[string]any{"type": "review"}
			r["objections"] = []any{objection("OBJ-002", "medium", "no test covers the empty name")}
			r["run_completion_request"], r["proposed_next_role"] = true, "human"
			w.stage(r)
		},
		// The first attempt claims what it did not do.
		"repairs": func(w *worker) {
			if w.attempt == 1 {
				r := w.result("work.txt")
				r["status"], r["decisions"] = "certainly", "none"
				w.append("work.txt")
				w.stage(r)
				return
			}
			w.put("prompt-of-repair.txt", w.prompt)
			w.stage(w.result("work.txt", "prompt-of-repair.txt"))
		},
		"sets and repairs": func(w *worker) {
			if w.attempt == 1 {
				if err := exec.Command("git", "config", "user.name", "Somebody").Run(); err != nil {
					panic(err)
				}
				w.stage(map[string]any{"status": "certainly", "summary": 7})
				return
			}
			w.append("work.txt")
			w.stage(w.result("work.txt"))
		},
		"never valid": func(w *worker) { w.stage(map[string]any{"status": "certainly", "summary": 7}) },
		"transient": func(w *worker) {
			if w.attempt == 1 {
				os.Exit(75)
			}
			w.append("work.txt")
			w.stage(w.result("work.txt"))
		},
		"always transient": func(*worker) { os.Exit(75) },
		"exit 3":           func(*worker) { fmt.Fprintln(os.Stderr, "the model is gone"); os.Exit(3) },
		"result and exit 9": func(w *worker) {
			w.append("work.txt")
			w.stage(w.result("work.txt"))
			os.Exit(9)
		},
		"killed": func(*worker) { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) },
		"hangs": func(w *worker) {
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), workerEnv+"=sleeps")
			if err := child.Start(); err != nil {
				panic(err)
			}
			w.outside("pids", fmt.Sprintf("%d %d", os.Getpid(), child.Process.Pid))
			fmt.Println("working")
			time.Sleep(time.Minute)
		},
		"sleeps": func(*worker) { time.Sleep(time.Minute) },
		"sleeps once": func(w *worker) {
			if w.attempt == 1 {
				time.Sleep(time.Minute)
			}
			fmt.Println("awake")
			w.append("work.txt")
			w.stage(w.result("work.txt"))
		},
		"waits for a file": func(w *worker) {
			w.outside("pids", fmt.Sprint(os.Getpid()))
			for range 3000 {
				if _, err := os.Stat(filepath.Join(os.Getenv("DRAWBAR_TEST_OUTSIDE"), "go")); err == nil {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			w.append("work.txt")
			w.stage(w.result("work.txt"))
		},
		"works and dies": func(w *worker) { w.append("work.txt"); os.Exit(3) },
		"undeclared":     func(w *worker) { w.append("work.txt"); w.append("secret.txt"); w.stage(w.result("work.txt")) },
		"dear": func(w *worker) {
			w.append("work.txt")
			r := w.result("work.txt")
			r["cost"] = map[string]any{"usd": 0.75, "input_tokens": 10, "output_tokens": 5}
			w.stage(r)
		},
		"lies": func(w *worker) {
			w.append("work.txt")
			r := w.result("work.txt")
			r["verification"] = map[string]any{"status": "pass", "commands": []any{"false"}, "evidence_summary": "all is well",
				"machine_evidence": []any{map[string]any{"command": "false", "exit_code": 0}}}
			w.stage(r)
		},
		"writes the record": func(w *worker) {
			w.append("work.txt")
			w.stage(w.result("work.txt", ".agentxchain/state.json"))
		},
		"conflicts": func(w *worker) { w.put("README.md", "of the turn\n"); w.stage(w.result("README.md")) },
		"commits itself": func(w *worker) {
			w.append("work.txt")
			for _, args := range [][]string{{"add", "work.txt"}, {"commit", "-qm", "by the agent"}} {
				if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
					panic(string(out))
				}
			}
			w.stage(w.result("work.txt"))
		},
		"crashing engine": crashingEngine,
	})
}

func objection(id, severity, statement string) map[string]any {
	return map[string]any{"id": id, "severity": severity, "statement": statement, "status": "raised"}
}

// worker is the program of a turn.
type worker struct {
	staging, bundle string
	assignment      map[string]any
	attempt         int
	prompt          string
}

func asWorker(name string) {
	w := &worker{staging: os.Getenv("AGENTXCHAIN_STAGING_PATH"), bundle: os.Getenv("AGENTXCHAIN_DISPATCH_DIR")}
	if b, err := os.ReadFile(filepath.Join(w.bundle, "ASSIGNMENT.json")); err == nil {
		_ = json.Unmarshal(b, &w.assignment)
		n, _ := w.assignment["attempt"].(float64)
		w.attempt = int(n)
	}
	if b, err := os.ReadFile(filepath.Join(w.bundle, "PROMPT.md")); err == nil {
		w.prompt = string(b)
	}
	workers[name](w)
}

// result is a valid result that declares files.
func (w *worker) result(files ...string) map[string]any {
	if files == nil {
		files = []string{}
	}
	a := w.assignment
	return map[string]any{
		"schema_version": "1.0", "run_id": a["run_id"], "turn_id": a["turn_id"], "role": a["role"], "runtime_id": a["runtime_id"],
		"status": "completed", "summary": "did the work", "decisions": []any{}, "objections": []any{}, "files_changed": files,
		"verification": map[string]any{"status": "pass", "commands": []any{"true"}, "evidence_summary": "it runs",
			"machine_evidence": []any{map[string]any{"command": "true", "exit_code": 0}}},
		"artifact": map[string]any{"type": "workspace"}, "proposed_next_role": a["role"],
	}
}

func (w *worker) stage(v any) {
	b, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(w.staging, b, 0o644)
	}
	if err != nil {
		panic(err)
	}
}

func (w *worker) put(name, content string) {
	_ = os.MkdirAll(filepath.Dir(name), 0o755)
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		panic(err)
	}
}

func (w *worker) append(name string) {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintln(f, w.assignment["turn_id"])
		_ = f.Close()
	}
	if err != nil {
		panic(err)
	}
}

// outside writes a file that is not in the project.
func (w *worker) outside(name, content string) {
	path := filepath.Join(os.Getenv("DRAWBAR_TEST_OUTSIDE"), name)
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err == nil {
		_ = os.Rename(path+".new", path)
	}
}

// eventually waits for something that another process does.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("%s: never", what)
}

// gone reports whether none of the processes is there.
func gone(pids string) bool {
	return !slices.ContainsFunc(strings.Fields(pids), func(pid string) bool {
		b, err := os.ReadFile("/proc/" + pid + "/stat")
		return err == nil && !strings.Contains(string(b), ") Z ")
	})
}

// anything trusts what a test has written.
func anything(string, []trust.Item) error { return nil }

func mustRead(name string) []byte {
	b, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return b
}
