//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// chainWorker makes the test binary the worker of a governed turn, for either program.
const chainWorker = "DRAWBAR_E2E_CHAIN_WORKER"

// chainConfig is a project that both programs carry: two phases, each with a gate for a person.
const chainConfig = `{"schema_version":"1.0","template":"generic","project":{"id":"p","name":"P","default_branch":"main"},
"roles":{"lead":{"title":"Lead","mandate":"Lead.","write_authority":"authoritative","runtime":"cli"},"dev":{"title":"Dev","mandate":"Build.","write_authority":"authoritative","runtime":"cli"}},
"runtimes":{"cli":{"type":"local_cli","command":["env","` + chainWorker + `=1",%q],"cwd":".","prompt_transport":"dispatch_bundle_only"}},
"routing":{"planning":{"entry_role":"lead","allowed_next_roles":["dev","lead","human"],"exit_gate":"planned"},"build":{"entry_role":"dev","allowed_next_roles":["dev","lead","human"],"exit_gate":"built"}},
"gates":{"planned":{"requires_human_approval":true},"built":{"requires_human_approval":true}},
"workflow_kit":{},"budget":{"per_turn_max_usd":2,"per_run_max_usd":50},"rules":{"challenge_required":false,"max_turn_retries":2,"max_deadlock_cycles":2}}
`

// workOnChain writes a file and stages a result with what the file "plan" of the project adds to it.
func workOnChain() error {
	var st struct {
		RunID string `json:"run_id"`
		Turns map[string]struct {
			Role    string `json:"assigned_role"`
			Runtime string `json:"runtime_id"`
		} `json:"active_turns"`
	}
	b, err := os.ReadFile(".agentxchain/state.json")
	if err == nil {
		err = json.Unmarshal(b, &st)
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat("wait"); err == nil { // the test says when to go on
		if err := os.WriteFile("waiting", []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
			return err
		}
		for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if _, err := os.Stat("wait"); err != nil {
				break
			}
		}
	}
	for id, turn := range st.Turns {
		file := "work-" + id + ".txt"
		if err := os.WriteFile(file, []byte("done\n"), 0o644); err != nil {
			return err
		}
		r := map[string]any{"schema_version": "1.0", "run_id": st.RunID, "turn_id": id, "role": turn.Role, "runtime_id": turn.Runtime, "status": "completed",
			"summary": turn.Role + " did it", "decisions": []any{}, "objections": []any{}, "files_changed": []string{file}, "artifacts_created": []any{},
			"verification": map[string]any{"status": "pass", "commands": []string{"true"}, "evidence_summary": "it runs", "machine_evidence": []any{map[string]any{"command": "true", "exit_code": 0}}},
			"artifact":     map[string]any{"type": "workspace", "ref": nil}, "proposed_next_role": "lead", "phase_transition_request": nil, "run_completion_request": false,
			"needs_human_reason": nil, "cost": map[string]any{"input_tokens": 1, "output_tokens": 1, "usd": 0.01}}
		if b, err := os.ReadFile("plan"); err == nil && turn.Role == "lead" {
			if err := json.Unmarshal(b, &r); err != nil {
				return err
			}
		}
		if b, err = json.Marshal(r); err != nil {
			return err
		}
		dir := filepath.Join(".agentxchain/staging", id)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "turn-result.json"), b, 0o644); err != nil {
			return err
		}
	}
	fmt.Println("done")
	return nil
}

// chain is a project that both programs carry.
type chain struct {
	t         *testing.T
	dir, home string
	original  string
}

// newChain makes a project of the original, as its own init leaves it but for the configuration.
func newChain(t *testing.T) *chain {
	t.Helper()
	c := &chain{t: t, dir: t.TempDir(), home: t.TempDir(), original: os.Getenv("DRAWBAR_E2E_AGENTXCHAIN")}
	if c.original == "" {
		c.original = filepath.Join(programs, "agentxchain")
	}
	if _, err := os.Stat(c.original); err != nil {
		t.Skip("SKIPPED: the program agentxchain 2.159.0 is not installed here; DRAWBAR_E2E_AGENTXCHAIN names it")
	}
	c.must("git", "init", "-q", "-b", "main")
	c.ax("init", "--governed", "--dir", ".", "-y", "--template", "generic")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.write("agentxchain.json", fmt.Sprintf(chainConfig, self))
	c.write(".gitignore", c.read(".gitignore")+"plan\nwait\nwaiting\n")
	c.must("git", "add", "-A")
	c.must("git", "commit", "-qm", "start")
	c.must(binary, "trust", "--yes", ".")
	return c
}

func (c *chain) run(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := c.command(ctx, name, args...).CombinedOutput()
	if ctx.Err() != nil {
		err = fmt.Errorf("it did not end within %s: %w", patience, err)
	}
	return string(out), err
}

