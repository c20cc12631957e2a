package ledger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lazy"
)

// turnPattern is a valid turn id, which becomes the name of a folder.
var turnPattern = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// Commit writes a transaction. After an error nothing has happened, with two exceptions: with ErrUnfinished the
// transaction has happened and the next Open or Commit completes it; with ErrCheckpointStale it has happened, but its
// checkpoint is not on the branch.
func (l *Ledger) Commit(ctx context.Context, tx Tx) error {
	if l.lock == nil {
		return execution.Errorf(execution.CodeInternal, "the ledger of %s is closed", l.root)
	}
	leave, err := l.lock.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := l.finishPending(ctx); err != nil {
		return err
	}
	j, tail, err := l.prepare(&tx)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
	if err := l.carryOut(ctx, j); err != nil {
		return err
	}
	l.tail = tail
	return l.stale()
}

// carryOut writes the journal of a transaction and applies it.
func (l *Ledger) carryOut(ctx context.Context, j *journal) error {
	if !l.redo.mark.follows(j) {
		if err := l.emptyLog(); err != nil {
			return err
		}
	}
	if err := l.redo.write(l.disk, redoLine{Journal: j}); err != nil {
		return err
	}
	l.redo.pending = j
	// What has happened is finished whatever the caller has in mind.
	err := l.apply(context.WithoutCancel(ctx), j, false)
	if errors.Is(err, ErrCheckpointStale) {
		l.staleErr, err = err, nil
	}
	if err == nil {
		l.view, err = read(l.disk, l.root)
	}
	if err != nil {
		l.tail = nil
		return fmt.Errorf("%s is recorded, but %w: %w", about(j), ErrUnfinished, err)
	}
	return nil
}

// stale returns the error about a checkpoint once.
func (l *Ledger) stale() error {
	err := l.staleErr
	l.staleErr = nil
	return err
}

// prepare builds the journal of a transaction and the new end of the chain. It writes nothing except what the caller's
// Checkpoint creates.
func (l *Ledger) prepare(tx *Tx) (*journal, *chainTail, error) {
	if tx.Now.IsZero() {
		return nil, nil, execution.Errorf(execution.CodeInternal, "transaction %s has no time", tx.Kind)
	}
	own(tx)
	state, err := l.disk.read(protocol.StateFile)
	if err != nil {
		return nil, nil, err
	}
	if marker(state) != l.view.stateMark {
		return nil, nil, execution.Errorf(execution.CodeInvalidStateTransition, "%w: %s, while this command was running; nothing was written",
			ErrConflict, l.disk.at(protocol.StateFile)).WithHint("run the command again")
	}
	if err := l.unique(tx); err != nil {
		return nil, nil, err
	}
	b, err := l.newBatch(tx)
	if err != nil {
		return nil, nil, err
	}
	lines, err := encodeLines(tx)
	if err != nil {
		return nil, nil, err
	}
	if err := b.add(lines); err != nil {
		return nil, nil, err
	}
	cp, err := l.checkpoint(tx, b, lines)
	if err != nil {
		return nil, nil, err
	}
	if state, err = protocol.MarshalFile(tx.State); err != nil {
		return nil, nil, execution.Errorf(execution.CodeInternal, "encode the state: %w", err)
	}
	var session []byte
	if tx.Session != nil {
		if session, err = protocol.MarshalFile(tx.Session); err != nil {
			return nil, nil, execution.Errorf(execution.CodeInternal, "encode the session: %w", err)
		}
	}
	if err := l.coverBeside(b, tx, session); err != nil {
		return nil, nil, err
	}
	if b.chain, err = b.tail.seal(b.chain, state); err != nil {
		return nil, nil, err
	}
	j := &journal{Format: journalFormat, TransactionID: journalPrefix + randomHex(), Kind: cmp.Or(tx.Kind, "update"), RunID: tx.State.ID(),
		TurnID: tx.TurnID, Status: journalStatus, PreparedAt: protocol.At(tx.Now), Appends: b.steps(), Checkpoint: cp}
	if err := l.addFiles(j, tx, session, state); err != nil {
		return nil, nil, err
	}
	if err := l.addMoves(j, tx); err != nil {
		return nil, nil, err
	}
	return j, b.tail, nil
}

