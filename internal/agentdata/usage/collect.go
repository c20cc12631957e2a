package usage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/sessions"
)

// Source is an agent that keeps session files.
type Source struct {
	Agent  string
	Log    adapter.UsageLog
	Models []execution.Model
}

// Options select what to read and cache.
type Options struct {
	Host adapter.Host
	// CacheDir keeps results of scanned files; empty disables the cache.
	CacheDir string
	// Only lists the files to read, by path; empty: all.
	Only []string
	// Workers is the number of files to read concurrently; 0 is the number of processors.
	Workers int
}

// Log is what agents used.
type Log struct {
	agents   []agentCalls
	names    *table
	Problems []sessions.CostProblem
	Files    int   // session files
	Bytes    int64 // in them
	Read     int64 // bytes read now; the rest was cached
}

type agentCalls struct {
	agent string
	calls []call // each call once
	price prices
}

// job is one file.
type job struct {
	source int
	file   history.UsageFile
	fs     fs.FS
	name   string // in fs
	whole  bool   // it is derived: its size is a revision
	unpack func(rel string, r io.ReadCloser) (io.ReadCloser, error)
	size   int64
	info   fs.FileInfo
	result *scanned
	old    *scanned
	err    error
}

func (j *job) id(sources []Source) string { return sources[j.source].Agent + "\x00" + j.file.Path() }

