package ledger

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

// hold starts a process that holds the lock of a project.
func hold(t *testing.T, root string) (pid int, kill func()) {
	t.Helper()
	cmd := another(t, "hold", root)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if s := bufio.NewScanner(out); !s.Scan() || s.Text() != "open" {
		t.Fatalf("the holder says %q", s.Text())
	}
	return cmd.Process.Pid, func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
}

func TestLiveLockIsRefusedAndADeadOneTakenOver(t *testing.T) {
	t.Parallel()
	root := prepared(t)
	pid, kill := hold(t, root)
	before := snapshot(t, root)
	_, err := Open(t.Context(), root, options(root))
	var who *Locked
	if !errors.Is(err, ErrLocked) || !errors.As(err, &who) || who.PID != pid || who.Owner != "drawbar govern step" || time.Since(who.Since) > time.Minute {
		t.Errorf("got %v", err)
	}
	if execution.CodeOf(err) != execution.CodeConfigLock {
		t.Errorf("code %s", execution.CodeOf(err))
	}
	for _, want := range []string{"process " + strconv.Itoa(pid), "drawbar govern step", "since 20", "stop process"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if v, err := Read(root); err != nil || v.Holder == nil || v.Holder.PID != pid {
		t.Errorf("a reader does not see the holder: %+v %v", v, err)
	}
	// The original reads its own two fields.
	var original map[string]any
	if err := json.Unmarshal([]byte(load(t, root, protocol.LockFile)), &original); err != nil || original["owner_pid"] != float64(pid) || original["acquired_at"] == nil {
		t.Errorf("lock file %v, %v", original, err)
	}
	kill()
	l := open(t, root)
	if w := whats(l.Notes()); len(w) != 1 || w[0] != "lock" {
		t.Errorf("notes %v", w)
	}
	wantSame(t, "the record", snapshot(t, root), before)
	closeLedger(t, l)
	if all, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(protocol.LocksDir))); err != nil || len(all) != 1 {
		t.Errorf("locks that stay: %v %v", all, err)
	}
}

func TestWaitForTheLock(t *testing.T) {
	t.Parallel()
	root := prepared(t)
	_, kill := hold(t, root)
	var killer sync.WaitGroup
	killer.Go(func() {
		time.Sleep(50 * time.Millisecond)
		kill()
	})
	open(t, root, func(o *Options) { o.Wait = 20 * time.Second })
	killer.Wait()

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the person left"))
	o := options(root)
	o.Wait = time.Minute
	if _, err := Open(ctx, root, o); !errors.Is(err, context.Canceled) || errors.Is(err, ErrLocked) {
		t.Errorf("got %v", err)
	}
}

func TestExpiredLeaseIsTakenOver(t *testing.T) {
	t.Parallel()
	root := prepared(t)
	slept := open(t, root)
	before := snapshot(t, root)
	// The process slept: nobody renewed the lease.
	c := slept.lock.content
	c.LeaseUntil = protocol.At(time.Now().Add(-time.Second))
	data, _ := protocol.MarshalFile(c)
	write(t, root, protocol.LockFile, string(data))

	l := open(t, root, func(o *Options) { o.Owner = "drawbar govern resume" })
	err := slept.Commit(t.Context(), accept(root, 2))
	if !errors.Is(err, ErrLockLost) || !strings.Contains(err.Error(), "drawbar govern resume") {
		t.Errorf("the one that slept: %v", err)
	}
	wantSame(t, "it wrote nothing", snapshot(t, root), before)
	closeLedger(t, slept)
	commit(t, l, accept(root, 2)) // closing the other did not take the lock away
}

func TestLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	root := prepared(t)
	l := open(t, root, func(o *Options) { o.Lease = 90 * time.Millisecond })
	began := time.Now()
	var c lockContent
	for !c.AcquiredAt.After(began.Add(100 * time.Millisecond)) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("acquired_at %s does not move; began %s", c.AcquiredAt, began.UTC())
		}
		time.Sleep(30 * time.Millisecond)
		if h, err := Holding(root); err != nil || h == nil {
			t.Fatalf("nobody holds it: %v", err)
		}
		if err := json.Unmarshal([]byte(load(t, root, protocol.LockFile)), &c); err != nil {
			t.Fatal(err)
		}
	}
	if c.Since.After(began.Add(50 * time.Millisecond)) {
		t.Errorf("since %s must not move; began %s", c.Since, began.UTC())
	}
	commit(t, l, accept(root, 2))
}

func TestLocksOfTheOriginal(t *testing.T) {
	t.Parallel()
	_, dead := hold(t, prepared(t))
	dead()
	for _, tc := range []struct {
		name    string
		content func() string
		refused bool
	}{
		{"alive and fresh", func() string { return original(os.Getpid(), time.Now().Add(-10*time.Second)) }, true},
		{"alive and 31 seconds old", func() string { return original(os.Getpid(), time.Now().Add(-31*time.Second)) }, false},
		{"dead and fresh", func() string { return original(1<<22+7, time.Now()) }, false},
		{"no process number", func() string { return original(0, time.Now()) }, false},
		{"half written", func() string { return `{"owner_pid":` }, false},
		{"empty", func() string { return "" }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			root := prepared(t)
			write(t, root, protocol.LockFile, tc.content())
			l, err := Open(t.Context(), root, options(root))
			if tc.refused {
				if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "agentxchain") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			commit(t, l, accept(root, 2))
			closeLedger(t, l)
		})
	}
}

func original(pid int, at time.Time) string {
	return `{"owner_pid":` + strconv.Itoa(pid) + `,"acquired_at":"` + protocol.At(at).String() + `"}`
}

func TestOriginalTakesTheLockAway(t *testing.T) {
	t.Parallel()
	root := prepared(t)
	l := open(t, root)
	write(t, root, protocol.LockFile, original(os.Getpid(), time.Now()))
	if err := l.Commit(t.Context(), accept(root, 2)); !errors.Is(err, ErrLockLost) || !strings.Contains(err.Error(), "agentxchain") {
		t.Errorf("got %v", err)
	}
}

func TestManyOpenAtOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var wg sync.WaitGroup
	const writers, each = 6, 4
	for range writers {
		wg.Go(func() {
			for range each {
				o := options(root)
				o.Wait = time.Minute
				l, err := Open(t.Context(), root, o)
				if err != nil {
					t.Error(err)
					return
				}
				if err := l.Commit(t.Context(), accept(root, l.View().State.TurnSequence+1)); err != nil {
					t.Error(err)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	v, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	if h, err := v.History(""); err != nil || len(h) != writers*each || v.State.TurnSequence != writers*each {
		t.Errorf("%d turns, sequence %d, %v", len(h), v.State.TurnSequence, err)
	}
	wantVerified(t, root)
}

func TestHoldFilesOfTheDeadAreSwept(t *testing.T) {
	t.Parallel()
	root := prepared(t)
	for range 3 {
		_, kill := hold(t, root)
		kill()
		write(t, root, protocol.LockFile, original(1<<22+7, time.Now())) // the original took it over, and died as well
	}
	l := open(t, root)
	if all, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(protocol.LocksDir), "*.hold")); len(all) != 1 {
		t.Errorf("hold files: %v", all)
	}
	closeLedger(t, l)
	if err := l.Commit(t.Context(), accept(root, 2)); err == nil || !strings.Contains(err.Error(), "is closed") {
		t.Errorf("a closed ledger commits: %v", err)
	}
}
