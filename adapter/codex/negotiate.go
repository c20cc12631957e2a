package codex

import (
	"slices"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// negotiate adds limitations that depend on the session, the attachments and the environment.
func negotiate(req execution.Request) []execution.Reason {
	reasons := cliagent.NewReasons(req)
	run := req.Run
	if q := req.Requirements; q != nil && q.ApprovalInterrupts == execution.SupportNone && mode(run) == execution.ApprovalPrompt && asks(req) {
		reasons = append(reasons, execution.Reason{Code: execution.ReasonApprovalInterruptUnsupported, Severity: execution.SeverityInfo,
			Capability: "approvalInterrupts", Message: "codex asks when something leads out of its sandbox; state approval mode deny to have it refused unasked"})
	}
	if run.ThinkingEffort == execution.EffortMax && !slices.Contains(topEffort, run.Model) {
		which := "the default model"
		if run.Model != "" {
			which = "model " + run.Model
		}
		reasons.Add(execution.SeverityInfo, "thinking", "the highest effort that is known of %s is xhigh; it is used for max", which)
	}
	reasons.Attachments(name, takes, req.Message.Attachments, func(kind cliagent.Media, _ string) bool { return !accepted(kind) })
	return reasons
}
