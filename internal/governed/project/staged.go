package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/governed/governance/turnresult"
)

// MaxStagedResult is the maximum size of a staged result in bytes.
const MaxStagedResult = 16 << 20

// Reasons for having no staged result. errors.Is finds them in the error of ReadStaged.
var (
	ErrNoResult     = errors.New("no turn result is staged")
	ErrTooLarge     = errors.New("the staged turn result is too large")
	ErrStaleStaging = fmt.Errorf("%w: stale_staging", ErrNoResult)
	ErrNotRegular   = errors.New("not a regular file of the project")
)

// legacyStaged is the flat file of older versions, read if a turn has no file of its own.
const legacyStaged = protocol.StagingDir + "/turn-result.json"

// ReadStaged reads a turn's staged result: its own file, else the flat one of older versions. where is the path
// of the file that was read or is in the way, relative to the root. A file that is missing, blank or an empty
// object is ErrNoResult; the flat file of another turn is ErrStaleStaging, which is also an ErrNoResult:
// waiters keep waiting. Only a regular file within root is read, without following links or blocking. The
// content is not validated.
func ReadStaged(root, turn string) (data []byte, where string, err error) {
	own := protocol.StagedFile(turn)
	if turn == "" || turn == "." || turn == ".." || strings.ContainsAny(turn, "/\\:\x00") {
		return nil, own, execution.Errorf(execution.CodeValidation, "%q is not the id of a turn", turn).
			WithHint("drawbar govern status lists the active turns")
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, own, fmt.Errorf("reading the staged result of %s: %w", turn, err)
	}
	defer func() { _ = dir.Close() }() // nothing was written
	for _, where := range []string{own, legacyStaged} {
		data, err := readRegular(dir, where)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, where, stagedError(err, turn, where)
		case !meaningful(data):
			continue
		case where == legacyStaged && staleFor(data, turn):
			return nil, where, stagedError(ErrStaleStaging, turn, where)
		}
		return data, where, nil
	}
	return nil, own, stagedError(ErrNoResult, turn, own)
}

// WriteStaged writes a turn's result where ReadStaged finds it, atomically and never outside root.
func WriteStaged(root, turn string, data []byte) error {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return fmt.Errorf("staging the result of %s: %w", turn, err)
	}
	defer func() { _ = dir.Close() }() // its files are closed one by one
	own := protocol.StagedFile(turn)
	if err = dir.MkdirAll(path.Dir(own), 0o755); err == nil {
		err = atomicfile.WriteIn(dir, own, data, 0o644, false)
	}
	if err != nil {
		return fmt.Errorf("staging the result of %s: %w", turn, err)
	}
	return nil
}

// stagedError returns the obstacle, its path, and what to do.
func stagedError(err error, turn, where string) error {
	own := protocol.StagedFile(turn)
	switch {
	case errors.Is(err, ErrTooLarge):
		return execution.Errorf(execution.CodeInvalidOutput, "%w: %s, %d MiB at most", err, where, MaxStagedResult>>20).
			WithHint("write a turn result without file contents to %s", own)
	case errors.Is(err, ErrStaleStaging):
		return execution.Errorf(execution.CodeInvalidOutput, "%w: %s is the result of a turn other than %s", err, where, turn).
			WithHint("delete %s, and write the turn result to %s", where, own)
	case errors.Is(err, ErrNoResult):
		return execution.Errorf(execution.CodeInvalidOutput, "%w: %s is absent or empty", err, where).
			WithHint("write the turn result to %s", own)
	case errors.Is(err, ErrNotRegular):
		return execution.Errorf(execution.CodeInvalidOutput, "reading the staged result: %w", err).
			WithHint("remove it, and write the turn result to the file %s", own)
	}
	return execution.Errorf(execution.CodeInvalidOutput, "reading the staged result %s: %w", where, err).
		WithHint("make %s readable", where)
}

// readRegular reads a regular file whose folders are not links. It reads exactly the file that it checked.
func readRegular(dir *os.Root, name string) ([]byte, error) {
	folders := strings.Split(path.Dir(name), "/")
	for i := range folders {
		p := strings.Join(folders[:i+1], "/")
		info, err := dir.Lstat(p)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("%s is %s: %w", p, kindOf(info), ErrNotRegular)
		}
	}
	seen, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %s: %w", name, kindOf(seen), ErrNotRegular)
	}
	f, info, err := repofile.OpenPlain(dir, name)
	if errors.Is(err, repofile.ErrNotRegular) {
		return nil, fmt.Errorf("%s was replaced while it was read: %w", name, ErrNotRegular)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > MaxStagedResult {
		return nil, ErrTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxStagedResult+1))
	if err == nil && len(data) > MaxStagedResult {
		err = ErrTooLarge
	}
	return data, err
}

func kindOf(info fs.FileInfo) string {
	switch {
	case info.IsDir():
		return "a folder"
	case info.Mode()&fs.ModeSymlink != 0:
		return "a link"
	case info.Mode().IsRegular():
		return "a file"
	}
	return "neither a file nor a folder"
}

// meaningful reports whether a staged file has content: a turn begins with a blank file or an empty object.
func meaningful(data []byte) bool {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if len(data) == 0 {
		return false
	}
	return data[0] != '{' || len(bytes.TrimSpace(data[1:])) != 1 || data[len(data)-1] != '}'
}

// staleFor reports whether the text is the result of another turn. Unreadable results are left to validation.
func staleFor(data []byte, turn string) bool {
	raw, _, err := turnresult.Decode(data)
	if err != nil {
		return false
	}
	var id string
	return json.Unmarshal(raw.At("turn_id"), &id) == nil && id != turn
}
