package project

import (
	"fmt"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
)

// CopyBundle copies a turn's sealed bundle to the same path in a worktree, so that the paths of the assignment are
// valid there. Files that do not match the manifest are not copied, and the faults are returned.
func CopyBundle(root, worktree, turn string) ([]protocol.ManifestError, error) {
	files, m, faults := ReadBundle(root, turn)
	if len(faults) > 0 {
		return faults, nil
	}
	if err := WriteBundle(worktree, Bundle{TurnID: turn, Files: files}); err != nil {
		return nil, err
	}
	raw, err := protocol.MarshalFile(m)
	if err != nil {
		return nil, fmt.Errorf("encode the manifest of turn %s: %w", turn, err)
	}
	dir, err := openBundleDir(worktree, turn)
	if err != nil {
		return nil, bundleError("copy", turn, err)
	}
	defer func() { _ = dir.Close() }()
	if err := atomicfile.WriteIn(dir, manifestFile, raw, 0o644, false); err != nil {
		return nil, bundleError("copy", turn, err)
	}
	return nil, nil
}
