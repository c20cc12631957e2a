package runstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/execution/deltas"
	"github.com/google/go-cmp/cmp"
)

// story is a run with every kind of accumulated text, sub-agents between, and one text that does not follow from its pieces.
func story() []execution.Event {
	at := time.UnixMilli(1_700_000_000_000).UTC()
	var out []execution.Event
	add := func(parent string, bodies ...execution.Body) {
		for _, b := range bodies {
			at = at.Add(time.Millisecond)
			out = append(out, execution.Event{Seq: uint64(len(out) + 1), Time: at, RunID: "01", Agent: "fake", Parent: parent, Body: b})
		}
	}
	add("", execution.SessionStart{SessionID: "s1", Model: "m"}, execution.TurnStart{}, execution.ThinkingStart{},
		execution.ThinkingDelta{Delta: "hm", Accumulated: "hm"}, execution.ThinkingDelta{Delta: "!", Accumulated: "hm!"}, execution.ThinkingStop{Thinking: "hm!"},
		execution.MessageStart{}, execution.TextDelta{Delta: "Hello", Accumulated: "Hello"})
	add("t1", execution.TextDelta{Delta: "sub", Accumulated: "sub"})
	add("", execution.TextDelta{Delta: " wörld", Accumulated: "Hello wörld"})
	add("t1", execution.TextDelta{Delta: "agent", Accumulated: "subagent"}, execution.MessageStop{Text: "subagent"})
	add("", execution.TextDelta{Delta: "again", Accumulated: "elsewhere again"}, execution.TextDelta{Delta: ".", Accumulated: "elsewhere again."}, execution.MessageStop{Text: "x"},
		execution.TextDelta{Delta: "bare", Accumulated: "bare"},
		execution.ToolCallStart{ToolCallID: "c1", ToolName: "w", InputAccumulated: "{"}, execution.ToolCallStart{ToolCallID: "c2", ToolName: "w"},
		execution.ToolInputDelta{ToolCallID: "c1", Delta: `"a":`, InputAccumulated: `{"a":`}, execution.ToolInputDelta{ToolCallID: "c2", Delta: "{}", InputAccumulated: "{}"},
		execution.ToolInputDelta{ToolCallID: "c1", Delta: "1}", InputAccumulated: `{"a":1}`},
		execution.ToolCallReady{ToolCallID: "c1", ToolName: "w", Input: json.RawMessage(`{"a":1}`)}, execution.TurnEnd{},
		execution.Finished{Result: resultOf(1)})
	return out
}

func TestEventsComeBack(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	s := open(t, dir, Options{})
	w := begin(t, s, Meta{})
	want := story()
	for _, e := range want {
		w.Append(e)
	}
	if err := w.Finish(resultOf(1)); err != nil {
		t.Fatal(err)
	}
	got, errs := events(t, s, string(w.meta.RunID), 0, false)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if d := cmp.Diff(toJSON(t, want), toJSON(t, got)); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	for _, after := range []uint64{1, 10, 14, uint64(len(want))} {
		got, _ := events(t, s, string(w.meta.RunID), after, true)
		if d := cmp.Diff(toJSON(t, want[after:]), toJSON(t, append([]execution.Event{}, got...))); d != "" {
			t.Errorf("events after %d (-want +got):\n%s", after, d)
		}
	}
	// What follows from the pieces is not stored.
	if stored := written(t, w.dir); strings.Contains(stored, "Hello wörld") || strings.Contains(stored, `{\"a\":1}`) {
		t.Error("accumulated texts are stored")
	}
}

