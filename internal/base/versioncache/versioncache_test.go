package versioncache

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

func program(t *testing.T, content string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(p, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRememberedUntilTheProgramChanges(t *testing.T) {
	c := In(filepath.Join(t.TempDir(), "state"))
	p := program(t, "one")
	if got := c.Lookup(p); got != "" {
		t.Errorf("an empty cache knows %q", got)
	}
	if err := c.Store(p, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	if got := In(filepath.Dir(c.path)).Lookup(p); got != "1.2.3" {
		t.Errorf("another process reads %q", got)
	}
	if runtime.GOOS != "windows" {
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(p, link); err != nil {
			t.Fatal(err)
		}
		if got := c.Lookup(link); got != "1.2.3" {
			t.Errorf("through a link: %q", got)
		}
	}
	if err := os.WriteFile(p, []byte("longer"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := c.Lookup(p); got != "" {
		t.Errorf("another size is still %q", got)
	}
	if err := c.Store(p, "1.2.4"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(p, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := c.Lookup(p); got != "" {
		t.Errorf("another time of change is still %q", got)
	}
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	c := In(dir)
	p := program(t, "x")
	if err := os.WriteFile(c.path, []byte("{not json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := c.Lookup(p); got != "" {
		t.Errorf("garbage knows %q", got)
	}
	if err := c.Store(p, "1.0.0"); err != nil || c.Lookup(p) != "1.0.0" {
		t.Errorf("garbage was not replaced: %v", err)
	}
	missing := filepath.Join(dir, "missing")
	if c.Lookup(missing) != "" || c.Store(missing, "1") != nil || c.Store(p, "") != nil {
		t.Error("what does not exist, and versions that are not known, are not stored")
	}
}

func TestBoundedAndConcurrent(t *testing.T) {
	c := In(t.TempDir())
	var wg sync.WaitGroup
	for i := range maxKept + 20 {
		p := program(t, fmt.Sprint(i))
		wg.Go(func() {
			if err := c.Store(p, "1.0.0"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(c.read()); n != maxKept {
		t.Errorf("%d entries kept, want %d", n, maxKept)
	}
}
