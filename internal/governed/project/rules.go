package project

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/repofile"
)

// Rules returns the digests of the files that define what turns may do and must deliver: the configuration, the
// prompts of the roles, and hook programs in the project. A turn must not change its own rules.
func Rules(root string, c *protocol.Config) protocol.Ordered[string] {
	paths := []string{protocol.ConfigFile}
	dir := filepath.Join(root, filepath.FromSlash(protocol.PromptsDir))
	entries, _ := os.ReadDir(dir) // a missing file equals an empty one
	for _, e := range entries {
		paths = append(paths, protocol.PromptsDir+"/"+e.Name())
	}
	for _, hooks := range c.Hooks.All() {
		for _, h := range hooks {
			for _, word := range h.Command {
				if p := repofile.Named(root, root, word); p != "" {
					paths = append(paths, p)
				}
			}
		}
	}
	slices.Sort(paths)
	var digests protocol.Ordered[string]
	for _, p := range slices.Compact(paths) {
		digests.Set(p, ruleDigest(root, p))
	}
	return digests
}

func ruleDigest(root, p string) string {
	info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(p)))
	switch {
	case err != nil:
		return "gone"
	case !info.Mode().IsRegular():
		to, _ := os.Readlink(filepath.Join(root, filepath.FromSlash(p)))
		return strings.TrimSpace(info.Mode().Type().String() + " " + to)
	}
	sum, err := repofile.Digest(root, p)
	if err != nil {
		return "unreadable"
	}
	digest := "sha256:" + sum
	if info.Mode()&fs.FileMode(0o111) != 0 && path.Dir(p) != protocol.PromptsDir {
		digest += " x"
	}
	return digest
}

// RuleChanges returns the paths that differ between two digests of the rules, sorted.
func RuleChanges(before, now protocol.Ordered[string]) []string {
	var changed []string
	for _, p := range append(before.Keys(), now.Keys()...) {
		was, had := before.Get(p)
		is, has := now.Get(p)
		if was != is || had != has {
			changed = append(changed, p)
		}
	}
	slices.Sort(changed)
	return slices.Compact(changed)
}
