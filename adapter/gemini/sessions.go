package gemini

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/history"
)

const sessionAgent = "gemini"

var _ adapter.SessionStore = Adapter{}

// sessions is Gemini's store: tmp/<name of the project>/chats/session-<time>-<beginning of the id>.jsonl, and a
// session's sub-agents in a directory named by its id. Older releases wrote one JSON document per session.
var sessions = sessionfile.New(sessionfile.Format{
	Agent: sessionAgent,
	Roots: func(h adapter.Host) []string { return []string{sessionRoot(h)} },
	List:  listSessions,
	Decode: func(b *sessionfile.Builder, c *sessionfile.Conversation) sessionfile.Decoder {
		return &sessionDecoder{b: b, c: c, main: c == b.Main}
	},
	Subagent: func(_ adapter.Host, path string) history.Subagent {
		return history.Subagent{ID: strings.TrimSuffix(filepath.Base(path), ".jsonl")}
	},
	Whole: func(path string) bool { return filepath.Ext(path) == ".json" },
})

// sessionHome returns the .gemini directory, which GEMINI_CLI_HOME relocates.
func sessionHome(h adapter.Host) string {
	if dir := h.Getenv("GEMINI_CLI_HOME"); dir != "" {
		return filepath.Join(dir, ".gemini")
	}
	return filepath.Join(h.Home, ".gemini")
}

func sessionRoot(h adapter.Host) string { return filepath.Join(sessionHome(h), "tmp") }

// maxSessionNotes bounds the small files about projects.
const maxSessionNotes = 8 << 20

// sessionProjects returns the directory of each project by its name.
func sessionProjects(l *sessionfile.Lister) map[string]string {
	path := filepath.Join(sessionHome(l.Host), "projects.json")
	var file struct {
		Projects map[string]string `json:"projects"`
	}
	names := map[string]string{}
	text, err := sessionfile.ReadFile(l.Host, path, maxSessionNotes)
	if err != nil {
		return names // it does not exist before the first session
	}
	if err := json.Unmarshal(text, &file); err != nil {
		l.Problem(path, "is not JSON of the expected shape: directories of sessions may be unknown")
	}
	for dir, name := range file.Projects {
		names[name] = dir
	}
	return names
}

func listSessions(l *sessionfile.Lister) {
	root := sessionRoot(l.Host)
	if !l.Root(root) {
		return
	}
	names := sessionProjects(l)
	for _, project := range l.Dir(root) {
		if !l.Enter(project) {
			continue
		}
		cwd := names[project.Name]
		if cwd == "" {
			if text, err := sessionfile.ReadFile(l.Host, filepath.Join(project.Path, ".project_root"), maxSessionNotes); err == nil {
				cwd = strings.TrimSpace(string(text))
			}
		}
		listChats(l, filepath.Join(project.Path, "chats"), cwd)
	}
}

// chatID matches the beginning of a session's id in its file's name; the file has the rest.
func chatID(e sessionfile.Entry) (id string, ok bool) {
	stem, ok := strings.CutSuffix(e.Name, ".jsonl")
	if !ok {
		stem, ok = strings.CutSuffix(e.Name, ".json")
	}
	return stem[strings.LastIndexByte(stem, '-')+1:], ok
}

// maxEmpty exceeds what Gemini writes before the first message.
const maxEmpty = 256 << 10

// empty reports whether a file contains no message. Gemini creates one when it resumes a session, and then continues
// in the first.
func empty(h adapter.Host, e sessionfile.Entry) bool {
	text, err := sessionfile.ReadFile(h, e.Path, maxEmpty)
	return err == nil && strings.HasSuffix(e.Name, ".jsonl") && !strings.HasPrefix(string(text), `{"id":`) && !strings.Contains(string(text), "\n{\"id\":")
}

func listChats(l *sessionfile.Lister, dir, cwd string) {
	entries := l.Dir(dir)
	parts := map[string][]sessionfile.Entry{} // sub-agents by the session that they belong to
	for _, e := range entries {
		if !e.Dir || e.Problem != "" || strings.HasSuffix(e.Name, ".jsonl") || strings.HasSuffix(e.Name, ".json") {
			continue
		}
		for _, p := range l.Dir(e.Path) {
			if strings.HasSuffix(p.Name, ".jsonl") {
				parts[e.Name] = append(parts[e.Name], p)
			}
		}
	}
	files := map[string]int{} // by the beginning of the id
	for _, e := range entries {
		if id, ok := chatID(e); ok {
			files[id]++
		}
	}
	for _, e := range entries {
		id, ok := chatID(e)
		if !ok || files[id] > 1 && empty(l.Host, e) {
			continue
		}
		f := history.File{ID: id, Cwd: cwd}
		for id, list := range parts {
			if f.ID == "" || !strings.HasPrefix(id, f.ID) {
				continue
			}
			delete(parts, id)
			f.Parts = append(f.Parts, l.Parts(list)...)
		}
		l.Add(f, e)
	}
	for parent, list := range parts { // their session was deleted
		for _, p := range list {
			l.Add(history.File{ID: strings.TrimSuffix(p.Name, ".jsonl"), Cwd: cwd, Parent: parent}, p)
		}
	}
}
