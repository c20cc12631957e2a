// Package newadapter is "drawbar agents new": it writes the first version of an external adapter.
package newadapter

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/external"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
)

//go:embed templates
var templates embed.FS

// languages are the folders of templates.
var languages = []string{"go", "js", "py", "sh"}

// New returns "new NAME".
func New(app *cli.App) *cobra.Command {
	var lang string
	cmd := &cobra.Command{
		Use: "new NAME --lang go|js|py|sh", Short: "Write the first version of an external adapter", Args: cli.Args(cobra.ExactArgs(1)),
		Long: "Write the folder drawbar-adapter-NAME: a program that makes NAME an agent when it is on PATH, a README, and a test that runs the " +
			"conformance suite. The program passes it as it is. An existing folder is never changed.",
		Example: "  drawbar agents new mine --lang py\n  sh drawbar-adapter-mine/test.sh",
		RunE:    func(_ *cobra.Command, args []string) error { return write(app, args[0], lang) },
	}
	cmd.Flags().StringVar(&lang, "lang", "", "language: "+strings.Join(languages, ", "))
	return cmd
}

// Spelling returns "adapter", another way to type it.
func Spelling(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "adapter", Short: "Write the first version of an external adapter", Hidden: true, Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(New(app))
	return cmd
}

// write writes the folder beside its place and moves it there, so that it is never incomplete.
func write(app *cli.App, name, lang string) (err error) {
	target := external.Prefix + name
	switch {
	case !slices.Contains(languages, lang):
		return cli.Usage("--lang %q is not a language of adapters", lang).WithHint("drawbar agents new %s --lang %s", name, strings.Join(languages, "|"))
	case !external.IsName(name):
		return cli.Usage("%q is not a valid agent name", name).WithHint("use lower-case letters, digits and -, and a letter first")
	case slices.ContainsFunc(adapter.Builtins(), func(d adapter.Descriptor) bool { return d.Name == name || slices.Contains(d.Aliases, name) }):
		return cli.Usage("%s is a built-in agent, which an external adapter cannot replace", name).WithHint("choose another name")
	}
	if _, err := os.Lstat(target); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return execution.Errorf(execution.CodeConfig, "%s already exists", target).WithHint("choose another name, or move it away")
	}
	temp, err := os.MkdirTemp(".", "."+target+"-*")
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "write %s: %w", target, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	files, err := fill(temp, name, lang)
	if err == nil {
		err = errors.Join(os.Chmod(temp, 0o755), os.Rename(temp, target))
	}
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "write %s: %w", target, err)
	}
	return app.Answer(map[string]any{"agent": name, "dir": target, "files": files}, func() {
		app.Notef("wrote %s; next: sh %s/test.sh", target, target)
	})
}

// build is what the program needs before it can run.
var build = map[string]string{"go": "[ -e go.sum ] || go get github.com/drawbar/drawbar\ngo build -o drawbar-adapter-NAME .\n"}

// fill writes the files of a language and returns their names.
func fill(dir, name, lang string) (names []string, err error) {
	for _, folder := range []string{"templates", "templates/" + lang} {
		entries, err := templates.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() {
				continue
			}
			content, err := templates.ReadFile(folder + "/" + e.Name())
			if err != nil {
				return nil, err
			}
			steps := build[lang]
			if e.Name() == "README.md" && steps != "" {
				steps = "    " + strings.ReplaceAll(strings.TrimSuffix(steps, "\n"), "\n", "\n    ") + "\n"
			}
			text := strings.ReplaceAll(strings.ReplaceAll(string(content), "BUILD", steps), "NAME", name)
			file := strings.TrimSuffix(strings.ReplaceAll(e.Name(), "NAME", name), ".txt")
			mode := os.FileMode(0o644)
			if strings.HasPrefix(text, "#!") {
				mode = 0o755
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), mode); err != nil {
				return nil, err
			}
			names = append(names, file)
		}
	}
	slices.Sort(names)
	return names, nil
}
