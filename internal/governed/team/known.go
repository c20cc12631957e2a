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

// known are git's names of files that have not changed since they were last read, so that a long record is not read for each exchange. It only
// saves time: a file that somebody changes and gives its old date back is not pushed, and verify finds it.
type known struct {
	file  string
	then  map[string]stamp
	now   map[string]stamp
	Begun time.Time        `json:"begun"` // files that changed later than this may have changed twice in one instant
	Width int              `json:"digits"`
	Files map[string]stamp `json:"files"`
}

type stamp struct {
	Size int64  `json:"size"`
	Time int64  `json:"time"` // ns
	Blob string `json:"blob"`
}

// settled is the age from which a file's date says when it changed.
const settled = 2 * time.Second

func (t *Team) readKnown(digits int) *known {
	k := &known{file: filepath.Join(t.o.Root, filepath.FromSlash(protocol.LocksDir), "record-files.json")}
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

func (k *known) blob(f ledger.File) string {
	if s := k.then[f.Name]; s.Size == f.Info.Size() && s.Time == f.Info.ModTime().UnixNano() {
		return s.Blob
	}
	return ""
}

func (k *known) add(f ledger.File, blob string) {
	k.now[f.Name] = stamp{f.Info.Size(), f.Info.ModTime().UnixNano(), blob}
}

// save writes what is known, if it is worth it.
func (k *known) save() {
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
