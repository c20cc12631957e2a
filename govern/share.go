package govern

import "time"

// SyncOptions are the options of Sync.
type SyncOptions struct {
	Run string // run to continue; empty: the current one of this clone, or the only one in progress
	// Theirs replaces a diverged record of this clone, Ours that of the remote. The replaced one is kept.
	Theirs, Ours bool
	TakeOver     bool // ignore the lease of another clone
}

// ImportOptions are the options of Import.
type ImportOptions struct {
	Files   map[string][]byte // the record's files, by path relative to the project, with slashes
	Replace bool              // replace a diverged record, which is kept
}

// Imported is what Import did.
type Imported struct {
	Run   string `json:"run_id"`
	Turns int    `json:"turns"` // accepted, of all runs
	Kept  string `json:"kept,omitempty"`
}

// Synced is what Sync did.
type Synced struct {
	Share
	Pulled bool     `json:"pulled"`
	Pushed bool     `json:"pushed"`
	Turns  []string `json:"turns,omitempty"`           // accepted turns that were pulled
	Moved  string   `json:"branch_moved_to,omitempty"` // the commit
	Kept   []string `json:"kept,omitempty"`            // folders and refs that contain what was replaced
}

// Share is the state of a record that several clones share, as of the last exchange.
type Share struct {
	Remote    string `json:"remote"`
	Ref       string `json:"ref,omitempty"` // of the remote, for the current run
	Run       string `json:"run_id,omitempty"`
	Commit    string `json:"commit,omitempty"`   // of the ref
	Unpushed  bool   `json:"unpushed,omitempty"` // this clone has changes that are not pushed
	Lease     *Lease `json:"lease,omitempty"`    // nil: none
	LeaseHere bool   `json:"lease_here,omitempty"`
}

// Lease is the right to write the record of a run.
type Lease struct {
	Clone string    `json:"clone"` // random
	Name  string    `json:"name,omitempty"`
	Email string    `json:"email,omitempty"`
	Host  string    `json:"host,omitempty"`
	Owner string    `json:"owner,omitempty"` // the command
	Since time.Time `json:"since"`
	Until time.Time `json:"until"` // renewed while the command runs
}

// Who names the holder for people.
func (l *Lease) Who() string {
	who := l.Name
	if l.Email != "" {
		who += " <" + l.Email + ">"
	}
	if l.Host != "" {
		who += " on " + l.Host
	}
	return who
}
