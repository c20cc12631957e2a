package coordinator

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/governed/ledger"
)

// record is the coordinator's history, and what follows from it.
type record struct {
	dir    string // the workspace
	config *protocol.CoordinatorConfig
	events []protocol.CoordinatorEvent
	whole  int64 // bytes of complete lines
	size   int64
	head   string // digest of the last line, of nothing if there is none
	crash  func(point string)
	derived
}

// lock excludes other commands that write the coordinator's record. The returned function frees it.
func lock(root string) (func(), error) {
	unlock, taken, err := ledger.TryLock(root, "multirepo")
	if err == nil && !taken {
		err = execution.Errorf(execution.CodeConfigLock, "another command works on this run over several repositories").WithHint("wait for it, then repeat this command")
	}
	return unlock, err
}

// read reads the history. An incomplete last line, which a killed command left, does not count. Drawbar's lines have
// the digest of the line before them, and the state has that of the last line: a changed, inserted or removed line is an error. Lines that
// another program appended have none.
func read(w *workspace) (*record, error) {
	r := &record{dir: w.root, config: w.config, crash: func(string) {}, head: digest(nil)}
	data, err := os.ReadFile(r.path(protocol.CoordinatorHistoryFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, damaged(err)
	}
	state, _ := os.ReadFile(r.path(protocol.CoordinatorStateFile)) // it only has the digest of the last line
	if err := r.parse(data, state); err != nil {
		return nil, damaged(err)
	}
	r.derived = fold(w.config, r.events)
	return r, nil
}

// CheckHistory verifies a history and the state that goes with it, as every command does that reads them.
func CheckHistory(history, state []byte) error {
	r := &record{head: digest(nil)}
	if err := r.parse(history, state); err != nil {
		return fmt.Errorf("%s: %w", protocol.CoordinatorHistoryFile, err)
	}
	return nil
}

func (r *record) parse(data, state []byte) error {
	r.size = int64(len(data))
	var heads []string
	for n := 1; ; n++ {
		line, rest, complete := bytes.Cut(data, []byte("\n"))
		if !complete {
			break
		}
		r.whole += int64(len(line)) + 1
		data = rest
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e protocol.CoordinatorEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if e.Prev != "" && e.Prev != r.head {
			return fmt.Errorf("line %d does not follow the line before it: a line was changed, inserted or removed", n)
		}
		r.head = digest(line)
		r.events, heads = append(r.events, e), append(heads, r.head)
	}
	var last struct {
		Head string `json:"history_sha256"`
	}
	if json.Unmarshal(state, &last) == nil && last.Head != "" && !slices.Contains(heads, last.Head) {
		return fmt.Errorf("its end does not match %s: a line was changed or removed", protocol.CoordinatorStateFile)
	}
	return nil
}

func digest(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

func damaged(err error) error {
	return execution.Errorf(execution.CodeConfig, "read %s: %w", protocol.CoordinatorHistoryFile, err).WithHint("restore the file, or move %s away and begin again: drawbar govern multi init", protocol.CoordinatorDir)
}

func (r *record) path(file string) string { return filepath.Join(r.dir, filepath.FromSlash(file)) }

// add appends events to the history and writes what follows from them. The history is on the disk first.
func (r *record) add(events ...protocol.CoordinatorEvent) error {
	if len(events) > 0 {
		var b bytes.Buffer
		head := r.head
		for i := range events {
			events[i].Prev = head
			line, err := protocol.Marshal(events[i])
			if err != nil {
				return err
			}
			head = digest(line)
			b.Write(append(line, '\n'))
		}
		if err := r.append(protocol.CoordinatorHistoryFile, r.whole, b.Bytes()); err != nil {
			return err
		}
		r.head = head
		r.whole += int64(b.Len())
		r.size = r.whole
		for _, e := range events {
			r.events = append(r.events, e)
			r.apply(r.config, e)
		}
		r.crash("history")
	}
	return r.settle()
}

// settle writes the files that follow from the history, if they differ.
func (r *record) settle() error {
	if r.state == nil {
		return nil
	}
	if r.size > r.whole { // an incomplete line
		if err := r.append(protocol.CoordinatorHistoryFile, r.whole, nil); err != nil {
			return err
		}
		r.size = r.whole
	}
	r.state.HistoryHead = r.head
	state, err := protocol.MarshalFile(r.state)
	if err != nil {
		return err
	}
	barriers, err := protocol.MarshalFile(r.barriers)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{protocol.BarriersFile, barriers}, {protocol.CoordinatorStateFile, state}} {
		if old, err := os.ReadFile(r.path(f.name)); err == nil && bytes.Equal(old, f.data) {
			continue
		}
		if err := r.write(f.name, f.data); err != nil {
			return err
		}
		r.crash(f.name)
	}
	if err := tail(r, protocol.CoordinatorLedgerFile, r.decisions); err != nil {
		return err
	}
	return tail(r, protocol.BarrierLedgerFile, r.transitions)
}

// tail appends the lines that a ledger lacks.
func tail[T any](r *record, file string, lines []T) error {
	old, err := os.ReadFile(r.path(file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w", file, err)
	}
	whole := int64(bytes.LastIndexByte(old, '\n') + 1)
	has := bytes.Count(old, []byte("\n"))
	if has >= len(lines) && whole == int64(len(old)) {
		return nil
	}
	var b bytes.Buffer
	for _, l := range lines[min(has, len(lines)):] {
		line, err := protocol.Marshal(l)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	if err := r.append(file, whole, b.Bytes()); err != nil {
		return err
	}
	r.crash(file)
	return nil
}

// folder opens the coordinator's folder, which no link may lead out of.
func (r *record) folder() (*os.Root, error) {
	root, err := os.OpenRoot(r.dir)
	if err == nil {
		defer func() { _ = root.Close() }()
		err = root.MkdirAll(protocol.CoordinatorDir, 0o755)
	}
	var dir *os.Root
	if err == nil {
		dir, err = root.OpenRoot(protocol.CoordinatorDir)
	}
	if err != nil {
		return nil, unwritten(protocol.CoordinatorDir, err)
	}
	return dir, nil
}

func unwritten(file string, err error) error {
	return execution.Errorf(execution.CodeConfig, "write %s: %w", file, err).WithHint("make the folder writable, then repeat the command: nothing is lost")
}

// below is the name of a file within the coordinator's folder.
func below(file string) string { return filepath.FromSlash(file[len(protocol.CoordinatorDir)+1:]) }

// append writes data at offset, the end of the complete lines, and flushes it.
func (r *record) append(file string, offset int64, data []byte) (err error) {
	dir, err := r.folder()
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	f, err := dir.OpenFile(below(file), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return unwritten(file, err)
	}
	if err = f.Truncate(offset); err == nil {
		if _, err = f.WriteAt(data, offset); err == nil {
			err = f.Sync()
		}
		if err != nil { // half a line must not stay
			err = errors.Join(err, f.Truncate(offset))
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return unwritten(file, err)
	}
	return nil
}

// write replaces a file of the coordinator's folder.
func (r *record) write(file string, data []byte) error {
	dir, err := r.folder()
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	name := below(file)
	if parent := filepath.Dir(name); parent != "." {
		err = dir.MkdirAll(parent, 0o755)
	}
	if err == nil {
		err = atomicfile.WriteIn(dir, name, data, 0o644, true)
	}
	if err != nil {
		return unwritten(file, err)
	}
	return nil
}

// sweep removes the baselines of turns that have ended, or never began, but for those contexts.
func (r *record) sweep(keep []string) error {
	dir, err := r.folder()
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	name := below(protocol.CoordinatorBaselinesDir)
	files, err := fs.ReadDir(dir.FS(), name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unwritten(protocol.CoordinatorBaselinesDir, err)
	}
	for _, f := range files {
		if slices.Contains(keep, strings.TrimSuffix(f.Name(), ".json")) {
			continue
		}
		if err := dir.Remove(filepath.Join(name, f.Name())); err != nil {
			return unwritten(protocol.CoordinatorBaselinesDir, err)
		}
	}
	return nil
}
