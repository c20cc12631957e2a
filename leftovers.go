package drawbar

import (
	"errors"
	"os"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/transport/process"
)

// RemoveLeftovers removes the private folders that runs of this record left in the directory for temporary files because they
// were killed, and gives their paths. Those of runs that go on, or whose processes still run, stay. A client does it by itself
// when it starts its first run.
func (c *Client) RemoveLeftovers() (removed []string, err error) {
	dirs, err := cliagent.PrivateDirs()
	if err != nil || len(dirs) == 0 {
		return nil, err
	}
	s, err := c.openStore()
	if err != nil || s == nil {
		return nil, err
	}
	var errs []error
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
		removed = append(removed, d.Path)
	}
	return removed, errors.Join(errs...)
}
