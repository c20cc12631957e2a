package codex

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

func sessionSubject() adaptertest.SessionSubject {
	return adaptertest.SessionSubject{Store: New(cliagent.Options{}), Home: "testdata/session", Variable: "CODEX_HOME", Below: ".codex", Inside: ""}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	adaptertest.Sessions(t, sessionSubject())
}

func FuzzSessions(f *testing.F) {
	adaptertest.FuzzSessions(f, sessionSubject(), ".codex/sessions/2026/11/20/x.jsonl", "x")
}
