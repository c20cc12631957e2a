package ledger

import (
	"encoding/json"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Tx is one atomic change of the record. Empty fields change nothing; State and Now are required.
type Tx struct {
	Kind   string    // what it does, for messages: accept_turn, assign_turn, ...
	TurnID string    // the turn it concerns, for messages
	Now    time.Time // the time of everything in it
	State  protocol.State

	History       []protocol.HistoryEntry // appended; a turn that is already in the history is refused with ErrDuplicate
	Ledger        []any                   // appended: protocol.LedgerDecision, LedgerNote, or raw JSON objects; a decision's id is unique within a run
	RepoDecisions []protocol.RepoDecision // appended; an override is a new line with the same id
	Events        []protocol.Event        // appended; missing ids and times are filled in
	Runs          []protocol.RunSummary   // appended
	Human         []json.RawMessage       // appended
	Session       *protocol.Session

	Files   map[string][]byte // other files, replaced as a whole; paths are relative to the root, with slashes
	Delete  []string          // other files, deleted; a version that another program writes meanwhile is kept
	Archive []string          // turns whose bundle and staged files move to the archive
	Remove  []string          // files or folders to remove; paths as in Files

	rawHistory []json.RawMessage // lines of the original, as it wrote them

	// Checkpoint is called while the transaction is prepared, with the content that chain.jsonl will have and its head.
	// It only creates git objects. If it fails, the commit fails and nothing is written.
	Checkpoint func(chain []byte, head string) (Checkpoint, error) `json:"-"`
	// After adds what has to name the checkpoint's commit: more lines, and the state. It must not change the lines that
	// the transaction already had, because the checkpoint's chain covers them.
	After func(cp Checkpoint, t *Tx) `json:"-"`
}

// Checkpoint is a commit that exists only as objects. Options.ApplyCheckpoint moves its ref when the rest of the
// transaction is on disk.
type Checkpoint struct {
	Commit string          `json:"commit"`
	Parent string          `json:"parent,omitempty"`
	Ref    string          `json:"ref,omitempty"`
	Apply  json.RawMessage `json:"apply,omitempty"` // what ApplyCheckpoint needs again after a crash
}
