package ahead

import (
	"strings"
	"testing"
)

func TestRunsAgent(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"": false, "run": false, "run claude hi": true, "run claude --help": false, "run -d claude hi": false, "version": false,
		"govern step": true, "govern run": true, "govern status": false, "govern step -h": false, "ps --json": false,
	} {
		if got := runsAgent(strings.Fields(line)); got != want {
			t.Errorf("%q: %t", line, got)
		}
	}
}
