// Package cli holds what the commands share: streams, the envelope of JSON answers, errors, request flags, and the
// rendering of events. Every command has a package of its own below; what only one command needs lives there.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/runstore"
)

// App is what a command is given: the streams, the flags of every command, and the ways to client and record. Both are made
// on first use, so that a command which needs neither pays for neither.
type App struct {
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Getenv  func(string) string
	Version string

	JSON    bool // --json
	NoColor bool // --no-color

	dir    string   // --cwd, where DirFlag offers it
	warned []string // of directories that were passed over

	// Overridden by tests; nil means this machine.
	MakeClient func(drawbar.Options) (*drawbar.Client, error)

	status *StatusLine // the live line of the terminal, which other lines take the place of

	once   sync.Once
	client *drawbar.Client
	err    error
	stdin  lineReader
}

// Client is the process's client. Warnings of the record go to standard error.
func (a *App) Client() (*drawbar.Client, error) {
	a.once.Do(func() {
		make := a.MakeClient
		if make == nil {
			make = drawbar.New
		}
		o := drawbar.Options{Logger: a.logger(), Control: true}
		// A configuration that cannot be used is told by those who need it: the others go on.
		if cfg, err := a.Config(a.Dir()); err == nil {
			for _, m := range cfg.Models() {
				o.Models = append(o.Models, drawbar.ModelDeclaration{Agent: m.Agent, Model: m.Model})
			}
		}
		a.client, a.err = make(o)
	})
	return a.client, a.err
}

// Store opens the record of runs for a command that reads it.
func (a *App) Store() (*runstore.Store, error) {
	dir, err := runstore.DefaultDir()
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "%w", err)
	}
	s, err := runstore.Open(dir, runstore.Options{Logger: a.logger(), Price: a.price, Used: a.used})
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "open the record of runs in %s: %w", dir, err)
	}
	return s, nil
}

// price is what the client's models cost; the client is made when a lost run needs it.
func (a *App) price(agent, model string) *execution.Price {
	c, err := a.Client()
	if err != nil {
		return nil
	}
	return c.Models().Price(agent, model)
}

// used is what a lost run's session file has of it.
func (a *App) used(agent, session, fork string, since, until time.Time) execution.Usage {
	c, err := a.Client()
	if err != nil {
		return execution.Usage{}
	}
	return c.SessionUsage(context.Background(), drawbar.SessionSpan{Agent: agent, Session: session, Fork: fork, Since: since, Until: until})
}

// Close waits for the records of runs to be written.
func (a *App) Close() error {
	if a.client == nil {
		return nil
	}
	return a.client.Close()
}

// Printf writes data for a person to standard output. What agents and files say is in it: it cannot move a terminal's cursor.
func (a *App) Printf(format string, args ...any) {
	_, _ = io.WriteString(a.Out, printable(fmt.Sprintf(format, args...))) // a closed standard output leaves nobody to tell
}

// Notef writes to standard error what is no data, as harmless as Printf does.
func (a *App) Notef(format string, args ...any) {
	a.status.Hide()
	_, _ = io.WriteString(a.Err, printable(fmt.Sprintf(format, args...))+"\n")
}

// Warnf writes a warning to standard error.
func (a *App) Warnf(format string, args ...any) { a.Notef("warning: "+format, args...) }

// logger writes warnings of the product to standard error, in the form of the others.
func (a *App) logger() *slog.Logger { return slog.New(warnings{app: a}) }

// warnings is a handler for people: the message, and attributes behind it.
type warnings struct {
	app   *App
	attrs []slog.Attr
}

func (warnings) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (w warnings) WithGroup(string) slog.Handler              { return w }
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.app, slices.Concat(w.attrs, attrs)}
}

func (w warnings) Handle(_ context.Context, r slog.Record) error {
	r.AddAttrs(w.attrs...)
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += fmt.Sprintf(" %s=%v", a.Key, a.Value); return true })
	w.app.Warnf("%s", line)
	return nil
}

type envelope struct {
	OK    bool             `json:"ok"`
	Data  any              `json:"data,omitempty"`
	Error *execution.Error `json:"error,omitempty"`
}

// Answer prints data: as the JSON envelope with --json, else through human.
func (a *App) Answer(data any, human func()) error {
	if !a.JSON {
		human()
		return nil
	}
	return a.encode(envelope{OK: true, Data: data})
}

// AnswerNot is Answer for a command that found faults: the envelope says that it is not ok, and why, beside the data.
func (a *App) AnswerNot(data any, why *execution.Error, human func()) error {
	if !a.JSON {
		human()
		return nil
	}
	return a.encode(envelope{Data: data, Error: why})
}

// Line writes a value as one line of JSON, without the envelope: for streams.
func (a *App) Line(v any) error { return a.encode(v) }

func (a *App) encode(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = a.Out.Write(append(EscapeJSON(b), '\n'))
	return err
}

// Fail reports an error the way the flags ask for: as the JSON envelope on standard output, or as a line on standard
// error with what to type next behind it.
func (a *App) Fail(err error) {
	var e *execution.Error
	if !errors.As(err, &e) {
		e = &execution.Error{Code: execution.CodeOf(err), Message: err.Error()}
	}
	if a.JSON {
		_ = a.encode(envelope{Error: e}) // a closed standard output leaves nobody to tell
		return
	}
	message := err.Error()
	if e.Hint != "" {
		message = strings.TrimSuffix(message, "; "+e.Hint)
	}
	a.Notef("drawbar: %s", message)
	if e.Hint != "" {
		a.Notef("  try: %s", e.Hint)
	}
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Color reports whether a stream is written in colour: a terminal, without NO_COLOR, --no-color and TERM=dumb, or
// CLICOLOR_FORCE.
func (a *App) Color(stream any) bool {
	if a.NoColor || a.Getenv("NO_COLOR") != "" {
		return false
	}
	if f := a.Getenv("CLICOLOR_FORCE"); f != "" && f != "0" {
		return true
	}
	return IsTerminal(stream) && a.Getenv("TERM") != "dumb"
}

// Usage makes an error about the command line.
func Usage(format string, args ...any) *execution.Error {
	return execution.Errorf(execution.CodeValidation, format, args...)
}

// Unreadable is Usage for a file that a flag names and that cannot be opened or read.
func Unreadable(flag string, err error) *execution.Error {
	e := Usage("%s: %v", flag, err)
	if dir, wderr := os.Getwd(); wderr == nil {
		return e.WithHint("give %s a readable file; a relative path starts at %s", flag, dir)
	}
	return e
}

// Args wraps a cobra argument check so that its error names the command's usage.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Usage("%s: %v", cmd.CommandPath(), err).WithHint("%s", cmd.UseLine())
		}
		return nil
	}
}
