package trust

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/exactjson"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/settings/configstore"
)

// Store is the record of the user's trust. It is safe for concurrent use, also by several processes.
type Store struct {
	File   string // trust.json, in the user's configuration directory
	Copies string // directory with copies of trusted files, used only to show differences; empty keeps none
}

// FileIn returns the store's file in the user's configuration directory.
func FileIn(dir string) string { return filepath.Join(dir, "trust.json") }

const (
	maxStore = 64 << 20
	maxCopy  = 256 << 10 // size of a file to copy
)

// content is the store's file.
type content struct {
	Version  int                `json:"version"`
	Projects map[string]project `json:"projects"`
}

type project struct {
	Items []Item `json:"items"`
}

// Change is an untrusted item. Was is the trusted item in its place, nil for a new one.
type Change struct {
	Item
	Was *Item
}

// Trusted returns the items of a project that its user trusts.
func (s Store) Trusted(root string) ([]Item, error) {
	data, err := repofile.Own(s.File, maxStore)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var c content
	if err == nil && len(bytes.TrimSpace(data)) > 0 {
		if err = exactjson.Decode(data, &c, nil); err == nil && c.Version != 1 {
			err = fmt.Errorf("version %d, this program reads version 1", c.Version)
		}
	}
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "read what is trusted: %s: %w", s.File, err).WithHint("correct the file, or move it away and confirm its entries again")
	}
	return c.Projects[key(root)].Items, nil
}

// Pending returns the untrusted items, in their order.
func (s Store) Pending(root string, items []Item) ([]Change, error) {
	if len(items) == 0 {
		return nil, nil
	}
	trusted, err := s.Trusted(root)
	if err != nil {
		return nil, err
	}
	var list []Change
	for _, i := range items {
		if i.problem() == "" && slices.ContainsFunc(trusted, func(t Item) bool { return Same(t, i) }) {
			continue
		}
		c := Change{Item: i}
		if at := slices.IndexFunc(trusted, i.sameplace); at >= 0 {
			c.Was = &trusted[at]
		}
		list = append(list, c)
	}
	return list, nil
}

// Check returns nil if all items are trusted, else PROJECT_NOT_TRUSTED.
func (s Store) Check(root string, items []Item) error {
	pending, err := s.Pending(root, items)
	if err != nil || len(pending) == 0 {
		return err
	}
	return Refusal(root, pending)
}

// Refuse is the answer to items where nobody can be asked and nothing is trusted.
func Refuse(root string, items []Item) error {
	pending := make([]Change, len(items))
	for i, item := range items {
		pending[i].Item = item
	}
	return Refusal(root, pending)
}

// Refusal returns the error about untrusted items.
func Refusal(root string, pending []Change) error {
	first := pending[0]
	what := fmt.Sprintf("%s (%s)", first.File, first.Place)
	if len(pending) > 1 {
		what += fmt.Sprintf(" and %d more", len(pending)-1)
	}
	why := "you have not trusted it"
	if first.Was != nil {
		why = "it changed since you trusted it"
	}
	return execution.Errorf(execution.CodeUntrusted, "the project %s would run %s, and %s", root, what, why).
		WithHint("drawbar trust %s shows it and asks; --trust trusts it as it is", root)
}

// Trust records items of a project as trusted. An item replaces the trusted one in its place. With whole, all
// other trust in their files is removed.
func (s Store) Trust(ctx context.Context, root string, items []Item, whole bool) error {
	for _, i := range items {
		if p := i.problem(); p != "" {
			return execution.Errorf(execution.CodeUntrusted, "%s (%s) cannot be trusted: %s", i.File, i.Place, p).WithHint("use another file, or remove it from the command")
		}
	}
	return s.edit(ctx, root, func(have []Item) []Item {
		have = slices.DeleteFunc(have, func(h Item) bool {
			return slices.ContainsFunc(items, func(i Item) bool { return h.sameplace(i) || whole && h.File == i.File })
		})
		for _, i := range items {
			s.keep(root, i)
		}
		return append(have, items...)
	})
}

