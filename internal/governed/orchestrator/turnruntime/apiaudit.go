package turnruntime

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/internal/governed/chatapi"
)

// writeRequest records what is sent: everything but the key and the texts, which are beside it.
func (p *apiPlan) writeRequest(d Dispatch) error {
	v := map[string]any{"provider": p.api.Provider, "model": p.request.Model, "endpoint": p.redact.Text(p.api.Endpoint(p.request)), "auth_env": d.Runtime.AuthEnv,
		"run_id": d.Run, "turn_id": d.Turn.TurnID, "runtime_id": d.RuntimeID, "attempt": max(1, d.Turn.Attempt), "max_output_tokens": cmp.Or(p.request.MaxTokens, chatapi.DefaultMaxTokens),
		"timeout_seconds": p.request.Timeout.Seconds(), "max_attempts": p.schedule.Most(), "system": p.request.System, "prompt_bytes": len(p.request.Prompt)}
	if err := writeJSON(filepath.Join(d.evidenceDir(), "API_REQUEST.json"), v, p.redact); err != nil {
		return err
	}
	if p.budget == nil {
		return nil
	}
	if err := writeJSON(filepath.Join(d.evidenceDir(), "TOKEN_BUDGET.json"), p.budget, p.redact); err != nil {
		return err
	}
	if p.budget.text == "" {
		return nil
	}
	return writeFile(filepath.Join(d.evidenceDir(), "CONTEXT.effective.md"), p.redact.Bytes([]byte(p.budget.text)))
}

// audits are the files about the requests of an attempt: those that a runtime leaves in the staging folder, and those in
// the evidence.
var audits = struct{ staging, evidence []string }{
	staging:  []string{auditTrace, auditFault, auditResponse},
	evidence: []string{"API_REQUEST.json", "TOKEN_BUDGET.json", "CONTEXT.effective.md", auditFault},
}

const (
	auditTrace    = "retry-trace.json"
	auditFault    = "api-error.json"
	auditResponse = "provider-response.json"
)

// clearAudit gives the files of an earlier attempt numbered names in the evidence.
func (d Dispatch) clearAudit() error {
	move := func(dir string, names []string) error {
		for _, name := range names {
			from, ext := filepath.Join(dir, name), filepath.Ext(name)
			if _, err := os.Lstat(from); err != nil {
				continue
			}
			to, err := d.evidence(strings.TrimSuffix(name, ext), ext)
			if err == nil {
				err = os.Rename(from, to)
			}
			if err != nil {
				return localError("move the files of the earlier attempt to the evidence", err)
			}
		}
		return nil
	}
	if err := move(filepath.Dir(d.StagedPath), audits.staging); err != nil {
		return err
	}
	return move(d.evidenceDir(), audits.evidence)
}

// writeAudit writes the audit files, and stages the result last.
func (c *conversation) writeAudit(o Outcome, fault *chatapi.Fault) error {
	dir := filepath.Dir(c.d.StagedPath)
	if len(c.raw) > 0 {
		if err := writeFile(filepath.Join(dir, auditResponse), redactJSON(c.plan.redact, c.raw)); err != nil {
			return err
		}
	}
	if fault != nil {
		if err := writeJSON(filepath.Join(dir, auditFault), fault, c.plan.redact); err != nil {
			return err
		}
	}
	if fault != nil || len(c.attempts) > 1 {
		if err := writeJSON(filepath.Join(dir, auditTrace), c.trace(o), c.plan.redact); err != nil {
			return err
		}
	}
	if fault != nil {
		return nil
	}
	return c.d.put(redactJSON(c.plan.redact, c.result)) // a service may repeat a key
}
