// Package trust records which programs of a project its user allows to run. An item is one thing that would
// run, with digests of the project files that it names; a package that runs something lists its items here and
// asks before it starts anything. Trust applies to content, not names: a new or changed item is not trusted.
//
// This package starts nothing, asks nobody, and does not know about hooks, runtimes or gates.
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/base/secret"
)

// Item is one thing of a project that would run.
type Item struct {
	File  string `json:"file"`  // its file, relative to the project, with slashes
	Place string `json:"place"` // its place in the file
	Runs  string `json:"runs"`  // everything that decides what runs, as lines for people
	Files []File `json:"files,omitempty"`
}

// File is a project file that an item names: its content also decides what runs.
type File struct {
	Path    string `json:"path"` // relative to the project, with slashes
	SHA256  string `json:"sha256,omitempty"`
	Problem string `json:"problem,omitempty"` // why it has no digest; the item then cannot be trusted
}

// New returns an item of the project at root. Every word, or part of a word, that names a regular file of the
// project, relative to dir or root, becomes a file of the item: a word may be a shell command line.
func New(root, dir, file, place, runs string, words ...string) Item {
	i := Item{File: file, Place: place, Runs: strings.TrimRight(runs, "\n")}
	var paths []string
	for _, word := range words {
		for _, w := range named(root, dir, word) {
			for _, from := range []string{dir, root} {
				if p := repofile.Named(root, from, w); p != "" {
					paths = append(paths, p)
				}
			}
		}
	}
	slices.Sort(paths)
	for _, p := range slices.Compact(paths) {
		f := File{Path: p}
		var err error
		if f.SHA256, err = repofile.Digest(root, p); err != nil {
			f.Problem = err.Error()
		}
		i.Files = append(i.Files, f)
	}
	return i
}

// Whole returns an item that is a file, whatever is in it: data.
func Whole(file, place, runs string, data []byte) Item {
	sum := sha256.Sum256(data)
	return Item{File: file, Place: place, Runs: runs, Files: []File{{Path: file, SHA256: hex.EncodeToString(sum[:])}}}
}

// Masked returns a value of JSON with digests in place of the secrets in it: what is shown and kept must change with them, and not
// contain them.
func Masked(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = Masked(e)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for name, e := range v {
			if text, ok := e.(string); ok {
				e = MaskedText(name, text)
			}
			m[name] = Masked(e)
		}
		return m
	}
	return v
}

// MaskedText returns the value of a name as Masked has it.
func MaskedText(name, value string) string {
	if !secret.Name(name) || strings.Contains(value, "${") {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return "sha256:" + hex.EncodeToString(sum[:8])
}

// parts returns the parts of a shell command line that may name a file. That includes more than the shell's
// words: quotes and operators only separate.
func parts(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n;&|()<>{}\"'`=,$:", r) })
}

// maxNamed limits the files that the patterns of one word may match.
const maxNamed = 1000

// named returns the paths that a word may name: the word, its parts, the text after a variable that contains
// the project's folder, matches of a part as a shell pattern, and paths relative to a folder that another part
// names.
func named(root, dir, word string) []string {
	all := append(parts(word), word)
	if strings.Contains(word, "$") {
		for _, p := range all[:len(all)-1] {
			if _, rest, ok := strings.Cut(p, "/"); ok && rest != "" {
				all = append(all, rest)
			}
		}
	}
	folders := []string{dir, root}
	for _, p := range all {
		for _, from := range []string{dir, root} {
			if at := filepath.Join(from, filepath.FromSlash(p)); len(folders) < 16 && !filepath.IsAbs(p) && isFolder(at) && !slices.Contains(folders, at) {
				folders = append(folders, at)
			}
		}
	}
	for _, p := range slices.Clone(all) {
		for _, from := range folders {
			at := filepath.FromSlash(p)
			if !filepath.IsAbs(at) {
				at = filepath.Join(from, at)
			}
			if !strings.ContainsAny(p, "*?[") {
				all = append(all, at)
				continue
			}
			// Only one folder of the project is searched, so that a pattern cannot cause a tree to be walked.
			if rel, err := filepath.Rel(root, filepath.Dir(at)); err != nil || !filepath.IsLocal(rel) || strings.ContainsAny(rel, "*?[") {
				continue
			}
			if found, err := filepath.Glob(at); err == nil {
				all = append(all, found[:min(len(found), maxNamed)]...)
			}
		}
	}
	return all
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Quote formats a command so that its words are distinguishable.
func Quote(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; w == "" || strings.ContainsFunc(w, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("\"'`\\$&|;<>()*?[]#~", r) }) {
			b, _ := json.Marshal(w) // a string
			out[i] = string(b)
		}
	}
	return strings.Join(out, " ")
}

// problem returns why the item cannot be trusted, empty if it can.
func (i Item) problem() string {
	for _, f := range i.Files {
		if f.Problem != "" {
			return f.Path + " " + f.Problem
		}
	}
	return ""
}

// Same reports whether two items are the same thing with the same content.
func Same(a, b Item) bool {
	return a.sameplace(b) && equal(a.Runs, b.Runs) && slices.EqualFunc(a.Files, b.Files, func(x, y File) bool {
		return equal(x.Path, y.Path) && x.SHA256 == y.SHA256 && x.Problem == y.Problem
	})
}

// equal compares texts as the store's file keeps them, which has no invalid UTF-8.
func equal(a, b string) bool {
	return a == b || utf8.ValidString(a) != utf8.ValidString(b) && string([]rune(a)) == string([]rune(b))
}

// Covers reports whether o, the item of another directory, runs the same and names no file with other content. It may lack files of i.
func (i Item) Covers(o Item) bool {
	return i.sameplace(o) && i.Runs == o.Runs && o.problem() == "" && !slices.ContainsFunc(o.Files, func(f File) bool { return !slices.Contains(i.Files, f) })
}

func (i Item) sameplace(o Item) bool { return equal(i.File, o.File) && equal(i.Place, o.Place) }
