package linefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// Writer appends to a file. It is safe for concurrent use, and several processes may append to one file.
type Writer struct {
	path   string
	format Format

	mu   sync.Mutex
	file *os.File
	err  error // the first of writing; nothing is written after it
}

// Open opens a file to append to, and creates it with mode 0600 and its first line if there is none. line gets the lines that are there, as
// of Read.
func (f Format) Open(path string, line func(n int, text []byte) error) (_ *Writer, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	w := &Writer{path: path, format: f, file: file}
	if info.Size() == 0 {
		_, err = file.WriteString(f.head() + "\n")
		return w, err
	}
	if err := f.Read(file, line); err != nil {
		return nil, err
	}
	var last [1]byte
	if _, err := file.ReadAt(last[:], info.Size()-1); err != nil {
		return nil, err
	}
	if last[0] != '\n' { // an editor that ends no last line
		_, err = file.WriteString("\n")
	}
	return w, err
}

// Line encodes a value as it is written, without the line break.
func Line(v any) ([]byte, error) {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(line.Bytes(), []byte{'\n'}), nil
}

// Append appends lines that belong together with one write: all of them or, if that fails, none.
func (w *Writer) Append(lines ...[]byte) error {
	var all []byte
	for _, line := range lines {
		if len(line) > w.format.MaxLine {
			return fmt.Errorf("write %s: a line of %d bytes is too long; the limit is %d", w.path, len(line), w.format.MaxLine)
		}
		all = append(append(all, line...), '\n')
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return fmt.Errorf("write %s: %w", w.path, fs.ErrClosed)
	}
	if w.err != nil {
		return w.err
	}
	info, err := w.file.Stat()
	if err != nil {
		return fmt.Errorf("write %s: %w", w.path, err)
	}
	if info.Size()+int64(len(all)) > w.format.MaxFile {
		return fmt.Errorf("write %s: the file would have more than %d bytes", w.path, w.format.MaxFile)
	}
	if n, err := w.file.Write(all); err != nil {
		// What was written of the lines would make the file unreadable.
		w.err = fmt.Errorf("write %s: %w", w.path, err)
		if info, err := w.file.Stat(); n > 0 && err == nil {
			w.err = errors.Join(w.err, w.file.Truncate(info.Size()-int64(n)))
		}
		return w.err
	}
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
