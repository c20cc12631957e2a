package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// Editing is a text that a person edits in $VISUAL or $EDITOR.
type Editing struct {
	What    string // what asks for the editor, for errors: --edit
	Typed   string // the command as it was typed, for hints
	Instead string // what to type without a terminal
	Pattern string // name of the temporary file, as for os.CreateTemp
	Text    string
}

// Edit opens a text in the person's editor and returns the file with the result, which the caller removes. After the editor failed
// the file is kept.
func (a *App) Edit(ctx context.Context, e Editing) (file string, err error) {
	words := strings.Fields(cmp.Or(a.Getenv("VISUAL"), a.Getenv("EDITOR")))
	if len(words) == 0 {
		return "", Usage("%s: neither VISUAL nor EDITOR is set", e.What).WithHint("EDITOR=vi %s, or %s", e.Typed, e.Instead)
	}
	path, err := oshost.New(nil).LookPath(words[0])
	if err != nil {
		return "", Usage("%s: the editor %s was not found", e.What, words[0]).WithHint("EDITOR=vi %s", e.Typed)
	}
	in, out, errs, ok := a.Files()
	if !ok || a.JSON {
		return "", Usage("%s needs a terminal", e.What).WithHint("%s", e.Instead)
	}
	f, err := os.CreateTemp("", e.Pattern)
	if err != nil {
		return "", execution.Errorf(execution.CodeConfig, "create the text to edit: %w", err)
	}
	_, err = f.WriteString(e.Text)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", execution.Errorf(execution.CodeConfig, "create the text to edit: %w", err)
	}
	code, err := process.Attached(ctx, process.Spec{Path: path, Args: append(words[1:], f.Name()), Env: os.Environ()}, in, out, errs)
	if err != nil || code != 0 {
		return f.Name(), execution.Errorf(execution.CodeSpawn, "the editor %s exited with code %d; your text is in %s", words[0], code, f.Name())
	}
	return f.Name(), nil
}
