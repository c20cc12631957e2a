package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/drawbar/drawbar/internal/base/lookpath"
)

// Spawner runs a command and waits for it; it is the type of Host.Spawn. A command that runs and fails is an
// outcome with its exit code; an error means that it did not run or was stopped because ctx was done.
type Spawner = func(ctx context.Context, c SpawnRequest) (SpawnOutcome, error)

// OSHost returns the machine this process runs on. This package starts no process, so the caller passes the
// spawner; with nil, Host.Spawn returns an error.
//
// On Windows there is no single root, so FS has one folder per drive: C:\Users\ann\.claude is
// "C:/Users/ann/.claude", and \\server\share\x is "UNC/server/share/x". The root itself cannot be listed there.
// Host.Name returns these names on every system.
func OSHost(spawn Spawner) Host {
	h := Host{Getenv: os.Getenv, Home: home(), Platform: runtime.GOOS, Spawn: spawn}
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

// Name converts an absolute path of the host's platform to its name in FS, in the form of package io/fs. A
// relative path is an error.
func (h Host) Name(absolute string) (string, error) {
	if h.Platform != "windows" {
		if !strings.HasPrefix(absolute, "/") {
			return "", fmt.Errorf("path %q: want an absolute path", absolute)
		}
		return cmp.Or(strings.TrimPrefix(path.Clean(absolute), "/"), "."), nil
	}
	slashed := strings.ReplaceAll(absolute, `\`, "/")
	if extended, ok := strings.CutPrefix(slashed, "//?/"); ok {
		if share, ok := strings.CutPrefix(extended, "UNC/"); ok {
			slashed = "//" + share
		} else {
			slashed = extended
		}
	}
	if share, ok := strings.CutPrefix(slashed, "//"); ok {
		parts := strings.SplitN(share, "/", 3)
		if len(parts) < 2 || !plain(parts[0]) || !plain(parts[1]) {
			return "", fmt.Errorf("path %q: want a server and a share", absolute)
		}
		rest := ""
		if len(parts) == 3 {
			rest = path.Clean("/" + parts[2])
		}
		return strings.TrimSuffix("UNC/"+parts[0]+"/"+parts[1]+rest, "/"), nil
	}
	if len(slashed) < 3 || !isDrive(slashed[:2]) || slashed[2] != '/' {
		return "", fmt.Errorf("path %q: want an absolute path with a drive", absolute)
	}
	return strings.TrimSuffix(strings.ToUpper(slashed[:2])+path.Clean(slashed[2:]), "/"), nil
}

func plain(element string) bool { return element != "" && element != "." && element != ".." }

func isDrive(s string) bool {
	return len(s) == 2 && s[1] == ':' && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z')
}

// Complete replaces nil functions with ones that find nothing, so that a prober can call all of them.
func (h Host) Complete() Host {
	if h.FS == nil {
		h.FS = emptyFS{}
	}
	if h.Getenv == nil {
		h.Getenv = func(string) string { return "" }
	}
	h.Platform = cmp.Or(h.Platform, runtime.GOOS)
	if h.LookPath == nil {
		h.LookPath = func(name string) (string, error) {
			return "", fmt.Errorf("look up %s: this host has no search path: %w", name, fs.ErrNotExist)
		}
	}
	if h.Spawn == nil {
		h.Spawn = func(_ context.Context, c SpawnRequest) (SpawnOutcome, error) {
			return SpawnOutcome{}, fmt.Errorf("start %s: this host cannot start processes", c.Command)
		}
	}
	return h
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

type emptyFS struct{}

func (emptyFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
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
	if isDrive(first) {
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
