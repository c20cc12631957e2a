package session

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/sessions"
)

// filled has four sessions, the latest d.
func filled(t *testing.T) *lab {
	l := newLab(t)
	at := func(n int) time.Time { return day.AddDate(0, 0, n) }
	l.write("a", record{Role: "user", Text: "first", At: at(0), Cwd: "/work", Model: "opus-5", USD: new(float64(2))}, record{Role: "assistant", Text: "yes", At: at(0)})
	l.write("b", record{Role: "user", Text: "second", At: at(1), Cwd: "/work/sub", Model: "gpt-5"}, record{Role: "user", Text: "again", At: at(1)}, record{Role: "user", Text: "more", At: at(1)})
	l.write("c", record{Role: "user", Text: "third", At: at(2), Cwd: "/workshop", Model: "Opus-4", USD: new(0.5)}, record{Role: "user", Text: "again", At: at(2)})
	l.write("d", record{Role: "assistant", Text: "hello", At: at(3), Cwd: "/other"})
	return l
}

func TestQuery(t *testing.T) {
	t.Parallel()
	l := filled(t)
	l.tags = map[string][]string{"fake:a": {"red", "blue"}, "fake:c": {"blue"}, "fake:d": {"green"}}
	for _, c := range []struct {
		name string
		q    sessions.Query
		want string
	}{
		{"all, the latest first", sessions.Query{}, "dcba"},
		{"ascending", sessions.Query{Ascending: true}, "abcd"},
		{"limit", sessions.Query{Limit: 2}, "dc"},
		{"since", sessions.Query{Since: day.AddDate(0, 0, 2)}, "dc"},
		{"until", sessions.Query{Until: day.AddDate(0, 0, 1)}, "a"},
		{"model, in either case", sessions.Query{Model: "OPUS"}, "ca"},
		{"cwd and below, not beside", sessions.Query{Cwd: "/work"}, "ba"},
		{"cwd with a slash", sessions.Query{Cwd: "/work/"}, "ba"},
		{"root", sessions.Query{Cwd: "/"}, "dcba"},
		{"one tag", sessions.Query{Tags: []string{"blue"}}, "ca"},
		{"any of two tags", sessions.Query{Tags: []string{"red", "green"}}, "da"},
		{"a tag of none", sessions.Query{Tags: []string{"black"}}, ""},
		{"agent", sessions.Query{Agent: "fake"}, "dcba"},
		{"alias", sessions.Query{Agent: "faker"}, "dcba"},
		{"by turns", sessions.Query{Sort: sessions.ByTurns}, "bcad"},
		{"by turns, ascending", sessions.Query{Sort: sessions.ByTurns, Ascending: true}, "dacb"},
		{"by cost, the unknown last", sessions.Query{Sort: sessions.ByCost}, "acdb"},
		{"by cost, ascending, the unknown last", sessions.Query{Sort: sessions.ByCost, Ascending: true}, "cadb"},
		{"several", sessions.Query{Model: "opus", Cwd: "/work", Tags: []string{"red"}}, "a"},
	} {
		if got := strings.Join(l.list(c.q), ""); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	listing, err := l.store.List(t.Context(), sessions.Query{Limit: 1})
	if err != nil || listing.Total != 4 || !slices.Equal(listing.Sessions[0].Tags, []string{"green"}) {
		t.Errorf("total %d, %+v, %v", listing.Total, listing.Sessions, err)
	}
	if _, err := l.store.List(t.Context(), sessions.Query{Agent: "nobody"}); execution.CodeOf(err) != execution.CodeCapability || !strings.Contains(err.Error(), "fake") {
		t.Errorf("an unknown agent: %v", err)
	}
}

// TestIncremental: what did not change is not looked at again, by the same process and by another.
func TestIncremental(t *testing.T) {
	t.Parallel()
	l := filled(t)
	for range 2 {
		l.list(sessions.Query{})
	}
	if *l.fake.summarized != 4 {
		t.Errorf("%d summaries of 4 sessions", *l.fake.summarized)
	}
	l.open()
	l.list(sessions.Query{})
	if *l.fake.summarized != 0 {
		t.Errorf("another process made %d summaries", *l.fake.summarized)
	}
	l.write("b", record{Role: "user", Text: "changed", At: day.AddDate(0, 0, 9)})
	l.write("e", record{Role: "user", Text: "new", At: day.AddDate(0, 0, 8)})
	if err := os.Remove(l.path("c")); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(l.list(sessions.Query{}), ""); got != "beda" || *l.fake.summarized != 2 {
		t.Errorf("%s after %d summaries", got, *l.fake.summarized)
	}
	// A file of the same size with another time is another one.
	text, err := os.ReadFile(l.path("d"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.path("d"), bytes.Replace(text, []byte("/other"), []byte("/OTHER"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(l.path("d"), time.Now(), time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if got := l.list(sessions.Query{Cwd: "/OTHER"}); len(got) != 1 {
		t.Errorf("the changed file is not seen: %v", got)
	}
}

// TestCounted: large sessions are read whole only when their turns are asked for, and once.
func TestCounted(t *testing.T) {
	t.Parallel()
	l := filled(t)
	l.fake.neverSummarizeAbove = 1
	listing, err := l.store.List(t.Context(), sessions.Query{})
	if err != nil || listing.Sessions[0].TurnCount != nil || *l.fake.read != 0 {
		t.Fatalf("%v, %d read, %v", listing.Sessions[0].TurnCount, *l.fake.read, err)
	}
	if got := strings.Join(l.list(sessions.Query{Sort: sessions.ByTurns}), ""); got != "bcad" || *l.fake.read != 4 {
		t.Errorf("%s after %d read", got, *l.fake.read)
	}
	l.list(sessions.Query{Sort: sessions.ByTurns})
	if listing, err = l.store.List(t.Context(), sessions.Query{}); err != nil || listing.Sessions[0].TurnCount == nil || *l.fake.read != 4 {
		t.Errorf("%d read, %v", *l.fake.read, err)
	}
}

// TestBadSessions: what cannot be read is in the list, with the reason.
func TestBadSessions(t *testing.T) {
	t.Parallel()
	l := filled(t)
	if err := errors.Join(os.Mkdir(l.path("dir"), 0o700), os.WriteFile(l.path("bad"), []byte("no\n"), 0o600), os.WriteFile(filepath.Join(l.dir, "store", "x.txt"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	listing, err := l.store.List(t.Context(), sessions.Query{})
	if err != nil || len(listing.Sessions) != 6 || len(listing.Problems) != 1 {
		t.Fatalf("%d sessions, problems %v, %v", len(listing.Sessions), listing.Problems, err)
	}
	told := map[string]string{}
	for _, s := range listing.Sessions {
		for _, p := range s.Problems {
			told[s.SessionID] = p.String()
		}
	}
	if told["dir"] != l.path("dir")+": is a directory" || told["bad"] != l.path("bad")+": is no JSON" {
		t.Errorf("told %v", told)
	}
	if _, err := l.store.Get(t.Context(), "fake:dir"); execution.CodeOf(err) != execution.CodeSessionNotFound || !strings.Contains(err.Error(), l.path("dir")) {
		t.Errorf("get: %v", err)
	}
}

// TestProcesses: several processes index one store at the same time.
func TestProcesses(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const inIndex, processes = 700, 4
	for i := range inIndex {
		l.write(fmt.Sprintf("s%04d", i), record{Role: "user", Text: "x", At: day.Add(time.Duration(i) * time.Minute)})
	}
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), processDir+"="+l.dir)
			out, err := cmd.CombinedOutput()
			if want := fmt.Sprintf("%d %d <nil>\n", inIndex, inIndex); err != nil || string(out) != want {
				t.Errorf("a process says %q, %v", out, err)
			}
		})
	}
	wg.Wait()
	if l.list(sessions.Query{}); *l.fake.summarized != 0 {
		t.Errorf("%d sessions were not in the index", *l.fake.summarized)
	}
}

// TestDamagedIndex: the index is moved aside and built anew, whatever is wrong with it.
func TestDamagedIndex(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"garbage": func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("garbage "), 5000), 0o600) },
		"cut":     func(path string) error { return os.Truncate(path, 5000) },
		"overwritten": func(path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, 12000), 4096)
			return errors.Join(err, f.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := filled(t)
			for i := range 300 {
				l.write(fmt.Sprintf("s%d", i), record{Role: "user", Text: strings.Repeat("x", 300)})
			}
			l.list(sessions.Query{})
			l.store.Close()
			if err := spoil(filepath.Join(l.dir, "state", databaseName)); err != nil {
				t.Fatal(err)
			}
			l.open()
			if got := l.list(sessions.Query{}); len(got) != 304 {
				t.Errorf("%d sessions", len(got))
			}
			aside, _ := filepath.Glob(filepath.Join(l.dir, "state", databaseName+".corrupt-*"))
			if len(aside) == 0 || !strings.Contains(l.log.String(), "moved aside") {
				t.Errorf("%v was moved aside; log: %s", aside, l.log.String())
			}
		})
	}
}

