package conformance

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Report is the outcome of all fixtures in the form that the protocol's own verifier prints.
type Report struct {
	Implementation  string                         `json:"implementation"`
	ProtocolVersion *string                        `json:"protocol_version"`
	TierRequested   int                            `json:"tier_requested"`
	Timestamp       protocol.Time                  `json:"timestamp"`
	TargetRoot      *string                        `json:"target_root"`
	Remote          *string                        `json:"remote"`
	FixtureRoot     *string                        `json:"fixture_root"`
	Results         protocol.Ordered[*TierSummary] `json:"results"`
	Overall         Status                         `json:"overall"`
}

// TierSummary counts the outcomes of a tier. Status is pass, fail, error or skipped.
type TierSummary struct {
	Status         string                            `json:"status"`
	Run            int                               `json:"fixtures_run"`
	Passed         int                               `json:"fixtures_passed"`
	Failed         int                               `json:"fixtures_failed"`
	Errored        int                               `json:"fixtures_errored"`
	NotImplemented int                               `json:"fixtures_not_implemented"`
	Surfaces       protocol.Ordered[*SurfaceSummary] `json:"surfaces"`
	Failures       []Detail                          `json:"failures"`
	Errors         []Detail                          `json:"errors"`
	Missing        []Detail                          `json:"not_implemented"`
	Note           string                            `json:"note,omitempty"`
}

// SurfaceSummary counts the outcomes of a surface.
type SurfaceSummary struct {
	Passed         int `json:"passed"`
	Failed         int `json:"failed"`
	Errored        int `json:"errored"`
	NotImplemented int `json:"not_implemented"`
}

// Detail is an outcome other than pass.
type Detail struct {
	FixtureID string          `json:"fixture_id"`
	Surface   string          `json:"surface"`
	Message   string          `json:"message"`
	Actual    json.RawMessage `json:"actual,omitempty"`
}

// Summarize returns the report of outcomes up to a tier. The caller adds the paths of fixtures and implementation.
func Summarize(c Capabilities, outcomes []Outcome, tier int, now time.Time) Report {
	r := Report{Implementation: c.Implementation, TierRequested: tier, Timestamp: protocol.At(now), Overall: Overall(outcomes)}
	if c.ProtocolVersion != "" {
		r.ProtocolVersion = &c.ProtocolVersion
	}
	for t := 1; t <= tier; t++ {
		s := &TierSummary{Status: string(Pass), Failures: []Detail{}, Errors: []Detail{}, Missing: []Detail{}}
		if !c.claimsTier(t) {
			s.Status, s.Note = "skipped", fmt.Sprintf("%s does not claim tier %d", c.Implementation, t)
		}
		r.Results.Set(fmt.Sprintf("tier_%d", t), s)
	}
	for _, o := range outcomes {
		if s := r.Results.At(fmt.Sprintf("tier_%d", o.Tier)); s != nil && !o.Skipped {
			s.add(o)
		}
	}
	return r
}

func (s *TierSummary) add(o Outcome) {
	surface := s.Surfaces.At(o.Surface)
	if surface == nil {
		surface = &SurfaceSummary{}
		s.Surfaces.Set(o.Surface, surface)
	}
	d := Detail{FixtureID: o.FixtureID, Surface: o.Surface, Message: o.Message, Actual: o.Actual}
	s.Run++
	switch o.Status {
	case Pass:
		s.Passed++
		surface.Passed++
	case NotImplemented:
		s.NotImplemented++
		surface.NotImplemented++
		d.Actual = nil
		s.Missing = append(s.Missing, d)
	case Fail:
		s.Failed++
		surface.Failed++
		s.Failures = append(s.Failures, d)
		if s.Status == string(Pass) {
			s.Status = string(Fail)
		}
	default:
		s.Errored++
		surface.Errored++
		s.Errors = append(s.Errors, d)
		s.Status = string(Error)
	}
}

// Overall is the verdict on all outcomes: an error outranks a failure, and an unsupported fixture is not a failure.
func Overall(outcomes []Outcome) Status {
	overall := Pass
	for _, o := range outcomes {
		switch o.Status {
		case Error:
			return Error
		case Fail:
			overall = Fail
		}
	}
	return overall
}
