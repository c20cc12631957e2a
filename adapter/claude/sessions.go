package claude

import (
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/history"
)

var _ adapter.SessionStore = Adapter{}

// sessions is Claude's store: projects/<slug of the directory>/<session>.jsonl below its configuration, and a
// session's sub-agents in projects/<slug>/<session>/subagents.
var sessions = sessionfile.New(sessionfile.Format{
	Agent: name,
	Roots: func(h adapter.Host) []string { return []string{home.Path(h, "projects")} },
	List:  listSessions,
	Decode: func(b *sessionfile.Builder, c *sessionfile.Conversation) sessionfile.Decoder {
		return &sessionDecoder{b: b, c: c, main: c == b.Main}
	},
	Subagent: sessionfile.DescribeSubagent,
})

func listSessions(l *sessionfile.Lister) {
	root := home.Path(l.Host, "projects")
	if !l.Root(root) {
		return
	}
	for _, project := range l.Dir(root) {
		if !l.Enter(project) {
			continue
		}
		entries := l.Dir(project.Path)
		folders := map[string]bool{}
		for _, e := range entries {
			if e.Dir && e.Problem == "" {
				folders[e.Name] = true
			}
		}
		for _, e := range entries {
			id, ok := strings.CutSuffix(e.Name, ".jsonl")
			if !ok || id == "" {
				continue
			}
			f := history.File{ID: id}
			if folders[id] {
				f.Parts = l.Parts(l.Dir(filepath.Join(e.Path[:len(e.Path)-len(".jsonl")], "subagents")))
			}
			l.Add(f, e)
		}
	}
}
