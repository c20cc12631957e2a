package session

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/sessions"
)

// exportHeader is the first line of JSONL: everything except the messages.
type exportHeader struct {
	Type          string `json:"type"` // session
	SchemaVersion string `json:"schemaVersion"`
	history.Summary
	UnknownRecords map[string]int `json:"unknownRecords,omitempty"`
}

// exportMessage is one of the other lines of JSONL.
type exportMessage struct {
	Type     string `json:"type"` // message
	Subagent string `json:"subagentId,omitempty"`
	history.Message
}

// exportSubagent precedes the messages of a sub-agent.
type exportSubagent struct {
	Type        string `json:"type"` // subagent
	ID          string `json:"id"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	ToolCallID  string `json:"toolCallId,omitempty"`
}

// Export writes a session in a format.
func Export(w io.Writer, s history.Session, f sessions.Format) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var err error
	switch f {
	case sessions.JSON:
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = e.Encode(s)
	case sessions.JSONL:
		err = exportLines(out, s)
	case sessions.Markdown:
		markdown{w: out}.session(s)
	default:
		return execution.Errorf(execution.CodeValidation, "--format %q is not a valid format", string(f)).WithHint("json, jsonl or markdown")
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

func exportLines(w io.Writer, s history.Session) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(exportHeader{"session", execution.SchemaVersion, s.Summary, s.UnknownRecords}); err != nil {
		return err
	}
	for _, m := range s.Messages {
		if err := e.Encode(exportMessage{"message", "", m}); err != nil {
			return err
		}
	}
	for _, a := range s.Subagents {
		if err := e.Encode(exportSubagent{"subagent", a.ID, a.Name, a.Description, a.ToolCallID}); err != nil {
			return err
		}
		for _, m := range a.Messages {
			if err := e.Encode(exportMessage{"message", a.ID, m}); err != nil {
				return err
			}
		}
	}
	return nil
}
