package sessions

import (
	"testing"

	"github.com/drawbar/drawbar/history"
)

func TestShortIDs(t *testing.T) {
	t.Parallel()
	list := []history.Summary{}
	for _, id := range []string{"claude:f96afcde-8cea-4722-8b19-9ebf0600cf10", "codex:01a1fa13-e1d3-7722-bd7b-923177e16b32", "codex:01a1fa13-e1d4-7722-bd7b-923177e16b32", "x:short",
		"y:same", "y:same"} {
		list = append(list, history.Summary{UnifiedID: id})
	}
	name := shortIDs(list)
	for i, want := range []string{"claude:f96afcde", "codex:01a1fa13-e1d3", "codex:01a1fa13-e1d4", "x:short", "y:same"} {
		if got := name(list[i]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for dir, want := range map[string]string{"/work/a": "…/a", "/work": "/work", "": "", `C:\work\a`: `…\a`} {
		if got := lastPart(dir); got != want {
			t.Errorf("%q: got %q, want %q", dir, got, want)
		}
	}
}
