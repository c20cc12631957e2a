package queue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/execution"
)

func list(n int, agent string) (items []Item) {
	for i := range n {
		items = append(items, Item{ID: fmt.Sprint(i), Hash: "h", Agent: agent})
	}
	return items
}

func open(t *testing.T, path string) *Results {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// did is a Run that takes a second and remembers what ran.
type did struct {
	mu      sync.Mutex
	ran     []string
	at      []time.Duration
	running map[string]int
	most    map[string]int
	begun   time.Time
	fail    string  // the items that fail, by id
	cost    float64 // of each item
	limit   func(item Item, attempt int) *Limit
}

func (d *did) run(ctx context.Context, item Item, attempt int) (Result, *Limit) {
	d.mu.Lock()
	if d.begun.IsZero() {
		d.begun, d.running, d.most = time.Now(), map[string]int{}, map[string]int{}
	}
	d.ran, d.at = append(d.ran, item.ID), append(d.at, time.Since(d.begun))
	for _, of := range []string{"", item.Agent} {
		d.running[of]++
		d.most[of] = max(d.most[of], d.running[of])
	}
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.running[""]--
		d.running[item.Agent]--
	}()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return Result{Status: execution.StatusFailed}, nil
	}
	if d.limit != nil {
		if l := d.limit(item, attempt); l != nil {
			return Result{Status: execution.StatusFailed}, l
		}
	}
	r := Result{Status: execution.StatusCompleted, Text: "did " + item.ID, Cost: &execution.Cost{TotalUSD: &d.cost}}
	if slices.Contains(strings.Fields(d.fail), item.ID) {
		r.Status = execution.StatusFailed
	}
	return r, nil
}

// TestRun: every item runs once, no more at once than jobs, one at a time of an agent that wants to be alone, and results come in order.
func TestRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "r")
	synctest.Test(t, func(t *testing.T) {
		d, r := &did{fail: "3"}, open(t, path)
		items := append(list(6, "a"), Item{ID: "x", Agent: "alone", Alone: true}, Item{ID: "y", Agent: "alone", Alone: true})
		var told []string
		o := Options{Jobs: 4, Run: d.run, Results: r, Told: func(item Item, _ Result, earlier bool) { told = append(told, fmt.Sprint(item.ID, earlier)) }}
		sum, err := Run(t.Context(), items, o)
		if err != nil || sum != (Summary{Stop: Done, Items: 8, Run: 8, Failed: 1}) || len(d.ran) != 8 || d.most[""] != 4 || d.most["alone"] != 1 {
			t.Errorf("%+v, %v; ran %v, at once %v", sum, err, d.ran, d.most)
		}
		if got := strings.Join(told, " "); got != "0false 1false 2false 3false 4false 5false xfalse yfalse" {
			t.Errorf("told %s", got)
		}
		told = nil
		o.RetryFailed = true
		if sum, err := Run(t.Context(), items, o); err != nil || sum != (Summary{Stop: Done, Items: 8, Earlier: 7, Run: 1, Failed: 1}) || len(d.ran) != 9 {
			t.Errorf("again: %+v, %v; ran %v", sum, err, d.ran)
		}
		if got := strings.Join(told, " "); got != "0true 1true 2true 3false 4true 5true xtrue ytrue" {
			t.Errorf("told %s", got)
		}
		o.RetryFailed = false
		if sum, err := Run(t.Context(), items, o); err != nil || sum != (Summary{Stop: Done, Items: 8, Earlier: 8, Failed: 1}) {
			t.Errorf("once more: %+v, %v", sum, err)
		}
	})
}

// TestLimits: what ends a batch leaves the rest for the next.
func TestLimits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		o    Options
		d    *did
		want Summary
	}{
		"cost":     {Options{MaxCost: 1}, &did{cost: 0.5}, Summary{Stop: Cost, Items: 9, Run: 2, Left: 7, CostUSD: 1}},
		"failures": {Options{MaxFailures: 2}, &did{fail: "1 2 3 4"}, Summary{Stop: Failures, Items: 9, Run: 3, Failed: 2, Left: 6}},
		"attempts": {Options{MaxAttempts: 2}, &did{limit: func(item Item, _ int) *Limit {
			if item.ID == "4" {
				return &Limit{}
			}
			return nil
		}}, Summary{Stop: Done, Items: 9, Run: 9, Failed: 1}},
	} {
		path := filepath.Join(t.TempDir(), "r")
		synctest.Test(t, func(t *testing.T) {
			tt.o.Jobs, tt.o.Run, tt.o.Results = 1, tt.d.run, open(t, path)
			if sum, err := Run(t.Context(), list(9, "a"), tt.o); err != nil || sum != tt.want {
				t.Errorf("%s: %+v, %v, want %+v", name, sum, err, tt.want)
			}
		})
	}
}

// A usage limit of an agent that an item fell back to holds that item and the items of that agent, and no others.
func TestLimitOfAFallback(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "r")
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		d := &did{limit: func(item Item, attempt int) *Limit {
			if item.ID == "0" && attempt == 1 {
				return &Limit{Agent: "b", Until: start.Add(time.Hour)}
			}
			return nil
		}}
		items := append(list(2, "a"), Item{ID: "b", Agent: "b"})
		sum, err := Run(t.Context(), items, Options{Jobs: 1, Run: d.run, Results: open(t, path)})
		if err != nil || sum.Run != 3 || sum.Stop != Done {
			t.Errorf("%+v, %v", sum, err)
		}
		if got := fmt.Sprint(d.ran, d.at); got != "[0 1 0 b] [0s 1s 1h0m0s 1h0m1s]" {
			t.Errorf("ran %s", got)
		}
	})
}

