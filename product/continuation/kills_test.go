//go:build unix

package continuation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
)

const killedEnv = "CONTINUATION_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killedEnv); dir != "" {
		if err := untilKilled(context.Background(), dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// untilKilled takes up what is there, then creates and resumes, and notes in a log what was created and what ran.
func untilKilled(ctx context.Context, dir string) error {
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	store, err := OpenSQLite(ctx, filepath.Join(dir, "c.db"))
	if err != nil {
		return err
	}
	rt := New(Options{Store: store, Hold: time.Nanosecond, Run: func(_ context.Context, t Turn) (execution.Result, error) {
		_, err := fmt.Fprintln(log, "ran", t.Record.ID, t.TurnID)
		return execution.Result{Status: execution.StatusCompleted, Text: "done"}, err
	}, Deliver: func(_ context.Context, key string, _ Record) error {
		_, err := fmt.Fprintln(log, "delivered", key)
		return err
	}})
	if _, err := rt.Tick(ctx); err != nil {
		return err
	}
	left, err := store.List(ctx, "")
	if err != nil {
		return err
	}
	for _, r := range left {
		if r.Status == Pending {
			if _, _, err := rt.Resume(ctx, r.ID, reply); err != nil {
				return err
			}
		}
	}
	for {
		c := asks()
		c.MaxAttempts = 1000
		r, err := rt.Create(ctx, c)
		if err == nil {
			_, err = fmt.Fprintln(log, "created", r.ID)
		}
		if err == nil {
			_, _, err = rt.Resume(ctx, r.ID, reply)
		}
		if err != nil {
			return err
		}
	}
}

// TestKilled kills a process that creates and resumes, again and again: what was created is there, no turn runs twice, what has an answer is not
// resumed again, and in the end everything is completed and delivered. DRAWBAR_TEST_KILLS says how often.
func TestKilled(t *testing.T) {
	t.Parallel()
	kills := 5
	if n, err := strconv.Atoi(os.Getenv("DRAWBAR_TEST_KILLS")); err == nil {
		kills = n
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range kills {
		cmd := exec.Command(self)
		var said strings.Builder
		cmd.Env, cmd.Stderr = append(os.Environ(), killedEnv+"="+dir), &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
			if _, err := os.Stat(filepath.Join(dir, "log")); err == nil {
				break // the first process has begun
			}
		}
		time.Sleep(time.Duration(10+rand.IntN(40)) * time.Millisecond) //nolint:gosec // no secret
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("%v: %s", err, said.String())
		}
	}
	store, err := OpenSQLite(t.Context(), filepath.Join(dir, "c.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	w := newWorld(t, store)
	w.now = time.Now().Add(time.Minute)
	w.tick()
	all, err := store.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]Record{}
	for _, r := range all {
		if r.Status == Pending {
			r, _ = w.resume(r.ID, reply, nil)
		}
		states[r.ID] = r
	}
	text, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	created, turns := 0, map[string]int{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 2 && words[0] == "created":
			created++
			if states[words[1]].ID == "" {
				t.Errorf("%s is lost", words[1])
			}
		case len(words) == 3 && words[0] == "ran":
			if turns[words[1]+words[2]]++; turns[words[1]+words[2]] > 1 {
				t.Errorf("%s of %s ran twice", words[2], words[1])
			}
		}
	}
	for id := range states {
		if r := w.get(id); r.Status != Completed || r.Delivery.Status != Delivered {
			t.Errorf("%s is %s, its answer %s", id, r.Status, r.Delivery.Status)
		}
	}
	t.Logf("%d kills, %d created, %d turns", kills, created, len(turns))
}
