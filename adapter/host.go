package adapter

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"strings"
)

// Spawner runs a command and waits for it; it is the type of Host.Spawn. A command that runs and fails is an
// outcome with its exit code; an error means that it did not run or was stopped because ctx was done.
type Spawner = func(ctx context.Context, c SpawnRequest) (SpawnOutcome, error)

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

type emptyFS struct{}

func (emptyFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
