package hook

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/internal/settings/trust"
)

// origin connects a project's registration with what its user trusted.
type origin struct {
	root string // its command runs here: relative names refer to the trusted files
	item trust.Item
}

// unchanged returns an error if the files that a project's registration names changed since they were read and
// trusted.
func (o *origin) unchanged(r Registration) error {
	if o == nil || r.Handler == Builtin {
		return nil
	}
	if now := item(o.root, o.item.File, r); !trust.Same(now, o.item) {
		return fmt.Errorf("a file that the hook %s names changed since it was trusted; review it: drawbar trust %s", r.ID, o.root)
	}
	return nil
}

// Items returns what the project's registrations would run. A built-in handler runs nothing of a project's.
func (f Files) Items(project []Registration) []trust.Item {
	var items []trust.Item
	for _, r := range project {
		if r.On() && r.Handler != Builtin {
			items = append(items, item(f.dirs.Root, f.name(), r))
		}
	}
	return items
}

// name returns the project's file relative to the project.
func (f Files) name() string {
	rel, err := filepath.Rel(f.dirs.Root, f.Project)
	if err != nil {
		return filepath.ToSlash(f.Project)
	}
	return filepath.ToSlash(rel)
}

func item(root, file string, r Registration) trust.Item {
	runs := fmt.Sprintf("%s: %s\nat %s of %s, priority %d", r.Handler, r.Target, r.HookType, r.Agent, r.Order())
	return trust.New(root, root, file, "hooks."+r.ID, runs, r.Target)
}

// mark sets the origin of the project's registrations.
func (f Files) mark(project []Registration) []Registration {
	marked := slices.Clone(project)
	for i, r := range marked {
		marked[i].origin = &origin{root: f.dirs.Root, item: item(f.dirs.Root, f.name(), r)}
	}
	return marked
}

// written returns the items of a user's change: new registrations and previously trusted ones.
func (f Files) written(store trust.Store, before, after []Registration) ([]trust.Item, error) {
	pending, err := store.Pending(f.dirs.Root, f.Items(before))
	if err != nil {
		return nil, err
	}
	had := f.Items(before)
	var items []trust.Item
	for _, i := range f.Items(after) {
		id := strings.TrimPrefix(i.Place, "hooks.")
		known := slices.ContainsFunc(before, func(r Registration) bool { return r.ID == id })
		same := func(o trust.Item) bool { return o.Place == i.Place }
		trusted := slices.ContainsFunc(had, same) && !slices.ContainsFunc(pending, func(c trust.Change) bool { return same(c.Item) })
		if !known || trusted {
			items = append(items, i)
		}
	}
	return items, nil
}

// Read reads both files. Pending is what the project's registrations would run without the user's trust; the
// list then contains none of the project's.
func (f Files) Read(store trust.Store) (list []Registration, pending []trust.Change, err error) {
	global, err := f.ReadScope(global)
	if err != nil {
		return nil, nil, err
	}
	project, err := f.ReadScope(project)
	if err != nil {
		return nil, nil, err
	}
	if pending, err = store.Pending(f.dirs.Root, f.Items(project)); err != nil {
		return nil, nil, err
	}
	if len(pending) > 0 {
		project = nil
	}
	return Merge(global, f.mark(project)), pending, nil
}

// Trust trusts items of the project.
func (f Files) Trust(ctx context.Context, store trust.Store, items []trust.Item, whole bool) error {
	if len(items) == 0 {
		return nil
	}
	return store.Trust(ctx, f.dirs.Root, items, whole)
}
