package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/internal/governance/protocol"
)

// Names of what Binding gives, as a person is told them.
const (
	bindExclude    = ".git/info/exclude"
	bindAttributes = ".git/info/attributes"
	bindConfig     = ".git/config"
	bindFlags      = ".git/index (files marked assume-unchanged or skip-worktree)"
	bindHooks      = ".git/hooks"
)

// Binding are digests of what in the repository, apart from its files, decides which changes git shows and which programs it
// runs. dir is as in Observe. It is empty without git. It runs no program.
func (w *Workspace) Binding(dir string) (protocol.Ordered[string], error) {
	var all protocol.Ordered[string]
	if w.kind == NoGit {
		return all, nil
	}
	at, _, err := w.at(dir)
	if err != nil {
		return all, err
	}
	for _, name := range []string{bindExclude, bindAttributes} {
		data, _ := os.ReadFile(filepath.Join(at.common, filepath.FromSlash(strings.TrimPrefix(name, ".git/")))) // none is empty
		all.Set(name, digestOf(data))
	}
	config, _ := os.ReadFile(filepath.Join(at.common, "config"))
	hiding, hooks := settingsOf(config)
	all.Set(bindConfig, digestOf([]byte(strings.Join(hiding, "\n"))))
	index, _ := os.ReadFile(filepath.Join(at.gitDir, "index"))
	idLen := sha256.Size
	if !slices.Contains(hiding, "extensions.objectformat=sha256") {
		idLen = 20
	}
	all.Set(bindFlags, digestOf([]byte(strings.Join(hiddenPaths(index, idLen), "\x00"))))
	all.Set(bindHooks, digestOf([]byte(strings.Join(append(hooks, hookFiles(filepath.Join(at.common, "hooks"))...), "\n"))))
	return all, nil
}

// OnlyTold reports whether a change of what Binding names is only told: it lets a program run in a person's git, and hides
// nothing from Drawbar's.
func OnlyTold(name string) bool { return name == bindHooks }

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// settingsOf gives the settings of a repository's configuration that decide which changes it shows, and those that name a
// program for its hooks. Lines that go on in the next one are taken apart, which changes a digest as well.
func settingsOf(config []byte) (hiding, hooks []string) {
	section := ""
	for line := range strings.Lines(string(config)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			name, rest, _ := strings.Cut(line[1:], "]")
			name, sub, _ := strings.Cut(name, " ")
			section = strings.ToLower(name) + sub
			if line = strings.TrimSpace(rest); line == "" {
				continue
			}
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		group, _, _ := strings.Cut(section, `"`)
		group, _, _ = strings.Cut(group, ".")
		setting := section + "." + key + "=" + value
		switch group {
		case "core":
			if key == "hookspath" {
				hooks = append(hooks, setting)
			}
			if slices.Contains([]string{"excludesfile", "attributesfile", "worktree", "bare", "sparsecheckout", "sparsecheckoutcone",
				"ignorestat", "checkstat", "trustctime", "filemode", "symlinks", "ignorecase"}, key) {
				hiding = append(hiding, setting)
			}
		case "filter", "include", "includeif", "extensions", "submodule", "status":
			hiding = append(hiding, setting)
		}
	}
	return hiding, hooks
}

// hookFiles are the hooks of a repository with their digests, without git's samples.
func hookFiles(dir string) []string {
	entries, _ := os.ReadDir(dir) // none is as good as an empty one
	var all []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".sample") || !e.Type().IsRegular() && e.Type()&os.ModeSymlink == 0 {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		data, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		all = append(all, e.Name()+" "+digestOf(data))
	}
	return all
}

// hiddenPaths are the paths of an index that are marked so that git does not look at them: assume-unchanged or skip-worktree. An
// index of another kind gives none.
func hiddenPaths(index []byte, idLen int) []string {
	const stat = 40
	if len(index) < 12 || string(index[:4]) != "DIRC" {
		return nil
	}
	version, count := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	var hidden []string
	prev := ""
	at := 12
	for range count {
		begin := at
		at += stat + idLen
		if at+2 > len(index) {
			return hidden
		}
		flags := binary.BigEndian.Uint16(index[at:])
		at += 2
		var more uint16
		if flags&0x4000 != 0 {
			if at+2 > len(index) {
				return hidden
			}
			more = binary.BigEndian.Uint16(index[at:])
			at += 2
		}
		keep := 0
		if version == 4 {
			strip, n := stripped(index[at:])
			if n == 0 || strip > len(prev) {
				return hidden
			}
			at += n
			keep = len(prev) - strip
		}
		end := bytes.IndexByte(index[at:], 0)
		if end < 0 {
			return hidden
		}
		prev = prev[:keep] + string(index[at:at+end])
		at += end + 1
		if version != 4 {
			at = begin + (at-begin+7)/8*8
		}
		if flags&0x8000 != 0 || more&0x4000 != 0 {
			hidden = append(hidden, prev)
		}
		if at > len(index) {
			return hidden
		}
	}
	return hidden
}

// stripped decodes how much of the name before an entry of version 4 drops, and how many bytes say so; 0 for none.
func stripped(b []byte) (value, n int) {
	for i, c := range b {
		if i > 4 {
			return 0, 0
		}
		if i > 0 {
			value++
		}
		value = value<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return value, i + 1
		}
	}
	return 0, 0
}
