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

// Leftovers lists what RemoveLeftovers removed after killed runs.
type Leftovers struct {
	Dirs  []string                // private folders in the temporary directory
	Ended map[execution.RunID]int // processes of lost runs
}

const (
	// leftoverRuns is the number of recent runs that RemoveLeftovers checks for processes.
	leftoverRuns = 100
	leftoverKill = 5 * time.Second
)

// RemoveLeftovers ends the processes of this record's lost runs and removes the private folders of killed runs.
// Such processes survive only when everything that supervises a run was killed at once. Live runs keep their
// folders. A client calls it when it starts its first run.
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
			errs = append(errs, fmt.Errorf("end the processes of lost run %s: %w", id, err))
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
