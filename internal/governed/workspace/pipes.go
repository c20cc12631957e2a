package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/transport/process"
)

// pipePatience is the time after which a running git is checked for waiting on a named pipe. Tests shorten it.
var pipePatience = 5 * time.Second

// maxSettings limits how much is read of a git settings file, maxIncluded how many of them are read.
const (
	maxSettings = 1 << 20
	maxIncluded = 100
)

// pipeError says that git waits for a named pipe in place of a file that it reads.
type pipeError struct{ path string }

func (e *pipeError) Error() string { return "waits for " + e.path + ", which is a named pipe" }

// run runs git. If a named pipe is in place of a settings file, git would wait forever: it is killed, and the error
// names the pipe. A slow git is left alone.
func (w *Workspace) run(ctx context.Context, spec process.Spec) ([]byte, process.Exit, error) {
	ctx, end := context.WithCancelCause(ctx)
	over := make(chan struct{})
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		for wait := pipePatience; ; wait *= 2 {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
				if path := w.pipe(spec.Dir); path != "" {
					end(&pipeError{path})
					return
				}
			case <-over:
				timer.Stop()
				return
			}
		}
	}()
	out, exit := process.Run(ctx, spec)
	close(over)
	<-looked
	var stuck *pipeError
	if cause := context.Cause(ctx); exit.Err != nil && errors.As(cause, &stuck) {
		return nil, exit, execution.Errorf(execution.CodeConfig, "git in %s %w", spec.Dir, stuck).WithHint("remove it: rm %s", quote(stuck.path))
	}
	end(nil)
	return out, exit, nil
}

// pipe finds a named pipe that git, run in dir, reads without being asked to; empty for none. It is searched only
// afterwards, because what looks like a path in a settings file may itself be a pipe.
func (w *Workspace) pipe(dir string) string {
	files := w.userFiles("config", "attributes", "ignore")
	mark := findRepository(dir)
	for _, git := range []string{w.gitDir, w.common, filepath.Join(mark, ".git"), mark} {
		for _, name := range slices.Concat(bindFiles, []string{"config", "config.worktree", "HEAD", "index", "packed-refs", "commondir", "gitdir"}) {
			if git != "" {
				files = append(files, filepath.Join(git, filepath.FromSlash(name)))
			}
		}
	}
	files = append(files, filepath.Join(mark, ".git"))
	seen := map[string]bool{}
	for n := 0; n < len(files) && len(seen) < maxIncluded; n++ {
		if file := files[n]; file != "" && !seen[file] {
			seen[file] = true
			if isPipe(file) {
				return file
			}
			files = append(files, w.named(file)...)
		}
	}
	found := ""
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil: // git does not wait for what cannot be read
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case slices.Contains([]string{".gitattributes", ".gitignore", ".gitmodules"}, d.Name()) && isPipe(path):
			found = path
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// named returns the existing files that the values in a settings file may name.
func (w *Workspace) named(file string) (found []string) {
	data, err := repofile.Own(file, maxSettings)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		_, value, ok := strings.Cut(line, "=")
		if value = strings.Trim(strings.TrimSpace(value), `"`); !ok || value == "" {
			continue
		}
		if path := from(filepath.Dir(file), w.expand(value)); exists(path) {
			found = append(found, path)
		}
	}
	return found
}

func isPipe(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&fs.ModeNamedPipe != 0
}

// readPlain reads a regular file: a pipe in place of one of git's files would block the reader.
func readPlain(path string) ([]byte, error) {
	data, err := repofile.Own(path, maxPlain)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data, nil
}

// maxPlain bounds the size of one of git's own files: the index of a large repository.
const maxPlain = 1 << 30
