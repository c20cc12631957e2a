package adaptertest

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// settleTime is how long a killed process may take to disappear from the process table.
const settleTime = 300 * time.Millisecond

// MarkedProcesses is a survivors probe for agents that are processes: it reports every live process, other than this
// one, whose environment contains the entry NAME=VALUE. Set the entry with Run.Env; the agent's children inherit it.
// It reads the process table of Linux; on other systems it returns an error that says so, and ProcessesIn can be
// used.
func MarkedProcesses(entry string) func() error {
	return func() error {
		return awaitNone(func() ([]int, error) { return marked(entry) })
	}
}

// ProcessesIn is a survivors probe for agents that record the ids of their processes, one per line, in a file: it
// reports those that are alive. A missing file records none.
func ProcessesIn(file string) func() error {
	return func() error {
		return awaitNone(func() ([]int, error) {
			text, err := os.ReadFile(file)
			if errors.Is(err, os.ErrNotExist) {
				return nil, nil
			}
			if err != nil {
				return nil, fmt.Errorf("read the recorded processes: %w", err)
			}
			var alive []int
			for line := range strings.Lines(string(text)) {
				line = strings.TrimSpace(line)
				if line == "" {
					continue
				}
				pid, err := strconv.Atoi(line)
				if err != nil {
					return nil, fmt.Errorf("read the recorded processes: %q is not a process id", line)
				}
				if living(pid) {
					alive = append(alive, pid)
				}
			}
			return alive, nil
		})
	}
}

func awaitNone(find func() ([]int, error)) error {
	deadline := time.Now().Add(settleTime)
	for {
		alive, err := find()
		if err != nil || len(alive) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes still run: %v", len(alive), alive)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
