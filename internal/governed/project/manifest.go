package project

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/governed/prompt"
)

// Problems of a bundle, as the protocol names them.
const (
	missingManifest = "missing_manifest"
	invalidManifest = "invalid_manifest"
	missingFile     = "missing_file"
	sizeMismatch    = "size_mismatch"
	digestMismatch  = "digest_mismatch"
	unexpectedFile  = "unexpected_file"
)

const (
	maxManifest = 4 << 20
	// maxHashed limits how much is read of a file whose size differs from the manifest.
	maxHashed = 256 << 20
)

// Seal writes the manifest of a turn's bundle: every file directly in its folder, with size and SHA-256. Call it after
// the dispatch hooks have run. The assignment names the turn and role of the bundle.
func Seal(root, turn string, now time.Time) (protocol.Manifest, error) {
	dir, err := openBundleDir(root, turn)
	if err != nil {
		return protocol.Manifest{}, bundleError("seal", turn, err)
	}
	defer func() { _ = dir.Close() }()
	m, err := seal(dir, turn, now)
	if err != nil {
		return m, bundleError("seal", turn, err)
	}
	return m, nil
}

func seal(dir *os.Root, turn string, now time.Time) (protocol.Manifest, error) {
	m := protocol.Manifest{ManifestVersion: protocol.ManifestVersion, TurnID: turn, FinalizedAt: protocol.At(now), Files: []protocol.ManifestFile{}}
	entries, err := readDir(dir, ".")
	if err != nil {
		return m, err
	}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || name == manifestFile {
			continue
		}
		if atomicfile.IsTemp(name) { // left by a killed writer
			if err := dir.Remove(name); err != nil {
				return m, err
			}
			continue
		}
		f, err := hashFile(dir, name, nil)
		if err != nil {
			return m, err
		}
		m.Files = append(m.Files, f)
	}
	raw, err := dir.ReadFile(prompt.AssignmentFile)
	if err != nil {
		return m, err
	}
	var a protocol.Assignment
	if err := json.Unmarshal(raw, &a); err != nil {
		return m, fmt.Errorf("%s: %w", prompt.AssignmentFile, err)
	}
	if a.TurnID != turn {
		return m, fmt.Errorf("%s is for turn %q", prompt.AssignmentFile, a.TurnID)
	}
	m.RunID, m.Role = a.RunID, a.Role
	out, err := protocol.MarshalFile(m)
	if err != nil {
		return m, err
	}
	return m, atomicfile.WriteIn(dir, manifestFile, out, 0o644, false)
}

// VerifyBundle compares a turn's bundle with its manifest and returns every problem; none means that the bundle
// is unchanged since it was sealed. Only regular files directly in the folder count: a link or a folder in
// place of a file means that the file is missing.
func VerifyBundle(root, turn string) (protocol.Manifest, []protocol.ManifestError) {
	_, m, faults := readBundle(root, turn, false)
	return m, faults
}

// ReadBundle is VerifyBundle, and returns the bytes that were verified.
func ReadBundle(root, turn string) (map[string][]byte, protocol.Manifest, []protocol.ManifestError) {
	return readBundle(root, turn, true)
}

func readBundle(root, turn string, keep bool) (map[string][]byte, protocol.Manifest, []protocol.ManifestError) {
	var m protocol.Manifest
	dir, err := openBundleDir(root, turn)
	if err != nil {
		return nil, m, []protocol.ManifestError{{Type: missingManifest, Detail: fmt.Sprintf("the bundle of turn %s cannot be opened: %v", turn, err)}}
	}
	defer func() { _ = dir.Close() }()
	m, fault := readManifest(dir, turn)
	if fault != nil {
		return nil, m, []protocol.ManifestError{*fault}
	}
	files := map[string][]byte{}
	var faults []protocol.ManifestError
	declared := map[string]bool{}
	for _, want := range m.Files {
		switch {
		case want.Path == manifestFile || !fileName(want.Path):
			faults = append(faults, protocol.ManifestError{Type: invalidManifest, Path: want.Path, Detail: "the manifest lists a name that is not a file of a bundle"})
			continue
		case declared[want.Path]:
			faults = append(faults, protocol.ManifestError{Type: invalidManifest, Path: want.Path, Detail: "the manifest lists the file twice"})
			continue
		}
		declared[want.Path] = true
		data, found := checkFile(dir, want, keep)
		faults = append(faults, found...)
		if keep && len(found) == 0 {
			files[want.Path] = data
		}
	}
	entries, err := readDir(dir, ".")
	if err != nil {
		faults = append(faults, protocol.ManifestError{Type: missingFile, Detail: fmt.Sprintf("the bundle's folder cannot be read: %v", err)})
	}
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && name != manifestFile && !declared[name] {
			faults = append(faults, protocol.ManifestError{Type: unexpectedFile, Path: name, Detail: "the manifest does not list the file"})
		}
	}
	return files, m, faults
}