// Collect reads what is new in the sources' session files. The error is that of ctx, or of the cache's folder;
// in the second case the log is complete. Unreadable files are in the log's Problems.
func Collect(ctx context.Context, sources []Source, o Options) (*Log, error) {
	l := &Log{names: newTable()}
	var jobs []*job
	only := map[string]bool{}
	for _, p := range o.Only {
		only[path.Clean(filepath.ToSlash(p))] = true
	}
	for i, s := range sources {
		found, problems := walk(ctx, o.Host, s)
		if len(only) > 0 {
			found = slices.DeleteFunc(found, func(j *job) bool { return !only[j.file.Path()] })
			problems = slices.DeleteFunc(problems, func(p sessions.CostProblem) bool { return !only[p.File] })
		}
		for _, j := range found {
			j.source = i
		}
		jobs = append(jobs, found...)
		l.Problems = append(l.Problems, problems...)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	kept := &cache{dir: o.CacheDir}
	workers := cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	parallel(workers, shards, func(i int) { kept.load(i) })

	var todo []*job
	for _, j := range jobs {
		id := j.id(sources)
		j.old = kept.known[shardOf(id)][id]
		if j.old.current(sources[j.source].Log.UsageVersion(), j.info) {
			j.result = j.old
		} else {
			todo = append(todo, j)
		}
	}
	// Largest first: the last one to finish should be small.
	slices.SortStableFunc(todo, func(a, b *job) int { return cmp.Compare(b.size, a.size) })
	var buffers sync.Pool
	parallel(workers, len(todo), func(i int) {
		if ctx.Err() != nil {
			return
		}
		buf, _ := buffers.Get().(*[]byte)
		if buf == nil {
			buf = new([]byte)
		}
		defer buffers.Put(buf)
		j := todo[i]
		j.result, j.err = scanFile(ctx, o.Host, sources[j.source], j, buf)
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, j := range todo {
		if j.result != nil {
			shard := shardOf(j.id(sources))
			kept.known[shard][j.id(sources)] = j.result
			kept.dirty[shard] = true
			l.Read += j.result.fresh
		}
	}
	if len(only) == 0 {
		kept.forget(sources, o.Host, jobs)
	}
	err := kept.save()
	if err != nil {
		err = execution.Errorf(execution.CodeConfig, "cache the results of session files in %s: %w", o.CacheDir, err).
			WithHint("make the folder writable, or set DRAWBAR_STATE_DIR; the report is correct, but every report reads all files again")
	}
	l.assemble(sources, jobs)
	return l, err
}

// forget removes files that no longer exist in the walked stores.
func (c *cache) forget(sources []Source, h adapter.Host, jobs []*job) {
	there := make(map[string]bool, len(jobs))
	for _, j := range jobs {
		there[j.id(sources)] = true
	}
	for _, s := range sources {
		for _, store := range s.Log.UsageStores(h) {
			prefix := s.Agent + "\x00" + path.Clean(filepath.ToSlash(store.Root)) + "/"
			for i := range shards {
				for id := range c.known[i] {
					if strings.HasPrefix(id, prefix) && !there[id] {
						delete(c.known[i], id)
						c.dirty[i] = true
					}
				}
			}
		}
	}
}

func parallel(workers, n int, do func(int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(workers, n) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// walk finds the session files of one agent, in order. A missing store has none.
func walk(ctx context.Context, h adapter.Host, s Source) (jobs []*job, problems []sessions.CostProblem) {
	seen := map[string]bool{}
	for _, store := range s.Log.UsageStores(h) {
		root := path.Clean(filepath.ToSlash(store.Root))
		top, err := h.Name(store.Root)
		if err != nil {
			problems = append(problems, sessions.CostProblem{Agent: s.Agent, File: store.Root, Error: err.Error()})
			continue
		}
		if seen[top] {
			continue
		}
		seen[top] = true
		files := store.FS
		if files == nil {
			files = h.FS
		}
		_ = fs.WalkDir(files, top, func(name string, d fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			rel := strings.TrimPrefix(strings.TrimPrefix(name, top), "/")
			if err != nil {
				if name != top || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid) {
					problems = append(problems, sessions.CostProblem{Agent: s.Agent, File: path.Join(root, rel), Error: cause(err)})
				}
				return nil
			}
			if d.IsDir() {
				if rel != "" && store.Enter != nil && !store.Enter(rel) {
					return fs.SkipDir
				}
				return nil
			}
			if rel == "" || !store.Match(rel) {
				return nil
			}
			j := &job{file: history.UsageFile{Root: root, Rel: rel}, fs: files, name: name, whole: store.FS != nil, unpack: store.Unpack}
			if j.info, err = d.Info(); err == nil && d.Type()&fs.ModeSymlink != 0 {
				var target string
				if target, err = outside(h, store.Root, j.file.Path()); target != "" {
					problems = append(problems, sessions.CostProblem{Agent: s.Agent, File: j.file.Path(), Error: "is a link out of the store, to " + target + "; it is not followed"})
					return nil
				}
				if err == nil {
					j.info, err = fs.Stat(files, name)
				}
			}
			switch {
			case errors.Is(err, fs.ErrNotExist): // removed meanwhile, or a link to nothing
			case err != nil:
				problems = append(problems, sessions.CostProblem{Agent: s.Agent, File: j.file.Path(), Error: cause(err)})
			case j.info.Mode().IsRegular():
				j.size = j.info.Size()
				jobs = append(jobs, j)
			}
			return nil
		})
	}
	return jobs, problems
}

// Files returns the files of a source that pick selects by path and modification time.
func Files(ctx context.Context, h adapter.Host, s Source, pick func(file string, modified time.Time) bool) []string {
	jobs, _ := walk(ctx, h, s)
	var files []string
	for _, j := range jobs {
		if pick(j.file.Path(), j.info.ModTime()) {
			files = append(files, j.file.Path())
		}
	}
	return files
}

// outside returns the target of a link that is not below root.
func outside(h adapter.Host, root, link string) (string, error) {
	target, err := h.Follow(filepath.FromSlash(link))
	if err != nil {
		return "", err
	}
	if root, err = h.Follow(filepath.FromSlash(root)); err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(root, target); err == nil && filepath.IsLocal(rel) {
		return "", nil
	}
	return target, nil
}

// cause returns an error without its path, which the problem already names.
func cause(err error) string {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Op + ": " + pe.Err.Error()
	}
	return err.Error()
}

// assemble combines the files' calls.
func (l *Log) assemble(sources []Source, jobs []*job) {
	lists := make([][]execution.Model, len(sources))
	for i, s := range sources {
		lists[i] = s.Models
	}
	byAgent := make([][]call, len(sources))
	for i := range sources {
		n := 0
		for _, j := range jobs {
			if j.source == i && j.result != nil {
				n += len(j.result.calls)
			}
		}
		byAgent[i] = make([]call, 0, n)
	}
	for _, j := range jobs {
		s := sources[j.source]
		l.Files++
		l.Bytes += j.size
		if j.err != nil {
			if !errors.Is(j.err, fs.ErrNotExist) {
				l.Problems = append(l.Problems, sessions.CostProblem{Agent: s.Agent, File: j.file.Path(), Error: cause(j.err)})
			}
			continue
		}
		if r := j.result; r.bad > 0 {
			l.Problems = append(l.Problems, sessions.CostProblem{Agent: s.Agent, File: j.file.Path(), Error: fmt.Sprintf("%d lines are damaged, the first at byte %d; the others are counted", r.bad, r.badAt)})
		}
		at := len(byAgent[j.source])
		byAgent[j.source] = append(byAgent[j.source], j.result.calls...)
		l.names.adopt(byAgent[j.source][at:], j.result.names)
	}
	for i, s := range sources {
		a := agentCalls{agent: s.Agent, price: prices{lists: append([][]execution.Model{s.Models}, lists...)}}
		a.calls = merge(byAgent[i], l.names, func(model int32) *execution.Price { return a.price.of(l.names.names[model]) })
		l.agents = append(l.agents, a)
	}
}
