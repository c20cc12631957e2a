package runstore

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/drawbar/drawbar/execution"
	redactor "github.com/drawbar/drawbar/internal/base/secret"
)

// The keys below are made up; their pieces are joined here so that no scanner takes them for real ones.
var keys = map[string]string{
	"openai":     "sk-" + "proj-Ab3dEf6hIj9kLm2nOp5q",
	"anthropic":  "sk-" + "ant-api03-aaaaBBBBccccDDDD1111",
	"github":     "ghp_" + "abcdefghij0123456789abcdefghij012345",
	"github new": "github_pat_" + "11ABCDEFG0abcdefghijkl_mnop",
	"gitlab":     "glpat-" + "abcdefghij0123456789",
	"aws":        "AKIA" + "IOSFODNN7EXAMPLE",
	"slack":      "xoxb-" + "123456789012-abcdef",
	"google":     "AIza" + "SyA0123456789abcdefghijklmnopqrstuv",
	"npm":        "npm_" + "abcdefghij0123456789abcdefghij012345",
	"jwt":        "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijk",
}

// streamed records text in pieces of the given size and gives everything that reached the disk.
func streamed(t *testing.T, text string, size int, known []string, make func(string) execution.Body) string {
	t.Helper()
	dir := stateDir(t)
	s := open(t, dir, Options{})
	w := begin(t, s, Meta{Secrets: known})
	for rest := text; rest != ""; {
		n := min(size, len(rest))
		for n < len(rest) && !utf8.RuneStart(rest[n]) {
			n++
		}
		w.Append(execution.Event{Time: time.Now(), Body: make(rest[:n]), Raw: json.RawMessage(fmt.Sprintf("%q", rest[:n]))})
		w.Append(execution.Event{Time: time.Now(), Body: execution.Debug{Level: execution.DebugInfo, Message: "between"}})
		rest = rest[n:]
	}
	if err := w.Finish(execution.Result{Status: execution.StatusCompleted}); err != nil {
		t.Fatal(err)
	}
	var joined strings.Builder
	got, errs := events(t, s, string(w.meta.RunID), 0, false)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	last := uint64(0)
	for _, e := range got {
		if e.Seq <= last {
			t.Fatalf("seq %d after %d", e.Seq, last)
		}
		last = e.Seq
		if _, d, ok := deltaOf(e); ok {
			joined.WriteString(d)
			if acc, ok := accumulatedOf(e.Body); ok && acc != joined.String() {
				t.Fatalf("accumulated %q, want %q", acc, joined.String())
			}
		}
	}
	return joined.String()
}

// A model says a key in pieces of a few letters: no piece shows it, the stream must not either.
func TestSecretsInStreams(t *testing.T) {
	t.Parallel()
	bodies := map[string]func(string) execution.Body{
		"text":     func(d string) execution.Body { return execution.TextDelta{Delta: d} },
		"thinking": func(d string) execution.Body { return execution.ThinkingDelta{Delta: d} },
		"input":    func(d string) execution.Body { return execution.ToolInputDelta{ToolCallID: "c", Delta: d} },
		"stdout":   func(d string) execution.Body { return execution.ShellStdoutDelta{ToolCallID: "c", Delta: d} },
		"stderr":   func(d string) execution.Body { return execution.ShellStderrDelta{ToolCallID: "c", Delta: d} },
	}
	const known = "the-known ☃ value"
	for kind, body := range bodies {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for size := 1; size <= 7; size++ {
				text := "key " + keys["anthropic"] + " and " + known + ", Bearer abcdefgh12345678; sk-learn the-known ☃ vault ghp_"
				want := "key [REDACTED] and [REDACTED], Bearer [REDACTED]; sk-learn the-known ☃ vault ghp_"
				if got := streamed(t, text, size, []string{known}, body); got != want {
					t.Errorf("pieces of %d: got %q, want %q", size, got, want)
				}
			}
			if got := streamed(t, "tail "+keys["github"], 5, nil, body); got != "tail [REDACTED]" {
				t.Errorf("at the end: got %q", got)
			}
		})
	}
}

