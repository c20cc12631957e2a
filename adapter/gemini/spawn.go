package gemini

import (
	"cmp"
	"path/filepath"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// maxPrompt is how much Gemini CLI reads from standard input; it drops the rest and continues.
const maxPrompt = 8 << 20

// approvals are Gemini's approval modes. In default mode without a person it hides tools that need permission from
// its model; a conversation asks, and package agent denies without asking in mode deny.
var approvals = map[execution.ApprovalMode]string{execution.ApprovalYolo: "yolo", execution.ApprovalPrompt: "default", execution.ApprovalDeny: "default"}

func mode(run execution.RunOptions) execution.ApprovalMode {
	return cmp.Or(run.ApprovalMode, execution.ApprovalPrompt)
}

// sessionOf returns the session to continue.
func sessionOf(req execution.Request) string {
	id, _ := cliagent.SessionOf(req)
	return id
}

// spawn returns the command line of a single prompt. The message goes through standard input, where it is always read
// as a prompt.
func spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	req := l.Request
	session := sessionOf(req)
	if session != "" && !cliagent.IsUUID(session) {
		// Gemini treats a number as an index into its list of sessions, and starts a new session for "latest" if
		// there is none.
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
	return cliagent.Invocation{Args: args, Env: environment(l), EnvOver: inherited(l), Stdin: []byte(text)}, nil
}

// options returns the common arguments. An untrusted directory would end the run; trusted for this run only, its own
// settings, with their servers and hooks, stay unread.
func options(l *cliagent.Launch) []string {
	req := l.Request
	args := []string{"--skip-trust", "--approval-mode=" + approvals[mode(req.Run)]}
	if l.Hook != nil {
		file := l.File("hooks.toml", []byte(askAlways))
		args = append(args, "--policy="+file, "--admin-policy="+file)
	}
	if req.Run.Model != "" {
		args = append(args, modelFlag+"="+req.Run.Model)
	}
	return args
}

// environment sets the variables of a run. Gemini restarts itself to get more memory, and its first process ignores
// every signal, so restarting is disabled.
func environment(l *cliagent.Launch) map[string]string {
	env := map[string]string{"GEMINI_CLI_NO_RELAUNCH": "true", "NO_COLOR": "1"}
	if replace, _ := cliagent.Instructions(l.Request); replace != "" {
		env["GEMINI_SYSTEM_MD"] = l.File("system.md", []byte(replace))
	}
	return env
}

// inherited returns the variables with which a worktree of a repository that the user trusts is trusted, too.
func inherited(l *cliagent.Launch) map[string]string {
	return l.InheritIn("GEMINI_CLI_TRUSTED_FOLDERS_PATH", cliagent.Decided{Path: filepath.Join(home.Of(l), "trustedFolders.json"), Trust: true})
}

// message returns the request's message after the added instructions: Gemini has no other place for them.
func message(req execution.Request) string {
	text := string(req.Message.Text)
	if _, added := cliagent.Instructions(req); added != "" {
		return added + "\n\n" + text
	}
	return text
}

func noSession(id string) error {
	return execution.Errorf(execution.CodeSessionNotFound, "%q is not a session of gemini: its sessions are named by UUIDs", id).
		WithHint("list those of a directory with: gemini --list-sessions")
}
