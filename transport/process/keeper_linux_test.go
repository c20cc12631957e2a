package process

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	proc "github.com/drawbar/drawbar/internal/base/pid"
)

func TestOrder(t *testing.T) {
	t.Parallel()
	for _, want := range []order{
		{argv: []string{}, env: []string{}, scratch: []string{}},
		{path: "/bin/x", dir: "/d", mark: "ab", group: "/g", pty: true, argv: []string{"x", "", "y\nz"}, env: []string{"A=1", "B=" + strings.Repeat("b", 100_000)}, scratch: []string{"/tmp/a b"}},
	} {
		b := encodeOrder(want)
		if n := number(b); n != uint64(len(b)-8) {
			t.Errorf("the length is %d of %d", n, len(b))
		}
		got, ok := decodeOrder(b[8:])
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(order{})); diff != "" || !ok {
			t.Errorf("%t, (-want +got)\n%s", ok, diff)
		}
	}
}

func FuzzDecodeOrder(f *testing.F) {
	f.Add(encodeOrder(order{path: "/bin/x", argv: []string{"x"}, env: []string{"A=1"}})[8:])
	f.Add([]byte{1, 2, 3})
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, ok := decodeOrder(bytes.Clone(b))
		if !ok {
			return
		}
		if again, ok := decodeOrder(encodeOrder(o)[8:]); !ok || !cmp.Equal(o, again, cmp.AllowUnexported(order{})) {
			t.Errorf("%+v became %+v, %t", o, again, ok)
		}
	})
}

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
		a, b := pids(descendants(keeper)), pids(descendantsByParent(keeper))
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

func TestTag(t *testing.T) {
	t.Parallel()
	a, b := tagOf("0123456789abcdef0123456789abcdef"), tagOf("f123456789abcdef0123456789abcdef")
	if a == b || a < 1<<61 || b < 1<<61 || a > 1<<62+1<<61 || b > 1<<62+1<<61 {
		t.Errorf("got %x and %x", a, b)
	}
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
	set := freeze(func() []proc.Stat {
		looks++
		found := descendants(k.keeper.Pid)
		return found[:min(looks, len(found))]
	})
	if want := descendants(k.keeper.Pid); len(set) < len(want) || len(want) < 4 || looks <= len(want) {
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
	killed := map[processID]bool{}
	n := freezeAndKill(func() []proc.Stat {
		found := slices.DeleteFunc(descendants(k.keeper.Pid), func(s proc.Stat) bool { return s.PID == k.agent })
		if len(found) > 0 {
			found[0].Exiting = true
			ending = found[0]
		}
		return found
	}, killed)
	if n < 3 || len(killed) != n-1 || killed[idOf(ending)] {
		t.Errorf("killed %v of %d, about to end was %d", killed, n, ending.PID)
	}
	p.Stop(-1)
	all(t, p)
	p.Wait()
	noneLeft(t, dir)
}
