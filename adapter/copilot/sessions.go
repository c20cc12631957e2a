package copilot

import (
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
)

var _ adapter.SessionStore = Adapter{}

// sessions is Copilot's store: session-state/<session>/events.jsonl with workspace.yaml beside it. Older releases
// wrote session-state/<session>.jsonl, with the same records.
var sessions = sessionfile.New(sessionfile.Format{
	Agent: name,
	Roots: func(h adapter.Host) []string { return []string{sessionRoot(h)} },
	List:  listSessions,
	Decode: func(b *sessionfile.Builder, c *sessionfile.Conversation) sessionfile.Decoder {
		return &sessionDecoder{b: b, c: c, usage: map[string]execution.Usage{}}
	},
	Describe: describeWorkspace,
	Whole:    func(path string) bool { return filepath.Base(path) == workspaceFile },
})

const (
	eventsFile    = "events.jsonl"
	workspaceFile = "workspace.yaml"
	maxWorkspace  = 1 << 20
)

func sessionRoot(h adapter.Host) string { return home.Path(h, "session-state") }

func listSessions(l *sessionfile.Lister) {
	// The documents of the first releases are not read: their content cannot be identified reliably.
	if old := home.Path(l.Host, "history-session-state"); l.Root(old) {
		for _, e := range l.Dir(old) {
			if id, ok := strings.CutSuffix(e.Name, ".json"); ok {
				e.Problem = "is in the format of Copilot CLI before session-state, which is not read; copilot converts it when it resumes the session"
				l.Add(history.File{ID: id}, e)
			}
		}
	}
	root := sessionRoot(l.Host)
	if !l.Root(root) {
		return
	}
	for _, e := range l.Dir(root) {
		if id, ok := strings.CutSuffix(e.Name, ".jsonl"); ok && id != "" {
			l.Add(history.File{ID: id}, e)
			continue
		}
		if !l.Enter(e) {
			continue
		}
		var events, workspace *sessionfile.Entry
		for _, in := range l.Dir(e.Path) {
			switch in.Name {
			case eventsFile:
				events = &in
			case workspaceFile:
				workspace = &in
			}
		}
		f := history.File{ID: e.Name}
		if workspace != nil && workspace.Info != nil {
			f.ModTime = workspace.Info.ModTime() // it contains the title
		}
		switch {
		case events != nil:
			l.Add(f, *events)
		case workspace != nil: // an empty conversation
			l.Add(f, *workspace)
		}
	}
}

// workspace is the file beside the events.
type workspace struct {
	Cwd       string `yaml:"cwd"`
	Name      string `yaml:"name"`
	UserNamed bool   `yaml:"user_named"`
}

// describeWorkspace adds the title.
func describeWorkspace(b *sessionfile.Builder) {
	dir := filepath.Dir(b.File.Path)
	if base := filepath.Base(b.File.Path); base != eventsFile && base != workspaceFile {
		return
	}
	path := filepath.Join(dir, workspaceFile)
	text, err := sessionfile.ReadFile(b.Host, path, maxWorkspace)
	if err != nil {
		return // the events repeat everything else
	}
	var w workspace
	if err := yaml.Unmarshal(text, &w); err != nil {
		b.Problem(path, 0, "is no YAML of the expected shape: the title may be missing")
		return
	}
	from := sessionfile.TitleFromAgent
	if w.UserNamed {
		from = sessionfile.TitleFromUser
	}
	b.Title(from, w.Name)
	if b.Summary.Cwd == "" {
		b.Summary.Cwd = w.Cwd
	}
}
