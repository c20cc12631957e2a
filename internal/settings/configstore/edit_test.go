//go:build unix

package configstore

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/execution"
)

func put(t *testing.T, path, content string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// alone fails when there is anything in the directory but the names.
func alone(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("in %s: -want +got:\n%s", dir, diff)
	}
}

// refused fails unless the error is a configuration error that has the texts, and names what to do.
func refused(t *testing.T, err error, code execution.ErrorCode, want ...string) {
	t.Helper()
	if execution.CodeOf(err) != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func TestEditKeepsModeAndReportsChange(t *testing.T) {
	dir := t.TempDir()
	file := put(t, filepath.Join(dir, "s.json"), `{"a": 1}`, 0o640)
	changed, err := Edit(t.Context(), file, configfile.JSON, setting("b", 2), Options{})
	if err != nil || !changed || content(t, file) != `{"a": 1, "b": 2}` {
		t.Fatalf("%v %v %s", changed, err, content(t, file))
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
	changed, err = Edit(t.Context(), file, configfile.JSON, func(*configfile.Document) (bool, error) { return false, nil }, Options{})
	if err != nil || changed {
		t.Errorf("%v %v", changed, err)
	}
	alone(t, dir, "s.json")
}

func TestNewFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "deep", "er", "s.json")
	if err := set(file, "a", 1); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if info, _ := os.Stat(filepath.Dir(file)); info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the directory %v", info.Mode())
	}
	if _, err := Edit(t.Context(), filepath.Join(dir, "p", "s.json"), configfile.JSON, setting("a", 1), Options{Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(filepath.Join(dir, "p")); info.Mode().Perm() != 0o755 {
		t.Errorf("mode of the directory %v", info.Mode())
	}
}

func TestUnparsableIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	const broken = "{\n  \"a\": 1,\n  // half written"
	file := put(t, filepath.Join(dir, "s.json"), broken, 0o600)
	refused(t, set(file, "b", 2), execution.CodeConfig, file+":3:3", "by hand")
	if content(t, file) != broken {
		t.Error("the file changed")
	}
	alone(t, dir, "s.json")
}

func TestLinks(t *testing.T) {
	dir := t.TempDir()
	real := put(t, filepath.Join(dir, "dotfiles", "s.json"), `{"a": 1}`, 0o600)
	link := filepath.Join(dir, "home", "s.json")
	put(t, filepath.Join(dir, "home", "other"), "", 0o600)
	if err := os.Symlink("../dotfiles/s.json", link); err != nil {
		t.Fatal(err)
	}
	if err := set(link, "b", 2); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != "../dotfiles/s.json" || content(t, real) != `{"a": 1, "b": 2}` {
		t.Errorf("the link is %q %v, the file %s", to, err, content(t, real))
	}
	alone(t, filepath.Dir(real), "s.json")
	alone(t, filepath.Dir(link), "other", "s.json")

	t.Run("dangling", func(t *testing.T) {
		l := filepath.Join(dir, "home", "dangling.json")
		if err := os.Symlink("nowhere.json", l); err != nil {
			t.Fatal(err)
		}
		refused(t, set(l, "a", 1), execution.CodeConfig, l, "nowhere.json", "does not exist")
	})
	t.Run("loop", func(t *testing.T) {
		l := filepath.Join(dir, "home", "loop.json")
		if err := os.Symlink("loop.json", l); err != nil {
			t.Fatal(err)
		}
		refused(t, set(l, "a", 1), execution.CodeConfig, l)
	})
	t.Run("out of a project", func(t *testing.T) {
		project := filepath.Join(dir, "project")
		put(t, filepath.Join(project, "README"), "", 0o600)
		l := filepath.Join(project, "s.json")
		if err := os.Symlink(real, l); err != nil {
			t.Fatal(err)
		}
		before := content(t, real)
		_, err := Edit(t.Context(), l, configfile.JSON, setting("x", 1), Options{Within: project})
		refused(t, err, execution.CodeConfig, "leads out of the project", real)
		sub := filepath.Join(project, ".agent")
		if err := os.Symlink(filepath.Dir(real), sub); err != nil {
			t.Fatal(err)
		}
		_, err = Edit(t.Context(), filepath.Join(sub, "new", "s.json"), configfile.JSON, setting("x", 1), Options{Within: project})
		refused(t, err, execution.CodeConfig, "leads out of the project")
		_, err = Edit(t.Context(), filepath.Join(sub, "s.json"), configfile.JSON, setting("x", 1), Options{Within: project})
		refused(t, err, execution.CodeConfig, "leads out of the project")
		if content(t, real) != before {
			t.Error("the file outside changed")
		}
		alone(t, filepath.Dir(real), "s.json")
		if _, err := Edit(t.Context(), filepath.Join(project, "in", "s.json"), configfile.JSON, setting("x", 1), Options{Within: project}); err != nil {
			t.Error(err)
		}
	})
	t.Run("to another user's file", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("SKIPPED: only root can make a file of another user")
		}
		other := put(t, filepath.Join(dir, "other", "s.json"), `{}`, 0o666)
		if err := os.Chown(other, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		l := filepath.Join(dir, "home", "foreign.json")
		if err := os.Symlink(other, l); err != nil {
			t.Fatal(err)
		}
		refused(t, set(l, "a", 1), execution.CodeConfig, l, other, "another user")
		if content(t, other) != `{}` {
			t.Error("the file changed")
		}
	})
}

