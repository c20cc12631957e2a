package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// demand is something that a caller can require of a backend, and whether the backend has it.
type demand struct {
	name  string
	code  execution.ReasonCode
	lacks func(execution.Capabilities) bool
	ask   func(q *execution.Requirements, required bool)
}

func demands() []demand {
	level := func(required bool) execution.SupportLevel {
		if required {
			return execution.SupportRequired
		}
		return execution.SupportPreferred
	}
	return []demand{
		{"structuredToolCalls", execution.ReasonStructuredToolCallsUnsupported, func(c execution.Capabilities) bool { return !c.StructuredToolCalls },
			func(q *execution.Requirements, required bool) {
				q.StructuredToolCalls = execution.PreferencePreferred
				if required {
					q.StructuredToolCalls = execution.PreferenceRequired
				}
			}},
		{"continuationSupport", execution.ReasonContinuationUnsupported, func(c execution.Capabilities) bool {
			return c.ContinuationSupport != execution.ContinuationsStructured
		},
			func(q *execution.Requirements, required bool) { q.ContinuationSupport = level(required) }},
		{"approvalInterrupts", execution.ReasonApprovalInterruptUnsupported, func(c execution.Capabilities) bool { return c.ApprovalInterrupts == execution.ApprovalsNone },
			func(q *execution.Requirements, required bool) { q.ApprovalInterrupts = level(required) }},
		{"toolUse", execution.ReasonToolUseUnsupported, func(c execution.Capabilities) bool { return c.ToolUse == execution.ToolsNone },
			func(q *execution.Requirements, required bool) {
				if required {
					q.ToolUse = execution.ToolUseRequired
				}
			}},
		{"attachments", execution.ReasonAttachmentsUnsupported, func(c execution.Capabilities) bool { return !c.Attachments },
			func(q *execution.Requirements, required bool) {
				if required {
					q.Attachments = execution.AttachmentsRequired
				}
			}},
		{"traceDepth", execution.ReasonTraceDepthReduced, func(c execution.Capabilities) bool { return c.TraceDepth != execution.TraceDetailed },
			func(q *execution.Requirements, required bool) {
				if !required {
					q.TraceDepth = execution.TraceDetailed
				}
			}},
	}
}

// demanding returns the simple scenario with one demand, nil if the demand has no such level.
func (s Subject) demanding(d demand, required bool) *trial {
	t := s.trial(Simple)
	q := execution.Requirements{}
	if t.req.Requirements != nil {
		q = *t.req.Requirements
	}
	before := q
	if d.ask(&q, required); q == before {
		return nil
	}
	t.req.Requirements = &q
	return t
}

func requiredBlocks(ctx context.Context, s Subject) error {
	caps := s.capabilities()
	lacking := 0
	for _, d := range demands() {
		t := s.demanding(d, true)
		if t == nil {
			continue
		}
		n := agent.New(s.Backend()).Negotiate(t.req, t.opts)
		blocked := slices.ContainsFunc(n.Reasons, func(r execution.Reason) bool {
			return r.Code == d.code && r.Severity == execution.SeverityBlocking
		})
		switch {
		case d.lacks(caps):
			lacking++
			if n.Supported || !blocked {
				return fmt.Errorf("%s is required and missing: supported %v, reasons %v", d.name, n.Supported, n.Reasons)
			}
			if err := s.refuses(ctx, t, ""); err != nil {
				return fmt.Errorf("%s required: %w", d.name, err)
			}
		case blocked || !n.Supported:
			return fmt.Errorf("%s is required and declared, but refused: %v", d.name, n.Reasons)
		}
	}
	if lacking == 0 {
		return s.refuses(ctx, s.foreign(), "continuation")
	}
	return nil
}

func preferredDegrades(ctx context.Context, s Subject) error {
	caps := s.capabilities()
	for _, d := range demands() {
		t := s.demanding(d, false)
		if t == nil {
			continue
		}
		n := agent.New(s.Backend()).Negotiate(t.req, t.opts)
		warned := slices.ContainsFunc(n.Reasons, func(r execution.Reason) bool {
			return r.Code == d.code && r.Severity == execution.SeverityWarning
		})
		if !n.Supported || warned != d.lacks(caps) || warned && !n.Degraded {
			return fmt.Errorf("%s is preferred, missing %v: supported %v, degraded %v, reasons %v", d.name, d.lacks(caps), n.Supported, n.Degraded, n.Reasons)
		}
		if !warned {
			continue
		}
		o, err := t.run(ctx, s)
		if err != nil {
			return fmt.Errorf("%s preferred: %w", d.name, err)
		}
		if err := o.expect(execution.StatusCompleted); err != nil {
			return fmt.Errorf("%s preferred: %w", d.name, err)
		}
		if !slices.ContainsFunc(o.result.Degradation, func(r execution.Reason) bool { return r.Code == d.code }) {
			return fmt.Errorf("%s preferred: the result does not list the degradation: %v", d.name, o.result.Degradation)
		}
	}
	return nil
}

func negotiatePure(_ context.Context, s Subject) error {
	b := s.Backend()
	before := s.starts()
	for _, sc := range []Scenario{Simple, Tool, Attach, Connect} {
		req := s.request(sc)
		want := req.Clone()
		answers := make([]execution.Negotiation, 100)
		faults := make([]error, len(answers))
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				faults[i] = guarded(func() error { answers[i] = agent.New(b).Negotiate(req, s.Options); return nil })
			})
		}
		all.Wait()
		if err := errors.Join(faults...); err != nil {
			return err
		}
		for _, a := range answers {
			if !reflect.DeepEqual(a, answers[0]) {
				return fmt.Errorf("the same request gets different answers: %v and %v", answers[0], a)
			}
		}
		if slices.ContainsFunc(answers[0].Reasons, func(r execution.Reason) bool { return r.Capability == "adapter" }) {
			return fmt.Errorf("negotiation fails: %v", answers[0].Reasons)
		}
		if !reflect.DeepEqual(want, req) {
			return errors.New("negotiation changes the request")
		}
	}
	if n := s.starts() - before; n != 0 {
		return fmt.Errorf("negotiation starts the backend, %d times", n)
	}
	return nil
}