// fileName reports whether the manifest may list the name: one directly in the folder, whatever hooks named it.
func fileName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\\x00")
}

func readManifest(dir *os.Root, turn string) (protocol.Manifest, *protocol.ManifestError) {
	var m protocol.Manifest
	f, _, err := repofile.OpenPlain(dir, manifestFile)
	if err != nil {
		return m, &protocol.ManifestError{Type: missingManifest, Path: manifestFile, Detail: "there is no manifest: " + err.Error()}
	}
	defer f.Close()
	invalid := func(format string, a ...any) (protocol.Manifest, *protocol.ManifestError) {
		return m, &protocol.ManifestError{Type: invalidManifest, Path: manifestFile, Detail: fmt.Sprintf(format, a...)}
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return invalid("the manifest cannot be read: %v", err)
	}
	if len(raw) > maxManifest {
		return invalid("the manifest is larger than %d bytes", maxManifest)
	}
	var shape struct {
		Version json.RawMessage `json:"manifest_version"`
		Files   json.RawMessage `json:"files"`
	}
	if err := json.Unmarshal(raw, &shape); err != nil {
		return invalid("the manifest is not valid: %v", err)
	}
	if k := protocol.Kind(shape.Version); k != "string" || string(shape.Version) == `""` {
		return invalid("the manifest has no manifest_version")
	}
	if protocol.Kind(shape.Files) != "array" {
		return invalid("the manifest has no array of files")
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return invalid("the manifest is not valid: %v", err)
	}
	if m.TurnID != "" && m.TurnID != turn {
		return invalid("the manifest belongs to turn %q", m.TurnID)
	}
	return m, nil
}

// checkFile compares one file with its entry; size and digest are separate problems.
func checkFile(dir *os.Root, want protocol.ManifestFile, keep bool) ([]byte, []protocol.ManifestError) {
	var buf *bytes.Buffer
	if keep {
		buf = &bytes.Buffer{}
	}
	got, err := hashFile(dir, want.Path, buf)
	if err != nil {
		return nil, []protocol.ManifestError{{Type: missingFile, Path: want.Path, Detail: "the file cannot be read: " + err.Error()}}
	}
	var faults []protocol.ManifestError
	if got.Size != want.Size {
		faults = append(faults, protocol.ManifestError{Type: sizeMismatch, Path: want.Path,
			Detail: fmt.Sprintf("the manifest says %d bytes, the file has %d", want.Size, got.Size)})
	}
	if !strings.EqualFold(got.SHA256, want.SHA256) {
		faults = append(faults, protocol.ManifestError{Type: digestMismatch, Path: want.Path,
			Detail: fmt.Sprintf("the manifest says SHA-256 %s, the file has %s", want.SHA256, got.SHA256)})
	}
	if keep {
		return buf.Bytes(), faults
	}
	return nil, faults
}

// hashFile returns the manifest's entry of a file, and copies its bytes to keep unless that is nil. A file
// beyond the limit is not read completely and has no digest.
func hashFile(dir *os.Root, name string, keep *bytes.Buffer) (protocol.ManifestFile, error) {
	out := protocol.ManifestFile{Path: name}
	f, fi, err := repofile.OpenPlain(dir, name)
	if err != nil {
		return out, err
	}
	defer f.Close()
	if fi.Size() > maxHashed {
		out.Size, out.SHA256 = fi.Size(), "none (too large)"
		return out, nil
	}
	h := sha256.New()
	w := io.Writer(h)
	if keep != nil {
		w = io.MultiWriter(h, keep)
	}
	out.Size, err = io.Copy(w, io.LimitReader(f, maxHashed+1))
	out.SHA256 = hex.EncodeToString(h.Sum(nil))
	return out, err
}
