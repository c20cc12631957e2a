package codex

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// asks reports whether Codex asks when something leads out of its sandbox: where somebody may answer, and where a server of the
// request may want an answer of its own. Everywhere else it refuses such a thing itself, and tells its model so beforehand.
func asks(req execution.Request) bool {
	return req.Run.Interactive || cliagent.WantsApprovals(req) || len(req.Run.MCPServers) > 0 || len(req.Tools) > 0
}

func mode(run execution.RunOptions) execution.ApprovalMode {
	return cmp.Or(run.ApprovalMode, execution.ApprovalPrompt)
}

// sandboxes are Codex's words.
var sandboxes = map[execution.SandboxMode]string{execution.SandboxReadOnly: "read-only", execution.SandboxWorkspace: "workspace-write",
	execution.SandboxNone: "danger-full-access"}

// permissions are Codex's approval policy and sandbox for a request. With the policy never whatever the sandbox does not
// allow is refused without a question.
func permissions(req execution.Request) (policy, sandbox string) {
	policy, sandbox = implied(req)
	wanted := req.Run.Sandbox
	if wanted != "" && wanted != execution.SandboxNone && mode(req.Run) == execution.ApprovalYolo {
		policy = "never" // an approval would lead out of the sandbox that was asked for
	}
	return policy, cmp.Or(sandboxes[wanted], sandbox)
}

// implied are the policy and the sandbox that go with an approval mode. Codex refuses what would need a question even with all
// approvals bypassed, so yolo is asked like prompt, and answered by package agent.
func implied(req execution.Request) (policy, sandbox string) {
	switch mode(req.Run) {
	case execution.ApprovalYolo:
		return "on-request", "danger-full-access"
	case execution.ApprovalDeny:
		return "never", "read-only"
	}
	if asks(req) {
		return "on-request", "workspace-write"
	}
	return "never", "workspace-write"
}

// message is the request's message as Codex takes it: text, texts of attachments behind it, and images.
type message struct {
	text   string
	images []part
}

func messageOf(req execution.Request) (message, error) {
	all, err := parts(req.Message.Attachments)
	if err != nil {
		return message{}, err
	}
	m := message{text: string(req.Message.Text)}
	for _, p := range all {
		if p.text == "" {
			m.images = append(m.images, p)
			continue
		}
		m.text += "\n\n" + p.text
	}
	if n := utf8.RuneCountInString(m.text); n > maxPrompt {
		return message{}, execution.Errorf(execution.CodeValidation, "the message has %d characters with the texts attached, codex takes at most %d", n, maxPrompt).
			WithHint("put the text into a file and name it in the message")
	}
	return m, nil
}

// settings are what the environment of the host says. It is that of the kit's options, which tests replace.
type settings struct{ environ func() []string }

// key is the API key of the run, empty when there is none. Codex app-server does not read it from its environment, and has to be
// told.
func (e settings) key(req execution.Request) string {
	const variable = "CODEX_API_KEY"
	if k, ok := req.Run.Env[variable]; ok {
		return k
	}
	for _, entry := range e.environ() {
		if k, ok := strings.CutPrefix(entry, variable+"="); ok {
			return k
		}
	}
	return ""
}

// spawn makes the command line. All else goes through standard input.
func (e settings) spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	req := l.Request
	if id, _ := cliagent.SessionOf(req); id != "" && !cliagent.IsUUID(id) {
		// Codex takes another word for the name of a session, and begins a new one when there is none of that name.
		return cliagent.Invocation{}, execution.Errorf(execution.CodeSessionNotFound, "%q is no session of codex: its sessions are named by UUIDs", id)
	}
	if _, err := messageOf(req); err != nil {
		return cliagent.Invocation{}, err
	}
	// Log lines on standard error are read, so they come without colours.
	env := map[string]string{"NO_COLOR": "1"}
	args := []string{"app-server"}
	if l.Hook != nil {
		args = append(args, hookSettings(l.Hook)...)
	}
	if e.key(req) != "" {
		// The key is handed over in the conversation and must not replace the login that is stored on disk.
		args = append(args, setting("cli_auth_credentials_store", "ephemeral")...)
	}
	return cliagent.Invocation{Args: args, Env: env, KeepStdin: true}, nil
}

func (e settings) newParser(req execution.Request) cliagent.Parser {
	return newAppParser(req, e.key(req))
}
