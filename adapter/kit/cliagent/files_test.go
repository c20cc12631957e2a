//go:build unix

package cliagent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// withFile makes a spec ask for private files and tells their directory.
func withFile(s *Spec, also func(l *Launch, inv *Invocation)) *string {
	dir := new(string)
	spawn := s.Spawn
	s.Spawn = func(l *Launch) (Invocation, error) {
		inv, err := spawn(l)
		*dir = l.Dir
		inv.Args = []string{l.File("secret", []byte("s3cret")), l.File("deep/er/config", []byte("c0nfig"))}
		if also != nil {
			also(l, &inv)
		}
		return inv, err
	}
	return dir
}

func gone(t *testing.T, dir string) {
	t.Helper()
	if dir == "" {
		t.Error("Spawn was not called")
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there (%v)", dir, err)
	}
}

func TestPrivateFiles(t *testing.T) {
	t.Parallel()
	spec := fakeSpec(t, "files")
	dir := withFile(&spec, nil)
	req := request()
	req.Run.RunID = "01JD0000000000000000000000"
	o := execute(t, t.Context(), New(spec, Options{}), req, closedInbox(), func(e execution.Event) {
		if e.Body.Type() != "text_delta" {
			return
		}
		if info, err := os.Stat(*dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("private directory: %v, %v", info, err)
		}
	})
	if got, want := o.text(), "-rw------- s3cret|-rw------- c0nfig|"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if base := filepath.Base(*dir); !strings.HasPrefix(base, "drawbar-01JD0000000000000000000000-") {
		t.Errorf("the directory is called %s", base)
	}
	gone(t, *dir)
}

func TestPrivateFilesGoEvenIfNothingStarts(t *testing.T) {
	t.Parallel()
	spec := fakeSpec(t, "simple")
	dir := withFile(&spec, nil)
	runner := func(context.Context, process.Spec) (process.Handle, error) {
		if _, err := os.Stat(*dir); err != nil {
			t.Errorf("the files are not there at the start: %v", err)
		}
		return nil, &process.StartError{Path: "x", Reason: process.ErrNotExecutable}
	}
	o := execute(t, t.Context(), New(spec, Options{Runner: runner}), request(), closedInbox(), nil)
	if o.result.Error.ErrorCode() != execution.CodeSpawn || o.types()[0] != "crash" {
		t.Errorf("%+v %v", o.result.Error, o.types())
	}
	gone(t, *dir)
}

// A run id is part of the directory's name; one that is no run id must not choose the directory.
func TestPrivateDirectoryIsOurs(t *testing.T) {
	t.Parallel()
	spec := fakeSpec(t, "files")
	dir := withFile(&spec, nil)
	req := request()
	req.Run.RunID = "x/../../victim"
	execute(t, t.Context(), New(spec, Options{}), req, closedInbox(), nil)
	if strings.Contains(*dir, "victim") || filepath.Dir(*dir) != filepath.Clean(os.TempDir()) {
		t.Errorf("the private directory is %s", *dir)
	}
	for _, name := range []string{"../x", "/etc/x", "", "."} {
		spec := fakeSpec(t, "files")
		withFile(&spec, func(l *Launch, _ *Invocation) { l.File(name, nil) })
		o := execute(t, t.Context(), New(spec, Options{}), req, closedInbox(), nil)
		if o.result.Error == nil || o.result.Error.Code != execution.FailureBackendExecution {
			t.Errorf("file %q: %+v", name, o.result.Error)
		}
	}
}
