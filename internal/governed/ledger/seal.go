package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

// stateCopy is a copy of state.json after the last transaction, from which it can be restored.
const stateCopy = protocol.Dir + "/archive/state.json"

// seal adds an entry for the new state.json.
func (t *chainTail) seal(out, state []byte) ([]byte, error) {
	t.state = marker(state)
	return t.add(out, entry{Kind: entryState, SHA256: t.state})
}

// checkState compares state.json with the chain. A version that another program wrote is set aside and that of the last
// transaction restored, because rules do not bind a worker that can write the state. The original, which does not know
// the chain, also writes lines; if it continued the run, its state is adopted.
func (l *Ledger) checkState() error {
	tail, err := l.end()
	if err != nil || tail.state == "" || tail.state == l.view.stateMark {
		return err
	}
	if l.opts.AdoptState {
		if err := l.askForeign(tail); err != nil {
			return err
		}
		l.note(Note{What: "adopted", Path: protocol.StateFile, Message: protocol.StateFile + " is accepted as it is, as requested"})
		return nil
	}
	sealed, err := l.disk.read(stateCopy)
	if err != nil {
		return err
	}
	if marker(sealed) != tail.state {
		return l.lostState(marker(sealed))
	}
	byOriginal, err := l.carriedOn(tail, sealed)
	if err != nil {
		return err
	}
	if byOriginal {
		l.note(Note{What: "adopted", Path: protocol.StateFile, Message: protocol.StateFile + " was written by another program together with lines of the record, and is accepted"})
		return nil
	}
	return l.restore(sealed)
}

// askForeign asks about a state that a person adopts, if the earlier state is known.
func (l *Ledger) askForeign(tail *chainTail) error {
	saved, err := l.disk.read(stateCopy)
	var st protocol.State
	if err != nil || l.opts.Foreign == nil || marker(saved) != tail.state || json.Unmarshal(saved, &st) != nil {
		return err
	}
	return l.opts.Foreign(&st, &l.view.State)
}

// lostState is the error about a state that cannot be restored.
func (l *Ledger) lostState(saved string) error {
	what := "differs from what the last transaction wrote, and so does its copy " + stateCopy
	switch l.view.stateMark {
	case "":
		what = "is missing, and so is its copy " + stateCopy
	case saved:
		what = "is not what the end of " + protocol.ChainFile + " says: the chain lost its end (drawbar govern verify), or both were rewritten"
	}
	return execution.Errorf(execution.CodeParse, "%s %s", l.disk.at(protocol.StateFile), what).
		WithHint("restore %s from a backup (git clean -x removes it), or continue with the current files: drawbar govern restart --adopt-state", protocol.Dir)
}

// carriedOn reports whether another program that writes the protocol's record continued the run: between two turns, and
// with lines of its own.
func (l *Ledger) carriedOn(tail *chainTail, sealed []byte) (bool, error) {
	var st protocol.State
	if err := json.Unmarshal(sealed, &st); err != nil {
		return false, damaged(l.disk.at(stateCopy), err)
	}
	if l.view.stateMark == "" || l.opts.NoForeign {
		return false, nil
	}
	found, err := l.foreignTurns(tail)
	if err != nil || found == nil {
		return false, err
	}
	for id := range st.ActiveTurns.All() {
		if found[id] && !l.view.State.ActiveTurns.Has(id) {
			// The turn's own worker could have written that.
			return false, execution.Errorf(execution.CodeInvalidStateTransition, "turn %s, assigned by drawbar, was accepted by another program: drawbar did not see anyone do that", id).
				WithHint("if a person did, with agentxchain: drawbar govern restart --adopt-state; if nobody did: cp %s %s, and take the lines away that drawbar govern verify names", stateCopy, protocol.StateFile)
		}
	}
	if st.ActiveTurns.Len() > 0 {
		return false, nil
	}
	now := &l.view.State
	if done := now.LastCompletedTurnID; done != nil && (st.LastCompletedTurnID == nil || *done != *st.LastCompletedTurnID) && !found[*done] {
		return false, nil // an accepted turn adds a line to the history
	}
	for id := range now.ActiveTurns.All() {
		if !found[id] {
			return false, nil // an assigned one adds an event
		}
	}
	if l.opts.Foreign != nil {
		if err := l.opts.Foreign(&st, now); err != nil {
			return false, err
		}
	}
	return true, nil
}

// foreignTurns returns the turns named by lines after the end of the chain: accepted ones from the history, others from
// events. It is nil if there are no such lines.
func (l *Ledger) foreignTurns(tail *chainTail) (map[string]bool, error) {
	var found map[string]bool
	for _, file := range []string{protocol.HistoryFile, protocol.EventsFile} {
		size, _, err := l.disk.stat(file)
		if err != nil {
			return nil, err
		}
		if size <= tail.ends[file] {
			continue
		}
		if found == nil {
			found = map[string]bool{}
		}
		if _, err := l.view.each(file, tail.ends[file], func(rec record) error {
			var k lineKey
			if json.Unmarshal(rec.Data, &k) == nil {
				found[k.TurnID] = found[k.TurnID] || file == protocol.HistoryFile
				if file == protocol.EventsFile && k.EventType != "turn_accepted" && l.view.State.ActiveTurns.Has(k.Turn.TurnID) {
					found[k.Turn.TurnID] = true
				}
			}
			return nil
		}); err != nil && !isDamage(err) {
			return nil, err
		}
	}
	return found, nil
}

