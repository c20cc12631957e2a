package bench

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
)

var (
	kills = flag.Int("kills", 25, "how often governed runs are killed")
	seed  = flag.Uint64("seed", 20, "of the moments at which they are")
)

// TestKills kills "drawbar govern run" with SIGKILL at random moments, over and over, and looks after each kill for an accepted
// turn that was lost, one that is there twice, a record that does not fit its chain or its checkpoints, and a next command that
// does not go on by itself. bench/crash.sh does it two thousand times.
func TestKills(t *testing.T) {
	if runtime.GOOS == "windows" || testing.Short() {
		t.Skip("SKIPPED: needs a shell and some ten seconds")
	}
	drawbar, err := build()
	if err != nil {
		t.Fatal(err)
	}
	got, err := killing{drawbar: drawbar, kills: *kills, every: 50, seed: *seed, dir: t.TempDir(), out: os.Stderr}.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(got)
	rare := got.kills < 500 // a few kills may all miss the transactions
	if got.running < got.kills/2 || got.resume == 0 && !rare || got.accepted < got.kills {
		t.Errorf("the kills hit nothing: %s", got)
	}
}

type killing struct {
	drawbar, dir string
	kills, every int
	seed         uint64
	out          io.Writer
}

// tally is what came of it.
type tally struct {
	kills, accepted        int
	running, after, resume int // the command was killed while it ran; it had ended already; a transaction was left to finish
	seed                   uint64
	took                   time.Duration
}

func (t tally) String() string {
	return fmt.Sprintf("%d kills (seed %d) in %s: %d while the command ran, %d after its end; %d left a transaction to finish; %d turns accepted, none lost, none twice",
		t.kills, t.seed, t.took.Round(time.Second), t.running, t.after, t.resume, t.accepted)
}

// agent is what a turn runs: it changes a file, decides something, and stages its result.
const governedAgent = `f=work-$(( $(date +%N | sed 's/^0*//') % 5 )).txt
echo "$AGENTXCHAIN_TURN_ID" >> "$f"
n=$(ls .agentxchain/archive/turns 2>/dev/null | wc -l)
printf '{"schema_version":"1.0","turn_id":"%s","role":"dev","runtime_id":"sh","status":"completed","summary":"one line more","decisions":[{"id":"DEC-%s","category":"scope","statement":"keep the line","rationale":"it is short"}],"objections":[],"files_changed":[%s],"verification":{"status":"pass","commands":["true"],"evidence_summary":"ok","machine_evidence":[{"command":"true","exit_code":0}]},"artifact":{"type":"workspace"},"proposed_next_role":"dev"}' \
  "$AGENTXCHAIN_TURN_ID" "$((n + 1))" "$(git status --porcelain -uall -- 'work-*' | sed 's/^...//; s/.*/"&"/' | paste -sd, -)" > "$AGENTXCHAIN_STAGING_PATH"
`

const governedConfig = `{"schema_version":"1.0","project":{"id":"crash","name":"Crash"},
"roles":{"dev":{"title":"Developer","mandate":"Build.","write_authority":"authoritative","runtime":"sh"}},
"runtimes":{"sh":{"type":"local_cli","command":["sh",".agent.sh"],"prompt_transport":"dispatch_bundle_only"}},
"routing":{"implementation":{"entry_role":"dev","allowed_next_roles":["dev","human"],"exit_gate":"done"}},
"gates":{"done":{"requires_verification_pass":true}},"rules":{"challenge_required":false},"workflow_kit":{}}
`

// subject is one project under test.
type subject struct {
	o       killing
	root    string
	env     []string
	turns   []string // accepted, as they were seen last
	longest time.Duration
}

