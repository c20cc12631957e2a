package session

import (
	"os"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/sessions"
)

// TestArchive: an archived session is left out of the current ones and of nothing else, until that is taken back; the file is not
// changed. A session of an agent's own file is not deleted.
func TestArchive(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, id := range []string{"one", "two"} {
		l.write(id, record{Role: "user", Text: id})
	}
	before, err := os.ReadFile(l.path("one"))
	if err != nil {
		t.Fatal(err)
	}
	listed := func(current bool) string {
		t.Helper()
		found, err := l.store.List(t.Context(), sessions.Query{Current: current})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, s := range found.Sessions {
			mark := ""
			if s.Archived {
				mark = "!"
			}
			ids = append(ids, s.SessionID+mark)
		}
		return strings.Join(ids, " ")
	}
	if err := l.store.Archive(t.Context(), "fake:one", true); err != nil {
		t.Fatal(err)
	}
	if got := listed(true); got != "two" {
		t.Errorf("the current sessions are %s", got)
	}
	if got := listed(false); !strings.Contains(got, "one!") || !strings.Contains(got, "two") || strings.Contains(got, "two!") {
		t.Errorf("all sessions are %s", got)
	}
	l.open() // another process
	if s, err := l.store.Find(t.Context(), "fake:one"); err != nil || !s.Archived {
		t.Errorf("%+v, %v", s, err)
	}
	if err := l.store.Archive(t.Context(), "fake:one", false); err != nil {
		t.Fatal(err)
	}
	if got := listed(true); !strings.Contains(got, "one") || strings.Contains(got, "!") {
		t.Errorf("in lists again: %s", got)
	}
	if err := l.store.Remove(t.Context(), "fake:one"); execution.CodeOf(err) != execution.CodeCapability {
		t.Errorf("deleted: %v", err)
	}
	if after, err := os.ReadFile(l.path("one")); err != nil || string(after) != string(before) {
		t.Errorf("the file is %q, %v", after, err)
	}
}
