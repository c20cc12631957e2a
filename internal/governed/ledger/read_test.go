package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

// TestReadersBesideAWriter: whatever moment a reader comes at, state and history belong together.
func TestReadersBesideAWriter(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	l := open(t, root)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 1; n <= 60; n++ {
			if err := l.Commit(t.Context(), accept(root, n)); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	reads, pending := 0, 0
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		v, err := Read(root)
		if err != nil {
			t.Fatal(err)
		}
		h, err := v.History("")
		if err != nil || len(h) != v.State.TurnSequence {
			t.Fatalf("%d turns at sequence %d (pending %q), %v", len(h), v.State.TurnSequence, v.Pending, err)
		}
		s, err := v.Session()
		if err != nil || len(h) > 0 && s == nil {
			t.Fatalf("session %v, %v", s, err)
		}
		if reads++; v.Pending != "" {
			pending++
		}
		if reads%10 == 0 {
			wantVerified(t, root)
		}
	}
	t.Logf("%d reads, %d within a transaction", reads, pending)
}

func TestALineOf64MB(t *testing.T) {
	t.Parallel()
	root := prepared(t)
	long := `{"turn_id":"turn_long","run_id":"run_1","summary":"` + strings.Repeat("x", 64<<20) + `"}` + "\n"
	write(t, root, protocol.HistoryFile, load(t, root, protocol.HistoryFile)+long+`{"turn_id":"turn_y","run_id":"run_1"}`+"\n")
	v, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	h, err := v.History("run_1")
	if err != nil || len(h) != 3 || len(h[1].Summary) != 64<<20 || h[2].TurnID != "turn_y" {
		t.Errorf("%d turns, %v", len(h), err)
	}
	l := open(t, root)
	commit(t, l, accept(root, 2))
	closeLedger(t, l)
	wantVerified(t, root)
}

// TestALongFileNeedsLittleMemory reads events one by one.
func TestALongFileNeedsLittleMemory(t *testing.T) {
	root := prepared(t)
	f, err := os.OpenFile(filepath.Join(root, filepath.FromSlash(protocol.EventsFile)), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	const events = 100_000
	for n := range events {
		fmt.Fprintf(w, `{"event_id":"evt_%d","event_type":"dispatch_progress","run_id":"run_1","payload":{"text":"%s"}}`+"\n", n, strings.Repeat("y", 400))
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	v, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	count, peak := 0, uint64(0)
	if _, err := v.Events(0, func(protocol.Event) {
		if count++; count%20_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&after)
			peak = max(peak, after.HeapAlloc)
		}
	}); err != nil || count != events+3 {
		t.Errorf("%d events, %v", count, err)
	}
	if grown := int64(peak) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("reading 50 MB kept %d KB", grown>>10)
	}
}

func TestDamagedLinesAreReportedWithTheRest(t *testing.T) {
	t.Parallel()
	root := prepared(t)
	write(t, root, protocol.HistoryFile, `{"turn_id":"turn_a"}`+"\n"+`{"turn_id":"tu{"turn_id":"turn_b"}`+"\n\n"+`[1]`+"\n"+`{"turn_id":"turn_c"}`+"\n"+`{"turn_id":"turn_d"}`)
	v, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	h, err := v.History("")
	var d *DamagedError
	if !errors.As(err, &d) || len(d.Faults) != 2 || d.Faults[0].Line != 2 || d.Faults[0].Offset != 21 || d.Faults[1].Line != 4 || d.Faults[0].File != protocol.HistoryFile {
		t.Errorf("got %v", err)
	}
	if len(h) != 3 || h[0].TurnID != "turn_a" || h[2].TurnID != "turn_d" {
		t.Errorf("the rest is %+v", h)
	}
	if !strings.Contains(err.Error(), "history.jsonl line 2") || !strings.Contains(err.Error(), "drawbar govern verify") {
		t.Errorf("says %v", err)
	}
}

func TestLineReader(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("z", 200_000)
	in := "a\n\n" + big + "\n" + big + big + "\nlast"
	r := newLineReader(strings.NewReader(in))
	r.max = 250_000
	var got []record
	for {
		rec, err := r.next()
		if err != nil {
			break
		}
		rec.Data = bytes.Clone(rec.Data)
		got = append(got, rec)
	}
	want := []record{
		{Offset: 0, Line: 1, Data: []byte("a"), Complete: true},
		{Offset: 2, Line: 2, Data: []byte(""), Complete: true},
		{Offset: 3, Line: 3, Data: []byte(big), Complete: true},
		{Offset: 200_004, Line: 4, Data: []byte(big + big[:50_000]), Complete: true, TooLong: true},
		{Offset: 600_005, Line: 5, Data: []byte("last")},
	}
	if len(got) != len(want) {
		t.Fatalf("%d lines", len(got))
	}
	for i := range want {
		g, w := got[i], want[i]
		if g.Offset != w.Offset || g.Line != w.Line || g.Complete != w.Complete || g.TooLong != w.TooLong || !bytes.Equal(g.Data, w.Data) {
			t.Errorf("line %d: %d %d %v %v, %d bytes", i+1, g.Offset, g.Line, g.Complete, g.TooLong, len(g.Data))
		}
	}
}