func (c *chain) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = c.dir
	cmd.Env = []string{"HOME=" + c.home, "PATH=" + programs + ":" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@localhost",
		"GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@localhost", "NO_COLOR=1"}
	return cmd
}

func (c *chain) must(name string, args ...string) string {
	c.t.Helper()
	out, err := c.run(name, args...)
	if err != nil {
		c.t.Fatalf("%s %v: %v\n%s\ngit status:\n%s", filepath.Base(name), args, err, out, func() string { s, _ := c.run("git", "status", "--short"); return s }())
	}
	return out
}

func (c *chain) ax(args ...string) string { c.t.Helper(); return c.must(c.original, args...) }
func (c *chain) db(args ...string) string {
	c.t.Helper()
	return c.must(binary, append([]string{"govern"}, args...)...)
}

func (c *chain) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c *chain) read(name string) string {
	c.t.Helper()
	b, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	return string(b)
}

// lines are the lines of a file of the record.
func (c *chain) lines(name string) []string {
	return strings.Split(strings.TrimSuffix(c.read(".agentxchain/"+name), "\n"), "\n")
}

// state is state.json.
func (c *chain) state() (s struct {
	RunID  string `json:"run_id"`
	Status string
	Phase  string
	Queue  []struct {
		ID     string `json:"delegation_id"`
		Status string
	} `json:"delegation_queue"`
	Review *struct {
		Results []struct {
			ID string `json:"delegation_id"`
		} `json:"delegation_results"`
	} `json:"pending_delegation_review"`
}) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(c.read(".agentxchain/state.json")), &s); err != nil {
		c.t.Fatal(err)
	}
	return s
}

// plan is what the next turn of the lead adds to its result.
func (c *chain) plan(text string) { c.write("plan", text) }

// sound wants the record of drawbar to be whole, and every accepted turn to have its commit.
func (c *chain) sound(turns int) {
	c.t.Helper()
	c.db("verify")
	n := 0
	for _, line := range c.lines("history.jsonl") {
		if !strings.Contains(line, `"status":"reissued"`) { // the original notes what it gave up
			n++
		}
	}
	if n != turns {
		c.t.Errorf("the history has %d turns, want %d:\n%s\n%s", n, turns, c.read(".agentxchain/history.jsonl"), c.must("git", "log", "--oneline"))
	}
	if out := c.must("git", "log", "--format=%s"); strings.Count(out, "checkpoint: turn_") != turns {
		c.t.Errorf("%d turns and the commits\n%s", turns, out)
	}
	if out := c.must("git", "status", "--porcelain", "--untracked-files=all"); out != "" {
		c.t.Errorf("git status says\n%s", out)
	}
}

// TestAgentXchainInAlternation: eleven turns, gates by either side, in a project as the original makes it.
func TestAgentXchainInAlternation(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	var before []string
	for i := 1; i <= 11; i++ {
		switch i {
		case 5:
			c.plan(`{"phase_transition_request":"build"}`)
		case 11:
			c.plan(`{"run_completion_request":true}`)
		default:
			c.plan(`{}`)
		}
		if i == 11 { // the lead ends the run
			c.ax("step", "--role", "lead")
		} else if i%2 == 1 {
			c.ax("step")
		} else {
			c.db("step")
		}
		if i == 5 {
			c.db("approve")
		}
		now := c.lines("history.jsonl")
		if len(now) != i {
			t.Fatalf("after turn %d the history has %d lines", i, len(now))
		}
		for k, line := range before {
			if now[k] != line {
				t.Fatalf("turn %d changed line %d of the history", i, k+1)
			}
		}
		before = now
	}
	c.ax("approve-completion")
	// A person ended the run over there: drawbar does not take that from a file, and goes on when it is said.
	if out, err := c.run(binary, "govern", "step"); err == nil || !strings.Contains(out, "--adopt-state") {
		t.Errorf("step takes the end of the run as it is: %v\n%s", err, out)
	}
	c.db("restart", "--adopt-state")
	if s := c.state(); s.Status != "completed" {
		t.Errorf("the run is %s", s.Status)
	}
	c.sound(11)
}

