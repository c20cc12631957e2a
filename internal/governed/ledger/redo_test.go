package ledger

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

// redoText is a line of the redo log.
func redoText(json string) string {
	return fmt.Sprintf("%x %s\n", sha256.Sum256([]byte(json)), json)
}

// beforeTheFailure opens a project on a machine that has gone down since.
func beforeTheFailure(o *Options) { o.boot = "the boot before" }

// withoutKept leaves out what recovery saved elsewhere.
func withoutKept(files map[string]string) map[string]string {
	maps.DeleteFunc(files, func(f, _ string) bool { return strings.HasPrefix(f, keptDir+"/") })
	return files
}

// TestPowerFailure commits transactions, gives each file any of the contents that a disk may have when the machine goes down (that
// before one of the transactions, a part of the newest, zeros), takes back moves, and recovers.
func TestPowerFailure(t *testing.T) {
	t.Parallel()
	restored := 0
	for seed := range 24 {
		rng := rand.New(rand.NewPCG(uint64(seed), 11))
		root := prepared(t)
		versions := []map[string]string{snapshot(t, root)}
		l := open(t, root, beforeTheFailure)
		last := 2 + rng.IntN(4)
		for n := 2; n <= last; n++ {
			if n == last && seed%3 == 0 {
				break
			}
			commit(t, l, accept(root, n))
			versions = append(versions, snapshot(t, root))
		}
		closeLedger(t, l)
		if seed%3 == 0 { // the last one was interrupted
			crashBefore(t, root, 2+rng.IntN(18), func(l *Ledger) error { return l.Commit(context.Background(), accept(root, last)) })
			versions = append(versions, snapshot(t, root))
		}
		want := wholeRecord(t, root, last)
		lose(t, rng, root, versions)

		v, err := Read(root)
		if err != nil {
			t.Fatalf("seed %d: a reader: %v", seed, err)
		}
		if v.State.TurnSequence != last {
			t.Fatalf("seed %d: a reader sees turn %d, want %d", seed, v.State.TurnSequence, last)
		}
		l = open(t, root)
		if slices.Contains(whats(l.Notes()), "restored") {
			restored++
		}
		wantSame(t, fmt.Sprintf("seed %d", seed), withoutKept(snapshot(t, root)), want)
		if info, err := os.Stat(filepath.Join(root, filepath.FromSlash(redoFile))); err != nil || seed%3 != 0 && info.Size() != 0 {
			t.Errorf("seed %d: the log does not begin again: %v", seed, err)
		}
		closeLedger(t, l)
		wantVerified(t, root)
		l = open(t, root)
		if notes := l.Notes(); len(notes) > 0 {
			t.Errorf("seed %d: opened again: %+v", seed, notes)
		}
		commit(t, l, accept(root, last+1))
		closeLedger(t, l)
		if t.Failed() {
			return
		}
	}
	if restored < 12 {
		t.Errorf("only %d of the failures lost anything", restored)
	}
}

// crashBefore is crashAt before the machine went down.
func crashBefore(t *testing.T, root string, number int, fn func(*Ledger) error) {
	t.Helper()
	l := open(t, root, beforeTheFailure)
	l.disk.crash = func(p string) {
		if number--; number < 0 {
			panic(crashed{p})
		}
	}
	defer func() {
		_ = recover()
		abandon(l)
	}()
	if err := fn(l); err != nil {
		t.Error(err)
	}
}

// wholeRecord gives the files of a record with the turns up to last, all of which have been carried out.
func wholeRecord(t *testing.T, like string, last int) map[string]string {
	t.Helper()
	root := t.TempDir()
	for file, content := range snapshot(t, like) {
		write(t, root, file, content)
	}
	data, err := os.ReadFile(filepath.Join(like, filepath.FromSlash(redoFile)))
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, redoFile, string(data))
	l := open(t, root, beforeTheFailure)
	if l.View().State.TurnSequence != last {
		t.Fatalf("the record has %d turns, want %d", l.View().State.TurnSequence, last)
	}
	closeLedger(t, l)
	return withoutKept(snapshot(t, root))
}

