// Package oshost is the machine that this process runs on, as optional interfaces of adapters inspect it: its
// files under one root, its environment, search path and user. Nothing else belongs here.
package oshost

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/internal/base/lookpath"
)

// New returns the machine this process runs on. This package starts no process, so the caller passes the
// spawner; with nil, Host.Spawn returns an error.
//
// On Windows there is no single root, so FS has one folder per drive: C:\Users\ann\.claude is
// "C:/Users/ann/.claude", and \\server\share\x is "UNC/server/share/x". The root itself cannot be listed there.
// Host.Name returns these names on every system.
func New(spawn adapter.Spawner) adapter.Host {
	h := adapter.Host{Getenv: os.Getenv, Home: home(), Platform: runtime.GOOS, Spawn: spawn}
	if runtime.GOOS == "windows" {
		h.FS = volumeFS{open: os.DirFS}
	} else {
		h.FS = os.DirFS("/")
	}
	h.LookPath = func(name string) (string, error) {
		found, err := lookpath.In(os.Environ(), "", name)
		if err != nil {
			return "", err
		}
		return filepath.Abs(found)
	}
	return h.Complete()
}

// home returns an absolute path: the environment's home directory, else that of the user database, else the
// root.
func home() string {
	dir, err := os.UserHomeDir()
	if err != nil || dir == "" {
		if u, err := user.Current(); err == nil {
			dir = u.HomeDir
		}
	}
	if dir == "" {
		dir = string(filepath.Separator)
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return dir
}

// volumeFS combines the volumes of a Windows machine under one root.
type volumeFS struct{ open func(root string) fs.FS }

// Open splits the volume off the name.
func (v volumeFS) Open(name string) (fs.File, error) {
	volume, rest, err := v.split(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f, err := v.open(volume).Open(rest)
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return nil, &fs.PathError{Op: pe.Op, Path: name, Err: pe.Err}
	}
	return f, err
}

func (v volumeFS) split(name string) (root, rest string, err error) {
	if !fs.ValidPath(name) || strings.Contains(name, `\`) {
		return "", "", fs.ErrInvalid
	}
	first, rest, _ := strings.Cut(name, "/")
	if len(first) == 2 && first[1] == ':' {
		return first + `\`, cmp.Or(rest, "."), nil
	}
	if first == "UNC" {
		if parts := strings.SplitN(rest, "/", 3); len(parts) == 3 {
			return `\\` + parts[0] + `\` + parts[1] + `\`, parts[2], nil
		} else if len(parts) == 2 {
			return `\\` + parts[0] + `\` + parts[1] + `\`, ".", nil
		}
	}
	return "", "", fs.ErrNotExist
}