// A stream that stops in the middle of what may be a secret keeps nothing back for long, and gives nothing telling away.
func TestHoldEnds(t *testing.T) {
	t.Parallel()
	const secret = "the-known-value"
	now := time.Now()
	at := func(d time.Duration) time.Time { return now.Add(d) }
	delta := func(d string) execution.Event { return execution.Event{Body: execution.TextDelta{Delta: d}} }
	texts := func(events []execution.Event) (s string) {
		for _, e := range events {
			_, d, _ := deltaOf(e)
			s += d
		}
		return s
	}
	for _, c := range []struct{ name, first, kept, later, want string }{
		{"telling", "a the-known", "a [REDACTED]", "-value b", "[REDACTED] b"},
		{"telling, but nothing", "a the-known", "a [REDACTED]", " b", " b"},
		{"harmless", "a the", "a the", "-known-value b", "[REDACTED] b"},
		{"harmless and nothing", "a the", "a the", " end", " end"},
		{"nothing kept", "a word", "a word", " c", " c"},
	} {
		h := newHold(redactor.New([]string{secret}))
		h.push(delta(c.first), now)
		h.push(execution.Event{Body: execution.Aborted{}}, now)
		early, wait := h.ready(at(time.Millisecond))
		if c.name == "nothing kept" {
			if len(early) != 2 || wait != 0 {
				t.Errorf("%s: %d events, wait %v", c.name, len(early), wait)
			}
		} else if len(early) != 0 || wait <= 0 || wait > holdLimit {
			t.Errorf("%s: %d events, wait %v", c.name, len(early), wait)
		}
		late, wait := h.ready(at(holdLimit))
		if got := texts(append(early, late...)); got != c.kept || wait != 0 || len(early)+len(late) != 2 {
			t.Errorf("%s: got %q, wait %v, want %q", c.name, got, wait, c.kept)
		}
		h.push(delta(c.later), at(holdLimit))
		h.endAll()
		rest, _ := h.ready(at(holdLimit))
		if got := texts(rest); got != c.want {
			t.Errorf("%s: then got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestHoldIsBounded(t *testing.T) {
	t.Parallel()
	h := newHold(redactor.New(nil))
	now := time.Now()
	h.push(execution.Event{Body: execution.TextDelta{Delta: "eyJ"}}, now)
	for range 3 * holdEvents {
		h.push(execution.Event{Body: execution.Aborted{}}, now)
	}
	if out, wait := h.ready(now); len(out) != 3*holdEvents+1 || wait != 0 {
		t.Errorf("%d events are ready, wait %v", len(out), wait)
	}
	h.push(execution.Event{Body: execution.TextDelta{Delta: "eyJ" + strings.Repeat("a", 10*holdBytes)}}, now)
	if out, wait := h.ready(now); len(out) != 1 || wait != 0 {
		t.Errorf("%d events are ready, wait %v", len(out), wait)
	}
}

// Nothing of a run is written with a secret in it: prompt, tags, events, result, row, run index.
func TestNoSecretOnDisk(t *testing.T) {
	t.Parallel()
	const value = `p4ss "word" <of> mine`
	dir := stateDir(t)
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := begin(t, s, Meta{Prompt: strings.Repeat("x", 190) + value + keys["aws"], Tags: []string{value, keys["npm"]}, Model: keys["google"], ProjectID: value, Secrets: []string{value}})
	add := func(b execution.Body) { w.Append(execution.Event{Time: time.Now(), Body: b}) }
	input, _ := json.Marshal(map[string]string{"command": "curl -H 'Authorization: Bearer " + keys["openai"] + "' " + value})
	add(execution.SessionStart{SessionID: value})
	add(execution.ToolCallReady{ToolCallID: "c", ToolName: "sh", Input: input})
	add(execution.ToolResultEvent{ToolCallID: "c", Output: json.RawMessage(fmt.Sprintf("%q", string(input)))})
	add(execution.MessageStop{Text: value + " " + keys["slack"]})
	r := resultOf(1)
	r.Text, r.Error = value, execution.NewResultError(execution.CodeAuth, "refused "+keys["github"])
	r.Model, r.SessionID = keys["jwt"], value
	r.Metadata = map[string]any{"header": "Bearer " + keys["gitlab"]}
	add(execution.Finished{Result: r})
	if err := w.Finish(r); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	all := written(t, dir)
	for name, key := range keys {
		if strings.Contains(all, key) {
			t.Errorf("the %s key is on the disk", name)
		}
	}
	for _, form := range []string{value, `p4ss`, `of> mine`} {
		if strings.Contains(all, form) {
			t.Errorf("%q is on the disk", form)
		}
	}
	if r.Text != value || r.Error.Message != "refused "+keys["github"] {
		t.Error("the caller's result was changed")
	}
}
