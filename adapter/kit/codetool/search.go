package codetool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/drawbar/drawbar/adapter/kit/modelapi"
)

// What one call of list or search returns at most.
const (
	listEntries   = 1000
	searchMatches = 200
	searchLine    = 300 // bytes of a line
)

// passed are folders that are not walked: they are large, and rarely meant.
var passed = []string{".git", ".hg", ".svn", ".jj", "node_modules"}

type listInput struct {
	Path      string `json:"path,omitempty" jsonschema:"folder, relative to the working directory (default: that itself)"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"also what is in its folders"`
}

// list is the tool that lists a folder.
func (f *Folder) list() modelapi.Tool {
	return modelapi.Define("list", "List a folder. Folders end with a slash, links with an arrow to their target. A recursive list leaves out what is in "+strings.Join(passed, ", ")+" and what .gitignore names.",
		func(in listInput) (modelapi.Job, error) {
			if in.Path == "" {
				in.Path = "."
			}
			p, err := f.find(in.Path)
			return modelapi.Job{Use: reads(in.Path), Do: func(ctx context.Context, _ *modelapi.Live) modelapi.Answer {
				return answer(listFolder(ctx, p, in.Recursive))
			}}, err
		})
}

// errEnough ends a walk.
var errEnough = errors.New("enough")

