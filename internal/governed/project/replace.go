package project

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
)

// WriteFiles writes files of a project, each atomically. nil content removes a file.
func WriteFiles(root string, files map[string][]byte) error {
	r, err := os.OpenRoot(root)
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "write into %s: %w", root, err)
	}
	defer func() { _ = r.Close() }() // its files are closed one by one
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := r.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o755); err != nil {
			return execution.Errorf(execution.CodeConfig, "write %s: %w", name, err)
		}
		if files[name] == nil {
			if err = r.Remove(filepath.FromSlash(name)); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		} else {
			err = atomicfile.WriteIn(r, name, files[name], 0o644, false)
		}
		if err != nil {
			return execution.Errorf(execution.CodeConfig, "write %s: %w", name, err)
		}
	}
	return nil
}

// attemptOf returns the attempt of an assignment; 0 if it does not state one.
func attemptOf(assignment []byte) int {
	var a struct {
		Attempt int `json:"attempt"`
	}
	if json.Unmarshal(assignment, &a) != nil {
		return 0
	}
	return max(0, a.Attempt)
}
