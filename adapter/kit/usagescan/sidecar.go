package usagescan

import (
	"io/fs"
	"path"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/history"
)

const maxSidecar = 1 << 20

// Sidecar reads a small file beside a session file, at a path below the store's root. It returns nil if that fails.
func Sidecar(h adapter.Host, f history.UsageFile, rel string) []byte {
	name, err := h.Name(path.Join(f.Root, rel))
	if err != nil || h.FS == nil {
		return nil
	}
	file, err := h.FS.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close() //nolint:errcheck // read only
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxSidecar {
		return nil
	}
	b, err := fs.ReadFile(h.FS, name)
	if err != nil {
		return nil
	}
	return b
}
