package modelapi

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/flocked"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/base/statedir"
)

// A session is a conversation in a file, <state directory>/sessions/<agent>/<id>.jsonl, of mode 0600 in directories of mode 0700: a line per
// record, appended with one write each. A line that a killed process left incomplete is not there for readers. The process that
// goes on with a session holds a lock on its file.

const (
	sessionVersion = 1
	sessionSuffix  = ".jsonl"
	maxSession     = 256 << 20 // bytes of a session that can be continued
	shortestKey    = 8         // what is shorter, such as the key of a local service, is an ordinary word
)

// The types of records.
const (
	recordSession  = "session"
	recordMessages = "messages"
	recordTurnEnd  = "turn_end"
)

// record is a line of a session.
type record struct {
	Type string    `json:"type"`
	At   time.Time `json:"at"`

	// Of the session, which is the first record.
	Version    int    `json:"version,omitempty"`
	ID         string `json:"id,omitempty"`
	Agent      string `json:"agent,omitempty"`
	Cwd        string `json:"cwd,omitempty"`
	ForkedFrom string `json:"forkedFrom,omitempty"`

	// Messages replace those of the conversation from the index From on. Model and Usage are those of the calls since the last record.
	From     int              `json:"from,omitempty"`
	Messages Conversation     `json:"messages,omitempty"`
	Model    string           `json:"model,omitempty"`
	Usage    *execution.Usage `json:"usage,omitempty"`
	Copied   bool             `json:"copied,omitempty"` // from the session that this one was forked from
	Anew     bool             `json:"anew,omitempty"`   // the same conversation in another form, such as a summary; it is shown already

	Reason execution.TurnEndReason `json:"reason,omitempty"` // of the end of a turn
}

// sessionsIn returns the directory of an agent's sessions.
func sessionsIn(agent string, getenv func(string) string, home func() (string, error)) (string, error) {
	dir, err := statedir.In(runtime.GOOS, getenv, home)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "sessions", agent), nil
}

var sessionID = lazy.Regexp(`^[0-9A-Za-z][0-9A-Za-z-]{0,99}$`)

// session is the file of a run's conversation.
type session struct {
	file  *os.File
	lock  *flock.Flock
	clean *secret.Redactor // removes the keys of the API and the secrets of the environment, which are in no file

	messages, parts int  // of the conversation that are in the file: whole messages, and parts of the last of them
	anew            bool // the conversation is written anew, because it is no longer what is in the file
	used            execution.Usage
}

