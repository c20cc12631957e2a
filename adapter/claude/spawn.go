package claude

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// maxSchema fits into one argument with room to spare.
const maxSchema = 100 << 10

// twoWay reports whether standard input stays open. In one-shot mode Claude asks nothing and accepts only text.
func twoWay(req execution.Request) bool {
	session, _ := cliagent.SessionOf(req)
	return req.Run.Interactive || req.Run.ApprovalMode == execution.ApprovalYolo || len(req.Message.Attachments) > 0 || cliagent.Asks(req) ||
		session != "" && hasInstructions(req)
}

// spawn returns the command line. Long texts and secrets go through standard input and private files.
func spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	req, run := l.Request, l.Request.Run
	duplex := twoWay(req)
	args := []string{"-p", "--output-format=stream-json", "--verbose"}
	if run.Stream != execution.StreamOff {
		args = append(args, "--include-partial-messages")
	}
	if duplex {
		args = append(args, "--input-format=stream-json", "--permission-prompt-tool=stdio", "--replay-user-messages")
	}
	// Claude refuses the flags that skip permissions when run as root, so yolo asks like prompt, and package agent
	// answers. The mode is always stated, because the user's settings could have any default.
	mode := "default"
	if run.ApprovalMode == execution.ApprovalDeny {
		mode = "dontAsk"
	}
	args = append(args, "--permission-mode="+mode)
	if !run.Interactive && run.ApprovalMode != execution.ApprovalPrompt {
		args = append(args, "--disallowedTools=AskUserQuestion") // nobody could answer
	}
	if allowed := cliagent.AllowedTools(req); allowed != "" {
		args = append(args, "--allowedTools="+allowed)
	}
	if run.Model != "" {
		args = append(args, modelFlag+"="+run.Model)
	}
	if run.ThinkingEffort != "" && run.ThinkingBudgetTokens == 0 {
		args = append(args, "--effort="+string(run.ThinkingEffort))
	}
	if run.MaxTurns > 0 {
		args = append(args, "--max-turns="+strconv.Itoa(run.MaxTurns))
	}
	if run.MaxBudgetUSD != nil {
		args = append(args, "--max-budget-usd="+strconv.FormatFloat(*run.MaxBudgetUSD, 'f', -1, 64))
	}
	session, fork := cliagent.SessionOf(req)
	if session != "" {
		args = append(args, "--resume="+session)
	}
	if fork {
		args = append(args, "--fork-session")
	}
	if run.NoSession {
		args = append(args, "--no-session-persistence")
	}
	replace, added := cliagent.Instructions(req)
	if replace != "" {
		args = append(args, "--system-prompt-file="+l.File("system-prompt.txt", []byte(replace)))
	}
	if added != "" {
		args = append(args, "--append-system-prompt-file="+l.File("append-system-prompt.txt", []byte(added)))
	}
	if len(run.MCPServers) > 0 {
		args = append(args, "--mcp-config="+l.File("mcp.json", cliagent.MCPFile(run.MCPServers, nil)))
	}
	if l.Hook != nil {
		args = append(args, "--settings="+l.File("settings.json", hookSettings(l.Hook)))
	}
	plugin, err := l.SkillPlugin(".claude-plugin/plugin.json")
	if err != nil {
		return cliagent.Invocation{}, err
	}
	if plugin != "" {
		args = append(args, "--plugin-dir="+plugin)
	}
	if len(run.OutputSchema) > 0 {
		schema, err := compactSchema(run.OutputSchema)
		if err != nil {
			return cliagent.Invocation{}, err
		}
		args = append(args, "--json-schema="+schema)
	}
	inv := cliagent.Invocation{Args: args, Env: environment(run), KeepStdin: duplex}
	if !duplex {
		inv.Stdin = []byte(req.Message.Text)
		return inv, nil
	}
	content, err := attachments(req.Message.Attachments)
	if err != nil {
		return cliagent.Invocation{}, err
	}
	inv.Stdin = append(handshake(session != "" && hasInstructions(req)),
		userLine(cliagent.NewUUID(), append(content, textContent(string(req.Message.Text))...), "")...)
	return inv, nil
}

// handshake returns the first line of a two-way run. Newer versions store the system prompt with the session and keep
// it, whatever a later run states: a resumed session with its own prompt disables that. Versions without the setting
// need none.
func handshake(freshPrompt bool) []byte {
	request := map[string]any{"subtype": "initialize"}
	if freshPrompt {
		request["systemPromptSnapshot"] = false
	}
	return controlLine(handshakeID, request)
}

// environment returns the settings that Claude takes from variables only.
func environment(run execution.RunOptions) map[string]string {
	env := map[string]string{
		"CLAUDE_CODE_FORWARD_SUBAGENT_TEXT": "1", // show the text of sub-agents, not only their tools
	}
	if !run.Interactive {
		// The run ends with its turn, so nothing can be reported later: Claude works in the foreground.
		env["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] = "1"
	}
	if run.ThinkingBudgetTokens > 0 {
		env["MAX_THINKING_TOKENS"] = strconv.Itoa(run.ThinkingBudgetTokens)
	}
	if limit := cliagent.OutputLimit(run); limit > 0 {
		env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = strconv.Itoa(limit)
	}
	return env
}

// compactSchema returns the schema as one argument, the only way to pass it.
func compactSchema(schema json.RawMessage) (string, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, schema); err != nil {
		return "", execution.Errorf(execution.CodeValidation, "run.outputSchema is not JSON: %v", err)
	}
	if b.Len() > maxSchema {
		return "", execution.Errorf(execution.CodeValidation, "run.outputSchema has %d bytes, claude takes at most %d", b.Len(), maxSchema).
			WithHint("drop descriptions and examples from the schema")
	}
	return b.String(), nil
}
