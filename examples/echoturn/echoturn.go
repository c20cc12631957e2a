// Package echoturn is an MCP server whose tool performs a turn of a governed run without doing any work: a start for a
// server of your own. It returns a valid result for a role of any authority.
package echoturn

import (
	"context"
	"encoding/json"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Turn is what the tool gets: who is asked to do what, and the files of the dispatch bundle.
type Turn struct {
	RunID          string `json:"run_id"`
	TurnID         string `json:"turn_id"`
	Role           string `json:"role"`
	Phase          string `json:"phase"`
	RuntimeID      string `json:"runtime_id"`
	ProjectRoot    string `json:"project_root"`    // where a tool that may write works
	DispatchDir    string `json:"dispatch_dir"`    // the bundle
	AssignmentPath string `json:"assignment_path"` // ASSIGNMENT.json
	PromptPath     string `json:"prompt_path"`
	ContextPath    string `json:"context_path"`
	StagingPath    string `json:"staging_path"` // written by the caller, not by the tool
	Prompt         string `json:"prompt"`       // the task, and the form of the result
	Context        string `json:"context"`      // what came before
}

// Server returns the server. Its tool is agentxchain_turn.
func Server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "mcp-echo-agent", Version: "1.0.0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "agentxchain_turn", Description: "Perform one turn of a governed run; this one changes nothing"},
		func(_ context.Context, _ *mcp.CallToolRequest, t Turn) (*mcp.CallToolResult, any, error) {
			return nil, result(t), nil
		})
	return s
}

// result is a turn result that claims nothing. A reviewer must object, and a role that has to write must not claim that it
// has.
func result(t Turn) protocol.TurnResult {
	r := protocol.TurnResult{
		SchemaVersion: protocol.ResultVersion, RunID: t.RunID, TurnID: t.TurnID, Role: t.Role, RuntimeID: t.RuntimeID,
		Status: protocol.ResultCompleted, Summary: "Received the turn and did nothing.",
		Decisions: []protocol.Decision{}, FilesChanged: []string{},
		Objections:   []protocol.Objection{{ID: "OBJ-001", Severity: "low", Statement: "The echo server examined nothing.", Status: "raised"}},
		Verification: protocol.Verification{Status: protocol.VerificationSkipped}, Artifact: protocol.ResultArtifact{Type: protocol.ArtifactReview},
		ProposedNextRole: protocol.Human,
	}
	stay := false // without it, a completed review asks for the next phase
	r.RunCompletionRequest = &stay
	if authority(t) != protocol.ReviewOnly {
		reason := "the echo server changes no files"
		r.Status, r.NeedsHumanReason = protocol.ResultNeedsHuman, &reason
	}
	return r
}

// authority is what the role may write. A server on another machine cannot read the assignment.
func authority(t Turn) protocol.Authority {
	var a protocol.Assignment
	data, err := os.ReadFile(t.AssignmentPath)
	if err != nil || json.Unmarshal(data, &a) != nil {
		return protocol.ReviewOnly
	}
	return a.WriteAuthority
}
