package claude

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

func sessionSubject() adaptertest.SessionSubject {
	return adaptertest.SessionSubject{Store: New(cliagent.Options{}), Home: "testdata/session", Variable: "CLAUDE_CONFIG_DIR", Below: ".claude", Inside: ""}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	adaptertest.Sessions(t, sessionSubject())
}

func FuzzSessions(f *testing.F) {
	adaptertest.FuzzSessions(f, sessionSubject(), ".claude/projects/p/x.jsonl", "x")
}
