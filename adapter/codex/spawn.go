package codex

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// asks reports whether Codex asks before leaving its sandbox: if somebody may answer, or if a server of the request
// may ask something itself. Otherwise it refuses, and tells its model so beforehand.
func asks(req execution.Request) bool {
	return req.Run.Interactive || cliagent.WantsApprovals(req) || len(req.Run.MCPServers) > 0 || len(req.Tools) > 0
}

func mode(run execution.RunOptions) execution.ApprovalMode {
	return cmp.Or(run.ApprovalMode, execution.ApprovalPrompt)
}

// sandboxes are Codex's names.
var sandboxes = map[execution.SandboxMode]string{execution.SandboxReadOnly: "read-only", execution.SandboxWorkspace: "workspace-write",
	execution.SandboxNone: "danger-full-access"}

// permissions returns Codex's approval policy and sandbox for a request. With the policy never, it refuses whatever
// the sandbox does not allow without asking.
func permissions(req execution.Request) (policy, sandbox string) {
	policy, sandbox = implied(req)
	wanted := req.Run.Sandbox
	if wanted != "" && wanted != execution.SandboxNone && mode(req.Run) == execution.ApprovalYolo {
		policy = "never" // an approval would leave the requested sandbox
	}
	return policy, cmp.Or(sandboxes[wanted], sandbox)
}

// implied returns the policy and the sandbox of an approval mode. Even with all approvals bypassed Codex refuses what
// requires a question, so yolo asks like prompt, and package agent answers.
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

// message converts the request's message: text, then attached texts, and images.
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

// settings are the host's environment, from the kit's options, which tests replace.
type launcher struct{ environ func() []string }

// key returns the API key of the run, empty for none. Codex app-server does not read it from its environment.
func (e launcher) key(req execution.Request) string {
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

// spawn returns the command line. Everything else goes through standard input.
func (e launcher) spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	req := l.Request
	if id, _ := cliagent.SessionOf(req); id != "" && !cliagent.IsUUID(id) {
		// Codex treats another string as the name of a session, and starts a new session if the name is unknown.
		return cliagent.Invocation{}, execution.Errorf(execution.CodeSessionNotFound, "%q is not a session of codex: its sessions are named by UUIDs", id)
	}
	if _, err := messageOf(req); err != nil {
		return cliagent.Invocation{}, err
	}
	// Log lines on standard error are parsed, so colours are disabled.
	env := map[string]string{"NO_COLOR": "1"}
	args := []string{"app-server"}
	if l.Hook != nil {
		args = append(args, hookSettings(l.Hook)...)
	}
	if e.key(req) != "" {
		// The key is passed in the conversation and must not replace the stored login.
		args = append(args, setting("cli_auth_credentials_store", "ephemeral")...)
	}
	return cliagent.Invocation{Args: args, Env: env, KeepStdin: true}, nil
}

func (e launcher) newParser(req execution.Request) cliagent.Parser {
	return newAppParser(req, e.key(req))
}
