package product

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/project"
)

const manifestName = "MANIFEST.json"

// verifyManifest seals the fixture's bundle, changes it as the fixture says, and verifies it.
func verifyManifest(_ context.Context, w *world) (fields, error) {
	turn, err := w.seal()
	if err != nil {
		return nil, err
	}
	if err := w.mutate(turn); err != nil {
		return nil, err
	}
	m, faults := project.VerifyBundle(w.dir, turn)
	if len(faults) > 0 {
		return fields{"result": "error", "error_type": faults[0].Type, "manifest_valid": false, "verification_errors": faults}, nil
	}
	return fields{"result": "success", "manifest_valid": true, "manifest": m, "verification_errors": []string{}}, nil
}

// inspectManifest seals the fixture's bundle and returns what the manifest lists.
func inspectManifest(_ context.Context, w *world) (fields, error) {
	turn, err := w.seal()
	if err != nil {
		return nil, err
	}
	m, faults := project.VerifyBundle(w.dir, turn)
	if len(faults) > 0 {
		return fields{"result": "error", "error_type": faults[0].Type, "verification_errors": faults}, nil
	}
	paths := []string{}
	for _, f := range m.Files {
		paths = append(paths, f.Path)
	}
	return fields{"result": "success", "manifest_contains_self": slices.Contains(paths, manifestName), "file_paths": paths}, nil
}

func (w *world) seal() (turn string, err error) {
	var args struct {
		TurnID string `json:"turn_id"`
	}
	if err := w.args(&args); err != nil {
		return "", err
	}
	_, err = project.Seal(w.dir, args.TurnID, time.Now())
	return args.TurnID, err
}

// mutate changes a sealed bundle as the fixture says.
func (w *world) mutate(turn string) error {
	dir := protocol.BundleDir(turn)
	for _, change := range []protocol.Ordered[string]{w.setup.Inject[turn], w.setup.Tamper[turn]} {
		for name, content := range change.All() {
			if err := w.write(path.Join(dir, name), []byte(content)); err != nil {
				return err
			}
		}
	}
	gone := w.setup.Delete[turn]
	if all, byTurn := flags(w.setup.Unmanifest); all || byTurn[turn] {
		gone = append(slices.Clone(gone), manifestName)
	}
	for _, name := range gone {
		if err := w.files.Remove(filepath.FromSlash(path.Join(dir, name))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if raw, ok := w.setup.Corrupt[turn]; ok {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		return w.write(path.Join(dir, manifestName), []byte(text))
	}
	return nil
}

// flags reads true, or true by turn.
func flags(raw json.RawMessage) (all bool, byTurn map[string]bool) {
	_ = json.Unmarshal(raw, &all)    // the other form, or nothing
	_ = json.Unmarshal(raw, &byTurn) // the other form, or nothing
	return all, byTurn
}