// TestUnusableIndex: without a place for the index every session is looked at anew.
func TestUnusableIndex(t *testing.T) {
	t.Parallel()
	l := filled(t)
	if err := os.WriteFile(filepath.Join(l.dir, "state"), nil, 0o600); err != nil { // a file where the directory would be
		t.Fatal(err)
	}
	if got := l.list(sessions.Query{}); len(got) != 4 || !strings.Contains(l.log.String(), "cannot be used") {
		t.Errorf("%v; log: %s", got, l.log.String())
	}
}

func TestPrivate(t *testing.T) {
	t.Parallel()
	l := filled(t)
	l.list(sessions.Query{})
	info, err := os.Stat(filepath.Join(l.dir, "state", databaseName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: titles of sessions are not for everybody", info.Mode(), err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, id := range []string{"abc-1", "abc-2", "abc", "xyz-12345", "we:ird"} {
		l.write(id, record{Role: "user", Text: id})
	}
	for _, c := range []struct {
		id, want string
		code     execution.ErrorCode
		says     string
	}{
		{id: "fake:abc-1", want: "abc-1"},
		{id: "faker:abc-1", want: "abc-1"},
		{id: "fake:abc", want: "abc"},
		{id: "xyz", want: "xyz-12345"},
		{id: "fake:xyz", want: "xyz-12345"},
		{id: "fake:we:ird", want: "we:ird"},
		{id: "fake:ab", code: execution.CodeValidation, says: "fake:abc-1"},
		{id: "fake:nothing", code: execution.CodeSessionNotFound, says: "sessions list"},
		{id: "fake:", code: execution.CodeValidation},
		{id: "", code: execution.CodeValidation},
		{id: "other:abc", code: execution.CodeCapability, says: "other"},
		{id: "fake:%", code: execution.CodeSessionNotFound},
		{id: "fake:../x", code: execution.CodeSessionNotFound},
		{id: "fake:'; DROP TABLE files; --", code: execution.CodeSessionNotFound},
	} {
		s, err := l.store.Get(t.Context(), c.id)
		if c.code == "" && (err != nil || s.SessionID != c.want) || c.code != "" && (execution.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%q: %s, %v", c.id, s.SessionID, err)
		}
	}
}

func TestGetTags(t *testing.T) {
	t.Parallel()
	l := filled(t)
	l.tags = map[string][]string{"fake:a": {"red"}}
	s, err := l.store.Get(t.Context(), "fake:a")
	if err != nil || !slices.Equal(s.Tags, []string{"red"}) || s.Messages[0].Role != history.RoleUser {
		t.Errorf("%v, %v", s.Tags, err)
	}
}

// BenchmarkList10000 lists 10,000 sessions that are in the index, as a fresh process would.
func BenchmarkList10000(b *testing.B) {
	dir := b.TempDir()
	root := filepath.Join(dir, "store")
	if err := os.Mkdir(root, 0o700); err != nil {
		b.Fatal(err)
	}
	for i := range 10000 {
		line := fmt.Sprintf(`{"role":"user","text":"question number %d","at":"2026-11-01T12:00:00Z","cwd":"/work/p%d","model":"opus"}`+"\n", i, i%50)
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("%08d-1111-4111-8111-111111111111.jsonl", i)), []byte(line), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	run := func() {
		s := Open(Options{Sources: []Source{fakeSource(root)}, Host: host(), Dir: filepath.Join(dir, "state")})
		l, err := s.List(b.Context(), sessions.Query{Limit: 100})
		if err != nil || l.Total != 10000 {
			b.Fatal(l.Total, err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	run()
	for b.Loop() {
		run()
	}
}

// TestUnreadStore: a store that cannot be listed for the moment is one problem, and its sessions stay listed.
func TestUnreadStore(t *testing.T) {
	t.Parallel()
	l := filled(t)
	if got := strings.Join(l.list(sessions.Query{}), ""); got != "dcba" {
		t.Fatal(got)
	}
	lock := filepath.Join(l.dir, "store", "LOCKED")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := l.store.List(t.Context(), sessions.Query{})
	if err != nil || len(list.Sessions) != 4 || list.Total != 4 || len(list.Problems) != 1 || list.Problems[0].Message != "is locked" {
		t.Errorf("%d sessions of %d, problems %v, %v", len(list.Sessions), list.Total, list.Problems, err)
	}
	if found, err := l.store.Search(t.Context(), sessions.SearchQuery{Text: "first"}); err != nil || len(found.Problems) != 1 || len(found.Hits) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(l.list(sessions.Query{}), ""); got != "dcba" {
		t.Error(got)
	}
}
