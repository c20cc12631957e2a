package turnruntime

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// instructions explain the turn to a person, line by line.
func (d Dispatch) instructions(limit time.Duration) []string {
	title := d.Role.Title
	if title == "" {
		title = d.RoleID
	}
	lines := []string{
		"This turn is for a person.",
		"",
		fmt.Sprintf("  Role      %s (%s)", title, d.RoleID),
		"  Turn      " + d.Turn.TurnID,
		"  Phase     " + d.Phase,
		fmt.Sprintf("  Attempt   %d", max(1, d.Turn.Attempt)),
	}
	if d.Role.Mandate != "" {
		lines = append(lines, "  Mandate   "+d.Role.Mandate)
	}
	lines = append(lines,
		"  Prompt    "+d.shown(filepath.Join(d.BundleDir, "PROMPT.md")),
		"  Context   "+d.shown(filepath.Join(d.BundleDir, "CONTEXT.md")),
		"  Result    "+d.shown(d.StagedPath),
		"",
	)
	if r := d.Turn.LastRejection; r != nil {
		lines = append(lines, "The last attempt was rejected: "+r.Reason)
		for _, e := range r.ValidationErrors {
			lines = append(lines, "  - "+e)
		}
		lines = append(lines, "")
	}
	if len(d.Requirements) > 0 {
		lines = append(lines, "The gate of this phase requires:")
		for _, r := range d.Requirements {
			lines = append(lines, "  - "+r)
		}
		lines = append(lines, "")
	}
	lines = append(lines,
		"  1. Read the prompt and the context.",
		"  2. Do the work in "+d.workDir()+".",
		"  3. Replace the text between < and > in the template, then submit it:",
		fmt.Sprintf("       mv %s %s", quote(d.shown(d.templatePath())), quote(d.shown(d.StagedPath))),
		"",
		fmt.Sprintf("It is collected as soon as it is valid JSON, within %s. Ctrl-C leaves the turn as it is; continue with: drawbar govern step", govern.Took(limit)),
	)
	return lines
}

// shown is a path relative to the project if it is inside, else the absolute path.
func (d Dispatch) shown(path string) string {
	if rel, err := filepath.Rel(d.Root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// quote quotes a word for a shell.
func quote(word string) string {
	if strings.ContainsAny(word, " \t'\"$&;|<>()*?[]#~`\\!") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

func (d Dispatch) templatePath() string {
	return filepath.Join(filepath.Dir(d.StagedPath), "turn-result.template.json")
}

// Placeholders of the template.
const (
	blankFile      = "<path of a file that you changed>"
	blankProposed  = "<path of a file that you propose to change>"
	blankContent   = "<the whole new content of the file>"
	blankObjection = "<what you object to>"
	blankSummary   = "<what you did, in one sentence>"
	blankStatement = "<what you decided>"
	blankReason    = "<why>"
	blankEvidence  = "<what you checked, or why nothing>"
	blankRole      = "<the role that goes on, or human>"
)

// unfilled is a placeholder that is still in a result, empty if there is none.
func unfilled(data []byte) string {
	for _, b := range []string{blankFile, blankProposed, blankContent, blankObjection, blankSummary, blankStatement, blankReason, blankEvidence, blankRole} {
		if bytes.Contains(data, []byte(`"`+b+`"`)) {
			return b
		}
	}
	return ""
}

// Template is a result of the turn to fill in. The manual runtime does not accept it while a placeholder is left.
func Template(d Dispatch) []byte {
	type decision struct {
		ID        string `json:"id"`
		Category  string `json:"category"`
		Statement string `json:"statement"`
		Rationale string `json:"rationale"`
	}
	artifact := protocol.ArtifactWorkspace
	files := []string{blankFile}
	var proposed []protocol.ProposedChange
	switch d.Role.WriteAuthority {
	case protocol.ReviewOnly:
		artifact, files = protocol.ArtifactReview, []string{}
	case protocol.Proposed:
		content := blankContent
		artifact, files = protocol.ArtifactPatch, []string{}
		proposed = []protocol.ProposedChange{{Path: blankProposed, Action: "modify", Content: &content}}
	}
	objections := []protocol.Objection{}
	if d.Role.WriteAuthority == protocol.ReviewOnly || d.Role.FirstEdition() {
		objections = append(objections, protocol.Objection{ID: "OBJ-001", Severity: "medium", Statement: blankObjection, Status: "raised"})
	}
	v := struct {
		SchemaVersion string                  `json:"schema_version"`
		RunID         string                  `json:"run_id"`
		TurnID        string                  `json:"turn_id"`
		Role          string                  `json:"role"`
		RuntimeID     string                  `json:"runtime_id"`
		Status        protocol.ResultStatus   `json:"status"`
		Summary       string                  `json:"summary"`
		Decisions     []decision              `json:"decisions"`
		Objections    []protocol.Objection    `json:"objections"`
		FilesChanged  []string                `json:"files_changed"`
		Verification  protocol.Verification   `json:"verification"`
		Artifact      protocol.ResultArtifact `json:"artifact"`
		NextRole      string                  `json:"proposed_next_role"`
		Phase         *string                 `json:"phase_transition_request"`
		Completion    bool                    `json:"run_completion_request"`

		Proposed []protocol.ProposedChange `json:"proposed_changes,omitempty"`
	}{SchemaVersion: protocol.ResultVersion, RunID: d.Run, TurnID: d.Turn.TurnID, Role: d.RoleID, RuntimeID: d.RuntimeID,
		Status: protocol.ResultCompleted, Summary: blankSummary,
		Decisions:  []decision{{"DEC-001", "scope", blankStatement, blankReason}},
		Objections: objections, FilesChanged: files,
		Verification: protocol.Verification{Status: protocol.VerificationSkipped, EvidenceSummary: blankEvidence},
		Artifact:     protocol.ResultArtifact{Type: artifact}, NextRole: blankRole, Proposed: proposed}
	b, err := protocol.MarshalFile(v)
	if err != nil {
		panic(err) // all fields are JSON values
	}
	return b
}
