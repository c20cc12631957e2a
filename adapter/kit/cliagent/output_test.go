//go:build unix

package cliagent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// outputParser keeps what the agent wrote into its files.
type outputParser struct {
	lineParser
	early, file, folder, none []byte
}

func (p *outputParser) Line(src process.Stream, line []byte, s *Sink) {
	p.early = s.Output("usage.json")
	p.lineParser.Line(src, line, s)
}

func (p *outputParser) Exit(exit process.Exit, s *Sink) execution.Result {
	p.file, p.folder, p.none = s.Output("usage.json"), s.Output("folder"), s.Output("never")
	return p.lineParser.Exit(exit, s)
}

// TestOutputs: what an agent writes into its files is there at the end, its parser is there at the start, and nothing stays on
// the disk.
func TestOutputs(t *testing.T) {
	t.Parallel()
	spec := fakeSpec(t, "output")
	p := &outputParser{lineParser: lineParser{oneShot: true}}
	spec.NewParser = func(execution.Request) Parser { return p }
	var dir string
	spawn := spec.Spawn
	spec.Spawn = func(l *Launch) (Invocation, error) {
		if l.Parser != Parser(p) {
			t.Error("the launch does not know the run's parser")
		}
		inv, err := spawn(l)
		dir = l.Dir
		inv.Args = []string{l.Output("usage.json"), l.Output("folder"), l.Output("never")}
		return inv, err
	}
	execute(t, t.Context(), New(spec, Options{}), request(), closedInbox(), nil)
	if p.early != nil || string(p.file) != "what I used" || p.folder != nil || p.none != nil {
		t.Errorf("early %q, file %q, folder %q, none %q", p.early, p.file, p.folder, p.none)
	}
	gone(t, dir)
}

func TestOutputNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../x", "a/b", "", ".", "/etc/passwd"} {
		spec := fakeSpec(t, "files")
		spawn := spec.Spawn
		spec.Spawn = func(l *Launch) (Invocation, error) {
			l.Output(name)
			return spawn(l)
		}
		o := execute(t, t.Context(), New(spec, Options{}), request(), closedInbox(), nil)
		if o.result.Error.ErrorCode() != execution.CodeInternal {
			t.Errorf("%q: %+v", name, o.result.Error)
		}
	}
}

// TestLocate: the program that is started may be another than the one that was found.
func TestLocate(t *testing.T) {
	t.Parallel()
	spec := fakeSpec(t, "output")
	real := spec.Command
	spec.Command = "/bin/false"
	found := ""
	spec.Locate = func(path string) string {
		found = path
		return real
	}
	spawn := spec.Spawn
	spec.Spawn = func(l *Launch) (Invocation, error) {
		inv, err := spawn(l)
		inv.Args = []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
		return inv, err
	}
	o := execute(t, t.Context(), New(spec, Options{}), request(), closedInbox(), nil)
	if found != "/bin/false" || o.text() != "wrote it|" {
		t.Errorf("found %s, said %q", found, o.text())
	}
}

// TestTooLongOutput: a file that is larger than any account of a run counts as not written.
func TestTooLongOutput(t *testing.T) {
	t.Parallel()
	l := &Launch{Dir: t.TempDir()}
	path := l.Output("big")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxOutput+1); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", l.Output("link")); err != nil {
		t.Fatal(err)
	}
	if found := l.collect(); len(found) != 0 {
		t.Errorf("read %d files", len(found))
	}
}
