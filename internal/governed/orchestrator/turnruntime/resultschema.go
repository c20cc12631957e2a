package turnruntime

import (
	"encoding/json"
	"sync"

	"github.com/drawbar/drawbar/govern/protocol"
)

// ResultSchema is the JSON Schema of a turn result for agents that answer with one. It keeps to what all vendors' structured
// output takes: every property is required and none is free; what may be absent is null.
func ResultSchema() json.RawMessage { return append(json.RawMessage(nil), resultSchema()...) }

type schema map[string]any

func object(order []string, props schema) schema {
	return schema{"type": "object", "properties": props, "required": order, "additionalProperties": false}
}

func words(list ...string) schema { return schema{"type": "string", "enum": list} }

func listOf(items schema) schema { return schema{"type": "array", "items": items} }

var resultSchema = sync.OnceValue(func() json.RawMessage {
	text, number, null := schema{"type": "string"}, schema{"type": "integer"}, func(t string) schema { return schema{"type": []string{t, "null"}} }
	decision := object([]string{"id", "category", "statement", "rationale"}, schema{"id": schema{"type": "string", "description": "DEC- and a number"},
		"category": words(protocol.Categories()...), "statement": text, "rationale": text})
	objection := object([]string{"id", "severity", "against_turn_id", "statement", "status"}, schema{"id": schema{"type": "string", "description": "OBJ- and a number"},
		"severity": words(protocol.Severities()...), "against_turn_id": null("string"), "statement": text, "status": words(protocol.ObjectionStatuses()...)})
	evidence := object([]string{"command", "exit_code", "stdout_tail"}, schema{"command": text, "exit_code": number, "stdout_tail": text})
	verification := object([]string{"status", "commands", "evidence_summary", "machine_evidence"}, schema{
		"status":   words(protocol.VerificationPass, protocol.VerificationFail, protocol.VerificationSkipped),
		"commands": listOf(text), "evidence_summary": text, "machine_evidence": listOf(evidence)})
	artifact := object([]string{"type", "ref"}, schema{"type": words(protocol.ArtifactWorkspace, protocol.ArtifactPatch, protocol.ArtifactCommit, protocol.ArtifactReview),
		"ref": null("string")})
	result := object([]string{"schema_version", "run_id", "turn_id", "role", "runtime_id", "status", "summary", "decisions", "objections",
		"files_changed", "verification", "artifact", "proposed_next_role", "phase_transition_request", "run_completion_request", "needs_human_reason"},
		schema{"schema_version": words(protocol.ResultVersion), "run_id": text, "turn_id": text, "role": text, "runtime_id": text,
			"status":  words(string(protocol.ResultCompleted), string(protocol.ResultBlocked), string(protocol.ResultNeedsHuman), string(protocol.ResultFailed)),
			"summary": text, "decisions": listOf(decision), "objections": listOf(objection), "files_changed": listOf(text),
			"verification": verification, "artifact": artifact, "proposed_next_role": text,
			"phase_transition_request": null("string"), "run_completion_request": null("boolean"), "needs_human_reason": null("string")})
	b, err := protocol.Marshal(result)
	if err != nil {
		panic(err) // all values are JSON values
	}
	return b
})
