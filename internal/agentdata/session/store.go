package session

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// Source is an agent with its store.
type Source struct {
	Agent   string
	Aliases []string
	Store   adapter.SessionStore
}

// Options configure a store of sessions.
type Options struct {
	Sources []Source
	Host    adapter.Host
	Dir     string                                                 // the state directory; empty: an index in memory
	Tags    func(ctx context.Context) (map[string][]string, error) // the tags of sessions by unified id; nil: none
	OfRun   func(id string) string                                 // the session of a run, by unified id; "" if there is none
	Known   func(agent string) error                               // the error for an unknown agent; nil: only the sources are known
	// Costs returns what sessions cost, by unified id, according to the cost report: for all sessions, those of
	// one agent, or, with paths, only those in these files. nil: the agents' figures.
	Costs  func(ctx context.Context, agent string, paths []string) (map[string]execution.Cost, error)
	Logger *slog.Logger // default: none
}

// Store answers questions about the sessions of all agents. It is safe for concurrent use, and any number of
// processes may share a state directory.
type Store struct {
	opts Options
	db   *database
}

// Open returns a store. It accesses files only when queried.
func Open(opts Options) *Store {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	d := &database{logger: opts.Logger}
	if opts.Dir != "" {
		d.path = filepath.Join(opts.Dir, databaseName)
	}
	return &Store{opts: opts, db: d}
}

// Close closes the index.
func (s *Store) Close() error { return s.db.close() }

// source returns an agent by name or alias.
func (s *Store) source(agent string) (Source, error) {
	var names []string
	for _, src := range s.opts.Sources {
		if src.Agent == agent || slices.Contains(src.Aliases, agent) {
			return src, nil
		}
		names = append(names, src.Agent)
	}
	if s.opts.Known != nil {
		if err := s.opts.Known(agent); err != nil {
			return Source{}, err
		}
	}
	slices.Sort(names)
	e := execution.Errorf(execution.CodeCapability, "%s has no sessions that can be read here", agent)
	e.Agent, e.Capability = agent, "sessions"
	return Source{}, e.WithHint("agents with readable sessions: %s", join(names))
}

// workers is how many files are read concurrently.
func workers() int { return max(2, runtime.GOMAXPROCS(0)) }

// parallel calls f for each index below n, several concurrently, and waits. It starts no more calls once ctx is
// done.
func parallel(ctx context.Context, n int, f func(i int)) error {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(workers(), n) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		select {
		case next <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	wg.Wait()
	return ctx.Err()
}
