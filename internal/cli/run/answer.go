package run

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/cli"
)

// answer is what becomes of a run's answer: --quiet, --output and --format.
type answer struct {
	quiet  bool
	path   string
	format string

	file string // that path leads to, of this mode
	mode fs.FileMode
}

func (a *answer) register(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.quiet, "quiet", "q", false, "print the last message only, and why a run failed")
	cmd.Flags().StringVarP(&a.path, "output", "o", "", "file for the last message; it is replaced as a whole when the run has one")
	cmd.Flags().StringVar(&a.format, "format", "text", "what is printed: text, json (the result, one object) or jsonl (events as they happen, as --json)")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json", "jsonl"}, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// check refuses what the options cannot do together, and makes app print what they say.
func (a *answer) check(cmd *cobra.Command, app *cli.App, o *options) error {
	contradicts := func(one, other string) error {
		return cli.Usage("%s and %s contradict each other", one, other).WithHint("use one of them")
	}
	switch {
	case a.format != "text" && a.format != "json" && a.format != "jsonl":
		return cli.Usage("--format %q is unknown", a.format).WithHint("--format text, --format json or --format jsonl")
	case app.JSON && cmd.Flags().Changed("format") && a.format != "jsonl":
		return contradicts("--json", "--format "+a.format)
	case a.quiet && (app.JSON || a.format != "text"):
		return contradicts("--quiet", "JSON")
	case o.interactive && (a.quiet || a.format == "json"):
		return contradicts("--interactive", "--quiet or --format json")
	case o.detach && (a.quiet || a.path != "" || cmd.Flags().Changed("format")):
		return cli.Usage("--quiet, --output and --format are about output, and a run in the background has none").WithHint("drawbar wait RUN && drawbar logs RUN")
	case cmd.Flags().Changed("output") && a.path == "":
		return cli.Usage("--output has no file").WithHint("--output FILE")
	}
	app.JSON = app.JSON || a.format != "text"
	return nil
}

// open refuses a file that cannot be written before the run. Nothing is left beside it meanwhile, where the agent could find it.
func (a *answer) open() error {
	if a.path == "" {
		return nil
	}
	a.file, a.mode = a.path, 0o666
	info, err := os.Stat(a.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err == nil && !info.Mode().IsRegular():
		err = &fs.PathError{Op: "write", Path: a.path, Err: errors.New("not a regular file")}
	case err == nil:
		a.mode = info.Mode().Perm()
		a.file, err = filepath.EvalSymlinks(a.path)
	}
	if err == nil {
		var begun *atomicfile.File
		if begun, err = atomicfile.Create(a.file, a.mode); err == nil {
			begun.Discard()
		}
	}
	if err != nil {
		return cli.Usage("--output: %v", err).WithHint("name a file in a folder that you may write to")
	}
	return nil
}

// write replaces the file, if the run has an answer.
func (a *answer) write(res execution.Result) error {
	if a.path == "" || res.Output == nil {
		return nil
	}
	if err := atomicfile.Write(a.file, []byte(text(res.Output)), a.mode, true); err != nil {
		return execution.Errorf(execution.CodeConfig, "write the answer to %s: %w", a.path, err)
	}
	return nil
}

// text is an answer as a file or a pipe takes it: with a line break at its end.
func text(out *execution.Output) string {
	said := out.Text
	if said == "" {
		said = string(out.Structured)
	}
	if said != "" && said[len(said)-1] != '\n' {
		said += "\n"
	}
	return said
}
