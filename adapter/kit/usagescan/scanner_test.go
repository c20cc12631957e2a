package usagescan

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// letters is a format: lines that begin with a + are worth reading, and name a model.
type letters struct{ Seen int }

func (*letters) Relevant(head []byte) bool { return bytes.HasPrefix(head, []byte("+")) }
func (l *letters) Memory() any             { return l }

func (l *letters) Line(line []byte, give func(*history.UsageRecord)) bool {
	if bytes.HasSuffix(line, []byte("!")) {
		return false
	}
	l.Seen++
	give(&history.UsageRecord{Model: string(line[1:]), Output: int64(l.Seen)})
	return true
}

func models(records []history.UsageRecord) string {
	var s []string
	for _, r := range records {
		s = append(s, r.Model)
	}
	return strings.Join(s, " ")
}

func TestScanner(t *testing.T) {
	huge := strings.Repeat("x", 3*HeadSize)
	for _, tc := range []struct {
		name, text, want string
		bad              int
		badAt, boundary  int64
	}{
		{"lines", "+a\n-b\n+c\n", "a c", 0, 0, 9},
		{"without the last end", "+a\n+b", "a b", 0, 0, 3},
		{"carriage returns", "+a\r\n\r\n+b\r\n", "a b", 0, 0, 10},
		{"bad ones", "+a\n+no!\n+b\n+no!\n", "a b", 2, 3, 16},
		{"half a line at the end is not bad", "+a\n+no!", "a", 0, 0, 3},
		{"long lines that are passed over", "-" + huge + "\n+a\n-" + huge + "\n+b\n", "a b", 0, 0, int64(2*len(huge) + 10)},
		{"a long line at the end", "+a\n-" + huge, "a", 0, 0, 3},
		{"long lines that are read", "+" + huge + "\n+a\n", huge + " a", 0, 0, int64(len(huge) + 5)},
		{"empty", "", "", 0, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, piece := range []int{1, 3, HeadSize, HeadSize + 1, 1 << 20} {
				s := New(&letters{})
				var got []history.UsageRecord
				give := func(r *history.UsageRecord) { got = append(got, *r) }
				var held []byte
				for rest := []byte(tc.text); len(rest) > 0; {
					n := min(piece, len(rest))
					held = append(held, rest[:n]...)
					rest = rest[n:]
					held = held[s.Scan(held, false, give):]
				}
				boundary := s.Boundary()
				s.Scan(held, true, give)
				bad, badAt := s.Bad()
				if models(got) != tc.want || bad != tc.bad || badAt != tc.badAt || boundary != tc.boundary {
					t.Errorf("in pieces of %d: got %.80q, %d bad at %d, boundary %d", piece, models(got), bad, badAt, boundary)
				}
			}
		})
	}
}

// A huge line that is passed over is never held in memory.
func TestScannerHoldsNothingOfSkippedLines(t *testing.T) {
	s := New(&letters{})
	for range 100 {
		if done := s.Scan(bytes.Repeat([]byte("-"), 1<<16), false, nil); done != 1<<16 {
			t.Fatalf("%d bytes done", done)
		}
	}
}

func TestMemory(t *testing.T) {
	a := New(&letters{})
	a.Scan([]byte("+a\n+b\n"), false, func(*history.UsageRecord) {})
	b := New(&letters{})
	if !b.Restore(a.State()) || b.Restore([]byte("{")) {
		t.Fatal("want its own state and no other")
	}
	b.Scan([]byte("+c\n"), false, func(r *history.UsageRecord) {
		if r.Output != 3 {
			t.Errorf("the third line is number %d", r.Output)
		}
	})
}

func FuzzMillis(f *testing.F) {
	for _, s := range []string{"2026-11-20T11:44:18.706Z", "2024-02-29T23:59:59.999Z", "2023-02-29T00:00:00.000Z", "2026-01-31T10:00:00+02:00", "1999-12-31T24:00:00.000Z", "0001-01-01T00:00:00.000Z", "2026-11-20t11:44:18.706Z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "\"\\\n") {
			return
		}
		v, err := jsonscan.Parse([]byte(`"` + s + `"`))
		if err != nil {
			return
		}
		want := int64(0)
		if m, err := time.Parse(time.RFC3339Nano, s); err == nil {
			want = max(m.UnixMilli(), 0)
		}
		if _, plain := v.Plain(); !plain {
			want = 0
		}
		if got := max(Millis(v), 0); got != want {
			t.Fatalf("%q: got %d, want %d", s, got, want)
		}
	})
}

func TestMillisEveryDay(t *testing.T) {
	for d := time.Date(1999, 1, 1, 13, 14, 15, 167e6, time.UTC); d.Year() < 2060; d = d.AddDate(0, 0, 1) {
		v, err := jsonscan.Parse([]byte(d.Format(`"2006-01-02T15:04:05.000Z"`)))
		if err != nil {
			t.Fatal(err)
		}
		if got := Millis(v); got != d.UnixMilli() {
			t.Fatalf("%s: got %d, want %d", d, got, d.UnixMilli())
		}
	}
	if v, _ := jsonscan.Parse([]byte("1795175284932")); Millis(v) != 1795175284932 {
		t.Error("a number of milliseconds")
	}
}

func TestHash(t *testing.T) {
	seen := map[history.UsageKey]string{}
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"a"}, {"a", "b"}, {"ab"}, {"ab", ""}, {"12345678"}, {"12345678", ""}, {"12345678\x00"}, {"1234567"}} {
		h, g := new(Hash), new(Hash)
		for _, p := range parts {
			h.Text(p)
			g.Bytes([]byte(p))
		}
		if h.Key() != g.Key() || h.Sum() == 0 || h.Key() == (history.UsageKey{}) {
			t.Errorf("%q: text and bytes differ", parts)
		}
		if other, ok := seen[h.Key()]; ok {
			t.Errorf("%q and %s have one key", parts, other)
		}
		seen[h.Key()] = strings.Join(parts, "|")
	}
	// Keys are kept in files.
	if k := new(Hash).Text("drawbar").Int(7).Key(); k != (history.UsageKey{241, 74, 163, 249, 199, 250, 184, 240, 249, 192, 121, 48, 15, 171, 3, 155}) {
		t.Errorf("the hash has changed: %v", k)
	}
}
