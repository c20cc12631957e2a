//go:build unix

package orchestrator

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/testenv"
)

// Commands of two clones are killed at random moments: in a turn, in several at once, in a push, in a pull. After each, the clone goes on; nothing
// that was accepted is lost or there twice, and in the end both clones have the same. DRAWBAR_TEST_KILLS says how often, and without it the test is skipped; the seed is printed.
func TestRandomKills(t *testing.T) {
	t.Parallel()
	kills, err := strconv.Atoi(os.Getenv("DRAWBAR_TEST_KILLS"))
	if err != nil {
		t.Skip("DRAWBAR_TEST_KILLS=100 kills that many commands, a second and a half each")
	}
	seed := uint64(time.Now().UnixNano())
	if n, err := strconv.ParseUint(os.Getenv("DRAWBAR_TEST_SEED"), 10, 64); err == nil {
		seed = n
	}
	dice := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // no secret
	self, err := testenv.Self()
	if err != nil {
		t.Fatal(err)
	}
	alice, bob, _ := newTeam(t, several(2, `,"record":"branch"`, runtimeOf("file of the role"), runtimeOf("file of the role")))
	begun := time.Now()
	alice.turn(govern.OutcomeAccepted)
	bob.sync(govern.SyncOptions{})
	took := time.Since(begun) // by this machine, as busy as it is
	known := map[string]bool{}
	killed := 0
	for i := range kills {
		p := []*world{alice, bob}[dice.IntN(2)]
		what := []string{"run", "run", "run", "sync"}[dice.IntN(4)] // a step would ask which of two turns
		c := exec.Command(self)
		c.Env = append(os.Environ(), workerEnv+"=crashing engine", "DRAWBAR_TEST_COMMAND="+what, "DRAWBAR_TEST_ROOT="+p.root, "DRAWBAR_TEST_CRASH=1000000")
		var said strings.Builder
		c.Stdout, c.Stderr = &said, &said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(dice.Int64N(int64(2*took))), func() { _ = c.Process.Kill() })
		err := c.Wait()
		if timer.Stop(); err != nil && strings.Contains(err.Error(), "killed") {
			killed++
			took += took / 20
		} else if err != nil && strings.Contains(said.String(), "--take-over") {
			p.sync(govern.SyncOptions{TakeOver: true}) // a push of a killed process arrived after it
		} else if err != nil {
			t.Fatalf("seed %d, %d: %s: %v %s", seed, i, what, err, said.String())
		}
		if err == nil { // a machine may have become faster, or the command had little to do
			took -= took / 10
		}
		if err := p.settle(); err != nil {
			t.Fatalf("seed %d, %d: sync after a killed %s: %v (%s)", seed, i, what, err, hint(err))
		}
		// What a killed process left of its private index goes with the next checkpoint.
		if err := soundness(t.Context(), p.root); err != nil && !(strings.Count(err.Error(), "\n") == 0 && strings.Contains(err.Error(), "drawbar-index-")) {
			t.Fatalf("seed %d, %d: %s: %v", seed, i, what, err)
		}
		now := p.accepted()
		for id := range known {
			if !slices.Contains(now, id) {
				t.Fatalf("seed %d, %d: turn %s is lost after a killed %s", seed, i, id, what)
			}
		}
		for _, id := range now {
			known[id] = true
		}
		if other := map[*world]*world{alice: bob, bob: alice}[p]; i%3 == 2 {
			if err := other.settle(); err != nil {
				t.Fatalf("seed %d, %d: sync of the other clone: %v (%s)", seed, i, err, hint(err))
			}
			if p.read(protocol.ChainFile) != other.read(protocol.ChainFile) || p.git("rev-parse", "HEAD") != other.git("rev-parse", "HEAD") {
				t.Fatalf("seed %d, %d: the clones differ after a killed %s", seed, i, what)
			}
		}
	}
	t.Logf("%d of %d were killed, %d turns are accepted", killed, kills, len(known))
	for _, p := range []*world{alice, bob} {
		if err := p.settle(); err != nil {
			t.Errorf("seed %d: sync at the end: %v (%s)", seed, err, hint(err))
		}
		if r, err := p.shared().Run(t.Context(), govern.RunOptions{MaxTurns: 3}); err != nil || r.Stop != govern.StopMaxTurns {
			t.Errorf("seed %d: at the end: %s %v (%s)", seed, r.Stop, err, hint(err))
		}
	}
	alice.sync(govern.SyncOptions{})
	same(t, alice, bob)
}

// settle syncs, and does what the error says: a push of a killed process may arrive when its clone has settled already.
func (p *world) settle() (err error) {
	var o govern.SyncOptions
	for range 2 {
		if _, err = p.shared().Sync(p.t.Context(), o); !strings.Contains(hint(err), "--take-over") {
			break
		}
		o.TakeOver = true
	}
	return err
}
