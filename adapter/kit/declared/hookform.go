package declared

import (
	"cmp"
	"encoding/json"

	"github.com/drawbar/drawbar/execution"
)

// readHook parses what an agent passes to the command of a hook. Agents copied each other's field names, so most use
// the same ones in snake or camel case.
func readHook(payload []byte) (execution.HookCall, error) {
	var in struct {
		SessionID  string          `json:"session_id"`
		Transcript string          `json:"transcript_path"`
		Cwd        string          `json:"cwd"`
		ToolName   string          `json:"tool_name"`
		ToolInput  json.RawMessage `json:"tool_input"`
		ToolOutput json.RawMessage `json:"tool_response"`
		ToolUseID  string          `json:"tool_use_id"`
		ToolCallID string          `json:"tool_call_id"` // assigned by the model; tool_use_id is the agent's own
		Prompt     string          `json:"prompt"`
		Message    string          `json:"message"`
		Last       string          `json:"last_assistant_message"`
		Response   string          `json:"prompt_response"`

		WorkingDir      string          `json:"working_dir"`
		OtherSession    string          `json:"sessionId"`
		OtherTranscript string          `json:"transcriptPath"`
		OtherTool       string          `json:"toolName"`
		OtherInput      json.RawMessage `json:"toolArgs"`
		OtherOutput     json.RawMessage `json:"toolResult"`
		Error           json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		return execution.HookCall{}, err
	}
	for _, m := range []struct{ to, other *json.RawMessage }{{&in.ToolInput, &in.OtherInput}, {&in.ToolOutput, &in.OtherOutput}, {&in.ToolOutput, &in.Error}} {
		if *m.to == nil {
			*m.to = *m.other
		}
	}
	in.ToolName = cmp.Or(in.ToolName, in.OtherTool)
	return execution.HookCall{SessionID: cmp.Or(in.SessionID, in.OtherSession), ToolCallID: cmp.Or(in.ToolCallID, in.ToolUseID),
		Data: execution.HookData{ToolName: in.ToolName, ToolInput: in.ToolInput, ToolOutput: in.ToolOutput, Prompt: in.Prompt,
			Message: in.Message, Response: cmp.Or(in.Last, in.Response), Cwd: cmp.Or(in.Cwd, in.WorkingDir), TranscriptPath: cmp.Or(in.Transcript, in.OtherTranscript)}}, nil
}
