package charter

import (
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Effective write paths of a role on a runtime.
const (
	PathDirect         = "direct"
	PathPatch          = "patch_authoring"
	PathPlanningOnly   = "planning_only"
	PathReviewArtifact = "review_artifact_only"
	PathProposal       = "proposal_apply_required"
	PathTool           = "tool_defined"
	PathInvalid        = "invalid"
)

// WritePath is how a role with that authority can write on that runtime. A review_only role on local_cli or agent could
// write everything, and is checked by the observed diff. A runtime's declared capabilities do not make an illegal pair
// legal. An unknown authority or type is invalid.
func WritePath(a protocol.Authority, r protocol.Runtime) string {
	if r.Type == protocol.RuntimeMCP && (a == protocol.Authoritative || a == protocol.Proposed || a == protocol.ReviewOnly) {
		return PathTool
	}
	local := r.Type == protocol.RuntimeManual || r.Type == protocol.RuntimeLocalCLI || r.Type == protocol.RuntimeAgent || r.Adapter != nil
	remote := protocol.Remote(r.Type)
	switch {
	case a == protocol.Authoritative && local:
		return PathDirect
	case a == protocol.Proposed && local:
		return PathPatch
	case a == protocol.Proposed && remote:
		return PathProposal
	case a == protocol.ReviewOnly && local:
		return PathPlanningOnly
	case a == protocol.ReviewOnly && remote:
		return PathReviewArtifact
	}
	return PathInvalid
}

// Contract is what a runtime can do: its type's contract, overridden by its declared capabilities.
func Contract(r protocol.Runtime) protocol.RuntimeCapabilities {
	c := protocol.RuntimeCapabilities{CanWriteFiles: "unknown", ProposalSupport: "unknown", WorkflowArtifactOwnership: "unknown"}
	switch r.Type {
	case protocol.RuntimeManual:
		c = protocol.RuntimeCapabilities{CanWriteFiles: "direct", ProposalSupport: "none", WorkflowArtifactOwnership: "yes"}
	case protocol.RuntimeLocalCLI, protocol.RuntimeAgent:
		c = protocol.RuntimeCapabilities{CanWriteFiles: "direct", ProposalSupport: "optional", WorkflowArtifactOwnership: "yes"}
	case protocol.RuntimeAPIProxy, protocol.RuntimeRemoteAgent:
		c = protocol.RuntimeCapabilities{CanWriteFiles: "proposal_only", ProposalSupport: "native", WorkflowArtifactOwnership: "proposal_apply_required"}
	case protocol.RuntimeMCP:
		c = protocol.RuntimeCapabilities{CanWriteFiles: "tool_defined", ProposalSupport: "tool_defined", WorkflowArtifactOwnership: "tool_defined"}
	}
	if r.Adapter != nil {
		c = protocol.RuntimeCapabilities{CanWriteFiles: "direct", ProposalSupport: "optional", WorkflowArtifactOwnership: "yes"}
	}
	if own := r.Capabilities; own != nil {
		for _, f := range []struct {
			into *string
			v    string
		}{{&c.CanWriteFiles, own.CanWriteFiles}, {&c.ProposalSupport, own.ProposalSupport}, {&c.WorkflowArtifactOwnership, own.WorkflowArtifactOwnership}} {
			if f.v != "" {
				*f.into = f.v
			}
		}
	}
	return c
}

// canProduce reports whether the role can produce the file: a person can produce any, a reviewer's program only those
// that reviewers may write.
func canProduce(role protocol.Role, r protocol.Runtime, path string) bool {
	switch WritePath(role.WriteAuthority, r) {
	case PathDirect, PathPatch, PathProposal, PathTool:
		return true
	case PathPlanningOnly:
		return r.Type == protocol.RuntimeManual || strings.HasPrefix(path, protocol.PlanningDir+"/") || strings.HasPrefix(path, protocol.ReviewsDir+"/")
	}
	return r.Type == protocol.RuntimeManual
}
