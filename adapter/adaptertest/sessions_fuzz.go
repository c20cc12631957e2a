package adaptertest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
)

// FuzzSessions feeds a store's decoder with arbitrary bytes of one file: nothing panics, the result can be encoded,
// usage is never negative, the summary agrees with the session, and following makes a bounded number of events. file
// is the path of session id below home.
func FuzzSessions(f *testing.F, s SessionSubject, file, id string) {
	err := filepath.WalkDir(s.Home, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		text, err := os.ReadFile(path)
		var last []byte
		for line := range bytes.Lines(text) { // in pieces, because large seeds hardly change
			if len(line) < 2000 {
				f.Add(append(last, line...))
				last = bytes.Clone(line)
			}
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("{}\n{\"type\":\"user\"}\n{\"uuid\":\"a\",\"parentUuid\":\"a\",\"type\":\"user\",\"message\":{\"content\":\"x\"}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h := adapter.Host{FS: fstest.MapFS{"home/" + file: &fstest.MapFile{Data: text, ModTime: time.UnixMilli(1)}}, Home: "/home", Platform: "linux",
			Getenv: func(string) string { return "" }}
		one := history.File{Agent: "agent", ID: id, Path: "/home/" + file, Size: int64(len(text)), ModTime: time.UnixMilli(1)}
		session, err := s.Store.ReadSession(t.Context(), h, one)
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		if _, err := json.Marshal(session); err != nil {
			t.Fatalf("encode: %v", err)
		}
		if u := session.Usage; u == nil || u.Input < 0 || u.Output < 0 || u.Cached < 0 || u.CacheWrite < 0 {
			t.Fatalf("usage %+v", u)
		}
		if *session.TurnCount > *session.MessageCount || *session.MessageCount > len(session.Messages) {
			t.Fatalf("%d turns, %d messages of %d", *session.TurnCount, *session.MessageCount, len(session.Messages))
		}
		if _, err := s.Store.SummarizeSession(t.Context(), h, one); err != nil {
			t.Fatalf("summarize: %v", err)
		}
		follower, err := s.Store.FollowSession(h, one)
		if s.Whole && execution.CodeOf(err) == execution.CodeCapability {
			return
		}
		if err != nil {
			t.Fatalf("follow: %v", err)
		}
		for line := range bytes.Lines(text) {
			if events := follower.Line(line); len(events) > 64+8*len(line) {
				t.Fatalf("%d bytes made %d events", len(line), len(events))
			}
		}
	})
}
