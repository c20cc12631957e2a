package ledger

import (
	"context"
	"encoding/json"
	"io/fs"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// beneath is where a verifier reads what the chain covers as a whole.
type beneath interface {
	read(file string) ([]byte, error)     // nil if it is missing
	under(dir string) ([]string, error)   // the regular files below a folder, with paths relative to it
	has(path string) bool                 // a file or a folder
	span(file, name string) (span, error) // of a file, under this name
}

func (d *disk) has(path string) bool {
	_, err := d.root.Lstat(path)
	return err == nil
}

// copied is a copy of a record whose unchanged files are those of the record here.
type copied struct {
	Copy
	here *disk
}

func (c copied) read(file string) ([]byte, error) {
	if content, ok := c.Files[file]; ok {
		return content, nil
	}
	if _, ok := slices.BinarySearch(c.Names, file); !ok {
		return nil, nil
	}
	return c.here.read(file)
}

func (c copied) under(dir string) (names []string, err error) {
	at, _ := slices.BinarySearch(c.Names, dir+"/")
	for _, name := range c.Names[at:] {
		rest, ok := strings.CutPrefix(name, dir+"/")
		if !ok {
			break
		}
		names = append(names, rest)
	}
	return names, nil
}

func (c copied) has(path string) bool {
	_, file := slices.BinarySearch(c.Names, path)
	names, _ := c.under(path)
	return file || len(names) > 0
}

func (c copied) span(file, name string) (span, error) {
	content, err := c.read(file)
	if content == nil && err == nil {
		err = failed("read", c.here.at(file), fs.ErrNotExist)
	}
	return span{File: name, Length: int64(len(content)), SHA256: marker(content)}, err
}

// VerifyCopy checks a copy of the record of the project at root against the copy's hash chain, without writing it anywhere. The names of the copy are sorted.
// The archives of the first entries, which were verified before, are left out.
func VerifyCopy(ctx context.Context, root string, c Copy, verified int64) (Report, error) {
	d, err := openDisk(root, nil)
	if err != nil {
		return Report{}, err
	}
	defer func() { _ = d.root.Close() }()
	from := copied{c, d}
	v := &View{root: root, files: map[string]extent{}}
	for _, file := range append(chained(), protocol.ChainFile, protocol.HookAuditFile) {
		content, err := from.read(file)
		if err != nil {
			return Report{}, err
		}
		v.files[file] = extent{more: content}
	}
	state, err := from.read(protocol.StateFile)
	if err != nil {
		return Report{}, err
	}
	v.stateMark, v.seenMark = marker(state), marker(state)
	if state != nil {
		if err := json.Unmarshal(state, &v.State); err != nil {
			return Report{}, damaged(d.at(protocol.StateFile), err)
		}
	}
	return verify(ctx, v, from, nil, verified)
}
