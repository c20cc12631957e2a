package external

import (
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// The exit codes of ssh and of shells.
const (
	exitConnection = 255 // of ssh: no connection, or a broken one
	exitNotFound   = 127 // of a shell: no such program
)

// What "drawbar agents connect" prints (wsline.ErrToken, wsline.ErrConnect).
const refusesToken, cannotConnect = "the server refuses the token", ": cannot connect: "

// sshFailures are what ssh prints about a connection that it cannot make, in lower case, and what to do.
var sshFailures = []struct{ phrase, hint string }{
	{"host key verification failed", "connect once by hand and compare the key that ssh shows: ssh HOST"},
	{"permission denied", "log in with a key, Drawbar asks for no password: ssh-copy-id HOST; check it with: ssh -o BatchMode=yes HOST true"},
	{"too many authentication failures", "name the key: drawbar agents edit NAME (ssh.identityFile)"},
	{"", "check the connection: ssh -o BatchMode=yes HOST true"},
}

// broken is why the other side ended without a result, which a run that started had to have. session is the one that the agent stated.
func (r *Remote) broken(started bool, session string, code int, stderr string) *execution.Error {
	last, typed := lastLine(stderr)
	why := ""
	if last != "" {
		why = ": " + last
	}
	fail := func(code execution.ErrorCode, text string) *execution.Error {
		e := execution.Errorf(code, "%s: %s%s", r.label(""), text, why)
		e.Agent = r.Name
		return e
	}
	lower := strings.ToLower(stderr)
	switch {
	case started && session != "":
		return fail(execution.CodeAgentCrash, fmt.Sprintf("the connection ended before the result (exit code %d)", code)).
			WithHint("the agent there was stopped; continue its session: drawbar run %s --session %s", r.Name, session)
	case started:
		return fail(execution.CodeAgentCrash, fmt.Sprintf("the connection ended before the result (exit code %d)", code)).
			WithHint("the agent there was stopped; start again")
	case code == exitNotFound:
		hint := "correct the command: drawbar agents edit " + r.Name
		if r.Host != "" {
			hint = "install Drawbar there, or name its path: drawbar config set customAgents." + r.Name + ".ssh.program /path/to/drawbar"
		}
		return fail(execution.CodeAgentNotInstalled, "drawbar was not found there").WithHint("%s", hint)
	case strings.Contains(lower, `"serve"`):
		return fail(execution.CodeAgentNotInstalled, "the Drawbar there is too old").WithHint("update Drawbar there")
	case r.Host == "" && strings.HasSuffix(last, refusesToken):
		return fail(execution.CodeAuth, "it cannot be reached").WithHint("set %s to the token of the other side", Token)
	case r.Host == "" && strings.Contains(last, cannotConnect):
		return fail(execution.CodeSpawn, "it cannot be reached").WithHint("start it there: drawbar agents serve AGENT --listen ADDRESS")
	case r.Host != "" && code == exitConnection:
		for _, f := range sshFailures {
			if strings.Contains(lower, f.phrase) {
				return fail(execution.CodeSpawn, "ssh cannot connect").WithHint("%s", strings.NewReplacer("HOST", r.target(), "NAME", r.Name).Replace(f.hint))
			}
		}
	}
	hint := "run it by hand: " + strings.Join(r.Command, " ")
	if typed != "" {
		hint = "on the other side: " + typed
	}
	return fail(execution.CodeInvalidOutput, fmt.Sprintf("it did not answer initialize (exit code %d)", code)).WithHint("%s", hint)
}

// target is the host as a person types it for ssh.
func (r *Remote) target() string {
	if r.Port > 0 {
		return fmt.Sprintf("-p %d %s", r.Port, r.Host)
	}
	return r.Host
}

// lastLine returns the last line of standard error, shortened. A hint of Drawbar that follows it is separate.
func lastLine(text string) (last, hint string) {
	for line := range strings.Lines(text) {
		line = strings.ToValidUTF8(strings.TrimSpace(line), "\uFFFD")
		if typed, ok := strings.CutPrefix(line, "try: "); ok {
			hint = typed
		} else if line != "" {
			last, hint = strings.TrimPrefix(line, "drawbar: "), ""
		}
	}
	short := []rune(last)
	return string(short[:min(len(short), 300)]), hint
}
