package execution

import (
	"fmt"
	"strings"
)

// RunID identifies a run: a ULID, 26 upper-case characters of Crockford base32 that sort by creation time.
type RunID string

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// ParseRunID validates s as a run id. The check is strict because run ids name files and directories.
func ParseRunID(s string) (RunID, error) {
	if len(s) != 26 {
		return "", fmt.Errorf("run id %q: want a ULID of 26 characters, got %d", clip(s, 40), len(s))
	}
	for i := range len(s) {
		if strings.IndexByte(crockford, s[i]) < 0 {
			return "", fmt.Errorf("run id %q: character %q at %d is not upper-case Crockford base32", s, s[i], i)
		}
	}
	if s[0] > '7' {
		return "", fmt.Errorf("run id %q: the time part overflows 48 bits", s)
	}
	return RunID(s), nil
}

// QuestionID identifies a pending approval or input question of one run. On the wire it is the interactionId.
type QuestionID string

// InputID identifies a message sent to a run, from queued to taken or cancelled.
type InputID string

// UnifiedSession joins an agent's name and its own session id as agent:native.
func UnifiedSession(agent, native string) string { return agent + ":" + native }

// SplitSession splits a unified session id at its first colon. ok is false when there is no colon or either part is empty.
func SplitSession(id string) (agent, native string, ok bool) {
	agent, native, ok = strings.Cut(id, ":")
	return agent, native, ok && agent != "" && native != ""
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "..."
}
