package gemini

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

func sessionSubject() adaptertest.SessionSubject {
	return adaptertest.SessionSubject{Store: New(cliagent.Options{}), Home: "testdata/session", Variable: "GEMINI_CLI_HOME", Below: ".gemini", Inside: ".gemini"}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	adaptertest.Sessions(t, sessionSubject())
}

func FuzzSessions(f *testing.F) {
	adaptertest.FuzzSessions(f, sessionSubject(), ".gemini/tmp/p/chats/session-x.jsonl", "x")
}
