package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
)

// OutFile is a file that a flag names and a command replaces as a whole at its end. The zero value is none.
type OutFile struct {
	stated string
	path   string // that it leads to
	mode   fs.FileMode
}

// OpenOut refuses a file that cannot be written. Nothing is left beside it meanwhile, where an agent could find it. An empty path is no file.
func OpenOut(flag, stated string) (OutFile, error) {
	f := OutFile{stated, stated, 0o666}
	if stated == "" {
		return f, nil
	}
	info, err := os.Stat(stated)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err == nil && !info.Mode().IsRegular():
		err = &fs.PathError{Op: "write", Path: stated, Err: errors.New("not a regular file")}
	case err == nil:
		f.mode = info.Mode().Perm()
		f.path, err = filepath.EvalSymlinks(stated)
	}
	if err == nil {
		var begun *atomicfile.File
		if begun, err = atomicfile.Create(f.path, f.mode); err == nil {
			begun.Discard()
		}
	}
	if err != nil {
		return f, Usage("%s: %v", flag, err).WithHint("name a file in a folder that you may write to")
	}
	return f, nil
}

// Write replaces the file.
func (f OutFile) Write(content []byte) error {
	if f.stated == "" {
		return nil
	}
	if err := atomicfile.Write(f.path, content, f.mode, true); err != nil {
		return execution.Errorf(execution.CodeConfig, "write %s: %w", f.stated, err)
	}
	return nil
}
