package turnruntime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/secret"
)

// mostStaged bounds a staged result. A larger one is passed on: the validator reports it.
const mostStaged = 16 << 20

// staged describes the file where a result is expected.
type staged struct {
	path    string
	present bool // neither blank nor {}
	fault   error
	data    []byte
}

// valid reports whether it can be parsed as a result.
func (s staged) valid() bool { return s.present && s.fault == nil }

// look finds the turn's result: in its own file, or in the flat file of older agents if that names the turn.
func (d Dispatch) look() staged {
	s := lookAt(d.StagedPath)
	if s.present {
		return s
	}
	if flat := lookAt(d.flatPath()); flat.present && d.names(flat.data) {
		return flat
	}
	return s
}

func (d Dispatch) flatPath() string {
	return filepath.Join(filepath.Dir(filepath.Dir(d.StagedPath)), filepath.Base(d.StagedPath))
}

// names reports whether a result belongs to this turn.
func (d Dispatch) names(data []byte) bool {
	raw, err := decode(data)
	var turn string
	return err == nil && json.Unmarshal(raw.At("turn_id"), &turn) == nil && turn == d.Turn.TurnID
}

func lookAt(path string) staged {
	s := staged{path: path}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s
	case err != nil:
		s.fault = err
		return s
	case !info.Mode().IsRegular():
		s.present, s.fault = true, fmt.Errorf("%s is not a regular file", path)
		return s
	case info.Size() > mostStaged:
		s.present, s.fault = true, fmt.Errorf("%s has %d bytes, more than the limit of %d for a result", path, info.Size(), mostStaged)
		return s
	}
	if s.data, err = os.ReadFile(path); err != nil {
		s.fault = err
		return s
	}
	if blank(s.data) {
		return s
	}
	s.present = true
	if _, err := decode(s.data); err != nil {
		s.fault = fmt.Errorf("%s: %w", path, err)
	}
	return s
}

// blank reports whether the content is empty: white space, or an empty object.
func blank(data []byte) bool {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if len(data) == 0 {
		return true
	}
	return len(data) < 64 && string(bytes.Join(bytes.Fields(data), nil)) == "{}"
}

// touched is when the result was last written, zero if there is none.
func (d Dispatch) touched() time.Time {
	for _, path := range []string{d.StagedPath, d.flatPath()} {
		if info, err := os.Lstat(path); err == nil && info.Size() > 0 {
			return info.ModTime()
		}
	}
	return time.Time{}
}

// makeRoom creates the folder of the staged result and moves a non-empty older result to the evidence.
func (d Dispatch) makeRoom() error {
	if err := os.MkdirAll(filepath.Dir(d.StagedPath), 0o755); err != nil {
		return localError("make the folder of the turn's result", err)
	}
	for _, path := range []string{d.StagedPath, d.flatPath()} {
		s := lookAt(path)
		if path != d.StagedPath && !(s.present && d.names(s.data)) {
			continue // of another turn
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if !s.present {
			if err := os.Remove(path); err != nil {
				return localError("clear the older result", err)
			}
			continue
		}
		to, err := d.evidence("older-result", ".json")
		if err == nil {
			err = os.Rename(path, to)
		}
		if err == nil {
			if clean := secret.New(secret.Environ(d.Environ)).Bytes(s.data); !bytes.Equal(clean, s.data) {
				err = os.WriteFile(to, clean, 0o600)
			}
		}
		if err != nil {
			return localError("move the older result to the evidence", err)
		}
	}
	return nil
}

// put stages a result of ours atomically.
func (d Dispatch) put(data []byte) error {
	if err := os.MkdirAll(filepath.Dir(d.StagedPath), 0o755); err != nil {
		return localError("make the folder of the turn's result", err)
	}
	if err := atomicfile.Write(d.StagedPath, data, 0o644, true); err != nil {
		return localError("stage the result", err)
	}
	return nil
}

func (d Dispatch) evidenceDir() string { return filepath.Join(d.BundleDir, "evidence") }

// writeFile writes a file of a runtime's own, atomically.
func writeFile(path string, data []byte) error {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = atomicfile.Write(path, data, 0o600, true)
	}
	if err != nil {
		return localError("write "+filepath.Base(path), err)
	}
	return nil
}

// writeJSON writes a JSON file of a runtime's own, without secrets.
func writeJSON(path string, v any, redact *secret.Redactor) error {
	data, err := protocol.MarshalFile(v)
	if err != nil {
		return localError("write "+filepath.Base(path), err)
	}
	return writeFile(path, redactJSON(redact, data))
}

// redactJSON removes secrets from what should be JSON, and may be anything.
func redactJSON(redact *secret.Redactor, data []byte) []byte {
	if !json.Valid(data) {
		return redact.Bytes(data)
	}
	return redact.JSON(data, nil)
}

// evidence is the path of a new file in the bundle's folder evidence, which is created.
func (d Dispatch) evidence(name, ext string) (string, error) {
	dir := d.evidenceDir()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for i := 1; ; i++ {
		path := filepath.Join(dir, fmt.Sprintf("%s-%d%s", name, i, ext))
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return path, nil
		} else if err != nil {
			return "", err
		}
	}
}

// localError is a failure of this machine.
func localError(doing string, err error) error {
	return execution.Errorf(execution.CodeInternal, "%s: %w", doing, err).WithHint("fix the folder's permissions or the disk, then: drawbar govern step")
}
