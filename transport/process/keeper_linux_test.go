package process

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	proc "github.com/drawbar/drawbar/internal/base/pid"
	"github.com/drawbar/drawbar/transport/process/internal/supervisor"
)

// TestDescendantsByParent: the way for kernels that do not list children finds the same.
func TestDescendantsByParent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := fake(t, "detach", dir)
	s.Dir, s.KeepStdin = dir, true
	p := start(t, s)
	first(t, p, "ready")
	keeper := p.child.(*kept).keeper.Pid
	pids := func(list []proc.Stat) map[int]bool {
		m := map[int]bool{}
		for _, s := range list {
			m[s.PID] = true
		}
		return m
	}
	// Those in between end at times of their own, so the two looks may differ for a while.
	var diff string
	for range 1000 {
		a, b := pids(supervisor.Descendants(keeper)), pids(supervisor.DescendantsByParent(keeper))
		if diff = cmp.Diff(a, b); diff == "" {
			if len(a) < 4 {
				t.Errorf("found %d", len(a))
			}
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error(diff)
}

// TestFreeze: everything is stopped before anything is killed, those included that only a second look finds, and who
// was about to end anyway is no survivor.
func TestFreeze(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := fake(t, "detach", dir)
	s.Dir, s.KeepStdin = dir, true
	p := start(t, s)
	first(t, p, "ready")
	k := p.child.(*kept)
	looks := 0
	set := supervisor.Freeze(func() []proc.Stat {
		looks++
		found := supervisor.Descendants(k.keeper.Pid)
		return found[:min(looks, len(found))]
	})
	if want := supervisor.Descendants(k.keeper.Pid); len(set) < len(want) || len(want) < 4 || looks <= len(want) {
		t.Errorf("found %d of %d in %d looks", len(set), len(want), looks)
	}
	for _, f := range set {
		stopped := false
		for range 500 {
			now, ok := proc.ReadStat(f.PID)
			// D is a parent that waits for its child, stopped before its exec: it cannot go on either.
			if stopped = !ok || now.Dead() || now.State == 'T' || now.State == 'D'; stopped {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if !stopped {
			t.Errorf("process %d is not stopped", f.PID)
		}
	}
	// Without the agent: its end would make the keeper kill the rest meanwhile.
	var ending proc.Stat
	killed := map[supervisor.ProcessID]bool{}
	n := supervisor.FreezeAndKill(func() []proc.Stat {
		found := slices.DeleteFunc(supervisor.Descendants(k.keeper.Pid), func(s proc.Stat) bool { return s.PID == k.agent })
		if len(found) > 0 {
			found[0].Exiting = true
			ending = found[0]
		}
		return found
	}, killed)
	if n < 3 || len(killed) != n-1 || killed[supervisor.IDOf(ending)] {
		t.Errorf("killed %v of %d, about to end was %d", killed, n, ending.PID)
	}
	p.Stop(-1)
	all(t, p)
	p.Wait()
	noneLeft(t, dir)
}
