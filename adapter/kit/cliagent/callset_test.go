package cliagent

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestCallSet holds the set against a map, through orders in which calls overlap, repeat and end that never began.
func TestCallSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var calls CallSet
	want := map[string]bool{}
	for step := range 20_000 {
		id := strconv.Itoa(rng.IntN(5))
		if id == "0" {
			id = "" // an agent may leave ids out
		}
		switch op := rng.IntN(40); {
		case op == 0:
			calls.Clear()
			clear(want)
		case op%2 == 0:
			if calls.Add(id) == want[id] {
				t.Fatalf("step %d: adding %q tells the contrary of what was so", step, id)
			}
			want[id] = true
		default:
			if calls.Remove(id) != want[id] {
				t.Fatalf("step %d: removing %q tells the contrary of what was so", step, id)
			}
			delete(want, id)
		}
		if calls.Len() != len(want) {
			t.Fatalf("step %d: %d calls are open, want %d (%v)", step, calls.Len(), len(want), want)
		}
	}
}
