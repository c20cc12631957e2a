package process

import (
	"fmt"
	"time"

	"github.com/drawbar/drawbar/internal/base/pid"
	"github.com/drawbar/drawbar/transport/process/internal/supervisor"
)

// tree is what can be found of a run without a keeper.
type tree struct{ supervisor.Tree }

func newTree(mark string, agent int) tree {
	s, _ := pid.ReadStat(agent)
	return newTreeOf(mark, agent, s.Start)
}

func newTreeOf(mark string, agent int, start uint64) tree {
	return tree{supervisor.Tree{Mark: mark, Agent: agent, Start: start}}
}

func (t tree) tag() { t.Tag() }

// kill returns how many processes it killed, except the agent itself.
func (t tree) kill(limit time.Duration) (int, error) {
	count, left := t.Kill(limit)
	if left > 0 {
		return count, fmt.Errorf("%w: %d left of the tree of process %d", ErrSurvivors, left, t.Agent)
	}
	return count, nil
}
