package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// TestMultiKills kills with SIGKILL the commands of a run over two repositories: the beginning, turns, approvals and
// resynchronizations. After each kill nothing of the history is lost, no turn counts twice, both records hold, and the same way
// of working goes on. bench/crash.sh does it a thousand times.
func TestMultiKills(t *testing.T) {
	killPeople(t, *kills/5, 75, func(ctx context.Context, o killing, n int) (person, error) { return newMulti(ctx, o, n) })
}

// multi is a workspace of two repositories.
type multi struct {
	*subject
	repos   []*subject
	history [][]byte // as it was seen last
}

func newMulti(ctx context.Context, o killing, n int) (*multi, error) {
	m := &multi{}
	workspace := filepath.Join(o.dir, fmt.Sprintf("workspace-%d", n))
	for _, name := range []string{"api", "web"} {
		o.dir = workspace
		s, err := newProject(ctx, o, n, governedConfig)
		if err == nil {
			err = os.Rename(s.root, filepath.Join(workspace, name))
		}
		if err != nil {
			return nil, err
		}
		s.root = filepath.Join(workspace, name)
		if out, err := s.command(ctx, o.drawbar, "trust", "--yes").CombinedOutput(); err != nil {
			return nil, fmt.Errorf("trust the project: %w: %s", err, out)
		}
		m.repos = append(m.repos, s)
	}
	m.subject = &subject{o: o, root: workspace, env: m.repos[0].env}
	config := protocol.CoordinatorConfig{}
	barriers := []protocol.BarrierType{protocol.BarrierHuman, protocol.BarrierAllAccepted, protocol.BarrierOrdered}
	for i := range 60 {
		w := protocol.Workstream{Phase: "implementation", Repos: []string{"web", "api"}, EntryRepo: "api", DependsOn: []string{}, CompletionBarrier: barriers[i%len(barriers)]}
		if i > 0 {
			w.DependsOn = []string{fmt.Sprintf("w%d", i-1)}
		}
		config.Workstreams.Set(fmt.Sprintf("w%d", i), w)
	}
	streams, err := json.Marshal(config.Workstreams)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(`{"schema_version":"0.1","project":{"id":"crash","name":"Crash"},"repos":{"api":{"path":"./api"},"web":{"path":"./web"}},
"workstreams":%s,"routing":{"implementation":{"entry_workstream":"w0"}},"gates":{"initiative_ship":{"requires_human_approval":true,"requires_repos":["api","web"]}}}`, streams)
	return m, os.WriteFile(filepath.Join(workspace, protocol.CoordinatorConfigFile), []byte(text), 0o600)
}

func (m *multi) of() *subject  { return m.subject }
func (m *multi) accepted() int { return len(m.repos[0].turns) + len(m.repos[1].turns) }

func (m *multi) types(random *rand.Rand) ([]string, error) {
	var st govern.MultiStatus
	if err := m.ask(&st, "multi", "status"); err != nil {
		return nil, err
	}
	for _, r := range st.Repos {
		if r.Fault != "" {
			return nil, errors.New(r.ID + ": " + r.Fault)
		}
	}
	switch {
	case st.State == nil:
		return []string{"multi", "init"}, nil
	case st.State.Status == protocol.CoordinatorBlocked:
		return nil, errors.New("the run is blocked: " + st.State.BlockedReason)
	case st.State.Status == protocol.CoordinatorPaused:
		return []string{"multi", "approve-gate", "--comment", "good"}, nil
	case random.IntN(6) == 0:
		return []string{"multi", "resync"}, nil
	case random.IntN(6) == 0:
		return []string{"multi", "step", "--assign"}, nil
	}
	return []string{"multi", "step"}, nil
}

func (m *multi) sound(ctx context.Context) (pending int, err error) {
	known := map[string]bool{}
	for _, s := range m.repos {
		n, err := s.look()
		if err == nil {
			err = s.verified(ctx)
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", filepath.Base(s.root), err)
		}
		pending = max(pending, n)
		for _, turn := range s.turns {
			known[turn] = true
		}
	}
	data, err := os.ReadFile(filepath.Join(m.root, filepath.FromSlash(protocol.CoordinatorHistoryFile)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	lines = lines[:len(lines)-1] // empty, or half a line, which the next command replaces
	if len(lines) < len(m.history) || !slices.EqualFunc(lines[:len(m.history)], m.history, bytes.Equal) {
		return 0, fmt.Errorf("the history of the workspace was %s, and is %s", m.history, lines)
	}
	m.history = lines
	counted := map[string]bool{}
	for _, line := range lines {
		var e protocol.CoordinatorEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return 0, fmt.Errorf("%w in %s", err, line)
		}
		switch {
		case e.Type != protocol.SuperProjection:
		case counted[e.RepoTurnID]:
			return 0, fmt.Errorf("turn %s counts twice", e.RepoTurnID)
		case !known[e.RepoTurnID]:
			return 0, fmt.Errorf("turn %s counts, and was not accepted", e.RepoTurnID)
		default:
			counted[e.RepoTurnID] = true
		}
	}
	return pending, m.complete(known)
}

// complete looks whether a resynchronization would find each accepted turn that does not count yet, and no other difference.
func (m *multi) complete(known map[string]bool) error {
	var sync govern.MultiResync
	if len(m.history) == 0 {
		return nil
	}
	if err := m.ask(&sync, "multi", "resync", "--dry-run"); err != nil {
		return err
	}
	open := len(known)
	for _, line := range m.history {
		if bytes.Contains(line, []byte(`"type":"`+protocol.SuperProjection+`"`)) {
			open--
		}
	}
	for _, x := range sync.Mismatches {
		switch {
		case x.Type == "turn_accepted_unprojected":
			open--
		case x.Type != "turn_unrecorded": // one that was assigned
			return fmt.Errorf("%s: %s", x.RepoID, x.Detail)
		}
	}
	if open != 0 {
		return fmt.Errorf("%d accepted turns neither count nor will", open)
	}
	return nil
}
