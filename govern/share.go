package govern

import "time"

// SyncOptions are the options of Sync.
type SyncOptions struct {
	Run string // the run to carry on here; empty: the one of this clone, or else the only one in progress
	// Theirs continues with the remote's record although this clone's differs, Ours the other way round. What is not continued is kept.
	Theirs, Ours bool
	TakeOver     bool // take the run from a clone that holds it and is gone
}

// ImportOptions are the options of Import.
type ImportOptions struct {
	Files   map[string][]byte // the record's files, by path relative to the project, with slashes
	Replace bool              // also a record that does not continue the one here, which is kept
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
	Turns  []string `json:"turns,omitempty"`           // accepted elsewhere since the last time
	Moved  string   `json:"branch_moved_to,omitempty"` // the commit
	Kept   []string `json:"kept,omitempty"`            // where what was not continued is: a folder, a ref
}

// Share is a record that several clones carry, as this clone knows it.
type Share struct {
	Remote    string `json:"remote"`
	Ref       string `json:"ref,omitempty"` // of the remote, for the current run
	Run       string `json:"run_id,omitempty"`
	Commit    string `json:"commit,omitempty"`   // what the ref was when this clone saw it last
	Unpushed  bool   `json:"unpushed,omitempty"` // this clone has more than that
	Lease     *Lease `json:"lease,omitempty"`    // nil: nobody holds the run
	LeaseHere bool   `json:"lease_here,omitempty"`
}

// Lease says who may write the record of a run.
type Lease struct {
	Clone string    `json:"clone"` // random
	Name  string    `json:"name,omitempty"`
	Email string    `json:"email,omitempty"`
	Host  string    `json:"host,omitempty"`
	Owner string    `json:"owner,omitempty"` // the command
	Since time.Time `json:"since"`
	Until time.Time `json:"until"` // it is renewed while the command works
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