func (o killing) run(ctx context.Context) (t tally, err error) {
	t.seed = o.seed
	begin := time.Now()
	defer func() { t.took = time.Since(begin) }()
	random := rand.New(rand.NewPCG(o.seed, 1)) //nolint:gosec // the moments need no secrecy
	var s *subject
	for t.kills < o.kills {
		if t.kills%o.every == 0 {
			if s != nil {
				if err := os.RemoveAll(s.root); err != nil {
					return t, err
				}
			}
			if s, err = newSubject(ctx, o, t.kills/o.every); err != nil {
				return t, err
			}
		}
		before := len(s.turns)
		moment := time.Duration(random.Int64N(int64(s.longest)))
		started := time.Now()
		alive, err := s.kill(ctx, moment)
		if err != nil {
			return t, err
		}
		t.kills++
		if alive {
			t.running++
			s.longest += s.longest / 50 // a machine may have become slower
		} else {
			t.after++
			s.longest = time.Since(started) // or faster
		}
		pending, err := s.look()
		if err == nil {
			t.resume += pending
			err = s.goOn(ctx)
		}
		if err != nil {
			return t, fmt.Errorf("kill %d, %s after the start, in %s: %w", t.kills, moment, s.root, err)
		}
		t.accepted += len(s.turns) - before
		if t.kills%100 == 0 {
			fmt.Fprintf(o.out, "%d kills, %d turns accepted, %s\n", t.kills, t.accepted, time.Since(begin).Round(time.Second))
		}
	}
	return t, nil
}

// newSubject makes a project and measures how long three turns take.
func newSubject(ctx context.Context, o killing, n int) (*subject, error) {
	s, err := newProject(ctx, o, n, governedConfig)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if out, err := s.command(ctx, o.drawbar, "govern", "run", "--max-turns", "3").CombinedOutput(); unlimited(err) != nil {
		return nil, fmt.Errorf("the first run: %w: %s", err, out)
	}
	s.longest = time.Since(begin)
	_, err = s.look()
	return s, err
}

