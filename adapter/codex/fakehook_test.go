package codex

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

// callHooks calls the hooks of the arguments, as Codex does: those that are switched on and that somebody has reviewed.
func (f *fake) callHooks(event string, payload fields) (why string, denied bool) {
	line, timeout, on, trusted := "", 0, false, ""
	for _, a := range os.Args {
		if a == "features.hooks=true" {
			on = true
		}
		if rest, ok := strings.CutPrefix(a, "hooks."+event+`=[{hooks=[{type="command",command=`); ok {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return err.Error(), true
			}
			line, _ = strconv.Unquote(quoted)
			_, _ = fmt.Sscanf(rest[len(quoted):], ",timeout=%d", &timeout)
		}
		if strings.HasPrefix(a, "hooks.state=") {
			trusted = a
		}
	}
	key := fmt.Sprintf("%q={trusted_hash=%q}", hookKey(sessionFlags, event, 0), hookHash(event, line, timeout))
	if line == "" || !on || !strings.Contains(trusted, key) {
		return "", false
	}
	payload["session_id"], payload["cwd"], payload["hook_event_name"] = f.thread, "/w", event
	out, err := adaptertest.AskHook(cliagent.Spawn, line, payload)
	if err == nil && out.Code == 2 {
		return strings.TrimSpace(out.Stderr), true
	}
	return "", false
}
