package project

import (
	"os"
	"path"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
)

// Index is the dispatch index of a state: its active turns and where their files are. Warnings are by turn.
func Index(s protocol.State, now time.Time, warnings map[string][]protocol.AdvisoryWarning) protocol.DispatchIndex {
	out := protocol.DispatchIndex{RunID: s.ID(), Phase: s.Phase, UpdatedAt: protocol.At(now)}
	for id, t := range s.ActiveTurns.All() {
		if t == nil {
			continue
		}
		out.ActiveTurns.Set(id, protocol.DispatchEntry{TurnID: id, Role: t.AssignedRole, RuntimeID: t.RuntimeID, Attempt: t.Attempt, Status: t.Status,
			BundlePath: protocol.BundleDir(id), StagingResultPath: protocol.StagedFile(id), AssignedSequence: t.AssignedSequence,
			AdvisoryWarnings: warnings[id]})
	}
	return out
}

// WriteIndex replaces dispatch/index.json.
func WriteIndex(root string, index protocol.DispatchIndex) error {
	data, err := protocol.MarshalFile(index)
	if err == nil {
		err = writeIndex(root, data)
	}
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "write %s: %v", protocol.DispatchIndexFile, err).WithHint("check the folder and its permissions")
	}
	return nil
}

func writeIndex(root string, data []byte) error {
	top, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer func() { _ = top.Close() }()
	if err := top.MkdirAll(path.Dir(protocol.DispatchIndexFile), 0o755); err != nil {
		return err
	}
	return atomicfile.WriteIn(top, protocol.DispatchIndexFile, data, 0o644, false)
}