// A message in many pieces must cost the space of its pieces, not of all its beginnings.
func TestSpaceIsLinear(t *testing.T) {
	t.Parallel()
	s := open(t, stateDir(t), Options{})
	size := func(pieces int) int64 {
		w := begin(t, s, Meta{})
		say(w, pieces, 0)
		if err := w.Finish(resultOf(1)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(w.dir, segmentName(1)))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if small, large := size(200), size(2000); large > 12*small {
		t.Errorf("10 times the pieces take %.1f times the space", float64(large)/float64(small))
	}
}

func TestFollowAcrossSegments(t *testing.T) {
	t.Parallel()
	const pieces = 400
	s := open(t, stateDir(t), Options{SegmentBytes: 2000, FlushEvery: time.Millisecond})
	w := begin(t, s, Meta{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		say(w, pieces, 300*time.Microsecond)
		w.Append(execution.Event{Time: time.Now(), Body: execution.Finished{Result: resultOf(1)}})
		if err := w.Finish(resultOf(1)); err != nil {
			t.Error(err)
		}
	}()
	got, errs := events(t, s, string(w.meta.RunID), 0, true)
	<-done
	if len(errs) > 0 || len(got) != pieces+5 {
		t.Fatalf("%d events, %v", len(got), errs)
	}
	for i, e := range got {
		if e.Seq != uint64(i+1) {
			t.Fatalf("event %d has seq %d", i, e.Seq)
		}
	}
	last := got[pieces+3].Body.(execution.TextDelta)
	if want := fmt.Sprintf("piece %d;", pieces-1); !strings.HasSuffix(last.Accumulated, want) || strings.Count(last.Accumulated, ";") != pieces {
		t.Errorf("the text across segments ends in %q", last.Accumulated[max(0, len(last.Accumulated)-40):])
	}
	segments, err := filepath.Glob(filepath.Join(w.dir, "events-*.jsonl"))
	if err != nil || len(segments) < 10 {
		t.Errorf("%d segments, %v", len(segments), err)
	}
	for _, path := range segments {
		b, err := os.ReadFile(path)
		if err != nil || len(b) == 0 || len(b) > 2000 || b[len(b)-1] != '\n' {
			t.Errorf("%s: %d bytes, %v", path, len(b), err)
		}
	}
}

// An event longer than a segment has one to itself.
func TestLongEvent(t *testing.T) {
	t.Parallel()
	s := open(t, stateDir(t), Options{SegmentBytes: 1000})
	w := begin(t, s, Meta{})
	long := strings.Repeat("x", 3<<20)
	for _, text := range []string{"a", long, "b"} {
		w.Append(execution.Event{Time: time.Now(), Body: execution.MessageStop{Text: text}})
	}
	if err := w.Finish(resultOf(1)); err != nil {
		t.Fatal(err)
	}
	got, errs := events(t, s, string(w.meta.RunID), 0, false)
	if len(got) != 3 || len(errs) > 0 || got[1].Body.(execution.MessageStop).Text != long {
		t.Errorf("%d events, %v", len(got), errs)
	}
}

func TestEventsAreWrittenSoon(t *testing.T) {
	t.Parallel()
	s := open(t, stateDir(t), Options{})
	w := begin(t, s, Meta{})
	start := time.Now()
	w.Append(execution.Event{Time: start, Body: execution.MessageStop{Text: "now"}})
	path := filepath.Join(w.dir, segmentName(1))
	for {
		if b, _ := os.ReadFile(path); bytes.HasSuffix(b, []byte("\n")) {
			break
		}
		if time.Since(start) > 5*time.Second {
			t.Fatal("not written")
		}
		time.Sleep(time.Millisecond)
	}
	t.Logf("written after %v", time.Since(start))
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// What is written between a reader's look at a segment and its look for the next one belongs to the first.
func TestLastLookAtASegment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(segmentName(1), "one\n")
	reader := newTail(dir)
	defer reader.close()
	looks := 0
	reader.exists = func(path string) bool {
		if looks++; looks == 1 {
			write(segmentName(1), "two\n")
			write(segmentName(2), "three\n")
		}
		return exists(path)
	}
	for _, want := range []string{"one", "two", "three", ""} {
		if line, err := reader.next(); err != nil || string(line) != want {
			t.Errorf("got %q, %v, want %q", line, err, want)
		}
	}
}

// What is written between a reader's last look at the events and its learning of the end is read.
func TestLastLookAtTheEvents(t *testing.T) {
	t.Parallel()
	s := open(t, stateDir(t), Options{FlushEvery: time.Millisecond})
	w := begin(t, s, Meta{})
	f := follower{id: w.meta.RunID, dir: w.dir, tail: newTail(w.dir), texts: &deltas.Accumulator{}}
	defer f.tail.close()
	f.ended = func() error {
		w.Append(execution.Event{Time: time.Now(), Body: execution.Finished{Result: resultOf(1)}})
		if err := w.Finish(resultOf(1)); err != nil {
			t.Error(err)
		}
		return f.look()
	}
	n := 0
	f.read(t.Context(), 0, true, func(e execution.Event, err error) bool {
		if n++; err != nil || !e.Terminal() {
			t.Errorf("got %+v, %v", e, err)
		}
		return true
	})
	if n != 1 {
		t.Errorf("%d events", n)
	}
}

func TestTornLine(t *testing.T) {
	t.Parallel()
	s := open(t, stateDir(t), Options{})
	w := begin(t, s, Meta{})
	for _, e := range story()[:8] {
		w.Append(e)
	}
	if err := w.Finish(resultOf(1)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.dir, segmentName(1))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < 60; cut++ {
		if err := os.WriteFile(path, whole[:len(whole)-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if got, errs := events(t, s, string(w.meta.RunID), 0, false); len(got) != 7 || len(errs) > 0 {
			t.Fatalf("cut %d bytes: %d events, %v", cut, len(got), errs)
		}
	}
	if _, errs := events(t, s, string(w.meta.RunID), 0, true); len(errs) != 1 || !errors.Is(errs[0], ErrIncomplete) {
		t.Errorf("a follower of a record that stops short: %v", errs)
	}
}

func TestBadLine(t *testing.T) {
	t.Parallel()
	s := open(t, stateDir(t), Options{})
	w := begin(t, s, Meta{})
	all := story()
	for _, e := range all {
		w.Append(e)
	}
	if err := w.Finish(resultOf(1)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.dir, segmentName(1))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(b, []byte("\n"))
	lines = slices.Insert(lines, 3, []byte(`{"type":"of the future","seq":3}`), []byte("\x00\xff garbage"), []byte(""))
	if err := os.WriteFile(path, bytes.Join(lines, []byte("\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	got, errs := events(t, s, string(w.meta.RunID), 0, true)
	if len(got) != len(all) || len(errs) != 2 {
		t.Fatalf("%d events, %v", len(got), errs)
	}
	for _, err := range errs {
		if !errors.Is(err, ErrBadLine) {
			t.Error(err)
		}
	}
}

// An event that has no JSON form leaves a note, so that nothing is missing without a word.
func TestEventWithoutForm(t *testing.T) {
	t.Parallel()
	s := open(t, stateDir(t), Options{})
	w := begin(t, s, Meta{})
	w.Append(execution.Event{Time: time.Now(), Body: execution.ToolCallReady{ToolCallID: "c", Input: json.RawMessage("{broken")}})
	w.Append(execution.Event{Time: time.Now()})
	if err := w.Finish(resultOf(1)); err != nil {
		t.Fatal(err)
	}
	got, errs := events(t, s, string(w.meta.RunID), 0, false)
	if len(got) != 2 || len(errs) > 0 {
		t.Fatal(got, errs)
	}
	for i, want := range []string{"tool_call_ready", "empty"} {
		if d, ok := got[i].Body.(execution.Debug); !ok || d.Level != execution.DebugWarn || !strings.Contains(d.Message, want) {
			t.Errorf("got %+v", got[i].Body)
		}
	}
}

// slowReader gives its bytes in chunks and says EOF between them, as a growing file does.
type slowReader struct {
	chunks [][]byte
	eof    bool
}

func (r *slowReader) Read(p []byte) (int, error) {
	if r.eof = !r.eof; r.eof || len(r.chunks) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.chunks[0])
	if r.chunks[0] = r.chunks[0][n:]; len(r.chunks[0]) == 0 {
		r.chunks = r.chunks[1:]
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func FuzzSegment(f *testing.F) {
	var seed bytes.Buffer
	for _, e := range story() {
		b, err := e.MarshalJSON()
		if err != nil {
			f.Fatal(err)
		}
		seed.Write(append(b, '\n'))
	}
	f.Add(seed.Bytes(), 7)
	f.Add([]byte("\n\n{}\n{\"type\":\"text_delta\"}\ntorn"), 1)
	f.Add([]byte(strings.Repeat("x", 3000)+"\n"), 512)
	f.Fuzz(func(t *testing.T, data []byte, chunk int) {
		chunk = max(1, min(chunk, 1<<16))
		r := &slowReader{}
		for rest := data; len(rest) > 0; {
			n := min(chunk, len(rest))
			r.chunks = append(r.chunks, rest[:n])
			rest = rest[n:]
		}
		var lines lineBuffer
		fl := follower{texts: &deltas.Accumulator{}, tail: newTail("")}
		var got [][]byte
		for idle := 0; idle < 3; {
			line, err := lines.next(r)
			if err != nil {
				t.Fatal(err)
			}
			if line == nil {
				if len(r.chunks) == 0 {
					idle++
				}
				continue
			}
			got = append(got, bytes.Clone(line))
			if e, err := fl.event(line); err == nil {
				if _, err := e.MarshalJSON(); err != nil {
					t.Errorf("what was read cannot be written: %v", err)
				}
			} else if !errors.Is(err, ErrBadLine) {
				t.Errorf("got %v", err)
			}
		}
		// Every whole, non-empty line comes out once, in order, whatever the chunks.
		var want [][]byte
		whole := data[:bytes.LastIndexByte(data, '\n')+1]
		for line := range bytes.SplitSeq(whole, []byte("\n")) {
			if len(line) > 0 {
				want = append(want, line)
			}
		}
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%d lines, want %d", len(got), len(want))
		}
	})
}

// TestTail reads without waiting: across segments, and after a line that cannot be read.
func TestTail(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), Options{})
	w := begin(t, s, Meta{RunID: newID(), Agent: "claude"})
	tail := s.Tail(w.Run())
	defer tail.Close()
	write := func(segment int, text string) {
		f, err := os.OpenFile(filepath.Join(w.dir, segmentName(segment)), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	line := func(seq int) string {
		return fmt.Sprintf(`{"type":"text_delta","seq":%d,"runId":"%s","agent":"claude","timestamp":1,"delta":"x"}`+"\n", seq, w.Run().ID)
	}
	read := func() (seqs []uint64, bad int) {
		for {
			e, ok, err := tail.Next()
			switch {
			case err != nil:
				bad++
			case !ok:
				return seqs, bad
			default:
				seqs = append(seqs, e.Seq)
			}
		}
	}
	for i, step := range []struct {
		segment int
		text    string
		seqs    []uint64
		bad     int
	}{
		{1, "", nil, 0}, {1, line(1) + line(2), []uint64{1, 2}, 0}, {1, line(3)[:20], nil, 0}, {1, line(3)[20:], []uint64{3}, 0},
		{2, line(4), []uint64{4}, 0}, {2, "", nil, 0}, {2, "nonsense\n" + line(5), []uint64{5}, 1}, {3, line(6), []uint64{6}, 0},
	} {
		write(step.segment, step.text)
		if seqs, bad := read(); !slices.Equal(seqs, step.seqs) || bad != step.bad {
			t.Errorf("step %d: %v, %d bad lines, want %v", i, seqs, bad, step.seqs)
		}
	}
}
