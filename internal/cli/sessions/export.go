package sessions

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/sessions"
	"github.com/spf13/cobra"
)

func export(app *cli.App) *cobra.Command {
	var format, output string
	var force, reveal bool
	cmd := &cobra.Command{
		Use: "export SESSION", Short: "Write a session as json, jsonl or markdown",
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f := sessions.Format(format)
			if app.JSON && !cmd.Flags().Changed("format") {
				f = sessions.JSON
			}
			switch f {
			case sessions.JSON, sessions.JSONL, sessions.Markdown:
			case "md":
				f = sessions.Markdown
			default:
				return cli.Usage("--format %q is not supported", format).WithHint("json, jsonl or markdown")
			}
			if force && output == "" {
				return cli.Usage("--force needs --output").WithHint("--output FILE --force")
			}
			if output != "" {
				if err := free(output, force); err != nil {
					return err
				}
			}
			s, err := open(app, args)
			if err != nil {
				return err
			}
			export := func(w io.Writer) error {
				if reveal {
					return s.Export(cmd.Context(), w, args[0], f)
				}
				var b bytes.Buffer
				if err := s.Export(cmd.Context(), &b, args[0], f); err != nil {
					return err
				}
				_, err := w.Write(withoutSecrets(b.Bytes(), f))
				return err
			}
			if output == "" {
				out := app.Out
				if cli.IsTerminal(out) {
					out = cli.Harmless(out)
				}
				return export(out)
			}
			if err := write(output, force, func(file *os.File) error { return export(file) }); err != nil {
				return err
			}
			app.Notef("wrote %s", output)
			return nil
		},
	}
	cmd.Flags().BoolVar(&reveal, "reveal", false, "show secrets: values of this environment, and known kinds of keys")
	cmd.Flags().StringVar(&format, "format", "markdown", "format: json, jsonl or markdown")
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write (default: standard output)")
	cmd.Flags().BoolVar(&force, "force", false, "replace the file named by --output")
	return cmd
}

// withoutSecrets removes the values of secret variables and well-known kinds of keys, because exports are shared.
func withoutSecrets(text []byte, f sessions.Format) []byte {
	r := secret.New(secret.Environ(os.Environ()))
	switch f {
	case sessions.Markdown:
		return r.Bytes(text)
	case sessions.JSON:
		return r.JSON(text, nil)
	}
	var out []byte
	for line := range bytes.Lines(text) {
		out = append(out, r.JSON(line, nil)...)
	}
	return out
}

// free refuses a file that cannot be written, before anything is read.
func free(path string, force bool) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if dir, err := os.Stat(filepath.Dir(path)); err != nil || !dir.IsDir() {
			return cli.Usage("--output %s: %s is not a directory", path, filepath.Dir(path)).WithHint("mkdir -p %s", filepath.Dir(path))
		}
		return nil
	case err != nil:
		return cli.Usage("--output %s: %v", path, err)
	case info.IsDir():
		return cli.Usage("--output %s is a directory", path).WithHint("name a file in it")
	case force && !info.Mode().IsRegular():
		return cli.Usage("--output %s is not a regular file and is not replaced", path).WithHint("choose another file")
	case force:
		return nil
	}
	return exists(path)
}

func exists(path string) error {
	return cli.Usage("--output %s already exists", path).WithHint("--force replaces it")
}

// write writes the whole file or nothing. Only its owner can read it, since sessions are private.
func write(path string, force bool, fill func(*os.File) error) (err error) {
	failed := func(err error) error {
		return execution.Errorf(execution.CodeConfig, "write %s: %w", path, err).WithHint("free some space, or choose another file " +
			"with --output")
	}
	tmp, err := atomicfile.Create(path, 0o600)
	if err != nil {
		return failed(err)
	}
	defer tmp.Discard()
	if err := fill(tmp.File); err != nil {
		if _, ok := errors.AsType[*fs.PathError](err); ok {
			return failed(err)
		}
		return err
	}
	if force {
		err = tmp.Commit(true)
	} else if err = tmp.CommitNew(true); errors.Is(err, fs.ErrExist) {
		return exists(path)
	}
	if err != nil {
		return failed(err)
	}
	return nil
}