// restore restores the state of the last transaction.
func (l *Ledger) restore(sealed []byte) error {
	now, err := l.disk.read(protocol.StateFile)
	if err != nil {
		return err
	}
	n := Note{What: "restored", Path: protocol.StateFile, Message: protocol.StateFile + " was missing; the version of the last transaction was restored"}
	if now != nil {
		if n.Kept, err = l.keep(protocol.StateFile, 0, now); err != nil {
			return err
		}
		n.Message = protocol.StateFile + " was changed by another program; the version of the last transaction was restored, and the change is kept in " + n.Kept
	}
	if err := l.disk.replace(protocol.StateFile, sealed); err != nil {
		return err
	}
	l.note(n)
	l.view, err = read(l.disk, l.root)
	return err
}

// displaceForeign moves lines that no transaction wrote from the ends of the files to where displaced bytes are kept.
func (l *Ledger) displaceForeign() error {
	if !l.opts.NoForeign {
		return nil
	}
	tail, err := l.end()
	if err != nil || tail.seq == 0 {
		return err
	}
	for _, file := range chained() {
		size, _, err := l.disk.stat(file)
		if err != nil {
			return err
		}
		end := tail.ends[file]
		if size <= end {
			continue
		}
		kept, err := l.cut(file, end, size)
		if err != nil {
			return err
		}
		l.note(Note{What: "displaced", Path: file, Kept: kept,
			Message: fmt.Sprintf("%d bytes at the end of %s were written by another program during a turn; they are kept in %s", size-end, file, kept)})
	}
	l.view, err = read(l.disk, l.root)
	return err
}

// cut moves the end of a file to where displaced bytes are kept, whatever its length.
func (l *Ledger) cut(file string, from, size int64) (string, error) {
	d := l.disk
	f, err := d.root.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return "", failed("open", d.at(file), err)
	}
	defer f.Close()
	if err := d.makeDir(keptDir); err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s/%s.%d.%s", keptDir, path.Base(file), from, randomHex())
	to, err := d.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return "", failed("write", d.at(name), err)
	}
	_, err = io.Copy(to, io.NewSectionReader(f, from, size-from))
	if err == nil {
		err = d.sync(to)
	}
	if err = errors.Join(err, to.Close()); err == nil {
		err = d.syncDir(keptDir)
	}
	if err != nil {
		return "", failed("write", d.at(name), err)
	}
	if err := f.Truncate(from); err != nil {
		return "", failed("shorten", d.at(file), err)
	}
	if err := d.sync(f); err != nil {
		return "", failed("flush", d.at(file), err)
	}
	return name, nil
}

// unreadable restores a state that cannot be parsed, if that is the fault.
func (l *Ledger) unreadable(cause error) (*View, error) {
	var typed *execution.Error
	if !errors.As(cause, &typed) || typed.Code != execution.CodeParse {
		return nil, cause
	}
	tail, err := l.end()
	if err != nil || tail.state == "" {
		return nil, cause
	}
	sealed, err := l.disk.read(stateCopy)
	if err != nil || marker(sealed) != tail.state {
		return nil, cause
	}
	err = l.restore(sealed)
	return l.view, err
}

// sealed is the digest in the last entry of the chain about the state; empty if there is none.
func (v *View) sealed() (digest string) {
	v.backward(func(e entry, _ string) bool {
		if e.Kind == entryState {
			digest = e.SHA256
		}
		return digest == ""
	})
	return digest
}

// Head returns the head of the record's hash chain and the number of its entries; empty without a chain.
func (v *View) Head() (head string, entries int64) {
	v.backward(func(e entry, hash string) bool {
		head, entries = hash, e.Seq+1
		return false
	})
	return head, entries
}

// backward calls fn for the last entries of the chain, the last one first, until it returns false.
func (v *View) backward(fn func(e entry, hash string) bool) {
	size := v.files[protocol.ChainFile].size
	const most = 4 << 10 // an entry about the state is the last one, and short
	r, err := v.readerFrom(protocol.ChainFile, max(size-most, 0))
	if err != nil {
		return
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return
	}
	for len(data) > 0 {
		data = bytes.TrimRight(data, "\n")
		i := bytes.LastIndexByte(data, '\n')
		if e, hash, err := openEntry(data[i+1:]); err == nil && !fn(e, hash) {
			return
		}
		data = data[:i+1]
	}
}

// Mark describes the record at a moment: the length of every file of lines, and the digest of that prefix.
type Mark map[string]span

// Mark returns the mark of the view.
func (v *View) Mark() (Mark, error) {
	m := Mark{}
	for _, file := range append(chained(), protocol.ChainFile) {
		s := span{Length: v.length(file)}
		if s.Length > 0 {
			var err error
			if s.SHA256, err = v.digest(file, s.Length); err != nil {
				return nil, err
			}
		}
		m[file] = s
	}
	return m, nil
}

// Altered returns the files that no longer begin with what they contained, sorted. Lines appended since do not count.
func (v *View) Altered(m Mark) ([]string, error) {
	var all []string
	for _, file := range slices.Sorted(maps.Keys(m)) {
		s := m[file]
		if s.Length == 0 {
			continue
		}
		if v.length(file) < s.Length {
			all = append(all, file)
			continue
		}
		sum, err := v.digest(file, s.Length)
		if err != nil {
			return nil, err
		}
		if sum != s.SHA256 {
			all = append(all, file)
		}
	}
	return all, nil
}

func (v *View) digest(file string, length int64) (string, error) {
	r, err := v.reader(file)
	if err != nil {
		return "", err
	}
	defer r.Close()
	sum, _, err := digest(r, length)
	if err != nil {
		return "", failed("read", v.path(file), err)
	}
	return sum, nil
}
