package ledger

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

// record is a project with n accepted turns, and the heads of its checkpoints, newest first.
func recordOf(t testing.TB, n int) (root string, heads []string) {
	t.Helper()
	root = t.TempDir()
	l := open(t, root)
	for i := 1; i <= n; i++ {
		tx := accept(root, i)
		make := tx.Checkpoint
		tx.Checkpoint = func(chain []byte, head string) (Checkpoint, error) {
			heads = append([]string{head}, heads...)
			return make(chain, head)
		}
		commit(t, l, tx)
	}
	closeLedger(t, l)
	return root, heads
}

// edit changes the lines of a file.
func edit(t testing.TB, root, file string, change func([]string) []string) {
	t.Helper()
	write(t, root, file, strings.Join(change(lines(t, root, file)), "\n")+"\n")
}

// rechain makes a chain anew over what is there, as somebody would who wants to hide a change.
func rechain(t testing.TB, root string) {
	t.Helper()
	if err := os.Remove(filepath.Join(root, filepath.FromSlash(protocol.ChainFile))); err != nil {
		t.Fatal(err)
	}
	d, err := openDisk(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.root.Close()
	tail := &chainTail{ends: map[string]int64{}}
	out, _, _, err := tail.begin(d, protocol.At(clock), map[string]int64{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range chained() {
		var all [][]byte
		for _, l := range lines(t, root, file) {
			all = append(all, []byte(l+"\n"))
		}
		if out, err = tail.cover(out, file, 0, all); err != nil {
			t.Fatal(err)
		}
	}
	write(t, root, protocol.ChainFile, string(out))
}

// sameOfACopy: a copy that is not here yet, of which the files that differ from those here came along, has the same break.
func sameOfACopy(t *testing.T, here, root string) {
	t.Helper()
	c := Copy{Files: map[string][]byte{}}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !Copied(name) {
			return err
		}
		c.Names = append(c.Names, name)
		if content := load(t, root, name); content != load(t, here, name) {
			c.Files[name] = []byte(content)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(c.Names)
	want, err := Verify(t.Context(), root, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := VerifyCopy(t.Context(), here, c, 0)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("of a copy: %+v %v, want %+v", got, err, want)
	}
}

func TestVerifyNamesTheFirstBrokenLine(t *testing.T) {
	t.Parallel()
	const turns = 30 // enough for marks
	const archived = protocol.ArchiveDir + "/turn_0000000000000001/PROMPT.md"
	whole, heads := recordOf(t, turns)
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, root string)
		want Break // Kind, File, Line
		says string
	}{
		{"an edited past line", func(t *testing.T, root string) {
			edit(t, root, protocol.HistoryFile, func(l []string) []string { l[4] = strings.Replace(l[4], "turn 5", "turn 6", 1); return l })
		}, Break{Kind: "edited", File: protocol.HistoryFile, Line: 5}, "line was changed"},
		{"an edited line of the same length, and a later one", func(t *testing.T, root string) {
			edit(t, root, protocol.EventsFile, func(l []string) []string {
				l[9], l[60] = strings.ToUpper(l[9]), strings.ToUpper(l[60])
				return l
			})
		}, Break{Kind: "edited", File: protocol.EventsFile, Line: 10}, ""},
		{"a cut tail", func(t *testing.T, root string) {
			edit(t, root, protocol.LedgerFile, func(l []string) []string { return l[:len(l)-3] })
		}, Break{Kind: "cut", File: protocol.LedgerFile, Line: 58}, "were written"},
		{"a tail cut within a line", func(t *testing.T, root string) {
			s := load(t, root, protocol.RunHistoryFile)
			write(t, root, protocol.RunHistoryFile, s[:len(s)-20])
		}, Break{Kind: "cut", File: protocol.RunHistoryFile, Line: 30}, "20 more were written"},
		{"a newline taken away", func(t *testing.T, root string) {
			s := load(t, root, protocol.HistoryFile)
			write(t, root, protocol.HistoryFile, s[:len(s)-1])
		}, Break{Kind: "cut", File: protocol.HistoryFile, Line: 30}, ""},
		{"an inserted line", func(t *testing.T, root string) {
			edit(t, root, protocol.RepoLedgerFile, func(l []string) []string {
				return append(l[:6:6], append([]string{`{"id":"DEC-999"}`}, l[6:]...)...)
			})
		}, Break{Kind: "inserted", File: protocol.RepoLedgerFile, Line: 7}, "follows it"},
		{"a line added at the end", func(t *testing.T, root string) {
			edit(t, root, protocol.LedgerFile, func(l []string) []string { return append(l, `{"id":"DEC-999"}`) })
		}, Break{Kind: "inserted", File: protocol.LedgerFile, Line: 61}, "not written by drawbar"},
		{"half a line at the end", func(t *testing.T, root string) {
			write(t, root, protocol.HistoryFile, load(t, root, protocol.HistoryFile)+`{"turn_id":"turn`)
		}, Break{Kind: "torn", File: protocol.HistoryFile, Line: 31}, "last line is incomplete"},
		{"a removed line", func(t *testing.T, root string) {
			edit(t, root, protocol.HistoryFile, func(l []string) []string { return append(l[:2:2], l[3:]...) })
		}, Break{Kind: "removed", File: protocol.HistoryFile, Line: 3}, "is missing"},
		{"a missing file", func(t *testing.T, root string) {
			os.Remove(filepath.Join(root, filepath.FromSlash(protocol.EventsFile)))
		}, Break{Kind: "missing", File: protocol.EventsFile, Line: 1}, "missing"},
		{"an archived file changed", func(t *testing.T, root string) {
			write(t, root, archived, "changed")
		}, Break{Kind: "edited", File: archived}, "differs from what was archived"},
		{"an archived file missing", func(t *testing.T, root string) {
			os.Remove(filepath.Join(root, filepath.FromSlash(archived)))
		}, Break{Kind: "missing", File: archived}, "missing"},
		{"an escalation edited", func(t *testing.T, root string) {
			edit(t, root, protocol.EscalationsFile, func(l []string) []string { l[0] = `{}`; return l })
		}, Break{Kind: "edited", File: protocol.EscalationsFile, Line: 1}, ""},
		{"a missing chain", func(t *testing.T, root string) {
			os.Remove(filepath.Join(root, filepath.FromSlash(protocol.ChainFile)))
		}, Break{Kind: "missing", File: protocol.ChainFile}, "chain is missing"},
		{"an edited entry of the chain", func(t *testing.T, root string) {
			edit(t, root, protocol.ChainFile, func(l []string) []string { l[7] = strings.Replace(l[7], `"length":`, `"length":1`, 1); return l })
		}, Break{Kind: "chain", File: protocol.ChainFile, Line: 8}, "hash"},
		{"an entry of the chain removed", func(t *testing.T, root string) {
			edit(t, root, protocol.ChainFile, func(l []string) []string { return append(l[:7:7], l[8:]...) })
		}, Break{Kind: "chain", File: protocol.ChainFile, Line: 8}, "does not follow"},
		{"the beginning of the chain removed", func(t *testing.T, root string) {
			edit(t, root, protocol.ChainFile, func(l []string) []string { return l[1:] })
		}, Break{Kind: "chain", File: protocol.ChainFile, Line: 1}, ""},
		{"a chain that lost its end", func(t *testing.T, root string) {
			edit(t, root, protocol.ChainFile, func(l []string) []string { return l[:len(l)-25] })
		}, Break{Kind: "cut", File: protocol.ChainFile}, "the chain was truncated"},
		{"a torn chain", func(t *testing.T, root string) {
			s := load(t, root, protocol.ChainFile)
			write(t, root, protocol.ChainFile, s[:len(s)-9])
		}, Break{Kind: "torn", File: protocol.ChainFile}, ""},
		{"a rewritten sidecar over an edited line", func(t *testing.T, root string) {
			edit(t, root, protocol.HistoryFile, func(l []string) []string { l[4] = strings.Replace(l[4], "turn 5", "turn 6", 1); return l })
			rechain(t, root)
		}, Break{Kind: "rewritten", File: protocol.ChainFile, Line: 1}, "rewritten"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			if err := os.CopyFS(root, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			if r := wantVerified(t, root, heads...); !r.Begun || r.Heads != turns || r.Entries != 13*turns+3 {
				t.Fatalf("before: %+v", r)
			}
			tc.do(t, root)
			r, err := Verify(t.Context(), root, heads)
			if err != nil || r.OK || r.Broken == nil {
				t.Fatalf("got %+v, %v", r, err)
			}
			b := *r.Broken
			if b.Kind != tc.want.Kind || b.File != tc.want.File || tc.want.Line != 0 && b.Line != tc.want.Line || !strings.Contains(b.Message, tc.says) {
				t.Errorf("got %+v, want %+v with %q", b, tc.want, tc.says)
			}
			sameOfACopy(t, whole, root)
			// The next command is not kept from its work, and the break stays.
			if b.Kind == "chain" || b.Kind == "torn" && b.File == protocol.ChainFile {
				return
			}
			o := options(root)
			if tc.name == "a chain that lost its end" {
				if _, err := Open(t.Context(), root, o); err == nil || !strings.Contains(err.Error(), "lost its end") {
					t.Errorf("nothing vouches for the state, and opening says %v", err)
				}
				o.AdoptState = true
			}
			l, err := Open(t.Context(), root, o)
			if err != nil {
				t.Fatal(err)
			}
			next := l.View().State.TurnSequence + 1
			commit(t, l, accept(root, next))
			closeLedger(t, l)
			r, err = Verify(t.Context(), root, heads)
			if err != nil {
				t.Fatal(err)
			}
			switch tc.name {
			case "half a line at the end", "a newline taken away":
				if !r.OK {
					t.Errorf("it is mended, and verify says %+v", r.Broken)
				}
			case "a line added at the end":
				if len(r.Adopted) != 1 || r.Adopted[0] != (Adopted{protocol.LedgerFile, 61, 1}) || !r.OK {
					t.Errorf("adopted %+v, broken %+v", r.Adopted, r.Broken)
				}
			default:
				if r.OK {
					t.Error("the break is gone after the next transaction")
				}
			}
		})
	}
}

// TestALongLineIsRemoved: the file ends before the removed line would have ended, and is not cut all the same.
func TestALongLineIsRemoved(t *testing.T) {
	t.Parallel()
	root, _ := recordOf(t, 3)
	edit(t, root, protocol.HistoryFile, func(l []string) []string {
		l[1] = "{" + strings.Repeat(" ", 2*len(l[2])) + l[1][1:]
		return l
	})
	rechain(t, root)
	edit(t, root, protocol.HistoryFile, func(l []string) []string { return append(l[:1:1], l[2]) })
	r, err := Verify(t.Context(), root, nil)
	if err != nil || r.Broken == nil || r.Broken.Kind != "removed" || r.Broken.Line != 2 {
		t.Errorf("got %+v, %v", r.Broken, err)
	}
}

// TestChainBeginsOverAProjectOfTheOriginal covers what stood there by one entry.
func TestChainBeginsOverAProjectOfTheOriginal(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, protocol.StateFile, `{"schema_version":"1.1","run_id":"run_1","status":"active","phase":"qa","turn_sequence":2}`)
	write(t, root, protocol.HistoryFile, `{"turn_id":"turn_a","run_id":"run_1"}`+"\n"+`{"turn_id":"turn_b","run_id":"run_1"}`+"\n")
	write(t, root, protocol.LedgerFile, `{"id":"DEC-001","turn_id":"turn_a"}`+"\n"+`{"id":"DEC-001","turn_id":"turn_b"}`+"\n")
	if r := wantVerified(t, root); r.Begun {
		t.Errorf("a chain before the first transaction: %+v", r)
	}
	l := open(t, root)
	commit(t, l, accept(root, 3))
	commit(t, l, accept(root, 4))
	closeLedger(t, l)
	r := wantVerified(t, root)
	if r.Files[0].Lines != 4 || r.Files[0].File != protocol.HistoryFile {
		t.Errorf("files %+v", r.Files)
	}
	edit(t, root, protocol.HistoryFile, func(l []string) []string { l[1] = strings.Replace(l[1], "turn_b", "turn_c", 1); return l })
	r, err := Verify(t.Context(), root, nil)
	if err != nil || r.OK || r.Broken.File != protocol.HistoryFile || !strings.Contains(r.Broken.Message, "lines 1 to 2") {
		t.Errorf("got %+v, %v", r.Broken, err)
	}
}

func TestLongChainIsReadFromItsEnd(t *testing.T) {
	t.Parallel()
	root, _ := recordOf(t, 60)
	d, err := openDisk(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.root.Close()
	tail, err := readTail(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range chained() {
		if want := int64(len(load(t, root, file))); tail.ends[file] != want {
			t.Errorf("%s ends at %d, want %d", file, tail.ends[file], want)
		}
	}
	if all := lines(t, root, protocol.ChainFile); tail.seq != int64(len(all)) || tail.seq-tail.mark > markEvery+8 || // a transaction ends with a few entries of its own
		tail.whole[protocol.SessionFile] == "" || tail.mark == 1 {
		t.Errorf("%d lines, next %d, mark %d", len(all), tail.seq, tail.mark)
	}
}