// keep opens the file of the run's conversation and sets its id: a new one, or that of the session to continue, whose messages it
// reads; a continuation begins one with its messages. A new session that cannot be written is not kept, which is no reason not to run.
func (r *run) keep(getenv func(string) string) *execution.Error {
	o := r.req.Run
	r.session = cliagent.NewUUID()
	var begun Conversation // of a continuation, which contains the conversation
	if r.agent.Past != nil {
		begun = r.agent.Past.Messages
	}
	dir, err := sessionsIn(r.name, getenv, homeOf(getenv))
	from := o.SessionID + o.ForkSessionID
	if err == nil && begun != nil && from != "" {
		if _, failed := os.Stat(filepath.Join(dir, from+sessionSuffix)); errors.Is(failed, fs.ErrNotExist) {
			from = "" // it came from another machine
		}
	}
	if from == "" {
		if o.NoSession {
			return nil
		}
		if err == nil {
			r.log, err = r.create(dir, "", begun)
		}
		if err != nil {
			r.unkept = err
		}
		return nil
	}
	path := filepath.Join(dir, from+sessionSuffix)
	if err == nil && !sessionID().MatchString(from) {
		err = fs.ErrNotExist
	}
	if err == nil {
		_, err = os.Stat(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return execution.Errorf(execution.CodeSessionNotFound, "%s has no session %.100s", r.name, from).WithHint("drawbar sessions list --agent %s", r.name)
	case err != nil:
		return execution.Errorf(execution.CodeSessionNotFound, "session %s: %v", from, err)
	case o.SessionID == "":
		past, _, err := readSession(path)
		if err == nil && !o.NoSession {
			r.log, err = r.create(dir, from, past)
		}
		if err != nil {
			return execution.Errorf(execution.CodeValidation, "session %s cannot be forked: %v", from, err)
		}
		r.call.Messages = past
		return nil
	}
	s, past, err := continueSession(path, r.redactor())
	if err != nil {
		return execution.Errorf(execution.CodeValidation, "session %s cannot be continued: %v", from, err).WithHint("fork it: --fork %s:%s", r.name, from)
	}
	r.session, r.log, r.call.Messages = from, s, past
	s.anew = begun != nil
	return nil
}

// redactor removes the keys of the API, and the secrets of the environment, which a tool may print.
func (r *run) redactor() *secret.Redactor {
	environ := slices.Clone(r.environ)
	for name, value := range r.req.Run.Env {
		environ = append(environ, name+"="+value)
	}
	return secret.New(append(secret.Environ(environ), r.opened.Secrets()...))
}

// homeOf returns the home directory that variables state.
func homeOf(getenv func(string) string) func() (string, error) {
	return func() (string, error) {
		for _, name := range []string{"HOME", "USERPROFILE"} {
			if dir := getenv(name); dir != "" {
				return dir, nil
			}
		}
		return "", errors.New("HOME is not set")
	}
}

// create creates the file of the run's session, with the messages of the one that it is forked from.
func (r *run) create(dir, from string, past Conversation) (*session, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, r.session+sessionSuffix)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	s := &session{file: f, clean: r.redactor()}
	if err = s.hold(path); err == nil {
		err = s.append(record{Type: recordSession, Version: sessionVersion, ID: r.session, Agent: r.name, Cwd: r.req.Run.Cwd, ForkedFrom: from})
	}
	if err == nil && len(past) > 0 {
		err = s.append(record{Type: recordMessages, Messages: past, Copied: true})
		s.has(past)
	}
	if err != nil {
		s.close()
		return nil, errors.Join(err, os.Remove(path))
	}
	return s, nil
}

// continueSession opens the file of a session to add to it.
func continueSession(path string, clean *secret.Redactor) (*session, Conversation, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, nil, err
	}
	s := &session{file: f, clean: clean}
	if err := s.hold(path); err != nil {
		s.close()
		return nil, nil, err
	}
	past, size, err := readSession(path)
	if err == nil {
		err = f.Truncate(size) // behind it is at most a line that a killed process began
	}
	if err != nil {
		s.close()
		return nil, nil, err
	}
	s.has(past)
	return s, past, nil
}

// hold locks the session's file for this process.
func (s *session) hold(path string) error {
	s.lock = flock.New(flocked.Name(path), flock.SetPermissions(0o600))
	switch ok, err := s.lock.TryLock(); {
	case err != nil:
		return fmt.Errorf("lock the session: %w", err)
	case !ok:
		return errors.New("another run goes on with it")
	}
	return nil
}

// has sets what is in the file.
func (s *session) has(c Conversation) {
	s.messages, s.parts = len(c), 0
	if len(c) > 0 {
		s.parts = len(c[len(c)-1].Parts)
	}
}

// append writes a record with one write. What is written of a record that fails is taken back.
func (s *session) append(rec record) error {
	rec.At = time.Now().UTC()
	line, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	line = s.clean.JSON(line, nil)
	n, err := s.file.Write(append(line, '\n'))
	if err != nil && n > 0 {
		if info, failed := s.file.Stat(); failed == nil {
			err = errors.Join(err, s.file.Truncate(info.Size()-int64(n)))
		}
	}
	return err
}

func (s *session) close() {
	if s.lock != nil {
		_ = s.lock.Close() // the lock ends with the process at the latest
	}
	_ = s.file.Close() // every record was written
}

