package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/sessions"
)

func (l *lab) search(q sessions.SearchQuery) sessions.SearchResult {
	l.t.Helper()
	r, err := l.store.Search(l.t.Context(), q)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

func ids(r sessions.SearchResult) string {
	var b strings.Builder
	for _, h := range r.Hits {
		b.WriteString(h.SessionID)
	}
	return b.String()
}

func TestSearch(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	at := func(n int) time.Time { return day.AddDate(0, 0, n) }
	l.write("a", record{Role: "user", Text: "Fix the Flaky test", At: at(0), Model: "opus", Cwd: "/work"}, record{Role: "assistant", Text: "the flaky one", At: at(0), USD: new(float64(1))})
	l.write("b", record{Role: "user", Text: "hello", At: at(1), USD: new(float64(9))}, record{Role: "tool", Tool: "bash", Output: "flaky: 3 \"quoted\" a/b", At: at(1)})
	l.write("c", record{Role: "user", Text: "größer ÄRGER kilo", At: at(2)}, record{Role: "assistant", Tool: "Write", Text: "tab\there", At: at(2)})
	l.write("d", record{Role: "user", Text: "日本語のテスト", At: at(3)})
	if err := os.WriteFile(l.path("e"), []byte(`{"role":"user","text":"\u0066\u006caky too, and \u65e5\u672c","at":"2026-11-05T12:00:00Z"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.tags = map[string][]string{"fake:b": {"red"}}
	for _, c := range []struct {
		name, text string
		q          sessions.Query
		want       string
	}{
		{"relevance: title and prompt before tools", "flaky", sessions.Query{}, "aeb"},
		{"in either case", "FLAKY", sessions.Query{}, "aeb"},
		{"ascending", "flaky", sessions.Query{Ascending: true}, "bea"},
		{"by date", "flaky", sessions.Query{Sort: sessions.ByDate}, "eba"},
		{"by cost", "flaky", sessions.Query{Sort: sessions.ByCost}, "bae"},
		{"limit", "flaky", sessions.Query{Limit: 1}, "a"},
		{"since", "flaky", sessions.Query{Since: at(1)}, "eb"},
		{"model", "flaky", sessions.Query{Model: "opus"}, "a"},
		{"tag", "flaky", sessions.Query{Tags: []string{"red"}}, "b"},
		{"cwd", "flaky", sessions.Query{Cwd: "/work"}, "a"},
		{"several words", "flaky test", sessions.Query{}, "a"},
		{"what JSON writes with a backslash", `3 "quoted" a/b`, sessions.Query{}, "b"},
		{"quotes only", `"`, sessions.Query{}, "cb"},
		{"a tab", "tab\there", sessions.Query{}, "c"},
		{"letters beyond ASCII in either case", "ärger", sessions.Query{}, "c"},
		{"a kelvin sign is a k", "\u212a\u0069lo", sessions.Query{}, "c"},
		{"no case at all", "日本", sessions.Query{}, "ed"},
		{"the name of a tool", "write", sessions.Query{}, "c"},
		{"the input of a tool", `a"b`, sessions.Query{}, "c"},
		{"what is only in the JSON", "role", sessions.Query{}, ""},
		{"nothing", "zebra", sessions.Query{}, ""},
	} {
		r := l.search(sessions.SearchQuery{Query: c.q, Text: c.text})
		if got := ids(r); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	r := l.search(sessions.SearchQuery{Text: "flaky"})
	if h := r.Hits[0]; h.Matches != 2 || h.Message != 0 || h.Role != history.RoleUser || h.Snippet != "Fix the Flaky test" || h.RelevanceScore != 16 || r.Searched != 5 || r.Total != 3 {
		t.Errorf("%+v of %d in %d", h, r.Total, r.Searched)
	}
	// What is new is found at once.
	l.write("d", record{Role: "user", Text: "zebra"})
	if got := ids(l.search(sessions.SearchQuery{Text: "zebra"})); got != "d" {
		t.Errorf("new content: %q", got)
	}
	if _, err := l.store.Search(t.Context(), sessions.SearchQuery{Text: "  "}); execution.CodeOf(err) != execution.CodeValidation {
		t.Errorf("no text: %v", err)
	}
}

// TestSearchBad: what could not be searched is told.
func TestSearchBad(t *testing.T) {
	t.Parallel()
	l := filled(t)
	if err := os.Mkdir(l.path("dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := l.search(sessions.SearchQuery{Text: "first"})
	if ids(r) != "a" || len(r.Problems) != 1 || r.Problems[0].Path != l.path("dir") || !strings.Contains(r.Problems[0].Message, "was not searched") {
		t.Errorf("%s, %v", ids(r), r.Problems)
	}
}

// TestPrefilter: looking at bytes never passes over a file that has the text, however the reads fall.
func TestPrefilter(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"needle", "NeeDle", "x", "日本語", "a\"b", "tab\tx", "K", "Straße", "ﬁ", "İ", "<b>&", "a/b", "\u2028", "né"} {
		n := newNeedle(text)
		for _, written := range []string{text, strings.ToUpper(text), strings.ToLower(text), "before " + text + " behind"} {
			if !n.in(written) {
				continue
			}
			plain, err := json.Marshal(written)
			if err != nil {
				t.Fatal(err)
			}
			var raw bytes.Buffer
			e := json.NewEncoder(&raw)
			e.SetEscapeHTML(false)
			if err := e.Encode(written); err != nil {
				t.Fatal(err)
			}
			var escaped strings.Builder
			for _, r := range written {
				if r < 0x10000 {
					fmt.Fprintf(&escaped, `\u%04X`, r)
				} else {
					escaped.WriteRune(r)
				}
			}
			for _, form := range []string{string(plain), raw.String(), escaped.String(), strings.Repeat("y", 256<<10-3) + raw.String()} {
				for _, r := range []func() (bool, error){
					func() (bool, error) { return n.mayBeIn(strings.NewReader(form)) },
					func() (bool, error) { return n.mayBeIn(iotest.HalfReader(strings.NewReader(form))) },
				} {
					if may, err := r(); !may || err != nil {
						t.Errorf("%q is said not to be in %.80q (%v)", text, form, err)
					}
				}
			}
		}
	}
	if may, err := newNeedle("needle").mayBeIn(strings.NewReader(strings.Repeat(`{"text":"hay\u001b[0m \u0007"}`, 50000))); may || err != nil {
		t.Errorf("a file without it is taken apart: %v", err)
	}
}

func FuzzPrefilter(f *testing.F) {
	f.Add("needle", "a needle")
	f.Add("\"", "\\\"")
	f.Add("K", "k")
	f.Fuzz(func(t *testing.T, text, written string) {
		n := newNeedle(text)
		if n.folded == "" || !n.in(written) {
			return
		}
		b, err := json.Marshal(written)
		if err != nil {
			return
		}
		var back string
		if json.Unmarshal(b, &back) != nil || !n.in(back) {
			return // what is no UTF-8 does not survive
		}
		if may, _ := n.mayBeIn(bytes.NewReader(b)); !may {
			t.Fatalf("%q is said not to be in %q", text, b)
		}
	})
}

func TestSnippet(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 200) + " needle\n  " + strings.Repeat("ö", 200)
	_, got := newNeedle("NEEDLE").places(long)
	if !strings.HasPrefix(got, "…ä") || !strings.HasSuffix(got, "ö…") || !strings.Contains(got, "ä needle ö") || len(got) > 200 {
		t.Errorf("%q", got)
	}
}
