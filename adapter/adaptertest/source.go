package adaptertest

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// productWords are path elements of packages that an adapter must not know: the collaborators of a product.
var productWords = []string{"policy", "session", "sessions", "continuation", "memory", "routing", "coordination", "ledger", "orchestrator",
	"governance", "runstore", "workspace", "internal"}

// CheckImports walks the import graph of the adapter whose source is in dir, within its own module, and reports
// imported packages of that module, and of github.com/drawbar/drawbar, that belong to a product. The standard library
// and other modules are not walked.
func CheckImports(dir string) error {
	root, module, err := moduleOf(dir)
	if err != nil {
		return err
	}
	w := importWalk{root: root, module: module, seen: map[string]bool{}}
	if err := w.folder(dir, filepath.Base(dir)); err != nil {
		return err
	}
	return errors.Join(w.faults...)
}

const drawbar = "github.com/drawbar/drawbar"

type importWalk struct {
	root, module string
	seen         map[string]bool
	faults       []error
}

func (w *importWalk) folder(dir, from string) error {
	files, err := sources(dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return fmt.Errorf("read the imports of %s: %w", file, err)
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("read the imports of %s: %w", file, err)
			}
			if err := w.enter(imported, from); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *importWalk) enter(imported, from string) error {
	own := imported == w.module || strings.HasPrefix(imported, w.module+"/")
	ours := imported == drawbar || strings.HasPrefix(imported, drawbar+"/")
	if !own && !ours || w.seen[imported] {
		return nil
	}
	w.seen[imported] = true
	if imported == drawbar {
		w.faults = append(w.faults, fmt.Errorf("%s imports %s, the product's entry point", from, imported))
		return nil
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(imported, w.module), drawbar)
	if ours && (strings.HasPrefix(rest, "/internal/base/") || strings.HasPrefix(rest, "/transport/")) {
		return nil // they know nothing about the product
	}
	for word := range strings.SplitSeq(strings.Trim(rest, "/"), "/") {
		if slices.Contains(productWords, word) {
			w.faults = append(w.faults, fmt.Errorf("%s imports %s: an adapter must not know about %s", from, imported, word))
			return nil
		}
	}
	if !own {
		return nil
	}
	return w.folder(filepath.Join(w.root, filepath.FromSlash(rest)), from+" > "+path.Base(imported))
}

// moduleOf finds the module of dir.
func moduleOf(dir string) (root, module string, err error) {
	root, err = filepath.Abs(dir)
	if err != nil {
		return "", "", err
	}
	for {
		mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
		if err == nil {
			for line := range strings.Lines(string(mod)) {
				if name, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
					return root, strings.Trim(strings.TrimSpace(name), `"`), nil
				}
			}
			return "", "", fmt.Errorf("%s names no module", filepath.Join(root, "go.mod"))
		}
		parent := filepath.Dir(root)
		if parent == root {
			return "", "", fmt.Errorf("%s belongs to no module: no go.mod above it", dir)
		}
		root = parent
	}
}

// sources returns the Go files of a folder, without tests.
func sources(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the source of the adapter: %w", err)
	}
	var files []string
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			files = append(files, filepath.Join(dir, name))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("read the source of the adapter: %s has no Go files", dir)
	}
	return files, nil
}

// SourceLines counts the lines of the adapter in dir that are neither blank nor only a comment, without tests.
func SourceLines(dir string) (n int, err error) {
	files, err := sources(dir)
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, fmt.Errorf("count the lines of the adapter: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				n++
			}
		}
	}
	return n, nil
}
