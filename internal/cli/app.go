// Package cli contains the shared parts of the commands: streams, JSON answers, errors, tables, request flags, and the rendering
// of events. Each command is a package below it, with everything that only it needs.
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
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/internal/settings/unasked"
)

// App gives a command its streams, the global flags, the client and the record of runs. Client and record are opened on first
// use.
type App struct {
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Getenv  func(string) string
	Version string

	Record, Replay string // files of recorded runs, for the client

	JSON     bool // --json
	NoColor  bool // --no-color
	Markdown bool // --markdown

	dir    string   // --cwd, for commands with DirFlag
	warned []string // skipped directories that were reported

	// MakeClient replaces drawbar.New in tests.
	MakeClient func(drawbar.Options) (*drawbar.Client, error)

	status *StatusLine // hidden before other lines are printed

	once   sync.Once
	client *drawbar.Client
	err    error
	stdin  lineReader
	editor atomic.Pointer[lineEditor] // of a conversation on a terminal

	closing  sync.Once
	closeErr error
}

// At returns an app for another directory of a project, with a client of its own, for runs that nobody watches. The caller closes it.
func (a *App) At(dir string) *App {
	return &App{In: strings.NewReader(""), Out: io.Discard, Err: a.Err, Getenv: a.Getenv, Version: a.Version, NoColor: a.NoColor, MakeClient: a.MakeClient, dir: dir}
}

// Client returns the client of this process. Its warnings go to standard error.
func (a *App) Client() (*drawbar.Client, error) {
	a.once.Do(func() {
		make := a.MakeClient
		if make == nil {
			make = drawbar.New
		}
		o := drawbar.Options{Logger: a.Logger(), Control: true, Record: a.Record, Replay: a.Replay}
		o.Allow = func(agents []adapter.Descriptor, dir string) error {
			store, err := a.TrustStore()
			if err != nil {
				return err
			}
			return unasked.Check(store)(agents, dir)
		}
		// Commands that need the configuration report its errors; the others work without it.
		cfg, err := a.Config(a.Dir())
		if err != nil {
			o.Declared.Broken = err
		} else {
			for _, m := range cfg.Models() {
				o.Models = append(o.Models, drawbar.ModelDeclaration(m))
			}
			for _, b := range cfg.Budgets() {
				o.Budgets = append(o.Budgets, drawbar.Budget(b))
			}
			o.Declared = a.declared(cfg)
		}
		a.client, a.err = make(o)
	})
	return a.client, a.err
}

// Store opens the record of runs. The caller closes it.
func (a *App) Store() (*runstore.Store, error) {
	dir, err := runstore.DefaultDir()
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "%w", err)
	}
	s, err := runstore.Open(dir, runstore.Options{Logger: a.Logger(), Price: a.price, Used: a.used})
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "open the record of runs in %s: %w", dir, err)
	}
	return s, nil
}

// price returns the price of a model, nil if unknown. It creates the client, which only lost runs need.
func (a *App) price(agent, model string) *execution.Price {
	c, err := a.Client()
	if err != nil {
		return nil
	}
	return c.Models().Price(agent, model)
}

// Window returns the context window of a model, 0 if unknown.
func (a *App) Window(agent, model string) int64 {
	c, err := a.Client()
	if err != nil {
		return 0
	}
	list, err := c.Models().List(agent)
	if err != nil {
		return 0 // the run was of an agent that is not registered any more
	}
	if m := execution.FindModel(list, model); m != nil {
		return m.ContextWindow
	}
	return 0
}

// used returns the usage of a lost run from its session file.
func (a *App) used(agent, session, fork string, since, until time.Time) execution.Usage {
	c, err := a.Client()
	if err != nil {
		return execution.Usage{}
	}
	return c.SessionUsage(context.Background(), drawbar.SessionSpan{Agent: agent, Session: session, Fork: fork, Since: since, Until: until})
}

// Close waits until the records of runs are written. Later calls return the error of the first.
func (a *App) Close() error {
	a.closing.Do(func() {
		if a.client != nil {
			a.closeErr = a.client.Close()
		}
	})
	return a.closeErr
}

// Printf writes text for people to standard output. Control characters are removed, since the text may come from agents and files.
func (a *App) Printf(format string, args ...any) {
	a.status.above(a.Out, Printable(fmt.Sprintf(format, args...)))
}

// Notef writes a message to standard error, without control characters.
func (a *App) Notef(format string, args ...any) {
	a.status.above(a.Err, Printable(fmt.Sprintf(format, args...))+"\n")
}

// Warnf writes a warning to standard error.
func (a *App) Warnf(format string, args ...any) { a.Notef("warning: "+format, args...) }

// Logger returns a logger that writes warnings like Warnf.
func (a *App) Logger() *slog.Logger { return slog.New(warnings{app: a}) }

// warnings is a log handler that prints the message followed by its attributes.
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

// Answered, if set, gets what the command of this process answers, or would with --json. Tests derive schema/answers.json from it.
var Answered func(data any)

// Answer prints data as JSON with --json, and calls human otherwise.
func (a *App) Answer(data any, human func()) error {
	return a.answer(envelope{OK: true, Data: data}, human)
}

func (a *App) answer(e envelope, human func()) error {
	if Answered != nil {
		Answered(e.Data)
	}
	if !a.JSON {
		human()
		return nil
	}
	return a.encode(e)
}

// AnswerNot is Answer for a command that found faults: the JSON contains the data and the error.
func (a *App) AnswerNot(data any, why *execution.Error, human func()) error {
	return a.answer(envelope{Data: data, Error: why}, human)
}

// Line writes a value of a stream as one line of JSON, without the envelope.
func (a *App) Line(v any) error { return a.encode(v) }

func (a *App) encode(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = a.Out.Write(append(EscapeJSON(b), '\n'))
	return err
}

// Fail reports an error: as JSON on standard output with --json, otherwise on standard error with its hint.
func (a *App) Fail(err error) {
	var e *execution.Error
	if !errors.As(err, &e) {
		e = &execution.Error{Code: execution.CodeOf(err), Message: err.Error()}
	}
	if a.JSON {
		_ = a.encode(envelope{Error: e}) // nowhere to report an error
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
	f, ok := fileOf(stream)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Color reports whether a stream gets colours: a terminal does unless NO_COLOR, --no-color or TERM=dumb is set; CLICOLOR_FORCE
// turns them on for any stream.
func (a *App) Color(stream any) bool {
	if a.NoColor || a.Getenv("NO_COLOR") != "" {
		return false
	}
	if f := a.Getenv("CLICOLOR_FORCE"); f != "" && f != "0" {
		return true
	}
	return IsTerminal(stream) && a.Getenv("TERM") != "dumb"
}

// Usage returns an error about the command line.
func Usage(format string, args ...any) *execution.Error {
	return execution.Errorf(execution.CodeValidation, format, args...)
}

// Unreadable is Usage for a flag's file that cannot be opened or read.
func Unreadable(flag string, err error) *execution.Error {
	e := Usage("%s: %v", flag, err)
	if dir, wderr := os.Getwd(); wderr == nil {
		return e.WithHint("give %s a readable file; a relative path starts at %s", flag, dir)
	}
	return e
}
