package copilot

import (
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// usageFile is the only place where Copilot writes a run's usage.
const usageFile = "usage.json"

// twoWay reports whether the run needs the Agent Client Protocol. One-shot takes a prompt and asks nobody. A resumed
// session is two-way too: only there Copilot counts this run's usage rather than the session's.
func twoWay(req execution.Request) bool {
	session, _ := cliagent.ResolveSession(req)
	return req.Run.Interactive || session != "" || req.Run.ApprovalMode != execution.ApprovalYolo && cliagent.Asks(req)
}

// spawn returns the command line of a one-shot run. The prompt goes through standard input, which limits neither
// length nor form; settings and secrets go through private files.
func spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	req := l.Request
	prompt, images, err := attachments(l)
	if err != nil {
		return cliagent.Invocation{}, err
	}
	args := []string{"--output-format=json", "--no-ask-user", "--usage-output-file=" + l.Output(usageFile)}
	if p, ok := l.Parser.(*parser); ok {
		// The output states the session in its last line only. An id of an existing session would resume it, so every
		// start gets a new one.
		args = append(args, "--session-id="+p.session)
	}
	for _, image := range images {
		args = append(args, "--attachment="+image)
	}
	inv := cliagent.Invocation{Args: args, Stdin: []byte(prompt + string(req.Message.Text))}
	return inv, complete(l, &inv)
}

// complete adds what both ways to run have in common.
func complete(l *cliagent.Launch, inv *cliagent.Invocation) error {
	run := l.Request.Run
	if run.Stream == execution.StreamOff {
		inv.Args = append(inv.Args, "--stream=off")
	} else {
		inv.Args = append(inv.Args, "--stream=on") // the user's settings may have disabled it
	}
	inv.Args = append(inv.Args, permissions(l.Request)...)
	if run.Model != "" {
		inv.Args = append(inv.Args, modelFlag+"="+run.Model)
	}
	if run.ThinkingEffort != "" {
		inv.Args = append(inv.Args, "--reasoning-effort="+string(run.ThinkingEffort))
	}
	if len(run.MCPServers) > 0 {
		inv.Args = append(inv.Args, "--additional-mcp-config=@"+l.File("mcp.json", mcpConfig(run.MCPServers)))
	}
	if l.Hook != nil {
		inv.Args = append(inv.Args, hookArgs(l)...)
	}
	plugin, err := l.SkillPlugin("plugin.json")
	if err != nil {
		return err
	}
	if plugin != "" {
		inv.Args = append(inv.Args, "--plugin-dir="+plugin)
	}
	inv.Env = environment(run)
	return instruct(l, inv)
}

// permissions returns the flags for what needs no approval. In a one-shot run anything else is refused, because
// nobody is asked.
func permissions(req execution.Request) []string {
	if req.Run.ApprovalMode == execution.ApprovalYolo {
		return []string{"--allow-all"}
	}
	var args []string
	for _, t := range req.Tools {
		if !t.RequiresApproval { // the caller chose its tools, so they need no permission unless it says so
			args = append(args, "--allow-tool="+cliagent.CallerTools+"("+t.Name+")")
		}
	}
	return args
}

// environment unsets the user's variables that would approve tools.
func environment(run execution.RunOptions) map[string]string {
	if run.ApprovalMode == execution.ApprovalYolo {
		return nil
	}
	return map[string]string{"COPILOT_ALLOW_ALL": "", "COPILOT_ASSISTED_APPROVAL": ""}
}

// instructionsVariable lists folders of instruction files.
const instructionsVariable = "COPILOT_CUSTOM_INSTRUCTIONS_DIRS"

// instruct adds the request's instructions. Copilot has no flag for them, but reads instruction files from the
// folders of a variable; the user's own folders stay.
func instruct(l *cliagent.Launch, inv *cliagent.Invocation) error {
	_, added := cliagent.Instructions(l.Request)
	if added == "" {
		return nil
	}
	if strings.Contains(l.Dir, ",") {
		return execution.Errorf(execution.CodeConfig, "copilot cannot be given instructions: the directory for temporary files has a comma in its name: %s", l.Dir).
			WithHint("set TMPDIR to a directory without one")
	}
	l.File("instructions/drawbar.instructions.md", []byte("---\napplyTo: \"**\"\n---\n"+added+"\n"))
	inv.EnvLists = map[string]string{instructionsVariable: filepath.Join(l.Dir, "instructions")}
	return nil
}

// mcpConfig returns the file that adds servers to the user's.
func mcpConfig(servers []execution.MCPServer) []byte {
	return cliagent.MCPFile(servers, func(e *cliagent.MCPEntry) { e.Tools = []string{"*"} })
}