// lose makes of a project what a disk might have of it.
func lose(t *testing.T, rng *rand.Rand, root string, versions []map[string]string) {
	t.Helper()
	durable, newest := versions[0], versions[len(versions)-1]
	for _, file := range slices.Sorted(maps.Keys(newest)) {
		if strings.HasPrefix(file, protocol.ArchiveDir+"/") || strings.Contains(file, "turn_") || file == refFile {
			continue
		}
		content := newest[file]
		if old, ok := durable[file]; ok && old == content {
			continue
		}
		lines := strings.HasSuffix(file, ".jsonl")
		switch rng.IntN(4) {
		case 0:
			old, ok := versions[rng.IntN(len(versions))][file]
			if !ok {
				remove(t, root, file)
				continue
			}
			content = old
		case 1:
			from := 0
			if lines {
				from = len(durable[file])
			}
			content = content[:from+rng.IntN(len(content)-from+1)]
		case 2:
			if from := len(durable[file]); lines && from < len(content) {
				at := from + rng.IntN(len(content)-from)
				content = content[:at] + strings.Repeat("\x00", len(content)-at)
			}
		}
		write(t, root, file, content)
	}
	for n := 2; n < 10; n++ {
		archived := filepath.Join(root, filepath.FromSlash(protocol.ArchiveDir), turnID(n))
		if _, err := os.Stat(archived); err != nil || rng.IntN(2) == 0 {
			continue
		}
		staging := filepath.Join(root, filepath.FromSlash(protocol.StagingDir))
		for _, move := range [][2]string{{archived + "/staging", staging + "/" + turnID(n)}, {archived, filepath.Join(root, filepath.FromSlash(protocol.BundleDir(turnID(n))))}} {
			if err := os.Rename(move[0], move[1]); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
}

// TestWhatOthersChangedSinceStays asks what would be restored of transactions whose files have changed in ways that no failure explains.
func TestWhatOthersChangedSinceStays(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(t *testing.T, root string)
		want   []string
	}{
		"nothing":                         {func(*testing.T, string) {}, nil},
		"lines of another program":        {func(t *testing.T, root string) { grow(t, root, protocol.HistoryFile, "{}\n") }, nil},
		"a state of another program":      {func(t *testing.T, root string) { write(t, root, protocol.StateFile, `{"status":"idle"}`) }, nil},
		"a file from before all of it":    {func(t *testing.T, root string) { write(t, root, protocol.HistoryFile, "") }, nil},
		"a text that a person has edited": {func(t *testing.T, root string) { write(t, root, protocol.TalkFile, "mine\n") }, nil},
		"a state with zeros":              {func(t *testing.T, root string) { write(t, root, protocol.StateFile, "{\x00\x00") }, []string{protocol.StateFile}},
		"an empty text":                   {func(t *testing.T, root string) { write(t, root, protocol.TalkFile, "") }, []string{protocol.TalkFile}},
		"a session that is gone":          {func(t *testing.T, root string) { remove(t, root, protocol.SessionFile) }, []string{protocol.SessionFile}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := prepared(t)
			l := open(t, root, beforeTheFailure)
			commit(t, l, accept(root, 2))
			commit(t, l, accept(root, 3))
			closeLedger(t, l)
			tc.change(t, root)
			d, err := openDisk(root, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer d.root.Close()
			r, err := readRedo(d)
			if err != nil || len(r.lost) != 2 {
				t.Fatalf("%d transactions, %v", len(r.lost), err)
			}
			j, err := missing(d, r.lost)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			if j != nil {
				for _, s := range j.Files {
					got = append(got, s.File)
				}
				for _, s := range j.Appends {
					got = append(got, s.File)
				}
			}
			wantSame(t, "files", got, tc.want)
		})
	}
}

func grow(t *testing.T, root, file, lines string) {
	t.Helper()
	write(t, root, file, load(t, root, file)+lines)
}

// TestTheLogBeginsAgain counts what is in the log, and sees that everything is flushed before it is dropped.
func TestTheLogBeginsAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before func(t *testing.T, l *Ledger, root string)
		tx     string
		again  bool
	}{
		"usually it goes on":  {nil, "state", false},
		"the boot is unknown": {func(_ *testing.T, l *Ledger, _ string) { l.disk.boot = "" }, "state", true},
		"a file is removed":   {nil, "reject", true},
		"there are many":      {func(_ *testing.T, l *Ledger, _ string) { l.redo.mark.Count = redoCount - 1 }, "state", true},
		"they are long":       {nil, "long", true},
		"another program has written": {func(t *testing.T, _ *Ledger, root string) {
			grow(t, root, protocol.EventsFile, `{"event_id":"x"}`+"\n")
		}, "assign", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := prepared(t)
			l := open(t, root)
			commit(t, l, Tx{Kind: "first", Now: clock, State: stateAt(6), Events: []protocol.Event{event(2, "turn_dispatched")}})
			if tc.before != nil {
				tc.before(t, l, root)
			}
			var points []string
			l.disk.crash = func(p string) { points = append(points, p) }
			all := kinds(root)
			all["long"] = func() Tx {
				return Tx{Kind: "long", Now: clock, State: stateAt(6), Files: map[string][]byte{protocol.TalkFile: make([]byte, redoBytes)}}
			}
			commit(t, l, all[tc.tx]())
			shortened := slices.Index(points, "shorten "+redoFile)
			if (shortened >= 0) != tc.again {
				t.Fatalf("%v", points)
			}
			if flushed := slices.Index(points, "sync "+protocol.EventsFile); tc.again && (flushed < 0 || flushed > shortened) {
				t.Errorf("dropped before everything was flushed: %v", points)
			}
			closeLedger(t, l)
			if l := open(t, root); len(l.Notes()) > 0 && name != "another program has written" {
				t.Error("there are notes")
			}
		})
	}
}

