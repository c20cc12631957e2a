//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
)

// copilotWithoutProvider leaves Copilot to GitHub, where it is not logged in: a model provider of one's own needs no key.
func copilotWithoutProvider(l *lab) {
	for _, name := range []string{"COPILOT_PROVIDER_BASE_URL", "COPILOT_OFFLINE"} {
		delete(l.env, name)
	}
}

// copilotCache is where Copilot has unpacked itself, which takes it 235 MB and seconds in every fresh home.
var copilotCache = sync.OnceValues(func() (string, error) {
	home := filepath.Join(filepath.Dir(programs), ".copilot-home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "copilot"), "--version")
	cmd.Env = []string{"HOME=" + home, "PATH=" + programs + ":/usr/bin:/bin", "COPILOT_AUTO_UPDATE=false", "COPILOT_OFFLINE=true"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("copilot --version: %w: %s", err, out)
	}
	return filepath.Join(home, ".cache", "copilot"), nil
})

func copilotWarm(l *lab) {
	l.t.Helper()
	cache, err := copilotCache()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(l.home, ".cache"), 0o700); err != nil {
		l.t.Fatal(err)
	}
	if err := os.Symlink(cache, filepath.Join(l.home, ".cache", "copilot")); err != nil {
		l.t.Fatal(err)
	}
}

// TestCopilotFirstStart: in a fresh home Copilot unpacks itself before it says anything.
func TestCopilotFirstStart(t *testing.T) {
	only(t, "copilot", func(t *testing.T, k kit) {
		k.warm = nil
		l := newLab(t, k, `{"turns":[{"text":"at last"}]}`)
		o := l.run("hi")
		o.completed(t)
		if o.result.Text != "at last" {
			t.Errorf("text %q", o.result.Text)
		}
	})
}

// TestCopilotByItsScript: where the native program cannot be found, the script that npm installs is started. It passes no signal
// on, and what it leaves behind is ended all the same.
func TestCopilotByItsScript(t *testing.T) {
	only(t, "copilot", func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"never"}]}`, k.shell("tail -f /dev/null")))
		// A program of another name, so that nobody looks for what is next to it.
		bin := filepath.Join(l.root, "bin")
		if err := os.Mkdir(bin, 0o700); err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\nexec node " + shellQuote(filepath.Join(programs, "copilot")) + ` "$@"` + "\n"
		if err := os.WriteFile(filepath.Join(bin, "copilot"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		l.env["PATH"] = bin + ":" + l.env["PATH"]
		defect(t, "the script that npm installs ends at a signal without passing it on: the program and its tools live on until Drawbar ends them")
		s := l.start("--approve", "yolo", "--timeout", "15s", "--grace", "1s", "hang")
		await[execution.ToolCallReady](s)
		l.running("tail -f /dev/null", 1)
		if left := strings.Join(l.processes(), "\n"); !strings.Contains(left, "npm-loader") && !strings.Contains(left, "bin/copilot") || !strings.Contains(left, "tail -f") {
			t.Errorf("not what this test is about: %s", left)
		}
		s.end().want(t, execution.StatusFailed, execution.CodeTimeout, execution.ExitTimeout)
		l.noSurvivors()
	})
}

// TestCopilotFailuresInConversation: over the Agent Client Protocol Copilot says that all went well, and the error in the model's
// place.
func TestCopilotFailuresInConversation(t *testing.T) {
	only(t, "copilot", func(t *testing.T, k kit) {
		for name, tc := range map[string]struct {
			turn string
			want execution.ErrorCode
		}{
			"401": {`{"status":401,"error":{"type":"authentication_error","message":"invalid x-api-key"},"repeat":true}`, execution.CodeAuth},
			"400": {`{"status":400,"error":{"type":"invalid_request_error","message":"no"},"repeat":true}`, execution.CodeInvalidRequest},
			"500": {`{"status":500,"error":{"type":"api_error","message":"broken"},"repeat":true}`, execution.CodeProvider},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				defect(t, "over the Agent Client Protocol an error of the model API ends the turn as if all went well, with the error as the model's text; "+
					"Drawbar fails the run with the cause")
				l := newLab(t, k, `{"turns":[`+tc.turn+`]}`)
				c := l.talk(interactive("hi"), drawbar.RunOptions{})
				c.run.CloseInput()
				res := c.result()
				if res.Status != execution.StatusFailed || res.Error.ErrorCode() != tc.want || res.Text != "" {
					t.Errorf("%s %+v, text %q; want %s", res.Status, res.Error, res.Text, tc.want)
				}
			})
		}
	})
}

// TestCopilotNotesAreNotTheModels: what Copilot says of a file that was made is no part of the answer, and every turn counts its
// own tokens.
func TestCopilotNotesAreNotTheModels(t *testing.T) {
	only(t, "copilot", func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"x"}]}`)
		path := filepath.Join(l.work, "new.txt")
		l = relab(t, l, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"It is there."},{"text":"Yes."}]}`, k.write(path, "hi")))
		req := interactive("write it")
		req.Run.ApprovalMode = execution.ApprovalYolo
		c := l.talk(req, drawbar.RunOptions{})
		await[execution.TurnEnd](c)
		if _, err := c.run.Continue("sure?"); err != nil {
			t.Fatal(err)
		}
		c.run.CloseInput()
		res := c.result()
		if res.Status != execution.StatusCompleted || res.Text != "It is there.Yes." || res.Usage == nil || res.Usage.Input != 300 || res.Usage.Output != 60 {
			t.Errorf("%s %q %+v %+v", res.Status, res.Text, res.Usage, res.Error)
		}
	})
}

// TestCopilotWaitsForItsCommand: Copilot ends neither a run nor a turn while a command that it started in the background runs, and the
// run says what it waits for.
func TestCopilotWaitsForItsCommand(t *testing.T) {
	only(t, "copilot", func(t *testing.T, k kit) {
		for _, interactive := range []bool{true, false} {
			l := newLab(t, k, `{"turns":[{"tools":[{"name":"bash","input":{"command":"tail -f /dev/null","description":"run it","mode":"async"}}]},{"text":"done"}]}`)
			args := []string{"--approve", "yolo", "--timeout", "60s", "--grace", "1s"}
			if interactive {
				args = append(args, "-i")
			}
			s := l.startWith(interactive, append(args, "go")...)
			s.until("word of the command that still runs", func(e execution.Event) bool {
				d, ok := e.Body.(execution.Debug)
				return ok && strings.Contains(d.Message, "a command that still runs")
			})
			if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			s.end()
			l.noSurvivors()
		}
	})
}
