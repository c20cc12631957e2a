package adapter

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// maxLinks limits the links followed to one file.
const maxLinks = 40

// Follow resolves all links in an absolute path. The target need not be below any root.
func (h Host) Follow(path string) (string, error) {
	volume := filepath.VolumeName(path)
	rest := strings.TrimPrefix(filepath.Clean(path)[len(volume):], string(filepath.Separator))
	done := volume + string(filepath.Separator)
	for links := 0; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, string(filepath.Separator))
		next := filepath.Join(done, part)
		name, err := h.Name(next)
		if err != nil {
			return "", err
		}
		info, err := fs.Lstat(h.FS, name)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", errors.New("too many links")
		}
		target, err := fs.ReadLink(h.FS, name)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(done, target)
		}
		volume = filepath.VolumeName(target)
		rest = filepath.Join(strings.TrimPrefix(filepath.Clean(target)[len(volume):], string(filepath.Separator)), rest)
		done = volume + string(filepath.Separator)
	}
	return done, nil
}
