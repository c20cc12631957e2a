package turnruntime

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/shape"
	"github.com/drawbar/drawbar/internal/governed/governance/turnresult"
)

// ResultSchema is the JSON Schema of a turn result for agents that answer with one; a role that proposes also returns
// files. It is limited to what all vendors' structured output supports: every property is required and none is additional;
// an optional one may be null.
func ResultSchema(authority protocol.Authority) json.RawMessage {
	if authority == protocol.Proposed {
		return slices.Clone(proposalSchema())
	}
	return slices.Clone(resultSchema())
}

// offered are the keys of that schema beyond the required ones, and whether they may be null.
var offered = map[string]bool{
	"objections.against_turn_id": true, "objections.status": false, "verification.commands": false, "verification.evidence_summary": false,
	"verification.machine_evidence": false, "verification.machine_evidence.stdout_tail": false, "artifact.ref": true,
	"phase_transition_request": true, "run_completion_request": true, "needs_human_reason": true,
	// Only for proposals: what is below proposed_changes is reached by them alone.
	"proposed_changes.path": false, "proposed_changes.action": false, "proposed_changes.content": true,
}

var described = map[string]string{"decisions.id": "DEC- and a number", "objections.id": "OBJ- and a number",
	"proposed_changes.action": "create, modify or delete"}

var (
	resultSchema   = sync.OnceValue(func() json.RawMessage { return schemaText(false) })
	proposalSchema = sync.OnceValue(func() json.RawMessage { return schemaText(true) })
)

func schemaText(proposes bool) json.RawMessage {
	b, err := protocol.Marshal(schemaOf(turnresult.Keys(), "", proposes))
	if err != nil {
		panic(err) // all values are JSON values
	}
	return b
}

func schemaOf(n *shape.Node, path string, proposes bool) map[string]any {
	s := map[string]any{"type": string(n.Kind)}
	switch {
	case n.Kind == shape.List:
		return map[string]any{"type": "array", "items": schemaOf(n.Of, path, proposes)}
	case n.Kind == shape.Object:
		props, order := map[string]any{}, []string{}
		for i := range n.Keys {
			k := &n.Keys[i]
			at := shape.Path(path, k.Name)
			if _, ok := offered[at]; ok || k.Required || proposes && at == "proposed_changes" {
				props[k.Name], order = schemaOf(&k.Node, at, proposes), append(order, k.Name)
			}
		}
		s["properties"], s["required"], s["additionalProperties"] = props, order, false
	case len(n.Enum) > 0:
		s["enum"] = n.Enum
	case offered[path]:
		s["type"] = []string{string(n.Kind), "null"}
	case described[path] != "":
		s["description"] = described[path]
	}
	return s
}