func TestNotWritable(t *testing.T) {
	dir := t.TempDir()
	file := put(t, filepath.Join(dir, "s.json"), `{}`, 0o400)
	refused(t, set(file, "a", 1), execution.CodeConfig, file, "read-only", "chmod u+w")
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, set(fifo, "a", 1), execution.CodeConfig, fifo, "not a regular file")
	refused(t, set(dir, "a", 1), execution.CodeConfig, dir, "not a regular file")
	refused(t, set(filepath.Join(file, "below", "s.json"), "a", 1), execution.CodeConfig, "not a directory")
	alone(t, dir, "fifo", "s.json")
}

func TestOwnerIsKept(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can make a file of another user")
	}
	file := put(t, filepath.Join(t.TempDir(), "s.json"), `{}`, 0o600)
	if err := os.Chown(file, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if err := set(file, "a", 1); err != nil {
		t.Fatal(err)
	}
	info, _ := os.Stat(file)
	if s := info.Sys().(*syscall.Stat_t); s.Uid != 65534 || s.Gid != 65534 {
		t.Errorf("owner %d:%d", s.Uid, s.Gid)
	}
}

// A program that ignores the lock writes between our reading and our replacing.
func TestChangedMeanwhile(t *testing.T) {
	defer func(f func()) { meanwhile = f }(meanwhile)
	file := put(t, filepath.Join(t.TempDir(), "s.json"), `{"a": 1}`, 0o600)
	n := 0
	meanwhile = func() {
		if n++; n < 3 {
			put(t, file, fmt.Sprintf(`{"a": 1, "theirs": %d}`, n), 0o600)
		}
	}
	if err := set(file, "ours", 1); err != nil {
		t.Fatal(err)
	}
	if got := content(t, file); got != `{"a": 1, "theirs": 2, "ours": 1}` {
		t.Error(got)
	}
	t.Run("removed", func(t *testing.T) {
		once := true
		meanwhile = func() {
			if once {
				os.Remove(file)
			}
			once = false
		}
		if err := set(file, "ours", 2); err != nil {
			t.Fatal(err)
		}
		if got := content(t, file); got != "{\n  \"ours\": 2\n}\n" {
			t.Error(got)
		}
	})
	t.Run("appeared", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "new.json")
		once := true
		meanwhile = func() {
			if once {
				put(t, file, `{"theirs": 1}`, 0o600)
			}
			once = false
		}
		if err := set(file, "ours", 1); err != nil {
			t.Fatal(err)
		}
		if got := content(t, file); got != `{"theirs": 1, "ours": 1}` {
			t.Error(got)
		}
	})
	t.Run("appeared at the last moment", func(t *testing.T) {
		meanwhile = func() {}
		defer func(f func()) { replacing = f }(replacing)
		file := filepath.Join(t.TempDir(), "new.json")
		once := true
		replacing = func() {
			if once {
				put(t, file, `{"theirs": 1}`, 0o600)
			}
			once = false
		}
		if err := set(file, "ours", 1); err != nil {
			t.Fatal(err)
		}
		if got := content(t, file); got != `{"theirs": 1, "ours": 1}` {
			t.Error(got)
		}
	})
	t.Run("for ever", func(t *testing.T) {
		meanwhile = func() { n++; put(t, file, fmt.Sprintf(`{"theirs": %d}`, n), 0o600) }
		err := set(file, "ours", 1)
		refused(t, err, execution.CodeConfigLock, file, "keeps changing")
		if e, _ := errors.AsType[*execution.Error](err); !e.Recoverable {
			t.Error("it is not recoverable")
		}
		if got := content(t, file); got != fmt.Sprintf(`{"theirs": %d}`, n) {
			t.Error(got)
		}
		alone(t, filepath.Dir(file), "s.json")
	})
}

func TestFullDisk(t *testing.T) {
	t.Run("write", func(t *testing.T) {
		defer func(f func(*os.File, []byte) error) { write = f }(write)
		write = func(f *os.File, b []byte) error {
			_, _ = f.Write(b[:len(b)/2])
			return &os.PathError{Op: "write", Path: f.Name(), Err: unix.ENOSPC}
		}
		dir := t.TempDir()
		file := put(t, filepath.Join(dir, "s.json"), `{"a": 1}`, 0o600)
		refused(t, set(file, "b", 2), execution.CodeConfig, "write "+file, "no space", "free some disk space")
		if content(t, file) != `{"a": 1}` {
			t.Error(content(t, file))
		}
		alone(t, dir, "s.json")
	})
	t.Run("a real one", func(t *testing.T) {
		dir := t.TempDir()
		if err := mountSmall(dir); err != nil {
			t.Skipf("SKIPPED: no small file system can be mounted here: %v", err)
		}
		defer func() {
			if err := unix.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		}()
		file := put(t, filepath.Join(dir, "s.json"), `{"a": 1}`, 0o600)
		fill, err := os.Create(filepath.Join(dir, "fill"))
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = fill.Write(make([]byte, 4096))
		}
		fill.Close()
		refused(t, set(file, "b", 2), execution.CodeConfig, file, "no space")
		if content(t, file) != `{"a": 1}` {
			t.Error(content(t, file))
		}
		alone(t, dir, "fill", "s.json")
	})
}

