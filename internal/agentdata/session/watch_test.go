package session

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/sessions"
)

// watched collects what a watch gives.
type watched struct {
	events chan execution.Event
	end    chan error
	cancel context.CancelFunc
}

func (l *lab) watch(o sessions.WatchOptions) *watched {
	ctx, cancel := context.WithCancel(l.t.Context())
	w := &watched{events: make(chan execution.Event, 100), end: make(chan error, 1), cancel: cancel}
	go func() {
		var last error
		for e, err := range l.store.Watch(ctx, "fake:a", o) {
			if err != nil {
				last = err
				continue
			}
			w.events <- e
		}
		w.end <- last
	}()
	return w
}

func (w *watched) next(t *testing.T) string {
	t.Helper()
	select {
	case e := <-w.events:
		switch b := e.Body.(type) {
		case execution.MessageStop:
			return b.Text
		case execution.Debug:
			return "! " + b.Message
		case execution.SessionEnd:
			return "end"
		}
		return string(e.Body.Type())
	case err := <-w.end:
		t.Fatalf("the watch ended: %v", err)
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
	}
	return ""
}

func (w *watched) ended(t *testing.T) {
	t.Helper()
	select {
	case err := <-w.end:
		if err != nil {
			t.Errorf("the watch ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the watch did not end")
	}
}

func (l *lab) append(text string) {
	l.t.Helper()
	f, err := os.OpenFile(l.path("a"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		l.t.Fatal(err)
	}
}

// started waits until the watch has seen what is there: a line that is written then is news.
func (l *lab) started(w *watched) {
	l.t.Helper()
	for {
		l.append(`{"text":"start"}` + "\n")
		select {
		case e := <-w.events:
			for e.Body.(execution.MessageStop).Text != "start" {
				l.t.Fatalf("%+v is old", e)
			}
			return
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func (w *watched) drain() {
	for {
		select {
		case <-w.events:
		case <-time.After(600 * time.Millisecond):
			return
		}
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write("a", record{Text: "old"})
	w := l.watch(sessions.WatchOptions{})
	l.started(w)
	w.drain()
	l.append(`{"text":"one"}` + "\n" + `{"text":"tw`)
	if got := w.next(t); got != "one" {
		t.Errorf("got %s", got)
	}
	time.Sleep(2 * pollEvery)
	l.append(`o"}` + "\n")
	if got := w.next(t); got != "two" {
		t.Errorf("a half-written line became %s", got)
	}
	// Cut: what is left is not news, what follows is.
	l.write("a", record{Text: "kept"})
	if got := w.next(t); got != "! the session's file was truncated; it is read from the beginning" {
		t.Errorf("got %s", got)
	}
	w.drain()
	l.append(`{"text":"three"}` + "\n")
	if got := w.next(t); got != "three" {
		t.Errorf("after a cut: %s", got)
	}
	// Replaced by another file.
	l.write("new", record{Text: "other"}, record{Text: "words, to be longer than before"}, record{Text: "and more of them, to be on the safe side"})
	if err := os.Rename(l.path("new"), l.path("a")); err != nil {
		t.Fatal(err)
	}
	if got := w.next(t); got != "! the session's file was replaced; the new one is read from the beginning" {
		t.Errorf("got %s", got)
	}
	w.drain()
	l.append(`{"text":"four"}` + "\n")
	if got := w.next(t); got != "four" {
		t.Errorf("after a replacement: %s", got)
	}
	l.append("garbage\n" + `{"end":true}` + "\n")
	if got := w.next(t); got != "end" {
		t.Errorf("got %s", got)
	}
	w.ended(t)
}

func TestWatchEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(l *lab, w *watched) error{
		"when the file is removed": func(l *lab, _ *watched) error { return os.Remove(l.path("a")) },
		"with its context":         func(_ *lab, w *watched) error { w.cancel(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.write("a", record{Text: "old"})
			w := l.watch(sessions.WatchOptions{})
			defer w.cancel()
			l.started(w)
			if err := end(l, w); err != nil {
				t.Fatal(err)
			}
			w.ended(t)
		})
	}
}

func TestWatchReplay(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write("a", record{Text: "old"}, record{Text: "older"})
	w := l.watch(sessions.WatchOptions{Replay: true, Quiet: 10 * time.Millisecond})
	for _, want := range []string{"old", "older"} {
		if got := w.next(t); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	w.ended(t)
}

func TestWatchUnknown(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, err := range l.store.Watch(t.Context(), "fake:a", sessions.WatchOptions{}) {
		if execution.CodeOf(err) != execution.CodeSessionNotFound {
			t.Errorf("%v", err)
		}
	}
}
