package qwen

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

func sessionSubject() adaptertest.SessionSubject {
	return adaptertest.SessionSubject{Store: New(cliagent.Options{}), Home: "testdata/session", Variable: "QWEN_HOME", Below: ".qwen", Inside: ""}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	adaptertest.Sessions(t, sessionSubject())
}

func FuzzSessions(f *testing.F) {
	adaptertest.FuzzSessions(f, sessionSubject(), ".qwen/projects/p/chats/x.jsonl", "x")
}
