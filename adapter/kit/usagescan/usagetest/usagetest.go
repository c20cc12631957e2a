// Package usagetest tests adapters that read session files: goldens of real files, and properties that hold for any
// bytes.
package usagetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/history"
)

// Host is a machine whose home directory is a test data folder.
func Host(t testing.TB, home string, env map[string]string) adapter.Host {
	t.Helper()
	abs, err := filepath.Abs(home)
	if err != nil {
		t.Fatal(err)
	}
	h := oshost.New(nil)
	h.Home = filepath.ToSlash(abs)
	h.Getenv = func(name string) string { return env[name] }
	return h
}

// Files lists the session files of an agent.
func Files(t testing.TB, log adapter.UsageLog, h adapter.Host) (files []history.UsageFile) {
	t.Helper()
	for _, store := range log.UsageStores(h) {
		name, err := h.Name(store.Root)
		if err != nil {
			t.Fatal(err)
		}
		_ = fs.WalkDir(h.FS, name, func(p string, d fs.DirEntry, err error) error {
			rel := strings.TrimPrefix(strings.TrimPrefix(p, name), "/")
			switch {
			case err != nil || rel == "":
			case d.IsDir() && store.Enter != nil && !store.Enter(rel):
				return fs.SkipDir
			case !d.IsDir() && store.Match(rel):
				files = append(files, history.UsageFile{Root: filepath.ToSlash(store.Root), Rel: rel})
			}
			return nil
		})
	}
	return files
}

// Scan reads data in pieces of a size; 0 reads it at once.
func Scan(s adapter.UsageScanner, data []byte, piece int) (records []history.UsageRecord) {
	give := func(r *history.UsageRecord) { records = append(records, *r) }
	var held []byte
	for len(data) > 0 {
		n := len(data)
		if piece > 0 {
			n = min(piece, n)
		}
		held = append(held, data[:n]...)
		data = data[n:]
		done := s.Scan(held, false, give)
		rest := bytes.Clone(held[done:])
		clear(held) // results must not depend on the buffer
		held = rest
	}
	s.Scan(held, true, give)
	return records
}

// Golden scans the files below home and compares the records and their sums with a golden file; update rewrites it.
func Golden(t *testing.T, log adapter.UsageLog, home, golden string, update bool) {
	t.Helper()
	h := Host(t, home, nil)
	files := Files(t, log, h)
	if len(files) == 0 {
		t.Fatalf("no session files below %s", home)
	}
	var got bytes.Buffer
	for _, f := range files {
		data, err := os.ReadFile(filepath.FromSlash(f.Path()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "# %s\n", strings.TrimPrefix(f.Path(), h.Home+"/"))
		scanner := log.NewUsageScanner(t.Context(), h, f)
		for _, r := range Scan(scanner, data, 0) {
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			got.Write(append(b, '\n'))
		}
		if bad, at := scanner.Bad(); bad > 0 {
			t.Errorf("%s: %d bad lines, the first at byte %d", f.Rel, bad, at)
		}
		Robust(t, func() adapter.UsageScanner { return log.NewUsageScanner(t.Context(), h, f) }, data)
	}
	if update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got.Bytes()) {
		t.Errorf("records differ from %s; got\n%s", golden, got.Bytes())
	}
}

// Robust checks properties of any bytes: counts are not negative, piece sizes do not matter, and a scan may stop at
// any boundary and resume from its state.
func Robust(t testing.TB, scanner func() adapter.UsageScanner, data []byte) {
	t.Helper()
	whole := scanner()
	want := Scan(whole, data, 0)
	for i, r := range want {
		if min(r.Input, r.Output, r.Thinking, r.CacheRead, r.CacheWrite, r.CacheWrite1h, r.Time) < 0 || r.Thinking > r.Output || !(r.Cost >= 0) {
			t.Fatalf("record %d: %+v", i, r)
		}
	}
	bad, at := whole.Bad()
	for _, piece := range []int{1, 7, 100, 513, 4096} {
		if len(data)/piece > 20_000 {
			continue
		}
		s := scanner()
		if got := Scan(s, data, piece); !same(got, want) {
			t.Fatalf("in pieces of %d: got %d records, want %d:\n%+v\n%+v", piece, len(got), len(want), got, want)
		}
		if b, a := s.Bad(); b != bad || a != at {
			t.Fatalf("in pieces of %d: %d bad lines at %d, want %d at %d", piece, b, a, bad, at)
		}
	}
	cut := len(data) / 2
	first := scanner()
	var got []history.UsageRecord
	give := func(r *history.UsageRecord) { got = append(got, *r) }
	first.Scan(data[:cut], false, give)
	second := scanner()
	if !second.Restore(first.State()) {
		t.Fatalf("the state %q is refused", first.State())
	}
	got = append(got, Scan(second, data[first.Boundary():], 0)...)
	if !same(got, want) {
		t.Fatalf("resumed at byte %d of %d: got %d records, want %d", first.Boundary(), len(data), len(got), len(want))
	}
}

func same(a, b []history.UsageRecord) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Fuzz is a fuzz target with the files below home as seeds.
func Fuzz(f *testing.F, log adapter.UsageLog, home string) {
	h := Host(f, home, nil)
	file := history.UsageFile{Root: path.Join(h.Home, "none"), Rel: "a/chats/session.jsonl"}
	for _, s := range Files(f, log, h) {
		file = s
		data, err := os.ReadFile(filepath.FromSlash(s.Path()))
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			if len(line) < 4096 {
				f.Add(append(bytes.Clone(line), '\n'))
			}
		}
		f.Add(data[:min(len(data), 20_000)])
	}
	f.Add([]byte("{\"type\":\"user\"\n{\n\n\r\n{}[]\x00\xff\n{\"type\":\"assistant\",\"message\":{\"usage\":{\"input_tokens\":-1,\"output_tokens\":1e400}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		Robust(t, func() adapter.UsageScanner { return log.NewUsageScanner(t.Context(), h, file) }, data)
	})
}

// Bench measures a scanner on data in an agent's format.
func Bench(b *testing.B, log adapter.UsageLog, data []byte) {
	h := Host(b, b.TempDir(), nil)
	f := history.UsageFile{Root: h.Home, Rel: "a/chats/session.jsonl"}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		s := log.NewUsageScanner(b.Context(), h, f)
		n = 0
		s.Scan(data, true, func(*history.UsageRecord) { n++ })
	}
	if n == 0 {
		b.Fatal("no records found")
	}
	b.ReportMetric(float64(n), "records")
}