// TestAgentXchainStatesGoOnHere: what the original leaves, drawbar carries to the end.
func TestAgentXchainStatesGoOnHere(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(*chain){
		"a turn under way": func(c *chain) {
			c.ax("resume")
			c.db("step")
			c.sound(1)
		},
		"a gate that waits": func(c *chain) {
			c.plan(`{"phase_transition_request":"build"}`)
			c.ax("step")
			c.db("approve")
			c.plan(`{}`)
			c.db("step")
			c.sound(2)
		},
		"an escalation": func(c *chain) {
			c.ax("step")
			c.ax("escalate", "--reason", "stop here")
			var e struct {
				ID string `json:"escalation_id"`
			}
			if err := json.Unmarshal([]byte(c.lines("human-escalations.jsonl")[0]), &e); err != nil {
				c.t.Fatal(err)
			}
			c.db("unblock", e.ID)
			if all := c.read(".agentxchain/human-escalations.jsonl"); !strings.Contains(all, `"resolved"`) {
				c.t.Errorf("the task stays open:\n%s", all)
			}
			c.db("step")
			c.sound(2)
		},
		"delegations": func(c *chain) {
			c.plan(delegates)
			c.ax("step")
			c.plan(`{}`)
			c.db("step")
			if q := c.state().Queue; len(q) != 2 || q[0].ID != "del-001" || q[0].Status != "completed" {
				c.t.Fatalf("the queue is %+v", q)
			}
			c.ax("step")
			if r := c.state().Review; r == nil || len(r.Results) != 2 {
				c.t.Fatalf("the review is %+v", r)
			}
			c.db("step")
			if last := c.lines("history.jsonl")[3]; !strings.Contains(last, `"delegation_id":"del-002"`) || c.state().Review != nil {
				c.t.Errorf("the review saw nothing: %s", last)
			}
			c.sound(4)
		},
		"an intent": func(c *chain) {
			c.ax("step")
			c.ax("inject", "add a login", "--priority", "p1")
			if out := c.db("status"); !strings.Contains(out, "add a login") {
				c.t.Errorf("status does not show it:\n%s", out)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); f(newChain(t)) })
	}
}

const delegates = `{"delegations":[{"id":"del-001","to_role":"dev","charter":"one","acceptance_contract":["done"]},{"id":"del-002","to_role":"dev","charter":"two","acceptance_contract":["done"]}]}`

// TestDrawbarStatesGoOnThere: what drawbar leaves, the original carries on, and deletes nothing.
func TestDrawbarStatesGoOnThere(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(*chain){
		"turns": func(c *chain) {
			c.db("step")
			c.db("step")
			c.ax("step")
			c.db("step")
			c.sound(4)
		},
		"a turn that it accepts": func(c *chain) {
			c.db("step")
			chained, archived := len(c.lines("chain.jsonl")), c.must("find", ".agentxchain/archive", "-type", "f")
			c.db("resume")
			if _, err := c.run("env", chainWorker+"=1", mustSelf(c.t)); err != nil {
				c.t.Fatal(err)
			}
			c.ax("accept-turn")
			if len(c.lines("chain.jsonl")) < chained || c.must("find", ".agentxchain/archive", "-type", "f") == "" || archived == "" {
				c.t.Errorf("the chain or the archive is gone")
			}
			c.ax("checkpoint-turn")
			if out, err := c.run(binary, "govern", "step"); err == nil || !strings.Contains(out, "--adopt-state") {
				c.t.Errorf("the turn's own worker could have accepted it: %v\n%s", err, out)
			}
			c.db("restart", "--adopt-state")
			c.db("step")
			c.sound(3)
		},
		"delegations": func(c *chain) {
			c.plan(delegates)
			c.db("step")
			c.plan(`{}`)
			for range 3 { // both children and the review
				c.ax("step")
			}
			if s := c.state(); s.Review != nil {
				c.t.Errorf("the review is still due: %+v", s)
			}
			c.db("step")
			c.sound(5)
		},
		"a gate that waits": func(c *chain) {
			c.plan(`{"phase_transition_request":"build"}`)
			c.db("step")
			c.ax("approve-transition")
			c.db("restart", "--adopt-state")
			c.plan(`{}`)
			c.db("step")
			c.sound(2)
		},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); f(newChain(t)) })
	}
}

func mustSelf(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// TestAgentXchainTemplatesRunHere: a role whose runtime is not there is refused when its turn comes, and not before.
func TestAgentXchainTemplatesRunHere(t *testing.T) {
	t.Parallel()
	for _, template := range []string{"generic", "full-local-cli", "api-service", "cli-tool", "library", "web-app", "enterprise-app"} {
		t.Run(template, func(t *testing.T) {
			c := newChain(t)
			c.dir = t.TempDir()
			c.must("git", "init", "-q", "-b", "main")
			c.ax("init", "--governed", "--dir", ".", "-y", "--template", template, "--dev-command", "true {prompt}")
			c.must("git", "add", "-A")
			c.must("git", "commit", "-qm", "start")
			c.must(binary, "trust", "--yes", ".")
			c.db("validate")
			if out := c.db("resume"); !strings.Contains(out, "turn_") {
				t.Errorf("resume says\n%s", out)
			}
		})
	}
}
