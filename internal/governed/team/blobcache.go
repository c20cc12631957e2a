package team

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/governed/ledger"
)

// blobCache stores the object ids of files by size and date, so that an exchange does not read a long record again. If somebody changes a file and
// restores its date, the change is not pushed; drawbar govern verify finds it.
type blobCache struct {
	file  string
	then  map[string]stamp
	now   map[string]stamp
	Begun time.Time        `json:"begun"` // files that changed after this may have changed twice with one date
	Width int              `json:"digits"`
	Files map[string]stamp `json:"files"`
}

type stamp struct {
	Size int64  `json:"size"`
	Time int64  `json:"time"` // ns
	Blob string `json:"blob"`
}

// settled is the age at which a file's date is reliable.
const settled = 2 * time.Second

func (t *Team) readBlobCache(digits int) *blobCache {
	k := &blobCache{file: filepath.Join(t.o.Root, filepath.FromSlash(protocol.LocksDir), "record-files.json")}
	if b, err := os.ReadFile(k.file); err != nil || json.Unmarshal(b, k) != nil || k.Width != digits {
		k.Files = nil
	}
	k.then, k.now, k.Width = k.Files, map[string]stamp{}, digits
	for name, s := range k.then {
		if s.Time >= k.Begun.Add(-settled).UnixNano() {
			delete(k.then, name)
		}
	}
	k.Begun = time.Now()
	return k
}

func (k *blobCache) blob(f ledger.File) string {
	if s := k.then[f.Name]; s.Size == f.Info.Size() && s.Time == f.Info.ModTime().UnixNano() {
		return s.Blob
	}
	return ""
}

func (k *blobCache) add(f ledger.File, blob string) {
	k.now[f.Name] = stamp{f.Info.Size(), f.Info.ModTime().UnixNano(), blob}
}

// save writes the cache if it has grown by more than a turn's files.
func (k *blobCache) save() {
	fresh := 0
	for name := range k.now {
		if _, ok := k.then[name]; !ok {
			fresh++
		}
	}
	k.Files = k.now
	if b, err := json.Marshal(k); err == nil && fresh > 16 {
		_ = atomicfile.Write(k.file, b, 0o644, false) // without it, the files are read
	}
}