// newProject makes a project that is trusted.
func newProject(ctx context.Context, o killing, n int, config string) (*subject, error) {
	s := &subject{o: o, root: filepath.Join(o.dir, fmt.Sprintf("project-%d", n))}
	s.env = append(os.Environ(), "DRAWBAR_CONFIG_DIR="+filepath.Join(o.dir, "config"), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=c", "GIT_AUTHOR_EMAIL=c@localhost", "GIT_COMMITTER_NAME=c", "GIT_COMMITTER_EMAIL=c@localhost")
	if err := os.MkdirAll(s.root, 0o755); err != nil {
		return nil, err
	}
	for name, content := range map[string]string{"agentxchain.json": config, ".agent.sh": governedAgent, ".gitignore": "/.agentxchain/\n/TALK.md\n/HUMAN_TASKS.md\n"} {
		if err := os.WriteFile(filepath.Join(s.root, name), []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-qm", "start"}} {
		if out, err := s.command(ctx, "git", args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	if out, err := s.command(ctx, o.drawbar, "trust", "--yes").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("trust the project: %w: %s", err, out)
	}
	return s, nil
}

func (s *subject) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = s.root, s.env
	return c
}

// kill starts a run and kills it at a moment; false when it had ended by then.
func (s *subject) kill(ctx context.Context, moment time.Duration) (alive bool, err error) {
	return s.killed(ctx, moment, "run", "--max-turns", "3")
}

// unlimited is the error of a command that ended, but for the exit codes of a run that reached its turn limit or waits for a
// person.
func unlimited(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == execution.ExitLimit || exit.ExitCode() == execution.ExitWaiting) {
		return nil
	}
	return err
}

// killed is kill for any command of a governed run.
func (s *subject) killed(ctx context.Context, moment time.Duration, command ...string) (alive bool, err error) {
	c := s.command(ctx, s.o.drawbar, append([]string{"govern"}, command...)...)
	if err := c.Start(); err != nil {
		return false, err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case err := <-ended:
		return false, unlimited(err)
	case <-time.After(moment):
	}
	err = c.Process.Kill()
	<-ended
	return err == nil, nil
}

// look reads the record as it is and holds it against what it was: what is accepted stays. It answers with 1 when a transaction is
// left to finish.
func (s *subject) look() (pending int, err error) {
	var history []struct {
		TurnID string `json:"turn_id"`
		Status string `json:"status"`
	}
	var status struct {
		Unfinished string `json:"unfinished"`
	}
	if err := errors.Join(s.ask(&status, "status"), s.ask(&history, "history", "--all")); err != nil {
		return 0, err
	}
	var now []string
	for _, h := range history {
		if h.Status == "reissued" {
			continue
		}
		if slices.Contains(now, h.TurnID) {
			return 0, fmt.Errorf("turn %s stands twice in the history", h.TurnID)
		}
		now = append(now, h.TurnID)
	}
	if len(now) < len(s.turns) || !slices.Equal(now[:len(s.turns)], s.turns) {
		return 0, fmt.Errorf("accepted turns were lost: %v, then %v", s.turns, now)
	}
	s.turns = now
	if status.Unfinished != "" {
		pending = 1
	}
	return pending, nil
}

// ask reads what a command of the program answers.
func (s *subject) ask(into any, command ...string) error {
	out, err := s.command(context.Background(), s.o.drawbar, append(append([]string{"govern"}, command...), "--json")...).Output()
	if err != nil && len(out) == 0 {
		return fmt.Errorf("govern %s: %w", command[0], err)
	}
	return json.Unmarshal(out, &struct {
		Data any `json:"data"`
	}{into})
}

// goOn types the next command, which has to accept a turn, and looks at everything that must be so afterwards.
func (s *subject) goOn(ctx context.Context) error {
	before := len(s.turns)
	said, err := s.command(ctx, s.o.drawbar, "govern", "step").CombinedOutput()
	if err != nil {
		return fmt.Errorf("the next command: %w: %s", err, said)
	}
	if _, err := s.look(); err != nil {
		return err
	}
	if len(s.turns) != before+1 {
		return fmt.Errorf("the next command accepted %d turns", len(s.turns)-before)
	}
	var rep struct {
		OK      bool `json:"ok"`
		Broken  any  `json:"broken"`
		Pending string
	}
	if err := s.ask(&rep, "verify"); err != nil {
		return err
	}
	if !rep.OK || rep.Pending != "" {
		return fmt.Errorf("the record does not fit its chain: %v, pending %q; the command said: %s", rep.Broken, rep.Pending, said)
	}
	out, err := s.command(ctx, "git", "log", "--format=%(trailers:key=AgentXchain-Turn,valueonly,separator=%x2c)").Output()
	if err != nil {
		return fmt.Errorf("git log: %w", err)
	}
	made := strings.Fields(string(out))
	slices.Reverse(made)
	if !slices.Equal(made, s.turns) {
		return fmt.Errorf("checkpoints %v do not fit the accepted turns %v", made, s.turns)
	}
	return s.leftovers(ctx)
}

// leftovers are what a crash must not leave for good.
func (s *subject) leftovers(ctx context.Context) error {
	var faults []error
	for _, pattern := range []string{".agentxchain/transactions/accept/*", ".agentxchain/locks/accept-turn.lock", ".agentxchain/locks/turn-*", ".agentxchain/dispatch/turns/*",
		".git/index.lock", ".git/refs/heads/*.lock", ".git/drawbar-index-*"} {
		if left, _ := filepath.Glob(filepath.Join(s.root, filepath.FromSlash(pattern))); len(left) > 0 {
			faults = append(faults, fmt.Errorf("left behind: %v", left))
		}
	}
	out, err := s.command(ctx, "git", "status", "--porcelain", "--untracked-files=all").Output()
	if err != nil || len(out) > 0 {
		faults = append(faults, fmt.Errorf("the working tree is not clean: %s %w", out, err))
	}
	return errors.Join(faults...)
}
