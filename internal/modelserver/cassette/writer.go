package cassette

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// Writer appends exchanges to a file. It is safe for concurrent use.
type Writer struct {
	path             string
	maxLine, maxFile int64

	mu   sync.Mutex
	file *os.File
	size int64
	err  error // the first of writing; nothing is written after it
}

// ErrExists reports a file that is not empty.
var ErrExists = errors.New("the file exists")

// Create creates a file of mode 0600. With add, an existing cassette is continued, once all of it was read without a fault;
// without, an existing file is ErrExists, unless nothing is recorded in it.
func Create(path string, add bool) (_ *Writer, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	w := &Writer{path: path, file: f, size: info.Size(), maxLine: MaxLine, maxFile: MaxFile}
	if info.Size() == 0 {
		return w, w.write(header{Version})
	}
	switch list, err := Read(f); {
	case !add && (err != nil || len(list) > 0):
		return nil, ErrExists
	case err != nil:
		return nil, err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err != nil {
		return nil, err
	}
	if last[0] != '\n' { // an editor that ends no last line
		_, err = f.Write([]byte{'\n'})
	}
	return w, err
}

// Add appends an exchange as one line.
func (w *Writer) Add(x Exchange) error { return w.write(x) }

func (w *Writer) write(v any) error {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encode an exchange: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return w.err
	case w.file == nil:
		return fmt.Errorf("write %s: %w", w.path, fs.ErrClosed)
	}
	size := int64(line.Len())
	if size > w.maxLine || w.size+size > w.maxFile {
		return fmt.Errorf("write %s: %d bytes more are too much for a cassette", w.path, size)
	}
	n, err := w.file.Write(line.Bytes())
	if err != nil {
		// What was written of the line would make the file unreadable.
		w.err = fmt.Errorf("write %s: %w", w.path, err)
		if n > 0 {
			w.err = errors.Join(w.err, w.file.Truncate(w.size))
		}
		return w.err
	}
	w.size += size
	return nil
}

// Close writes the file to the disk and closes it. It returns the first error of writing; later calls return it again.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return w.err
	}
	w.err = errors.Join(w.err, w.file.Sync(), w.file.Close())
	w.file = nil
	return w.err
}
