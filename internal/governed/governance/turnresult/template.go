package turnresult

import (
	"github.com/drawbar/drawbar/govern/protocol"
)

// Template is a result of this turn with placeholders for what only the agent knows, as the prompt shows it: ids filled in,
// what the role must and may hand over, the next role. A placeholder that is left in is a fault; filled in, it is valid.
func Template(in Input) []byte {
	p := newPass(in)
	var o object
	set := func(key string, v any) { o.Set(key, encode(v)) }
	role, runtime := protocol.Role{}, ""
	if in.Config != nil {
		role = in.Config.Roles.At(p.role)
		runtime = in.Config.Runtimes.At(p.runtime).Type
	}
	set("schema_version", protocol.ResultVersion)
	set("run_id", p.run)
	set("turn_id", p.turn)
	set("role", p.role)
	set("runtime_id", p.runtime)
	set("status", protocol.ResultCompleted)
	set("summary", "<what you did, in one or two sentences>")
	set("decisions", []protocol.Decision{{ID: "DEC-001", Category: "implementation", Statement: "<what you decided>", Rationale: "<why>"}})
	objections := []protocol.Objection{}
	if role.FirstEdition() || p.reviewOnly() && (in.Config == nil || in.Config.Rules.Challenge()) {
		objections = append(objections, protocol.Objection{ID: "OBJ-001", Severity: "medium", Statement: "<the weakest point, and what it may cause>", Status: "raised"})
	}
	set("objections", objections)
	files, kind := []string{"<path of a file you changed>"}, protocol.ArtifactWorkspace
	switch p.authority {
	case protocol.ReviewOnly:
		files, kind = []string{}, protocol.ArtifactReview
	case protocol.Proposed:
		kind = protocol.ArtifactPatch
	}
	proposes := p.authority == protocol.Proposed && (runtime == protocol.RuntimeAPIProxy || runtime == protocol.RuntimeRemoteAgent)
	if proposes {
		files = []string{}
	}
	set("files_changed", files)
	set("verification", protocol.Verification{Status: protocol.VerificationPass, Commands: []string{"<command you ran>"},
		EvidenceSummary: "<what the commands showed>", MachineEvidence: []protocol.Evidence{{Command: "<command you ran>"}}})
	set("artifact", protocol.ResultArtifact{Type: kind})
	if proposes {
		content := "<whole new content of the file>"
		set("proposed_changes", []protocol.ProposedChange{{Path: "<path of a file>", Action: "create", Content: &content}})
	}
	next := p.allowedRole()
	if next == "" {
		next = protocol.Human
	}
	set("proposed_next_role", next)
	set("phase_transition_request", nil)
	set("run_completion_request", nil)
	data, err := protocol.MarshalFile(o)
	if err != nil {
		return []byte("{}\n") // every value above has a JSON form
	}
	return data
}