func TestLinesBackward(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in string }{
		{"nothing", ""}, {"one", "a\n"}, {"no newline", "a\nb"}, {"blank lines", "\n\na\n\nb\n\n"},
		{"lines at the borders of blocks", strings.Repeat(strings.Repeat("x", 1023)+"\n", 100)},
		{"a line of many blocks", "a\n" + strings.Repeat("y", 100<<10) + "\nb\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var want, got []string
			for l := range strings.SplitSeq(tc.in, "\n") {
				if l != "" {
					want = append([]string{l}, want...)
				}
			}
			if err := eachLineBackward(strings.NewReader(tc.in), int64(len(tc.in)), func(l []byte) (bool, error) {
				got = append(got, string(l))
				return true, nil
			}); err != nil {
				t.Fatal(err)
			}
			wantSame(t, "lines", got, want)
		})
	}
}

func FuzzJSONL(f *testing.F) {
	f.Add([]byte("{\"turn_id\":\"a\"}\n{\"turn_id\":"))
	f.Add([]byte("\x00\x00\n[]\nnull\n{\"event_id\":1}\n{\"id\":{}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		root := t.TempDir()
		for _, file := range append(chained(), protocol.ChainFile) {
			write(t, root, file, string(data))
		}
		v, err := Read(root)
		if err != nil {
			t.Fatal(err)
		}
		check := func(err error) {
			var d *DamagedError
			if err != nil && !errors.As(err, &d) {
				t.Error(err)
			}
		}
		_, err = v.History("a")
		check(err)
		_, err = v.Ledger("")
		check(err)
		_, err = v.RepoDecisions()
		check(err)
		_, err = v.Runs()
		check(err)
		next, err := v.Events(0, func(protocol.Event) {})
		check(err)
		if next > int64(len(data)) {
			t.Errorf("went on to %d of %d", next, len(data))
		}
		if _, err := Verify(t.Context(), root, []string{"x"}); err != nil {
			t.Error(err)
		}
		var back int
		if err := eachLineBackward(bytes.NewReader(data), int64(len(data)), func(l []byte) (bool, error) { back += len(l); return true, nil }); err != nil {
			t.Error(err)
		}
		if want := len(data) - bytes.Count(data, []byte{'\n'}); back != want {
			t.Errorf("backward there are %d bytes, want %d", back, want)
		}
	})
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"journal":{"format":"drawbar/1","transaction_id":"txn_f","appends":[{"file":".agentxchain/history.jsonl","offset":7,"content":"e30K"}],"files":[{"file":".agentxchain/state.json","content":"e30K"}],"moves":[{"from":"a","to":"b/c"}],"remove":["d"],"checkpoint":{"commit":"c"}}}`))
	f.Add([]byte(`{"mark":{"format":"drawbar/1","boot":"another","count":1,"ends":{".agentxchain/history.jsonl":7}}}`))
	f.Add([]byte(`{"kind":"accept_turn","status":"prepared","turn_id":"turn_b","history_entry":{"turn_id":"turn_b"},"ledger_entries":[{"id":"DEC-1"}],"next_state":{"status":"active"},"accepted_sequence":2}`))
	f.Add([]byte(`{"journal":{"format":"drawbar/1","appends":[{"file":"x"}],"files":[{"file":"../../x"}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		top := t.TempDir()
		root := filepath.Join(top, "project")
		write(t, root, protocol.HistoryFile, `{"turn_id":"turn_a"}`+"\n")
		write(t, root, protocol.TransactionsDir+"/txn_f.json", string(data))
		write(t, root, redoFile, redoText(string(data))+string(data))
		_, _ = Read(root)
		if l, err := Open(t.Context(), root, options(root)); err == nil {
			h, err := l.View().History("")
			if !slices.ContainsFunc(h, func(e protocol.HistoryEntry) bool { return e.TurnID == "turn_a" }) {
				t.Errorf("the history is %v, %v", h, err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		if all, _ := os.ReadDir(top); len(all) != 1 {
			t.Errorf("files outside of the project: %v", all)
		}
	})
}

func BenchmarkCommit(b *testing.B) {
	for _, kind := range []string{"accept", "assign"} {
		b.Run(kind, func(b *testing.B) {
			root := b.TempDir()
			l := open(b, root, func(o *Options) { o.noFlush = false })
			times := make([]time.Duration, 0, b.N)
			for n := 0; b.Loop(); n++ {
				tx := accept(root, n+1)
				if kind == "assign" {
					tx = Tx{Kind: "assign_turn", Now: clock, State: stateAt(n), Events: []protocol.Event{event(n, "turn_dispatched")}}
				}
				tx.Files = nil
				began := time.Now()
				commit(b, l, tx)
				times = append(times, time.Since(began))
			}
			report(b, times)
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	root, _ := recordOf(b, 50)
	for b.Loop() {
		l, err := Open(b.Context(), root, options(root))
		if err != nil {
			b.Fatal(err)
		}
		closeLedger(b, l)
	}
}

func BenchmarkRead(b *testing.B) {
	root, _ := recordOf(b, 50)
	var times []time.Duration
	for b.Loop() {
		began := time.Now()
		if _, err := Read(root); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(began))
	}
	report(b, times)
}

func BenchmarkHistory(b *testing.B) {
	root, _ := recordOf(b, 50)
	v, err := Read(root)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if h, err := v.History("run_1"); err != nil || len(h) != 50 {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	root, heads := recordOf(b, 50)
	for b.Loop() {
		if r, err := Verify(b.Context(), root, heads); err != nil || !r.OK {
			b.Fatal(err)
		}
	}
}

func report(b *testing.B, times []time.Duration) {
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "median-ms")
	b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "p95-ms")
}
