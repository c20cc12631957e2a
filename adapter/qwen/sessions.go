package qwen

import (
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/history"
)

const sessionAgent = "qwen"

var _ adapter.SessionStore = Adapter{}

// sessions is Qwen's store: projects/<slug of the directory>/chats/<session>.jsonl, and a session's sub-agents in
// projects/<slug>/subagents/<session>.
var sessions = sessionfile.New(sessionfile.Format{
	Agent: sessionAgent,
	Roots: func(h adapter.Host) []string { return []string{sessionRoot(h)} },
	List:  listSessions,
	Decode: func(b *sessionfile.Builder, c *sessionfile.Conversation) sessionfile.Decoder {
		return &sessionDecoder{b: b, c: c, main: c == b.Main}
	},
	Subagent: sessionfile.DescribeSubagent,
})

func sessionRoot(h adapter.Host) string {
	for _, variable := range []string{"QWEN_RUNTIME_DIR", "QWEN_HOME"} {
		if dir := h.Getenv(variable); dir != "" {
			return filepath.Join(dir, "projects")
		}
	}
	return filepath.Join(h.Home, ".qwen", "projects")
}

func listSessions(l *sessionfile.Lister) {
	root := sessionRoot(l.Host)
	if !l.Root(root) {
		return
	}
	for _, project := range l.Dir(root) {
		if !l.Enter(project) {
			continue
		}
		helpers := map[string]bool{}
		for _, e := range l.Dir(filepath.Join(project.Path, "subagents")) {
			helpers[e.Name] = e.Dir && e.Problem == ""
		}
		chats := filepath.Join(project.Path, "chats")
		for _, e := range l.Dir(chats) {
			if e.Dir && e.Name == "archive" && e.Problem == "" {
				for _, old := range l.Dir(e.Path) {
					if id, ok := strings.CutSuffix(old.Name, ".jsonl"); ok {
						l.Add(history.File{ID: id, Archived: true, Parts: listSubagents(l, project.Path, id, helpers)}, old)
					}
				}
				continue
			}
			if id, ok := strings.CutSuffix(e.Name, ".jsonl"); ok && id != "" {
				l.Add(history.File{ID: id, Parts: listSubagents(l, project.Path, id, helpers)}, e)
			}
		}
	}
}

// listSubagents returns the files of a session's sub-agents.
func listSubagents(l *sessionfile.Lister, project, id string, helpers map[string]bool) []string {
	if !helpers[id] {
		return nil
	}
	return l.Parts(l.Dir(filepath.Join(project, "subagents", id)))
}
