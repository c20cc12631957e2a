//go:build unix

package run

import (
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/command"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
)

// late sends this process a signal when the client says that a record could not be written.
type late struct {
	io.Writer
	once sync.Once
}

func (l *late) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "result.json") {
		l.once.Do(func() {
			time.Sleep(200 * time.Millisecond) // the result is known to the command by now
			_ = syscall.Kill(syscall.Getpid(), syscall.SIGTERM)
			time.Sleep(500 * time.Millisecond) // another thread may get it, later
		})
	}
	return len(p), nil
}

// TestSignalWhileTheRecordIsWritten: a run that has ended is not lost to a signal. The process of this test would be.
func TestSignalWhileTheRecordIsWritten(t *testing.T) {
	for name, run := range map[string]func(*cli.App, *drawbar.Client, execution.Request) error{
		"foreground": func(app *cli.App, c *drawbar.Client, req execution.Request) error {
			return Execute(t.Context(), app, c, req, drawbar.RunOptions{})
		},
		"background": func(app *cli.App, c *drawbar.Client, req execution.Request) error {
			return background(t.Context(), app, c, order{Request: req})
		},
	} {
		t.Run(name, func(t *testing.T) {
			state, dir := t.TempDir(), t.TempDir()
			told := &late{}
			app := &cli.App{In: strings.NewReader(""), Out: io.Discard, Err: t.Output(), Getenv: func(string) string { return "" },
				MakeClient: func(drawbar.Options) (*drawbar.Client, error) {
					return drawbar.New(drawbar.Options{Agents: []adapter.Descriptor{command.Descriptor()}, StateDir: state, Logger: slog.New(slog.NewTextHandler(told, nil))})
				}}
			client, err := app.Client()
			if err != nil {
				t.Fatal(err)
			}
			// The directory is in the way of the result.
			block := `cd ` + filepath.Join(state, "runs") + `/* && mkdir result.json`
			req := execution.Request{Message: execution.Message{Text: "work"}, Run: execution.RunOptions{Agent: "command", Cwd: dir, Command: []string{"sh", "-c", block}}}
			if err := run(app, client, req); err != nil {
				t.Error(err)
			}
			if err := app.Close(); err != nil {
				t.Error(err)
			}
			told.once.Do(func() { t.Error("the record was written") })
		})
	}
}
