package agentconfig

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// place returns the file's absolute path and the keys above its fields, for an absolute project directory.
func place(f settings.File, h adapter.Host, project string) (file string, prefix []string, err error) {
	if f.AtRoot {
		project = repositoryRoot(h, project)
	}
	for _, element := range f.Prefix {
		if element == "{project}" {
			element = project
		}
		prefix = append(prefix, element)
	}
	join := func(dir, rest string) string {
		if h.Platform == "windows" {
			return strings.TrimRight(dir, `\/`) + `\` + strings.ReplaceAll(rest, "/", `\`)
		}
		return path.Join(dir, rest)
	}
	if variable, rest, ok := strings.Cut(strings.TrimPrefix(f.Moved, "$"), "/"); ok {
		if dir := h.Getenv(variable); dir != "" {
			if _, err := h.Name(dir); err != nil {
				return "", nil, execution.Errorf(execution.CodeConfig, "the variable %s is %q: a relative directory means a different one for each program", variable, dir).
					WithHint("set %s to an absolute path", variable)
			}
			return join(dir, rest), prefix, nil
		}
	}
	if rest, ok := strings.CutPrefix(f.Path, "~/"); ok {
		return join(h.Home, rest), prefix, nil
	}
	if path.IsAbs(f.Path) {
		return f.Path, prefix, nil
	}
	return join(project, f.Path), prefix, nil
}

// repositoryRoot returns the nearest directory at or above dir that contains .git, else dir.
func repositoryRoot(h adapter.Host, dir string) string {
	at := dir
	for {
		name, err := h.Name(at)
		if err != nil {
			return dir
		}
		if _, err := fs.Stat(h.FS, path.Join(name, ".git")); err == nil {
			return at
		} else if !errors.Is(err, fs.ErrNotExist) {
			return dir
		}
		cut := strings.LastIndexAny(strings.TrimRight(at, `/\`), `/\`)
		if cut <= 0 {
			return dir
		}
		at = at[:cut]
	}
}
