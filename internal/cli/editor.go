package cli

import (
	"cmp"
	"context"
	"encoding/json"
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

// HasEditor reports whether a person has an editor and a terminal for it.
func (a *App) HasEditor() bool {
	return !a.JSON && IsTerminal(a.In) && cmp.Or(a.Getenv("VISUAL"), a.Getenv("EDITOR")) != ""
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
	back, ok := a.lend()
	if !ok {
		return "", Usage("%s: the editor cannot have this terminal", e.What).WithHint("in another terminal: %s", e.Typed)
	}
	defer back()
	if editor := a.editor.Load(); editor != nil {
		editor.withdraw(true)
		editor.mu.Lock() // what others write comes after it
		defer editor.mu.Unlock()
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

// EditCall returns the input of a call that a run asks about, with what a person makes of its command or its text in their editor. run is
// as they type it.
func (a *App) EditCall(ctx context.Context, run string, call execution.ApprovalRequired) (json.RawMessage, error) {
	text, ok := call.Text()
	if !ok {
		return nil, execution.Errorf(execution.CodeValidation, "this call cannot be changed: the agent runs it as it is").WithHint("approve it as it is, or deny it with --reason")
	}
	file, err := a.Edit(ctx, Editing{What: "--edit", Typed: "drawbar approve " + run + " --edit", Instead: "drawbar approve " + run, Pattern: "drawbar-approve-*", Text: text})
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(file) //nolint:gosec // Edit made it
	if err = errors.Join(err, os.Remove(file)); err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "read what was edited: %w", err)
	}
	changed := string(b)
	if _, command := call.WithCommand(""); command && !strings.HasSuffix(text, "\n") { // editors end a text with a line break
		changed = strings.TrimRight(changed, "\n")
	}
	if strings.TrimSpace(changed) == "" {
		return nil, Usage("what was edited is empty; nothing was answered").WithHint("drawbar deny %s", run)
	}
	input, ok := call.WithText(changed)
	if !ok {
		return nil, execution.Errorf(execution.CodeValidation, "this call cannot be changed")
	}
	return input, nil
}
