package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/secret"
)

// setting is one value of git's configuration.
type setting struct {
	key, value string
	file       string // the file that contains it; empty for one from the environment
}

// configured returns the settings that apply in dir, in order of increasing precedence. They are cached until one of
// their files changes. Git runs no other program for that. The caller must not change the result.
func (w *Workspace) configured(ctx context.Context, dir string, env ...string) ([]setting, error) {
	if all := w.known.get(dir); all != nil {
		return all, nil
	}
	begun := time.Now()
	out, err := w.git(ctx, command{dir: dir, env: env, plain: true, args: []string{"config", "--list", "--show-origin", "--includes", "-z"}})
	if err != nil {
		return nil, err
	}
	list := items(out)
	all := make([]setting, 0, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		key, value, given := strings.Cut(list[i+1], "\n")
		if !given {
			value = "true"
		}
		s := setting{key: key, value: value}
		if path, ok := strings.CutPrefix(list[i], "file:"); ok {
			if s.file = filepath.FromSlash(path); !filepath.IsAbs(s.file) {
				s.file = filepath.Join(dir, s.file)
			}
		}
		all = append(all, s)
	}
	if w.kind == Git && (dir == w.root || dir == w.top) {
		w.known.put(dir, all, w.settingsFiles(all), begun)
	}
	return all, nil
}

// drivers returns the content filters of settings, by name, with all their values.
func drivers(all []setting) map[string]string {
	found := map[string]string{}
	for _, s := range all {
		if rest, ok := strings.CutPrefix(s.key, "filter."); ok {
			if dot := strings.LastIndexByte(rest, '.'); dot >= 0 {
				found[rest[:dot]] += rest[dot:] + "=" + s.value + "\x00"
			}
		}
	}
	return found
}

// WithFilters returns the workspace in which git runs the currently configured content filters, such as those of
// git-lfs, and none that is added or changed later. Call it only after checking who configured them.
func (w *Workspace) WithFilters(ctx context.Context) (*Workspace, error) {
	if w.kind == NoGit {
		return w, nil
	}
	all, err := w.configured(ctx, w.root)
	if err != nil {
		return nil, w.wrap("read git's configuration", err)
	}
	c := *w
	c.filters = drivers(all)
	return &c, nil
}

// neutral returns settings that switch off every filter that is not allowed.
func (w *Workspace) neutral(ctx context.Context, dir string, env []string) ([]string, error) {
	all, err := w.configured(ctx, dir, env...)
	if err != nil {
		return nil, err
	}
	found := drivers(all)
	var off []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if w.filters[name] == found[name] {
			continue
		}
		if strings.ContainsAny(name, "=\n") {
			return nil, execution.Errorf(execution.CodeConfig, "the filter %q of git's configuration has a name that cannot be switched off", name).
				WithHint("remove it: git -C %s config --remove-section %s", quote(dir), quote("filter."+name))
		}
		for _, setting := range []string{"clean=", "smudge=", "process=", "required=false"} {
			off = append(off, "-c", "filter."+name+"."+setting)
		}
	}
	return off, nil
}

// Sections and settings that neither run, hide nor redirect anything. Every other one, known or not, may decide what
// git and the programs that read its configuration do.
var (
	quietSections = []string{"advice", "apply", "author", "blame", "color", "column", "commit", "committer", "feature", "i18n", "index", "log", "push",
		"rebase", "rerere", "stash", "tag", "user"}
	quietKeys = []string{"core.abbrev", "core.autocrlf", "core.eol", "core.logallrefupdates", "core.quotepath", "core.safecrlf", "diff.algorithm",
		"diff.colormoved", "diff.renames", "fetch.prune", "fetch.prunetags", "gc.auto", "init.defaultbranch", "merge.conflictstyle", "merge.ff",
		"pull.ff", "pull.rebase"}
	quietOfBranch = []string{"description", "gh-merge-base", "merge", "pushremote", "rebase", "remote", "vscode-merge-base"}
	quietOfLFS    = []string{"access", "locksverify", "repositoryformatversion"} // git-lfs writes them by itself
	quietOfRemote = []string{"fetch", "gh-resolved", "prune", "prunetags", "pushurl", "tagopt", "url"}
)

// isQuiet reports whether a setting may change from was to now without consent. A new remote may be added; the address
// of an existing one, or one that a program serves, may not change.
func isQuiet(key, was, now string) bool {
	section, rest, _ := strings.Cut(key, ".")
	if slices.Contains(quietSections, section) || slices.Contains(quietKeys, key) {
		return true
	}
	leaf := rest[strings.LastIndexByte(rest, '.')+1:]
	switch section {
	case "branch":
		// An address is allowed where a remote name is expected.
		return slices.Contains(quietOfBranch, leaf) && (!strings.HasSuffix(leaf, "remote") || !strings.ContainsAny(now, "/\\:"))
	case "lfs":
		return slices.Contains(quietOfLFS, leaf)
	case "remote":
		address := leaf == "url" || leaf == "pushurl"
		return slices.Contains(quietOfRemote, leaf) && (!address || was == "" && !strings.Contains(now, "::") && !strings.HasPrefix(now, "-"))
	}
	return false
}

// shownLength limits how much of a value is shown.
const shownLength = 300

// hiddenMark precedes the digest of a value that is not shown in full.
const hiddenMark = " #"

// shown is a value as it may be written to the record: without secrets and not too long. A value that is shortened ends
// with a digest, so that it differs when the value does.
func shown(key, value string) string {
	text := value
	leaf := key[strings.LastIndexByte(key, '.')+1:]
	if leaf == "extraheader" || secret.Setting(leaf) {
		text = secret.Mark
	} else {
		text = masked(text)
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > shownLength {
		text = string(runes[:shownLength]) + "..."
	}
	if text != value {
		sum := sha256.Sum256([]byte(value))
		text += hiddenMark + hex.EncodeToString(sum[:8])
	}
	return text
}

// masked removes the secrets from the words of a text, such as a command.
func masked(text string) string {
	return new(secret.Redactor).Text(strings.Join(secret.MaskArgs(strings.Split(text, " "), secret.Mark), " "))
}

// maskedKey is a key without the login of an address in it.
func maskedKey(key string) string {
	section, rest, _ := strings.Cut(key, ".")
	if at := strings.LastIndexByte(rest, '.'); at >= 0 {
		return section + "." + secret.MaskURL(rest[:at], secret.Mark) + rest[at:]
	}
	return key
}

// seen formats a value of shown for people.
func seen(value string) string {
	if at := strings.LastIndex(value, hiddenMark); at >= 0 && len(value)-at-len(hiddenMark) == 16 {
		value = value[:at]
	}
	return value
}
