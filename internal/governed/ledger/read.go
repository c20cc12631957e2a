package ledger

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

// Read returns the record of a project at one moment, without a lock. A pending or interrupted transaction is shown as
// completed, from its journal.
func Read(root string) (*View, error) {
	d, err := openDisk(root, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.root.Close() }()
	v, err := read(d, root)
	if err != nil {
		return nil, err
	}
	if want := v.sealed(); v.Pending == "" && want != "" && want != v.stateMark {
		v.Doubt = protocol.StateFile + " differs from what the last transaction wrote: the next command accepts it if another program's lines explain it; otherwise it restores the written version and saves this one elsewhere"
		if saved, err := d.read(stateCopy); err == nil && marker(saved) == v.stateMark {
			v.Doubt = protocol.ChainFile + " was truncated, or belongs to another record: restore it before any other command (drawbar govern verify)"
		}
	}
	v.Holder, err = Holding(root)
	return v, err
}

// read retries until nothing has changed between the start and the end of a read. Every transaction replaces
// state.json, so if the file is the same, none was carried out in between.
func read(d *disk, root string) (*View, error) {
	for try := 0; ; try++ {
		v, settled, err := readOnce(d, root, true)
		if settled || err != nil && try > 20 {
			return v, err
		}
		if try > 500 {
			return nil, execution.Errorf(execution.CodeConfig, "%s keeps changing", d.at(protocol.StateFile)).
				WithHint("find the program that writes it: drawbar govern status --json shows the holder of the lock")
		}
		time.Sleep(time.Duration(min(try, 10)) * 200 * time.Microsecond)
	}
}

// readOnce reads once. With foresee, the effects of journals of the original are included.
func readOnce(d *disk, root string, foresee bool) (v *View, settled bool, err error) {
	names, err := journalNames(d)
	if err != nil {
		return nil, false, err
	}
	before, _ := d.root.Stat(protocol.StateFile)
	log, err := readRedo(d)
	if err != nil {
		return nil, false, err
	}
	lost, err := missing(d, log.lost)
	if err != nil {
		return nil, false, err
	}
	pending, err := journals(d, names)
	if err != nil {
		return nil, false, err
	}
	v = &View{root: root, files: map[string]extent{}}
	for _, file := range append(chained(), protocol.ChainFile, protocol.HookAuditFile) {
		info, err := d.root.Stat(file)
		if err == nil && info.Mode().IsRegular() {
			v.files[file] = extent{size: info.Size()}
		}
	}
	state, err := d.read(protocol.StateFile)
	if err != nil {
		return nil, false, err
	}
	v.stateMark = marker(state)
	for _, j := range []*journal{lost, log.pending} {
		if j != nil {
			state = v.foresee(d, j, state)
		}
	}
	v.seenMark = marker(state)
	same, err := unchanged(d, names, before, log)
	if !same || err != nil {
		return nil, false, err
	}
	if state == nil {
		v.Fresh = true
		v.State = protocol.State{SchemaVersion: protocol.StateVersion, Status: protocol.RunIdle}
	} else if err := json.Unmarshal(state, &v.State); err != nil {
		return nil, false, damaged(d.at(protocol.StateFile), err).
			WithHint("restore a readable copy; drawbar govern history shows what was accepted, and drawbar govern restart continues from there")
	}
	for _, f := range pending {
		if foresee && f.original != nil && f.err == nil {
			if err := v.foreseeOriginal(f.original); err != nil {
				return nil, false, err
			}
		}
	}
	return v, true, nil
}

// unchanged reports whether the journals, the log and the state are those that were there before.
func unchanged(d *disk, names []string, before os.FileInfo, log redo) (bool, error) {
	now, err := journalNames(d)
	if err != nil {
		return false, err
	}
	size, _, err := d.stat(redoFile)
	if err != nil {
		return false, err
	}
	if size != log.found {
		return false, nil
	}
	after, err := d.root.Stat(protocol.StateFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, failed("look at", d.at(protocol.StateFile), err)
	}
	if !slices.Equal(now, names) || (before == nil) != (after == nil) {
		return false, nil
	}
	return before == nil || os.SameFile(before, after) && before.Size() == after.Size() && before.ModTime().Equal(after.ModTime()), nil
}

// foresee adds the effects of a journal of ours to a view.
func (v *View) foresee(d *disk, j *journal, state []byte) []byte {
	v.Pending = j.TransactionID
	for _, s := range j.Appends {
		e := extent{size: s.Offset, more: s.Content}
		if !v.fits(d, s.File, s.Offset) {
			e.size = v.files[s.File].size // recovery appends at the end
			if !v.fits(d, s.File, e.size) {
				e.more = append([]byte{'\n'}, e.more...) // and removes the incomplete line
			}
		}
		v.files[s.File] = e
	}
	if c := j.after(protocol.SessionFile); c != nil {
		v.session = c
	}
	if c := j.after(protocol.StateFile); c != nil {
		return c
	}
	return state
}

// fits reports whether a line may start at an offset of a file.
func (v *View) fits(d *disk, file string, offset int64) bool {
	if offset == 0 {
		return true
	}
	f, err := d.root.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	ok, err := lineBegins(f, v.files[file].size, offset)
	return ok && err == nil
}

func isDamage(err error) bool {
	var d *DamagedError
	return errors.As(err, &d)
}
