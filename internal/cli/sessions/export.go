package sessions

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
)

func export(app *cli.App) *cobra.Command {
	var format, output string
	var force bool
	cmd := &cobra.Command{
		Use: "export SESSION", Short: "Write a session as json, jsonl or markdown",
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f := drawbar.SessionFormat(format)
			if app.JSON && !cmd.Flags().Changed("format") {
				f = drawbar.SessionJSON
			}
			switch f {
			case drawbar.SessionJSON, drawbar.SessionJSONL, drawbar.SessionMarkdown:
			case "md":
				f = drawbar.SessionMarkdown
			default:
				return cli.Usage("--format %q is no format", format).WithHint("json, jsonl or markdown")
			}
			if force && output == "" {
				return cli.Usage("--force is about the file of --output, which is not given").WithHint("--output FILE --force")
			}
			if output != "" {
				if err := free(output, force); err != nil {
					return err
				}
			}
			s, err := sessions(app)
			if err != nil {
				return err
			}
			if output == "" {
				out := app.Out
				if cli.IsTerminal(out) {
					out = cli.Harmless(out)
				}
				return s.Export(cmd.Context(), out, args[0], f)
			}
			if err := write(output, force, func(file *os.File) error { return s.Export(cmd.Context(), file, args[0], f) }); err != nil {
				return err
			}
			app.Notef("wrote %s", output)
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "markdown", "json, jsonl or markdown")
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write; default: standard output")
	cmd.Flags().BoolVar(&force, "force", false, "replace the file of --output")
	return cmd
}

// free refuses a place that cannot be written to, before anything is read.
func free(path string, force bool) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if dir, err := os.Stat(filepath.Dir(path)); err != nil || !dir.IsDir() {
			return cli.Usage("--output %s: %s is no directory", path, filepath.Dir(path)).WithHint("mkdir -p %s", filepath.Dir(path))
		}
		return nil
	case err != nil:
		return cli.Usage("--output %s: %v", path, err)
	case info.IsDir():
		return cli.Usage("--output %s is a directory", path).WithHint("name a file in it")
	case force && !info.Mode().IsRegular():
		return cli.Usage("--output %s is no regular file and is not replaced", path).WithHint("name another file")
	case force:
		return nil
	}
	return exists(path)
}

func exists(path string) error {
	return cli.Usage("--output %s is there already", path).WithHint("--force replaces it")
}

// write makes the file whole or not at all. Sessions hold what only their owner should read.
func write(path string, force bool, fill func(*os.File) error) (err error) {
	failed := func(err error) error {
		return execution.Errorf(execution.CodeConfig, "write %s: %w", path, err).WithHint("make room, or name another file with --output")
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".drawbar-export-*")
	if err != nil {
		return failed(err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	if err := fill(tmp); err != nil {
		_ = tmp.Close() // the first error is the one to tell
		if _, ok := errors.AsType[*fs.PathError](err); ok {
			return failed(err)
		}
		return err
	}
	if err := errors.Join(tmp.Sync(), tmp.Close()); err != nil {
		return failed(err)
	}
	if !force {
		// A link fails where a file has come into being meanwhile; a rename would replace it.
		switch err := os.Link(tmp.Name(), path); {
		case err == nil:
			return os.Remove(tmp.Name())
		case errors.Is(err, fs.ErrExist):
			return exists(path)
		}
		if _, err := os.Lstat(path); err == nil {
			return exists(path)
		}
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return failed(err)
	}
	return nil
}
