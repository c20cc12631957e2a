package ledger

import (
	"encoding/json"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Tx is one change of the record: all of it happens, or nothing. Fields that are empty change nothing; State and Now are
// required.
type Tx struct {
	Kind   string    // what it is about, for messages: accept_turn, assign_turn, ...
	TurnID string    // the turn it is about, for messages
	Now    time.Time // the time of everything in it
	State  protocol.State

	History       []protocol.HistoryEntry // appended; a turn that is in the history already is refused with ErrDuplicate
	Ledger        []any                   // appended: protocol.LedgerDecision, LedgerNote, or raw JSON objects; a decision's id stands once per run
	RepoDecisions []protocol.RepoDecision // appended; an override is a new line of the same id
	Events        []protocol.Event        // appended; ids and times are given where they are missing
	Runs          []protocol.RunSummary   // appended
	Human         []json.RawMessage       // appended
	Session       *protocol.Session

	Files   map[string][]byte // other files, written whole; paths are relative to the root, with slashes
	Archive []string          // turns whose bundle and staged files move to the archive
	Remove  []string          // files or folders that are removed; paths as in Files

	rawHistory []json.RawMessage // lines of the original, as it wrote them

	// Checkpoint is called while the transaction is prepared, with the content that chain.jsonl will have and its head. It
	// makes git objects and nothing else. An error ends the commit with nothing written.
	Checkpoint func(chain []byte, head string) (Checkpoint, error) `json:"-"`
	// After adds what has to name the checkpoint's commit: more lines, and the state. What stood in the transaction before
	// must stay, because the checkpoint's chain covers it.
	After func(cp Checkpoint, t *Tx) `json:"-"`
}

// Checkpoint is a commit that exists as objects. Its ref is moved by Options.ApplyCheckpoint when the rest of the transaction
// is on disk.
type Checkpoint struct {
	Commit string          `json:"commit"`
	Parent string          `json:"parent,omitempty"`
	Ref    string          `json:"ref,omitempty"`
	Apply  json.RawMessage `json:"apply,omitempty"` // what ApplyCheckpoint needs again after a crash
}