// Revoke removes all trust in a project and reports whether there was any.
func (s Store) Revoke(ctx context.Context, root string) (bool, error) {
	have, err := s.Trusted(root)
	if err != nil || len(have) == 0 {
		return false, err
	}
	return true, s.edit(ctx, root, func([]Item) []Item { return nil })
}

func (s Store) edit(ctx context.Context, root string, change func([]Item) []Item) error {
	if _, err := s.Trusted(root); err != nil {
		return err
	}
	_, err := configstore.Edit(ctx, s.File, configfile.JSON, func(d *configfile.Document) (bool, error) {
		path := configfile.Path{"projects", key(root)}
		var have project
		if v, ok := d.Get(path); ok {
			if err := convert(v, &have); err != nil {
				return false, err
			}
		}
		next := change(have.Items)
		if err := d.Set(configfile.Path{"version"}, 1); err != nil {
			return false, err
		}
		if len(next) == 0 {
			_, err := d.Unset(path)
			return true, err
		}
		var value any
		if err := convert(project{next}, &value); err != nil {
			return false, err
		}
		return true, d.Set(path, value)
	}, configstore.Options{})
	return err
}

func convert(from, to any) error {
	b, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, to)
}

// key is the name of a project in the store: its folder with links resolved.
func key(root string) string { return repofile.Real(root) }

// keep copies the files of an item, to show later differences. Without a copy only the fact of a change is
// shown.
func (s Store) keep(root string, i Item) {
	if s.Copies == "" {
		return
	}
	for _, f := range i.Files {
		data, err := current(root, f)
		if err != nil || os.MkdirAll(s.Copies, 0o700) != nil {
			continue
		}
		_ = os.WriteFile(filepath.Join(s.Copies, f.SHA256), data, 0o600) // best effort, as said above
	}
}

// Lines returns a change for people: a new item, or its differences from the trusted one, with - and +.
func (s Store) Lines(root string, c Change) []string {
	if c.Was == nil {
		lines := strings.Split(c.Runs, "\n")
		for _, f := range c.Files {
			lines = append(lines, "with the file "+f.Path)
		}
		if p := c.problem(); p != "" {
			lines = append(lines, "cannot be trusted: "+p)
		}
		return lines
	}
	lines := differ("", c.Was.Runs, c.Runs)
	before := map[string]string{}
	for _, f := range c.Was.Files {
		before[f.Path] = f.SHA256
	}
	for _, f := range c.Files {
		old, had := before[f.Path]
		delete(before, f.Path)
		switch {
		case !had:
			lines = append(lines, "+with the file "+f.Path)
		case old != f.SHA256:
			lines = append(lines, "the file "+f.Path+" changed")
			lines = append(lines, s.fileDiff(root, f, old)...)
		}
	}
	for _, f := range c.Was.Files {
		if _, gone := before[f.Path]; gone {
			lines = append(lines, "-with the file "+f.Path)
		}
	}
	if p := c.problem(); p != "" {
		lines = append(lines, "cannot be trusted: "+p)
	}
	return lines
}

// current returns the content of a file that its digest is of. It may have changed since, or be that of another work tree.
func current(root string, f File) ([]byte, error) {
	data, err := repofile.Read(root, f.Path, maxCopy)
	if sum := sha256.Sum256(data); err == nil && hex.EncodeToString(sum[:]) != f.SHA256 {
		err = fs.ErrNotExist
	}
	return data, err
}

func (s Store) fileDiff(root string, f File, old string) []string {
	was, err := repofile.Own(filepath.Join(s.Copies, filepath.Base(old)), maxCopy)
	if s.Copies == "" || err != nil {
		return nil
	}
	now, err := current(root, f)
	if err != nil || !utf8.Valid(was) || !utf8.Valid(now) {
		return nil
	}
	return differ(f.Path, string(was), string(now))
}

// differ returns the lines of a difference, without its header.
func differ(name, was, now string) []string {
	text := string(diff.Diff("trusted "+name, []byte(was+"\n"), "now "+name, []byte(now+"\n")))
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return slices.DeleteFunc(lines, func(l string) bool {
		return l == "" || strings.HasPrefix(l, "diff ") || strings.HasPrefix(l, "--- trusted ") || strings.HasPrefix(l, "+++ now ") || strings.HasPrefix(l, "@@ ")
	})
}
