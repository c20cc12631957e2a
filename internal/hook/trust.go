package hook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/drawbar/drawbar/adapter/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/configstore"
)

// A project's hooks.json may have come with the project, and what it names would run as this user. So its commands run only
// after the user has said so, and only as they were then: the user's own trusted-hooks.json holds the file's hash.

const trustFile = "trusted-hooks.json"

// Trust remembers a project's hooks as they are now.
func (f Files) Trust(ctx context.Context) error {
	sum, err := digest(f.Project)
	if err != nil {
		return err
	}
	_, err = configstore.Edit(ctx, f.trusted(), configfile.JSON, func(d *configfile.Document) (bool, error) {
		return true, d.Set(configfile.Path{f.Project}, sum)
	}, configstore.Options{})
	return err
}

// Trusted reports whether the project's hooks may run: there are none that run a command, or the user trusts them as they
// are.
func (f Files) Trusted(project []Registration) (bool, error) {
	if !slices.ContainsFunc(project, func(r Registration) bool { return r.Handler != Builtin }) {
		return true, nil
	}
	sum, err := digest(f.Project)
	if err != nil {
		return false, err
	}
	data, err := os.ReadFile(f.trusted())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, execution.Errorf(execution.CodeConfig, "read which hooks are trusted: %w", err)
	}
	d, err := configfile.Parse(configfile.JSON, f.trusted(), data)
	if err != nil {
		return false, execution.Errorf(execution.CodeConfig, "read which hooks are trusted: %w", err).WithHint("mend the file, or move it away")
	}
	have, _ := d.Get(configfile.Path{f.Project})
	return have == sum, nil
}

func (f Files) trusted() string { return filepath.Join(filepath.Dir(f.Global), trustFile) }

func digest(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", execution.Errorf(execution.CodeConfig, "read the hooks: %w", err)
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
