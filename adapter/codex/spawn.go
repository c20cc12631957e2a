package codex

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// maxInstructions is how much developer text goes into an argument; more goes through standard input.
const maxInstructions = 32 << 10

// twoWay reports whether the run needs codex app-server. codex exec takes one prompt, asks nothing, shows no model calls
// and no pieces of text, and states of a session that goes on only its usage since the beginning. It refuses what would
// need a question even with all approvals bypassed, so yolo is asked like prompt, and answered by package agent. What
// must not stand in arguments, MCP servers with their keys and long instructions, also goes the other way.
func twoWay(req execution.Request) bool {
	run := req.Run
	session, _ := cliagent.SessionOf(req)
	_, added := cliagent.Instructions(req)
	return run.Interactive || run.ApprovalMode == execution.ApprovalYolo || run.MaxTurns > 0 || run.MaxBudgetUSD != nil || run.Stream == execution.StreamOn || session != "" ||
		len(run.MCPServers) > 0 || len(req.Tools) > 0 || asksMore(req) || len(added) > maxInstructions ||
		slices.ContainsFunc(req.Message.Attachments, func(a execution.Attachment) bool {
			// An argument --image takes paths, and several of them with commas in between.
			return a.FilePath == "" || strings.Contains(a.FilePath, ",")
		})
}

// asksMore reports whether the caller requires what only app-server shows: questions although nobody else is there, and
// every model call.
func asksMore(req execution.Request) bool {
	q := req.Requirements
	if q == nil {
		return false
	}
	asked := q.ApprovalInterrupts == execution.SupportPreferred || q.ApprovalInterrupts == execution.SupportRequired
	return asked && mode(req.Run) == execution.ApprovalPrompt || q.TraceDepth == execution.TraceDetailed
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

// implied are the policy and the sandbox that go with an approval mode.
func implied(req execution.Request) (policy, sandbox string) {
	switch mode(req.Run) {
	case execution.ApprovalYolo:
		return "on-request", "danger-full-access"
	case execution.ApprovalDeny:
		return "never", "read-only"
	}
	if twoWay(req) {
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

// key is the API key of the run, empty when there is none. codex exec reads it from its environment, codex app-server
// does not, and has to be told.
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

// spawn makes the command line. The message always goes through standard input.
func (e settings) spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	req := l.Request
	if id, _ := cliagent.SessionOf(req); id != "" && !cliagent.IsUUID(id) {
		// Codex takes another word for the name of a session, and begins a new one when there is none of that name.
		return cliagent.Invocation{}, execution.Errorf(execution.CodeSessionNotFound, "%q is no session of codex: its sessions are named by UUIDs", id)
	}
	m, err := messageOf(req)
	if err != nil {
		return cliagent.Invocation{}, err
	}
	// Log lines on standard error are read, so they come without colours.
	env := map[string]string{"NO_COLOR": "1"}
	if !twoWay(req) {
		return cliagent.Invocation{Args: execArgs(l, m), Env: env, Stdin: []byte(m.text)}, nil
	}
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
	if twoWay(req) {
		return newAppParser(req, e.key(req))
	}
	return newExecParser(req)
}

func execArgs(l *cliagent.Launch, m message) []string {
	req, run := l.Request, l.Request.Run
	args := []string{"exec", "--json", "--skip-git-repo-check"}
	if l.Hook != nil {
		args = append(args, hookSettings(l.Hook)...)
	}
	policy, sandbox := permissions(req)
	args = append(args, setting("approval_policy", policy)...)
	args = append(args, "--sandbox="+sandbox)
	if run.Model != "" {
		args = append(args, "--model="+run.Model)
	}
	if run.ThinkingEffort != "" {
		args = append(args, setting("model_reasoning_effort", effortWord(run.ThinkingEffort, run.Model))...)
	}
	if run.NoSession {
		args = append(args, "--ephemeral")
	}
	replace, added := cliagent.Instructions(req)
	if replace != "" {
		args = append(args, setting("model_instructions_file", l.File("instructions.md", []byte(replace)))...)
	}
	if added != "" {
		args = append(args, setting("developer_instructions", added)...)
	}
	if len(run.OutputSchema) > 0 {
		args = append(args, "--output-schema="+l.File("output-schema.json", run.OutputSchema))
	}
	for _, image := range m.images {
		args = append(args, "--image="+image.path)
	}
	return append(args, "-")
}
