package rpc

import (
	"fmt"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// TestEndedRunsAreForgotten: a server that runs for weeks keeps the last runs at hand, not all.
func TestEndedRunsAreForgotten(t *testing.T) {
	t.Parallel()
	s := newServer(nil, false)
	id := func(i int) execution.RunID { return execution.RunID(fmt.Sprint(i)) }
	const n = 3 * endedKept
	s.runs["live"] = nil
	for i := range n {
		s.runs[id(i)] = nil
		s.over(id(i))
	}
	for i := range n {
		if _, kept := s.take(id(i)); kept != (i >= n-endedKept) {
			t.Errorf("run %d of %d kept: %v", i, n, kept)
		}
	}
	if _, kept := s.take("live"); !kept || len(s.runs) != endedKept+1 {
		t.Errorf("%d runs, the live one kept: %v", len(s.runs), kept)
	}
}