func helper(t *testing.T, role, file, name string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CONFIGSTORE_ROLE="+role, "CONFIGSTORE_FILE="+file, "CONFIGSTORE_NAME="+name)
	cmd.Stderr = os.Stderr
	t.Cleanup(func() {
		if cmd.Process != nil && cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

func TestTwoWriters(t *testing.T) {
	dir := t.TempDir()
	file := put(t, filepath.Join(dir, "s.json"), `{}`, 0o600)
	var all []*exec.Cmd
	for _, name := range []string{"a", "b", "c"} {
		cmd := helper(t, "count", file, name)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	for i := range 20 {
		if err := set(file, fmt.Sprintf("d%d", i), i); err != nil {
			t.Error(err)
		}
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	var m map[string]int
	if err := json.Unmarshal([]byte(content(t, file)), &m); err != nil || len(m) != 80 {
		t.Errorf("%d of 80 values landed: %v", len(m), err)
	}
	alone(t, dir, "s.json")
}

func TestLockIsHeld(t *testing.T) {
	dir := t.TempDir()
	file := put(t, filepath.Join(dir, "s.json"), `{}`, 0o600)
	cmd := helper(t, "hold", file, "")
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("%q %v", line, err)
	}
	edit := func(patience time.Duration) error {
		_, err := Edit(t.Context(), file, configfile.JSON, setting("a", 1), Options{Patience: patience})
		return err
	}
	err := edit(50 * time.Millisecond)
	refused(t, err, execution.CodeConfigLock, file, fmt.Sprintf("drawbar, process %d", cmd.Process.Pid), "try again")
	if e, _ := errors.AsType[*execution.Error](err); !e.Recoverable {
		t.Error("it is not recoverable")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Edit(ctx, file, configfile.JSON, setting("a", 1), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is done: %v", err)
	}
	// Killed, the holder leaves its lock file and no lock.
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	_ = in.Close()
	alone(t, dir, "s.json", "s.json.lock")
	if err := edit(5 * time.Second); err != nil {
		t.Error(err)
	}
	alone(t, dir, "s.json")
}

// Claude Code, for one, locks by making a directory.
func TestDirectoryAsLock(t *testing.T) {
	dir := t.TempDir()
	file := put(t, filepath.Join(dir, "s.json"), `{}`, 0o600)
	lockDir := file + ".lock"
	if err := os.Mkdir(lockDir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Edit(t.Context(), file, configfile.JSON, setting("a", 1), Options{Patience: 30 * time.Millisecond})
	refused(t, err, execution.CodeConfigLock, lockDir)
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(lockDir, old, old); err != nil {
		t.Fatal(err)
	}
	if err := set(file, "a", 1); err != nil {
		t.Errorf("with a stale lock: %v", err)
	}
	alone(t, dir, "s.json")
}

// A lock file that somebody else keeps stays as it is; one that is a link is refused.
func TestForeignLockFile(t *testing.T) {
	dir := t.TempDir()
	file := put(t, filepath.Join(dir, "s.json"), `{}`, 0o600)
	put(t, file+".lock", "theirs", 0o644)
	if err := set(file, "a", 1); err != nil {
		t.Fatal(err)
	}
	if content(t, file+".lock") != "theirs" {
		t.Error("the lock file changed")
	}
	os.Remove(file + ".lock")
	if err := os.Symlink(filepath.Join(dir, "made"), file+".lock"); err != nil {
		t.Fatal(err)
	}
	refused(t, set(file, "a", 2), execution.CodeConfig, file+".lock", "not a regular file")
	alone(t, dir, "s.json", "s.json.lock")
}

func TestKilledInTheMiddle(t *testing.T) {
	dir := t.TempDir()
	file := put(t, filepath.Join(dir, "s.json"), `{"n": 0, "rest": "`+strings.Repeat("x", 100000)+`"}`, 0o600)
	for range 10 {
		cmd := helper(t, "loop", file, "")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		var v struct {
			N    *int
			Rest string
		}
		if err := json.Unmarshal([]byte(content(t, file)), &v); err != nil || v.N == nil || len(v.Rest) != 100000 {
			t.Fatalf("the file is damaged: %v", err)
		}
	}
	if err := set(file, "n", -1); err != nil {
		t.Fatal(err)
	}
	alone(t, dir, "s.json") // what the killed ones left is gone
}
