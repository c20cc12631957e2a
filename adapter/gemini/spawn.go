package gemini

import (
	"cmp"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// maxPrompt is what Gemini CLI reads of its standard input; it drops the rest and goes on.
const maxPrompt = 8 << 20

// approvals are Gemini's words. In default mode without a person it offers no tool to its model that would need a permission;
// a conversation asks, and package agent refuses unasked what deny refuses.
var approvals = map[execution.ApprovalMode]string{execution.ApprovalYolo: "yolo", execution.ApprovalPrompt: "default", execution.ApprovalDeny: "default"}

func mode(run execution.RunOptions) execution.ApprovalMode {
	return cmp.Or(run.ApprovalMode, execution.ApprovalPrompt)
}

// sessionOf is the session to go on from.
func sessionOf(req execution.Request) string {
	id, _ := cliagent.SessionOf(req)
	return id
}

// spawn makes the command line of one prompt. The message goes through standard input, where it is taken for the prompt
// whatever it begins with.
func spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	req := l.Request
	session := sessionOf(req)
	if session != "" && !cliagent.IsUUID(session) {
		// Gemini takes a number for the place of a session in its list, and begins a new one for "latest" when there is none.
		return cliagent.Invocation{}, noSession(session)
	}
	text := message(req)
	if len(text) > maxPrompt {
		return cliagent.Invocation{}, execution.Errorf(execution.CodeValidation, "the prompt has %d bytes with its instructions, gemini reads at most %d", len(text), maxPrompt).
			WithHint("put the text into a file and name it in the prompt")
	}
	args := append([]string{"--output-format=stream-json"}, options(l)...)
	if session != "" {
		args = append(args, "--resume="+session)
	}
	return cliagent.Invocation{Args: args, Env: environment(l), Stdin: []byte(text)}, nil
}

// options are the arguments of both ways. A directory that nobody has trusted yet would end the run; trusted for this run
// alone, its own settings, with the servers and hooks they name, stay unread.
func options(l *cliagent.Launch) []string {
	req := l.Request
	args := []string{"--skip-trust", "--approval-mode=" + approvals[mode(req.Run)]}
	if l.Hook != nil {
		file := l.File("hooks.toml", []byte(askAlways))
		args = append(args, "--policy="+file, "--admin-policy="+file)
	}
	if req.Run.Model != "" {
		args = append(args, "--model="+req.Run.Model)
	}
	return args
}

// environment sets what a run needs. Gemini starts itself a second time to give that process more memory, and the first one
// swallows every signal, so that is switched off.
func environment(l *cliagent.Launch) map[string]string {
	env := map[string]string{"GEMINI_CLI_NO_RELAUNCH": "true", "NO_COLOR": "1"}
	if replace, _ := cliagent.Instructions(l.Request); replace != "" {
		env["GEMINI_SYSTEM_MD"] = l.File("system.md", []byte(replace))
	}
	return env
}

// message is the request's message behind the instructions that are added: Gemini has no other place for them.
func message(req execution.Request) string {
	text := string(req.Message.Text)
	if _, added := cliagent.Instructions(req); added != "" {
		return added + "\n\n" + text
	}
	return text
}

func noSession(id string) error {
	return execution.Errorf(execution.CodeSessionNotFound, "%q is no session of gemini: its sessions are named by UUIDs", id).
		WithHint("list those of a directory with: gemini --list-sessions")
}
