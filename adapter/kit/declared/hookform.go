package declared

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/drawbar/drawbar/execution"
)

// readHook reads what an agent writes to the command of a hook. Agents took over each other's names, so that most of them
// say the same things in the same words, or in camel case. tool says that the event is about a tool call: one that names no tool is an error.
func readHook(agent, event string, payload []byte, tool bool) (execution.HookCall, error) {
	var in struct {
		SessionID  string          `json:"session_id"`
		Transcript string          `json:"transcript_path"`
		Cwd        string          `json:"cwd"`
		ToolName   string          `json:"tool_name"`
		ToolInput  json.RawMessage `json:"tool_input"`
		ToolOutput json.RawMessage `json:"tool_response"`
		ToolUseID  string          `json:"tool_use_id"`
		ToolCallID string          `json:"tool_call_id"` // of the model, where the other is of the agent's own making
		Prompt     string          `json:"prompt"`
		Message    string          `json:"message"`
		Last       string          `json:"last_assistant_message"`
		Response   string          `json:"prompt_response"`

		OtherSession    string          `json:"sessionId"`
		OtherTranscript string          `json:"transcriptPath"`
		OtherTool       string          `json:"toolName"`
		OtherInput      json.RawMessage `json:"toolArgs"`
		OtherOutput     json.RawMessage `json:"toolResult"`
		Error           json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		return execution.HookCall{}, fmt.Errorf("read what %s says to %s: %v", agent, event, err)
	}
	for _, m := range []struct{ to, other *json.RawMessage }{{&in.ToolInput, &in.OtherInput}, {&in.ToolOutput, &in.OtherOutput}, {&in.ToolOutput, &in.Error}} {
		if *m.to == nil {
			*m.to = *m.other
		}
	}
	in.ToolName = cmp.Or(in.ToolName, in.OtherTool)
	if tool && in.ToolName == "" {
		return execution.HookCall{}, fmt.Errorf("read what %s says to %s: it names no tool", agent, event)
	}
	return execution.HookCall{Agent: agent, HookType: event, SessionID: cmp.Or(in.SessionID, in.OtherSession),
		ToolCallID: cmp.Or(in.ToolCallID, in.ToolUseID), Raw: payload,
		Data: execution.HookData{ToolName: in.ToolName, ToolInput: in.ToolInput, ToolOutput: in.ToolOutput, Prompt: in.Prompt,
			Message: in.Message, Response: cmp.Or(in.Last, in.Response), Cwd: in.Cwd, TranscriptPath: cmp.Or(in.Transcript, in.OtherTranscript)}}, nil
}
