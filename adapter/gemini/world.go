package gemini

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// world is the part of the host needed to protect the user's sessions.
type world struct {
	environ func() []string // from the kit's options
	now     func() time.Time
}

func newWorld(opts cliagent.Options) world {
	w := world{environ: opts.Environ, now: time.Now}
	if w.environ == nil {
		w.environ = os.Environ
	}
	return w
}

// protect refuses to load a session within the minute in which it started. Gemini names a session's file by that
// minute, and loading creates another file of the same name, which would replace the session.
func (w world) protect(req execution.Request, session string) error {
	now := w.now().UTC()
	if len(session) < 8 {
		return nil
	}
	pattern := filepath.Join(escape(w.home(req)), ".gemini", "tmp", "*", "chats", "session-"+now.Format("2006-01-02T15-04")+"-"+session[:8]+".json*")
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		return nil // Gemini cannot find anything in an unreadable directory
	}
	return execution.Errorf(execution.CodeInvalidStateTransition, "session %s began less than a minute ago: gemini would lose it if it loaded it for a conversation now", session).
		WithHint("try again in %d seconds, or go on with one prompt at a time", 60-now.Second())
}

// home returns the directory above the one of the run's sessions.
func (w world) home(req execution.Request) string {
	value := func(name string) string {
		if v, ok := req.Run.Env[name]; ok {
			return v
		}
		for _, entry := range w.environ() {
			if v, ok := strings.CutPrefix(entry, name+"="); ok {
				return v
			}
		}
		return ""
	}
	return cmp.Or(value("GEMINI_CLI_HOME"), value("HOME"), value("USERPROFILE"))
}

// escape prevents a path from being read as a pattern.
func escape(path string) string {
	if os.PathSeparator == '\\' {
		return path // Windows names can contain brackets only
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
