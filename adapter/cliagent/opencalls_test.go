package cliagent

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestOpenCalls holds the set against a map, through orders in which calls overlap, repeat and end that never began.
func TestOpenCalls(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var calls openCalls
	want := map[string]bool{}
	for step := range 20_000 {
		id := strconv.Itoa(rng.IntN(5))
		if id == "0" {
			id = "" // an agent may leave ids out
		}
		switch op := rng.IntN(40); {
		case op == 0:
			calls.clear()
			clear(want)
		case op%2 == 0:
			calls.add(id)
			want[id] = true
		default:
			calls.remove(id)
			delete(want, id)
		}
		if calls.len() != len(want) {
			t.Fatalf("step %d: %d calls are open, want %d (%v)", step, calls.len(), len(want), want)
		}
	}
}