func listFolder(ctx context.Context, p place, recursive bool) (string, error) {
	var lines []string
	err := walk(ctx, p, recursive, func(name string, d fs.DirEntry) error {
		if len(lines) >= listEntries {
			return errEnough
		}
		switch {
		case d.IsDir():
			lines = append(lines, name+"/")
			if !recursive {
				return fs.SkipDir
			}
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := p.root.Readlink(filepath.Join(p.name, filepath.FromSlash(name))) // an unreadable link has no target
			lines = append(lines, name+" -> "+target)
		default:
			lines = append(lines, name)
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		lines = append(lines, fmt.Sprintf("[more than %d entries: list a folder within]", listEntries))
	} else if err != nil {
		return "", err
	}
	if len(lines) == 0 {
		return "[the folder is empty]", nil
	}
	return strings.Join(lines, "\n"), nil
}

// walk calls visit for what is below a folder, with names relative to it, in lexical order. Links are not followed. With sparing,
// what .gitignore files name is left out.
func walk(ctx context.Context, p place, sparing bool, visit func(name string, d fs.DirEntry) error) error {
	top := filepath.ToSlash(p.name)
	g := ignored{root: p.root}
	err := fs.WalkDir(p.root.FS(), top, func(at string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		name, _ := strings.CutPrefix(at, top+"/")
		if top == "." {
			name = at
		}
		switch {
		case err != nil && at != top:
			return nil //nolint:nilerr // the rest is still useful
		case err != nil:
			return p.fault(err)
		case at == top && !d.IsDir():
			if d.Type().IsRegular() {
				return visit(path.Base(at), d)
			}
			return fmt.Errorf("%s is not a folder", p.shown)
		case at == top:
			if sparing {
				g.enter(top)
			}
			return nil
		case sparing && g.has(at, d.IsDir()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case sparing && d.IsDir():
			g.enter(at)
		}
		if err := visit(name, d); err != nil {
			return err
		}
		if d.IsDir() && slices.Contains(passed, d.Name()) {
			return fs.SkipDir
		}
		return nil
	})
	return err
}

type searchInput struct {
	Pattern string `json:"pattern,omitempty" jsonschema:"regular expression for a line"`
	Glob    string `json:"glob,omitempty" jsonschema:"files to search, such as *.go or src/**/*.ts; without a slash in any folder"`
	Path    string `json:"path,omitempty" jsonschema:"folder or file, relative to the working directory (default: all)"`
	Ignore  bool   `json:"ignore_case,omitempty" jsonschema:"ignore upper and lower case"`
}

// search is the tool that searches files.
func (f *Folder) search() modelapi.Tool {
	return modelapi.Define("search", "Find lines by a regular expression (RE2), in files that fit a glob; without a pattern, find files by the glob. "+
		"Binary files, "+strings.Join(passed, ", ")+" and what .gitignore names are left out, unless path is one of them.",
		func(in searchInput) (modelapi.Job, error) {
			if in.Path == "" {
				in.Path = "."
			}
			p, err := f.find(in.Path)
			if err != nil {
				return modelapi.Job{}, err
			}
			s := searcher{place: p, glob: in.Glob}
			if in.Pattern != "" {
				prefix := ""
				if in.Ignore {
					prefix = "(?i)"
				}
				if s.pattern, err = regexp.Compile(prefix + in.Pattern); err != nil {
					return modelapi.Job{}, fmt.Errorf("the pattern is not valid: %w", err)
				}
			}
			switch {
			case in.Pattern == "" && in.Glob == "":
				return modelapi.Job{}, errors.New("neither a pattern nor a glob is given")
			case in.Glob != "" && !doublestar.ValidatePattern(in.Glob):
				return modelapi.Job{}, fmt.Errorf("the glob %q is not valid", in.Glob)
			}
			return modelapi.Job{Use: reads(in.Path), Do: func(ctx context.Context, _ *modelapi.Live) modelapi.Answer { return answer(s.run(ctx)) }}, nil
		})
}

type searcher struct {
	place
	pattern *regexp.Regexp // nil: the names of files are the matches
	glob    string
	found   []string
}

func (s *searcher) run(ctx context.Context) (string, error) {
	s.found = nil
	info, err := s.root.Stat(s.name)
	if err != nil {
		return "", s.fault(err)
	}
	err = walk(ctx, s.place, true, func(name string, d fs.DirEntry) error {
		if !d.Type().IsRegular() || !s.fits(name) {
			return nil
		}
		p := s.place
		if info.IsDir() {
			p.name, p.shown = filepath.Join(s.name, filepath.FromSlash(name)), path.Join(s.shown, name)
		}
		if s.pattern == nil {
			return s.add(p.shown)
		}
		return s.file(p)
	})
	if errors.Is(err, errEnough) {
		s.found = append(s.found, fmt.Sprintf("[more than %d matches: narrow the search]", searchMatches))
	} else if err != nil {
		return "", err
	}
	if len(s.found) == 0 {
		return "[no match]", nil
	}
	return strings.Join(s.found, "\n"), nil
}

func (s *searcher) add(line string) error {
	if len(s.found) >= searchMatches {
		return errEnough
	}
	s.found = append(s.found, line)
	return nil
}

// fits reports whether a name fits the glob.
func (s *searcher) fits(name string) bool {
	if s.glob == "" {
		return true
	}
	if !strings.Contains(s.glob, "/") {
		name = path.Base(name)
	}
	ok, err := doublestar.Match(s.glob, name)
	return ok && err == nil
}

// file searches one file. A file that cannot be read has no match.
func (s *searcher) file(p place) error {
	file, _, err := p.open()
	if err != nil {
		return nil //nolint:nilerr // the other files are still useful
	}
	defer func() { _ = file.Close() }() // opened read-only
	r := bufio.NewReaderSize(file, 64<<10)
	if begin, _ := r.Peek(8000); binary(begin) {
		return nil
	}
	for n := 1; ; n++ {
		line, _, err := nextLine(r)
		if err != nil && line == "" {
			return nil //nolint:nilerr // the end, or a failing disk
		}
		if s.pattern.MatchString(line) {
			shownLine := strings.ToValidUTF8(strings.TrimSpace(line), "\uFFFD")
			if len(shownLine) > searchLine {
				shownLine = strings.ToValidUTF8(shownLine[:searchLine], "") + "..."
			}
			if err := s.add(fmt.Sprintf("%s:%d: %s", p.shown, n, shownLine)); err != nil {
				return err
			}
		}
		if err != nil {
			return nil //nolint:nilerr // as above
		}
	}
}