// checkpoint creates the checkpoint of a transaction and adds the lines that follow from it; nil if the transaction has none.
func (l *Ledger) checkpoint(tx *Tx, b *batch, lines map[string][][]byte) (*Checkpoint, error) {
	if tx.Checkpoint == nil {
		return nil, nil
	}
	chain, err := l.disk.read(protocol.ChainFile)
	if err != nil {
		return nil, err
	}
	made, err := tx.Checkpoint(append(slices.Clone(chain), b.chain...), b.tail.head)
	if err != nil {
		return nil, fmt.Errorf("prepare the checkpoint: %w", err)
	}
	if tx.After == nil {
		return &made, nil
	}
	tx.After(made, tx)
	own(tx)
	all, err := encodeLines(tx)
	if err != nil {
		return nil, err
	}
	more, err := rest(lines, all)
	if err != nil {
		return nil, err
	}
	return &made, b.add(more)
}

// own fills in the ids of events and missing times.
func own(tx *Tx) {
	for i := range tx.Events {
		e := &tx.Events[i]
		if e.EventID == "" {
			e.EventID = "evt_" + randomHex()
		}
		if e.Timestamp.IsZero() {
			e.Timestamp = protocol.At(tx.Now)
		}
	}
}

// encodeLines returns the lines of a transaction, by file.
func encodeLines(tx *Tx) (map[string][][]byte, error) {
	all := map[string][][]byte{}
	put := func(file string, v any) error {
		line, err := protocol.Marshal(v)
		if err != nil {
			return execution.Errorf(execution.CodeInternal, "encode a line of %s: %w", file, err)
		}
		if protocol.Kind(line) != "object" || bytes.IndexByte(line, '\n') >= 0 {
			return execution.Errorf(execution.CodeInternal, "a line of %s is not a JSON object: %.40q", file, line)
		}
		all[file] = append(all[file], append(line, '\n'))
		return nil
	}
	return all, errors.Join(
		putAll(put, protocol.HistoryFile, tx.rawHistory), putAll(put, protocol.HistoryFile, tx.History), putAll(put, protocol.LedgerFile, tx.Ledger),
		putAll(put, protocol.RepoLedgerFile, tx.RepoDecisions), putAll(put, protocol.EscalationsFile, tx.Human),
		putAll(put, protocol.RunHistoryFile, tx.Runs), putAll(put, protocol.EventsFile, tx.Events))
}

func putAll[T any](put func(string, any) error, file string, values []T) error {
	for _, v := range values {
		if err := put(file, v); err != nil {
			return err
		}
	}
	return nil
}

// rest returns what all has after the lines in before, which must be its prefix.
func rest(before, all map[string][][]byte) (map[string][][]byte, error) {
	more := map[string][][]byte{}
	for file, lines := range before {
		if len(all[file]) < len(lines) || !slices.EqualFunc(lines, all[file][:len(lines)], bytes.Equal) {
			return nil, execution.Errorf(execution.CodeInternal, "lines of %s were changed after the checkpoint that covers them", file)
		}
	}
	for file, lines := range all {
		more[file] = lines[len(before[file]):]
	}
	return more, nil
}

// batch collects the lines of a transaction and the chain entries that cover them.
type batch struct {
	tail    *chainTail
	sizes   map[string]int64 // where the files end
	content map[string][]byte
	chain   []byte
	chainAt int64
}

func (l *Ledger) newBatch(tx *Tx) (*batch, error) {
	b := &batch{sizes: map[string]int64{}, content: map[string][]byte{}}
	for _, file := range append(chained(), protocol.ChainFile) {
		size, _, err := l.disk.stat(file)
		if err != nil {
			return nil, err
		}
		b.sizes[file] = size
	}
	b.chainAt = b.sizes[protocol.ChainFile]
	tail, err := l.end()
	if err != nil {
		return nil, err
	}
	b.tail = tail.clone()
	var adopted, short []string
	b.chain, adopted, short, err = b.tail.begin(l.disk, protocol.At(tx.Now), b.sizes, l.prior)
	if err != nil {
		return nil, err
	}
	if err := l.disk.flush(adopted); err != nil {
		return nil, err
	}
	for _, file := range adopted {
		l.note(Note{What: "adopted", Path: file, Message: "lines at the end of " + file + " were written by another program; the chain covers them from now on"})
	}
	for _, file := range short {
		l.note(Note{What: "shortened", Path: file, Message: file + " is shorter than before; drawbar govern verify shows the first lost line"})
	}
	return b, nil
}

