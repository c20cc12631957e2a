package project

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/internal/governance/protocol"
)

// maxRule bounds what is read of one file of the rules.
const maxRule = 16 << 20

// Rules are the digests of the files that say what turns may do and what is asked of them: the configuration, the prompts of
// the roles, and the programs of hooks that stand in the project. A turn that changed one of them would write its own rules.
func Rules(root string, c *protocol.Config) protocol.Ordered[string] {
	paths := []string{protocol.ConfigFile}
	dir := filepath.Join(root, filepath.FromSlash(protocol.PromptsDir))
	entries, _ := os.ReadDir(dir) // none is as good as an empty one
	for _, e := range entries {
		paths = append(paths, protocol.PromptsDir+"/"+e.Name())
	}
	for _, hooks := range c.Hooks.All() {
		for _, h := range hooks {
			for _, word := range h.Command {
				if p := within(root, word); p != "" {
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

// within is the path of a regular file that a word of a command names below the root; empty for everything else.
func within(root, word string) string {
	p := filepath.FromSlash(word)
	if filepath.IsAbs(p) {
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return ""
		}
		p = rel
	}
	p = filepath.Clean(p)
	if !filepath.IsLocal(p) || p == "." {
		return ""
	}
	if info, err := os.Stat(filepath.Join(root, p)); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return filepath.ToSlash(p)
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
	data, err := ReadFile(root, p, maxRule)
	if err != nil {
		return "unreadable"
	}
	sum := sha256.Sum256(data)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	if info.Mode()&fs.FileMode(0o111) != 0 && path.Dir(p) != protocol.PromptsDir {
		digest += " x"
	}
	return digest
}

// RuleChanges are the paths that differ between two digests of the rules, sorted.
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