// save writes what was said since the last time, and the end of a turn if there is a reason.
func (r *run) save(reason execution.TurnEndReason) {
	s, c := r.log, r.call.Messages
	if s == nil {
		return
	}
	from := s.messages
	if s.anew {
		from = 0
	}
	if from > 0 && from <= len(c) && len(c[from-1].Parts) > s.parts {
		from-- // parts of the same side were added to the last message
	}
	used := r.total.Sub(s.used)
	var err error
	if from < len(c) || !used.IsZero() {
		rec := record{Type: recordMessages, From: from, Messages: c[min(from, len(c)):], Model: prefixed(r.agent.Prefix, r.model), Anew: s.anew}
		if !used.IsZero() {
			rec.Usage = &used
		}
		if err = s.append(rec); err == nil {
			s.used, s.anew = *r.total, false
			s.has(c)
		}
	}
	if err == nil && reason != "" {
		err = s.append(record{Type: recordTurnEnd, Reason: reason})
	}
	if err != nil {
		r.log.close()
		r.log = nil
		r.notKept(err)
	}
}

// notKept says that the rest of the conversation is in no file.
func (r *run) notKept(err error) {
	r.emit(execution.Debug{Level: execution.DebugWarn, Message: fmt.Sprintf("the conversation is not kept as a session: %v", err)})
}

// readSession reads the conversation of a session, and how many bytes of its file are whole records. Calls whose result a killed process
// did not write have one that says so.
func readSession(path string) (Conversation, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }() // read only
	lines := bufio.NewReaderSize(io.LimitReader(f, maxSession+1), 64<<10)
	var c Conversation
	var size int64
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if size+int64(len(line)) > maxSession {
			return nil, 0, fmt.Errorf("it has more than %d bytes", maxSession)
		}
		if errors.Is(err, io.EOF) { // behind the last line break
			if n == 1 {
				return nil, 0, errors.New("it is empty")
			}
			break
		}
		if err != nil {
			return nil, 0, err
		}
		size += int64(len(line))
		if c, err = c.apply(n, line); err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if open := c.Open(); len(open) > 0 {
		for _, call := range open {
			c.Say(false, Part{Kind: Result, ID: call.ID, Name: call.Name, Failed: true, Text: "the run ended before this call had a result"})
		}
	}
	if len(c) > 0 {
		if err := c.Check(); err != nil {
			return nil, 0, err
		}
	}
	return c, size, nil
}

// apply reads a record of a session.
func (c Conversation) apply(n int, line []byte) (Conversation, error) {
	var rec record
	if err := json.Unmarshal(line, &rec); err != nil {
		return nil, err
	}
	switch {
	case n == 1 && rec.Type != recordSession:
		return nil, errors.New("it is not the first record of a session")
	case n == 1 && rec.Version != sessionVersion:
		return nil, fmt.Errorf("version %d is not supported; this program reads version %d", rec.Version, sessionVersion)
	case rec.Type != recordMessages:
		return c, nil
	case rec.From < 0 || rec.From > len(c):
		return nil, fmt.Errorf("it follows %d messages, and there are %d", rec.From, len(c))
	}
	return append(c[:rec.From:rec.From], rec.Messages...), nil
}

func prefixed(prefix, model string) string {
	if model == "" {
		return ""
	}
	return prefix + model
}

// Model returns the model that a session used last, empty if that is unknown.
func (s Sessions) Model(getenv func(string) string, id string) (model string) {
	dir, err := sessionsIn(s.agent, getenv, homeOf(getenv))
	if err != nil || !sessionID().MatchString(id) {
		return ""
	}
	f, err := os.Open(filepath.Join(dir, id+sessionSuffix))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // read only
	lines := bufio.NewReaderSize(io.LimitReader(f, maxSession), 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return model
		}
		var rec struct{ Model string }
		if json.Unmarshal(line, &rec) == nil && rec.Model != "" {
			model = rec.Model
		}
	}
}