// add appends lines to their files.
func (b *batch) add(lines map[string][][]byte) (err error) {
	for _, file := range chained() {
		at := b.sizes[file] + int64(len(b.content[file]))
		if b.chain, err = b.tail.cover(b.chain, file, at, lines[file]); err != nil {
			return err
		}
		for _, line := range lines[file] {
			b.content[file] = append(b.content[file], line...)
		}
	}
	return nil
}

// steps returns the appends, the chain's last: it never covers what is not yet written.
func (b *batch) steps() []appendStep {
	var all []appendStep
	for _, file := range chained() {
		if c := b.content[file]; len(c) > 0 {
			all = append(all, appendStep{File: file, Offset: b.sizes[file], Content: c})
		}
	}
	if len(b.chain) > 0 {
		all = append(all, appendStep{File: protocol.ChainFile, Offset: b.chainAt, Content: b.chain})
	}
	return all
}

// addFiles adds the replaced files, the state last.
func (l *Ledger) addFiles(j *journal, tx *Tx, session, state []byte) error {
	add := func(file string, content []byte) error {
		if _, _, err := l.disk.stat(file); err != nil {
			return err
		}
		old, err := l.disk.read(file)
		if err != nil {
			return err
		}
		j.Files = append(j.Files, fileStep{File: file, Before: marker(old), Content: content})
		return nil
	}
	for _, file := range slices.Sorted(maps.Keys(tx.Files)) {
		if err := l.disk.local(file); err != nil {
			return err
		}
		if file == protocol.StateFile || file == protocol.SessionFile || file == protocol.ChainFile || file == stateCopy || slices.Contains(chained(), file) {
			return execution.Errorf(execution.CodeInternal, "%s is part of the record and is not written as a file", file)
		}
		if err := add(file, tx.Files[file]); err != nil {
			return err
		}
	}
	for _, file := range tx.Delete {
		if err := l.disk.local(file); err != nil {
			return err
		}
		if strings.HasPrefix(file, protocol.Dir+"/") {
			return execution.Errorf(execution.CodeInternal, "%s is part of the record and is not deleted", file)
		}
		if err := add(file, nil); err != nil {
			return err
		}
		j.Files[len(j.Files)-1].Gone = true
	}
	if session != nil {
		if err := add(protocol.SessionFile, session); err != nil {
			return err
		}
	}
	if err := add(stateCopy, state); err != nil {
		return err
	}
	return add(protocol.StateFile, state)
}

// ValidTurn reports whether a turn id can be the name of a folder.
func ValidTurn(id string) bool { return turnPattern().MatchString(id) }

func archivable(turn string) error {
	if ValidTurn(turn) {
		return nil
	}
	return execution.Errorf(execution.CodeInternal, "the turn id %q cannot be the name of a folder", turn)
}

// addMoves adds what moves to the archive and what is removed.
func (l *Ledger) addMoves(j *journal, tx *Tx) error {
	for _, turn := range tx.Archive {
		if err := archivable(turn); err != nil {
			return err
		}
		to := protocol.ArchiveDir + "/" + turn
		j.Moves = append(j.Moves, moveStep{From: protocol.BundleDir(turn), To: to},
			moveStep{From: path.Dir(protocol.StagedFile(turn)), To: to + "/staging"})
		if l.flatStagedOf(turn) {
			j.Moves = append(j.Moves, moveStep{From: flatStaged, To: to + "/staging/turn-result.flat.json"})
		}
	}
	for _, p := range tx.Remove {
		if err := l.disk.local(p); err != nil {
			return err
		}
		if p == protocol.Dir || slices.Contains(chained(), p) || p == protocol.StateFile || p == protocol.ChainFile {
			return execution.Errorf(execution.CodeInternal, "%s is part of the record and is not removed", p)
		}
		j.Remove = append(j.Remove, p)
	}
	return nil
}

// flatStaged is where old versions stage a result.
const flatStaged = protocol.StagingDir + "/turn-result.json"

// flatStagedOf reports whether the flat staged result belongs to a turn.
func (l *Ledger) flatStagedOf(turn string) bool {
	size, there, err := l.disk.stat(flatStaged)
	if err != nil || !there || size > 16<<20 {
		return false
	}
	data, err := l.disk.read(flatStaged)
	var r struct {
		TurnID string `json:"turn_id"`
	}
	return err == nil && json.Unmarshal(data, &r) == nil && r.TurnID == turn
}
