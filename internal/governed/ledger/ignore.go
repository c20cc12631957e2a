package ledger

import (
	"errors"
	"io/fs"
	"os"

	"github.com/drawbar/drawbar/govern/protocol"
)

// ignored hides the files that the original does not know from git, and itself. The original attributes unknown files
// to a turn: it assigns no turn while such a file is untracked, and deletes it when it accepts one.
const ignored = "# Files that drawbar govern keeps beside the record. Git ignores them, and this file.\n" +
	"/.gitignore\n/archive/\n/chain.jsonl\n/locks/\n/transactions/\n/worktrees/\n"

// hideOwn writes the file. An existing one belongs to the user and is kept.
func (d *disk) hideOwn() error {
	if _, err := d.root.Lstat(protocol.IgnoreFile); !errors.Is(err, fs.ErrNotExist) {
		return nil // doctor names what it lacks
	}
	f, err := d.root.OpenFile(protocol.IgnoreFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil // another command wrote it just now
	}
	if err == nil {
		_, err = f.WriteString(ignored)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return failed("write", d.at(protocol.IgnoreFile), err)
	}
	return nil
}