// TestUsageLimit: items of an agent wait together for the end of its usage limit; those of others go on.
func TestUsageLimit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "r")
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		d := &did{limit: func(item Item, attempt int) *Limit {
			if item.ID == "0" && attempt == 1 {
				return &Limit{Until: start.Add(time.Hour)}
			}
			return nil
		}}
		items := append(list(3, "a"), Item{ID: "b", Agent: "b"})
		var waits []string
		sum, err := Run(t.Context(), items, Options{Jobs: 1, Run: d.run, Results: open(t, path),
			Waits: func(agent string, until time.Time) { waits = append(waits, agent+" "+until.Sub(start).String()) }})
		if err != nil || sum.Run != 4 || sum.Stop != Done {
			t.Errorf("%+v, %v", sum, err)
		}
		if got := fmt.Sprint(d.ran, d.at); got != "[0 b 0 1 2] [0s 1s 1h0m0s 1h0m1s 1h0m2s]" {
			t.Errorf("ran %s", got)
		}
		if len(waits) != 1 || waits[0] != "a 1h0m0s" {
			t.Errorf("told of %v", waits)
		}
	})
}

// TestStopped: an item that the context cuts off has no result and is run by the next batch.
func TestStopped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "r")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		d, r := &did{}, open(t, path)
		if sum, err := Run(ctx, list(5, "a"), Options{Jobs: 1, Run: d.run, Results: r}); err != nil || sum != (Summary{Stop: Stopped, Items: 5, Run: 2, Left: 3}) {
			t.Errorf("%+v, %v", sum, err)
		}
		if sum, err := Run(t.Context(), list(5, "a"), Options{Jobs: 1, Run: d.run, Results: r}); err != nil || sum != (Summary{Stop: Done, Items: 5, Earlier: 2, Run: 3}) {
			t.Errorf("again: %+v, %v", sum, err)
		}
		if got := strings.Join(d.ran, " "); got != "0 1 2 2 3 4" {
			t.Errorf("ran %s", got)
		}
	})
}

// TestSlowEnd: a batch that was stopped waits for its last item without turning in circles, which would keep the time from passing here.
func TestSlowEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "r")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		sum, err := Run(ctx, list(1, "a"), Options{Jobs: 2, Results: open(t, path), Run: func(context.Context, Item, int) (Result, *Limit) {
			time.Sleep(time.Minute)
			return Result{Status: execution.StatusFailed}, nil
		}})
		if err != nil || sum != (Summary{Stop: Stopped, Items: 1, Left: 1}) {
			t.Errorf("%+v, %v", sum, err)
		}
	})
}

// TestUnwritten: a result that cannot be written ends the batch, and its item is left.
func TestUnwritten(t *testing.T) {
	t.Parallel()
	r := open(t, filepath.Join(t.TempDir(), "r"))
	_ = r.file.Close()
	n := 0
	sum, err := Run(t.Context(), list(3, "a"), Options{Jobs: 1, Results: r, Run: func(context.Context, Item, int) (Result, *Limit) {
		n++
		return Result{Status: execution.StatusCompleted}, nil
	}})
	if err == nil || sum.Run != 0 || sum.Left != 3 || n != 1 {
		t.Errorf("%+v, %v after %d", sum, err, n)
	}
}

// TestResults: whole lines are read, the beginning of one is dropped, and a file of something else is left as it is.
func TestResults(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "r")
	r := open(t, path)
	for _, id := range []string{"a", "b", "a"} {
		if err := r.Add(Result{ID: id, Status: execution.StatusCompleted, Text: "of " + id}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(path); !errors.Is(err, ErrInUse) {
		t.Errorf("opened twice: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := strings.LastIndex(strings.TrimSuffix(string(whole), "\n"), "\n") + 1
	for cut := last; cut <= len(whole); cut++ {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if r.Of("b") == nil || r.Of("a") == nil || r.Of("c") != nil {
			t.Errorf("cut at %d: %+v", cut, r.byID)
		}
		if err := errors.Join(r.Add(Result{ID: "c", Status: execution.StatusFailed}), r.Close()); err != nil {
			t.Fatal(err)
		}
		if again, err := Open(path); err != nil || again.Of("c") == nil {
			t.Fatalf("cut at %d and continued: %v", cut, err)
		} else {
			_ = again.Close()
		}
	}
	for _, text := range []string{"hello", "{", `{"name":"x"}`, `{"id":"x","prompt":"y"}`, `{"id":"x","prompt":"y"}` + "\n", string(whole[:last-5]) + "\n" + string(whole), "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if text == "{" { // the first byte of a line of ours
			_ = r.Close()
			continue
		}
		if got, _ := os.ReadFile(path); err == nil || string(got) != text {
			t.Errorf("%q: %v, and now it is %q", text, err, got)
		}
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a folder was opened")
	}
}

// TestBudget: an item that a budget refuses has no result and ends the batch once the others are over; it is run by the next one.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "results")
		d, results := &did{}, open(t, path)
		used := true
		d.limit = func(item Item, _ int) *Limit {
			if used && item.ID == "2" {
				return &Limit{Budget: true}
			}
			return nil
		}
		sum, err := Run(t.Context(), list(6, "a"), Options{Jobs: 2, Run: d.run, Results: results})
		if err != nil || sum.Stop != Budget || sum.Run < 3 || sum.Run > 4 || sum.Left != 6-sum.Run || results.Of("2") != nil { // one may begin beside it
			t.Errorf("%+v, %v", sum, err)
		}
		used = false
		left := sum.Left
		if sum, err = Run(t.Context(), list(6, "a"), Options{Jobs: 2, Run: d.run, Results: results}); err != nil || sum.Stop != Done || sum.Run != left {
			t.Errorf("then %+v, %v", sum, err)
		}
	})
}
