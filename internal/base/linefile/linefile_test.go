package linefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var small = Format{Key: "test", Version: 1, MaxLine: 40, MaxFile: 100}

func TestLimits(t *testing.T) {
	t.Parallel()
	line := `{"a":"` + strings.Repeat("x", 32) + `"}` // 40 bytes
	head := small.head() + "\n"
	for text, want := range map[string]string{
		head + line + "\n" + line[:38] + `"}` + "\n": "",
		head + line + "\n" + line + "\n":             "",
		head + line + "\n" + line + "\n12345678\n":   "line 4: the file has more than 100 bytes",
		head + line + " \n":                          "line 2: it has more than 40 bytes",
		"":                                           `line 1: the file is empty; it has to begin with {"test":1}`,
	} {
		err := small.Read(strings.NewReader(text), func(int, []byte) error { return nil })
		var fault *LineError
		if (err == nil) != (want == "") || err != nil && (err.Error() != want || !errors.As(err, &fault)) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "f")
	w, err := small.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append([]byte("1"), []byte(line+" ")); err == nil || !strings.Contains(err.Error(), "the limit is 40") {
		t.Errorf("a long line: %v", err)
	}
	if err := w.Append([]byte(line), []byte(line)); err != nil {
		t.Error(err)
	}
	if err := w.Append([]byte("12345678")); err == nil || !strings.Contains(err.Error(), "more than 100 bytes") {
		t.Errorf("a long file: %v", err)
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	if err := w.Append([]byte("1")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != head+line+"\n"+line+"\n" {
		t.Errorf("the file has %q", got)
	}
	if _, err := small.Open(filepath.Dir(path), nil); err == nil {
		t.Error("a directory is opened")
	}
}

// TestTwoWriters: lines of several processes do not mix.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	f := Format{Key: "test", Version: 1, MaxLine: 1000, MaxFile: 1 << 20}
	path := filepath.Join(t.TempDir(), "f")
	done := make(chan error, 4)
	for range cap(done) {
		w, err := f.Open(path, func(int, []byte) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			var err error
			for range 50 {
				err = errors.Join(err, w.Append([]byte(`{"a":"begin"}`), []byte(`{"a":"end"}`)))
			}
			done <- errors.Join(err, w.Close())
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	count := 0
	if err := f.Read(file, func(n int, text []byte) error {
		if want := []string{"begin", "end"}[count%2]; !strings.Contains(string(text), want) {
			t.Errorf("line %d is %s, want %s", n, text, want)
		}
		count++
		return nil
	}); err != nil || count != 400 {
		t.Errorf("%d lines, %v", count, err)
	}
}
