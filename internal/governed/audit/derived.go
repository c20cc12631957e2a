package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/proposal"
)

// Derived is the kind of a finding about a proposal or a review that is not what an accepted turn's history entry says.
const Derived = "derived"

// derived compares the proposals and reviews with the digests in the record.
func derived(root string, v *ledger.View) ([]Finding, error) {
	history, err := v.History("")
	if err != nil {
		return nil, err
	}
	top, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("open the project: %w", err)
	}
	defer func() { _ = top.Close() }() // it is only read
	var list []Finding
	for _, h := range history {
		for name, want := range h.DerivedFiles.All() {
			got, err := proposal.Digest(top, name)
			message := ""
			switch {
			case errors.Is(err, fs.ErrNotExist):
				message = "is missing"
			case err != nil:
				message = err.Error()
			case got != want:
				message = "differs from what was accepted"
			}
			if message != "" {
				f := Finding{Kind: Derived, Run: h.RunID, Turn: h.TurnID, Files: []string{name}, Broken: true,
					Message: fmt.Sprintf("%s of turn %s %s", name, h.TurnID, message),
					Do:      fmt.Sprintf("restore it; the result as it was accepted is in %s/%s/staging", protocol.ArchiveDir, h.TurnID)}
				if interrupted(v, h.TurnID) {
					f.Kind, f.Broken, f.Do = Pending, false, proceed
					f.Message = fmt.Sprintf("turn %s was interrupted before %s was written", h.TurnID, name)
				}
				list = append(list, f)
				break // one finding a turn
			}
		}
	}
	return list, nil
}
