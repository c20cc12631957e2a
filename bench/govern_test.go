package bench

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var curve = flag.Int("curve", 0, "how many turns TestGovernedCurve carries")

// TestGovernedCurve prints what a governed turn costs beside what its agent costs alone, and status, as the record grows: each
// turn is a command of its own, as a person types it, with its checkpoint and everything flushed. It asserts nothing.
func TestGovernedCurve(t *testing.T) {
	if *curve == 0 {
		t.Skip("SKIPPED: measures, when bench/govern.sh asks for it")
	}
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSubject(t.Context(), killing{drawbar: bin, dir: t.TempDir()}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.root, ".agent.sh"), []byte(trivialAgent), 0o600); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		if out, err := s.command(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	git("commit", "-qam", "another agent")
	var cpu time.Duration // of the last command and of what it waited for
	timed := func(c *exec.Cmd) time.Duration {
		begin := time.Now()
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", c.Args, err, out)
		}
		took := time.Since(begin)
		cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		return took
	}
	alone := func() time.Duration {
		c := s.command(t.Context(), "sh", filepath.Join(s.root, ".agent.sh"))
		c.Dir = t.TempDir()
		c.Env = append(c.Env, "AGENTXCHAIN_TURN_ID=turn_1", "AGENTXCHAIN_STAGING_PATH="+filepath.Join(c.Dir, "result.json"))
		return timed(c)
	}
	timed(s.command(t.Context(), bin, "trust", "--yes"))
	timed(s.command(t.Context(), bin, "govern", "step")) // takes note of that commit
	fmt.Printf("%d processes of git in a turn\n", s.gitProcesses(t))
	fmt.Printf("%8s %14s %14s %14s %14s %14s %10s\n", "turns", "turn (median)", "its processor", "agent alone", "over it", "status", ".git KiB")
	const block = 25
	for n := 0; n < *curve; n += block {
		var turns, busy, agents, looks []time.Duration
		for range block {
			turns = append(turns, timed(s.command(t.Context(), bin, "govern", "step")))
			busy = append(busy, cpu)
			agents = append(agents, alone())
			looks = append(looks, timed(s.command(t.Context(), bin, "govern", "status")))
		}
		turn, agent, look := median(turns), median(agents), median(looks)
		fmt.Printf("%8d %11.1f ms %11.1f ms %11.1f ms %11.1f ms %11.1f ms %10d\n", n+block, ms(turn), ms(median(busy)), ms(agent), ms(turn-agent), ms(look), size(t, filepath.Join(s.root, ".git"))>>10)
	}
}

// trivialAgent adds a line to a file and says so.
const trivialAgent = `echo "$AGENTXCHAIN_TURN_ID" > work.txt
printf '{"schema_version":"1.0","turn_id":"%s","role":"dev","runtime_id":"sh","status":"completed","summary":"one line","decisions":[],"objections":[],"files_changed":["work.txt"],"verification":{"status":"pass","commands":["true"],"evidence_summary":"ok","machine_evidence":[{"command":"true","exit_code":0}]},"artifact":{"type":"workspace"},"proposed_next_role":"dev"}' "$AGENTXCHAIN_TURN_ID" > "$AGENTXCHAIN_STAGING_PATH"
`

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// size is what the files of a folder hold.
func size(t *testing.T, dir string) (sum int64) {
	t.Helper()
	_ = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// gitProcesses counts the git commands of one turn.
func (s *subject) gitProcesses(t *testing.T) int {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\necho x >> '"+log+"'\nexec '"+real+"' \"$@\"\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	c := s.command(t.Context(), s.o.drawbar, "govern", "step")
	c.Env = append(c.Env, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}