// TestTheLogIsNoRegularFile: a link, a folder or a pipe in its place is refused, and nothing waits for it.
func TestTheLogIsNoRegularFile(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]func(path string) error{
		"a folder": func(path string) error { return os.Mkdir(path, 0o755) },
		"a link":   func(path string) error { return os.Symlink("elsewhere", path) },
		"a pipe":   func(path string) error { return exec.Command("mkfifo", path).Run() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := prepared(t)
			path := filepath.Join(root, filepath.FromSlash(redoFile))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := place(path); err != nil {
				t.Skip("SKIPPED: ", err)
			}
			if _, err := Read(root); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
				t.Errorf("a reader: %v", err)
			}
			if _, err := Open(t.Context(), root, options(root)); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
				t.Errorf("a writer: %v", err)
			}
		})
	}
}

// TestReadDuringAWrite: a reader that comes while a line of the log is being written reads again once the line is longer. One that was
// never finished keeps nobody.
func TestReadDuringAWrite(t *testing.T) {
	t.Parallel()
	for _, half := range []string{"", "0123456789abcdef", "0123 {}\n"} {
		root := prepared(t)
		l := open(t, root)
		commit(t, l, accept(root, 2))
		closeLedger(t, l)
		d, err := openDisk(root, nil)
		if err != nil {
			t.Fatal(err)
		}
		before := load(t, root, redoFile)
		write(t, root, redoFile, before+half)
		state, err := d.root.Stat(protocol.StateFile)
		if err != nil {
			t.Fatal(err)
		}
		log, err := readRedo(d)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := unchanged(d, nil, state, log); !same || err != nil {
			t.Errorf("%q: a log that stays is %v, %v", half, same, err)
		}
		write(t, root, redoFile, before+half+"f")
		if same, err := unchanged(d, nil, state, log); same || err != nil {
			t.Errorf("%q: a log that grows is %v, %v", half, same, err)
		}
		if err := d.root.Close(); err != nil {
			t.Error(err)
		}
	}
}
