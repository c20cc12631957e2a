package intent

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lazy"
)

// The modes of coverage.
const (
	Strict  = "strict"
	Lenient = "lenient"
)

// Mode is the configured coverage mode, else strict for the most urgent priority.
func Mode(c *protocol.Config, priority string) string {
	switch {
	case c.IntentCoverageMode != "":
		return c.IntentCoverageMode
	case priority == "p0":
		return Strict
	}
	return Lenient
}

// Uncovered are the items of an intent that a turn's result does not cover. An item is covered if intent_response
// answers it, if the result contains at least half of its words, or if the run has left its phase or passed its gate.
func Uncovered(i protocol.Intent, r *protocol.TurnResult, st *protocol.State, c *protocol.Config) []string {
	answers, text := answered(r), corpus(r)
	var open []string
	for _, item := range i.AcceptanceContract {
		if answers[norm(item)] || pastScope(item, protocol.Deref(i.PhaseScope), st, c) || gatePassed(item, st, c) {
			continue
		}
		words := slices.DeleteFunc(wordPattern().FindAllString(norm(item), -1), func(w string) bool { return len(w) <= 3 })
		hits := 0
		for _, w := range words {
			if strings.Contains(text, w) {
				hits++
			}
		}
		if 2*hits < len(words) {
			open = append(open, item)
		}
	}
	return open
}

var wordPattern = lazy.Regexp(`[a-z0-9]+`)

func norm(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// response is an entry of intent_response.
type response struct {
	Item   string `json:"item"`
	Status string `json:"status"`
	Detail string `json:"detail"`
}

func responses(r *protocol.TurnResult) []response {
	var list []response
	raw, _ := r.Extra.Get("intent_response")
	_ = json.Unmarshal(raw, &list) // anything but a list is no answer
	return list
}

func answered(r *protocol.TurnResult) map[string]bool {
	done := map[string]bool{}
	for _, e := range responses(r) {
		if slices.Contains([]string{"addressed", "deferred", "rejected"}, e.Status) {
			done[norm(e.Item)] = true
		}
	}
	return done
}

// corpus is the whole text of a result in lower case.
func corpus(r *protocol.TurnResult) string {
	text := []string{r.Summary, r.Verification.EvidenceSummary}
	for _, d := range r.Decisions {
		text = append(text, d.Statement, d.Rationale)
	}
	for _, o := range r.Objections {
		text = append(text, o.Statement)
	}
	text = append(append(text, r.FilesChanged...), r.ArtifactsCreated...)
	for _, e := range r.Verification.MachineEvidence {
		text = append(append(text, e.Command, e.StdoutTail), e.Argv...)
	}
	for _, e := range responses(r) {
		text = append(text, e.Item, e.Detail)
	}
	return strings.ToLower(strings.Join(text, "\n"))
}

// gatesIn are the gates that a text names.
func gatesIn(c *protocol.Config, text string) []string {
	if c == nil || c.Gates == nil {
		return nil
	}
	return slices.DeleteFunc(c.Gates.Keys(), func(id string) bool { return !strings.Contains(strings.ToLower(text), strings.ToLower(id)) })
}

// scopeOf is the one phase whose exit gate the texts name; empty if there is none or more than one.
func scopeOf(c *protocol.Config, texts ...string) string {
	if c == nil {
		return ""
	}
	var phases []string
	for _, phase := range c.Phases() {
		p, _ := c.Phase(phase)
		if p.ExitGate != "" && slices.Contains(gatesIn(c, strings.Join(texts, "\n")), p.ExitGate) {
			phases = append(phases, phase)
		}
	}
	if len(phases) != 1 {
		return ""
	}
	return phases[0]
}

// pastScope reports whether the run has left the item's phase.
func pastScope(item, scope string, st *protocol.State, c *protocol.Config) bool {
	if own := scopeOf(c, item); own != "" {
		scope = own
	}
	phases := c.Phases()
	at, of := slices.Index(phases, st.Phase), slices.Index(phases, scope)
	return of >= 0 && at > of
}

var passPattern = lazy.Regexp(`\b(can advance|advance to|passes|passed)\b`)

// gatePassed reports whether an item asks only for a gate that has passed.
func gatePassed(item string, st *protocol.State, c *protocol.Config) bool {
	return passPattern().MatchString(norm(item)) && slices.ContainsFunc(gatesIn(c, item), func(id string) bool {
		return st.PhaseGateStatus.At(id) == "passed"
	})
}
