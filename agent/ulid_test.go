package agent_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// millis is the time of a ULID.
func millis(id execution.RunID) (ms int64) {
	for _, c := range string(id[:10]) {
		ms = ms<<5 | int64(strings.IndexRune("0123456789ABCDEFGHJKMNPQRSTVWXYZ", c))
	}
	return ms
}

func TestNewRunID(t *testing.T) {
	t.Parallel()
	const n, parallel = 10_000, 4
	before := time.Now().UnixMilli()
	lists := make([][]execution.RunID, parallel)
	var all sync.WaitGroup
	for i := range lists {
		all.Go(func() {
			for range n / parallel {
				lists[i] = append(lists[i], agent.NewRunID())
			}
		})
	}
	all.Wait()
	seen := map[execution.RunID]bool{}
	for _, list := range lists {
		if !slices.IsSorted(list) {
			t.Error("ids do not ascend")
		}
		for _, id := range list {
			if _, err := execution.ParseRunID(string(id)); err != nil {
				t.Fatal(err)
			}
			if seen[id] {
				t.Fatalf("%s was made twice", id)
			}
			seen[id] = true
			if ms := millis(id); ms < before || ms > time.Now().UnixMilli() {
				t.Fatalf("%s says %d, it is %d", id, ms, before)
			}
		}
	}
}

// TestNewRunIDWithinAMillisecond makes ids while the clock stands still, and after it went back.
func TestNewRunIDWithinAMillisecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := agent.NewRunID()
		for range 10_000 {
			id := agent.NewRunID() // the bubble's clock is years behind that of the ids before
			if id <= last {
				t.Fatalf("%s after %s", id, last)
			}
			last = id
		}
	})
}
