package governance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/internal/governed/governance/gate"
)

// defaultNonProgress is the number of turns without progress after which a run stops.
const defaultNonProgress = 3

// progress checks whether turns work on what keeps the phase's gate from passing. A number of consecutive turns that
// leave the same failure and touch none of its files stop the run.
func (s *step) progress(a *acceptance) {
	d := s.gateNow(a)
	if d.Action != gate.GateFailed {
		s.st.NonProgressSignature, s.st.NonProgressCount = nil, 0
		return
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{s.st.Phase, d.GateID}, d.Reasons...), "\x00")))
	sig := hex.EncodeToString(sum[:8])
	if s.st.NonProgressSignature == nil || *s.st.NonProgressSignature != sig {
		s.st.NonProgressSignature, s.st.NonProgressCount = &sig, 0
	}
	if s.touches(a, d) {
		s.st.NonProgressCount = 0
		return
	}
	s.st.NonProgressCount++
	limit := defaultNonProgress
	if l := s.run.Config.RunLoop; l != nil && l.NonProgressThreshold != nil && *l.NonProgressThreshold > 0 {
		limit = *l.NonProgressThreshold
	}
	if s.st.NonProgressCount < limit {
		return
	}
	detail := fmt.Sprintf("%d accepted turns did not fix the same failure of gate %s: %s", s.st.NonProgressCount, d.GateID, strings.Join(d.Reasons, "; "))
	s.noteType("non_progress_block", a.TurnID, map[string]any{"gate_id": d.GateID, "signature": sig, "count": s.st.NonProgressCount, "reasons": d.Reasons})
	s.block(blockage{on: "non_progress", category: "non_progress", detail: detail, turn: a.TurnID})
}

// gateNow is the decision that the exit gate of the phase would make now.
func (s *step) gateNow(a *acceptance) gate.Decision {
	phases := s.run.Config.Phases()
	i := slices.Index(phases, s.st.Phase)
	if i < 0 {
		return gate.Decision{}
	}
	if i == len(phases)-1 {
		return gate.Completion(s.gateInput(a.TurnID, "", a.GateFiles))
	}
	return gate.PhaseExit(s.gateInput(a.TurnID, phases[i+1], a.GateFiles))
}

// touches reports whether the turn worked on the gate's failure: on one of its files, or on any file if the failure is
// not about files.
func (s *step) touches(a *acceptance, d gate.Decision) bool {
	files := gate.Paths(s.run.Config, s.st.Phase)
	if d.MissingVerification && len(d.Reasons) == 1 || len(files) == 0 {
		return len(a.files) > 0
	}
	return slices.ContainsFunc(a.files, func(p string) bool { return slices.Contains(files, p) })
}

func usd(v float64) string { return fmt.Sprintf("%.2f USD", v) }
