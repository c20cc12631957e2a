package runstore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/secret"
)

// BenchmarkBegin is what a run pays before its agent starts.
func BenchmarkBegin(b *testing.B) {
	s := open(b, stateDir(b), Options{})
	for b.Loop() {
		w := begin(b, s, Meta{Prompt: "do it", Cwd: "/work/there", Secrets: []string{"0123456789abcdef"}})
		b.StopTimer()
		close(w.stop)
		<-w.done
		w.discard()
		s.forget(w)
		b.StartTimer()
	}
}

// BenchmarkBeginFirst is the same for the first run of a process in a new state directory.
func BenchmarkBeginFirst(b *testing.B) {
	for b.Loop() {
		s := open(b, filepath.Join(b.TempDir(), "a", "b"), Options{})
		w := begin(b, s, Meta{Prompt: "do it"})
		b.StopTimer()
		if err := w.Finish(resultOf(1)); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkFinish is what a run pays at its end, with a database to open each time, as a command has.
func BenchmarkFinish(b *testing.B) {
	dir := stateDir(b)
	for b.Loop() {
		b.StopTimer()
		s := open(b, dir, Options{})
		w := begin(b, s, Meta{})
		b.StartTimer()
		if err := w.Finish(resultOf(1)); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppend is what an event costs the run, and with the writing of it the machine.
func BenchmarkAppend(b *testing.B) {
	s := open(b, stateDir(b), Options{})
	w := begin(b, s, Meta{Secrets: []string{"a-secret-of-the-environment", "another one"}})
	text := strings.Repeat("a piece of text ", 1<<16)
	at := time.Now()
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n += 16
		if n > len(text) {
			n = 16
		}
		w.Append(execution.Event{Time: at, Body: execution.TextDelta{Delta: text[n-16 : n], Accumulated: text[:n]}})
	}
	if err := w.Finish(resultOf(1)); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkList reads a store of 10,000 runs as a command does: store opened, database opened, directories compared.
func BenchmarkList(b *testing.B) {
	dir := stateDir(b)
	manyRuns(b, dir, 10_000)
	for _, c := range []struct {
		name   string
		filter Filter
		warm   bool
	}{{"newest50", Filter{Limit: 50}, false}, {"all", Filter{}, false}, {"agent50", Filter{Agent: "agent3", Limit: 50}, false}, {"tag", Filter{Tag: "t7"}, false},
		{"warm50", Filter{Limit: 50}, true}} {
		b.Run(c.name, func(b *testing.B) {
			s := open(b, dir, Options{})
			for b.Loop() {
				if !c.warm {
					s = open(b, dir, Options{})
				}
				runs, err := s.List(c.filter)
				if err != nil || len(runs) == 0 {
					b.Fatal(len(runs), err)
				}
				if !c.warm {
					if err := s.Close(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
	b.Run("cost", func(b *testing.B) {
		for b.Loop() {
			s := open(b, dir, Options{})
			if r, err := s.Cost(Filter{}, GroupDay); err != nil || r.Total.Runs != 10_000 {
				b.Fatal(r.Total, err)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("reindex", func(b *testing.B) {
		s := open(b, dir, Options{})
		for b.Loop() {
			if r, err := s.Reindex(); err != nil || r.Runs != 10_000 {
				b.Fatal(r, err)
			}
		}
	})
}

// manyRuns writes the directories of finished runs by hand; the first reader makes their rows.
func manyRuns(tb testing.TB, dir string, n int) {
	tb.Helper()
	start := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		at := start.Add(time.Duration(i) * time.Hour / 2)
		m := Meta{RunID: testID(at, i), Agent: fmt.Sprintf("agent%d", i%7), Cwd: fmt.Sprintf("/work/p%d", i%100), Prompt: "do number " + fmt.Sprint(i),
			Tags: []string{fmt.Sprintf("t%d", i%13)}, StartedAt: at}.file(&secret.Redactor{})
		run := filepath.Join(dir, runsName, string(m.RunID))
		if err := os.MkdirAll(run, 0o700); err != nil {
			tb.Fatal(err)
		}
		for name, v := range map[string]any{metaName: m, resultName: resultOf(float64(i%10) / 16)} {
			if err := os.WriteFile(filepath.Join(run, name), []byte(toJSON(tb, v)), 0o600); err != nil {
				tb.Fatal(err)
			}
		}
	}
	s := open(tb, dir, Options{})
	if _, err := s.List(Filter{Limit: 1}); err != nil {
		tb.Fatal(err)
	}
}
