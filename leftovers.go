package drawbar

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// Leftovers is what killed runs left and RemoveLeftovers removed.
type Leftovers struct {
	Dirs  []string                // private folders in the directory for temporary files
	Ended map[execution.RunID]int // processes of lost runs
}

const (
	// leftoverRuns is how many runs back RemoveLeftovers looks for processes.
	leftoverRuns = 1000
	leftoverKill = 5 * time.Second
)

// RemoveLeftovers ends processes of lost runs of this record, which live only when everything that watches a run was killed at
// once, and removes the private folders of runs that were killed. Runs that go on keep theirs. A client does it by itself when it
// starts its first run.
func (c *Client) RemoveLeftovers() (Leftovers, error) {
	done := Leftovers{Ended: map[execution.RunID]int{}}
	s, err := c.openStore()
	if err != nil || s == nil {
		return done, err
	}
	process.RemoveGroups()
	lost, err := s.Lost(leftoverRuns)
	if err != nil {
		return done, err
	}
	var errs []error
	for id := range process.Survivors(lost...) {
		n, err := process.EndSurvivors(id, leftoverKill)
		if err != nil {
			errs = append(errs, fmt.Errorf("end the processes of the lost run %s: %w", id, err))
		}
		if n > 0 {
			done.Ended[execution.RunID(id)] = n
		}
	}
	dirs, err := cliagent.PrivateDirs()
	errs = append(errs, err)
	for _, d := range dirs {
		id := string(d.Run)
		run, err := s.Get(id)
		if err != nil || run.Live || process.Survivors(id)[id] > 0 {
			continue // of another record, or in use
		}
		if err := os.RemoveAll(d.Path); err != nil {
			errs = append(errs, err)
			continue
		}
		done.Dirs = append(done.Dirs, d.Path)
	}
	return done, errors.Join(errs...)
}
