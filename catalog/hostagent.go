package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter"
)

// HostAgent is an agent that this process runs inside, according to markers in the environment (agent-mux
// specification, hostEnvSignals).
type HostAgent struct {
	Agent      string            `json:"agent"`
	Confidence string            `json:"confidence"` // high: two markers of its own, or one and an ancestor process; medium: one; low: only shared markers
	Signals    []string          `json:"signals"`    // names of the set markers, sorted
	Metadata   map[string]string `json:"metadata,omitempty"`
	Ancestor   int               `json:"ancestor,omitempty"` // how many processes above this one it runs; 0 if not found
}

// The confidences of a detection.
const (
	ConfidenceHigh   = "high"
	ConfidenceMedium = "medium"
	ConfidenceLow    = "low"
)

// DetectHost returns the agents that this process runs inside, innermost first. A marker that several agents
// set is weaker evidence than one that a single agent sets, and an API key is no evidence. Nested agents leave
// the markers of both: the nearer ancestor is then the inner one, or, if ancestors are unknown, the agent with
// more markers of its own. A marker that one of them copies from another agent (Descriptor.HostCopies) stands for nothing.
//
// ancestors are the names of the programs above this process, the parent first; nil if unknown.
func (r *Registry) DetectHost(ancestors []string) []HostAgent {
	r.mu.Lock()
	descriptors := make([]adapter.Descriptor, 0, len(r.agents))
	for _, name := range slices.Sorted(maps.Keys(r.agents)) {
		descriptors = append(descriptors, r.agents[name].descriptor)
	}
	r.mu.Unlock()

	copied := map[string]bool{} // markers that an agent around this process copies from another one
	for _, d := range descriptors {
		if slices.ContainsFunc(d.HostSignals, func(s string) bool { return r.host.Getenv(s) != "" }) {
			for _, s := range d.HostCopies {
				copied[s] = true
			}
		}
	}
	claims := map[string]int{} // number of agents a marker may stand for
	for _, d := range descriptors {
		for _, s := range d.HostSignals {
			claims[s]++
		}
	}
	type candidate struct {
		HostAgent
		own int // markers that no other agent sets
	}
	var found []candidate
	for _, d := range descriptors {
		c := candidate{HostAgent: HostAgent{Agent: d.Name}}
		for _, s := range d.HostSignals {
			if r.host.Getenv(s) == "" || copied[s] {
				continue
			}
			c.Signals = append(c.Signals, s)
			if claims[s] == 1 {
				c.own++
			}
		}
		if len(c.Signals) == 0 {
			continue
		}
		slices.Sort(c.Signals)
		c.Ancestor = 1 + slices.IndexFunc(ancestors, func(program string) bool { return isProgram(program, d) })
		switch {
		case c.own > 1 || c.own == 1 && c.Ancestor > 0:
			c.Confidence = ConfidenceHigh
		case c.own == 1 || c.Ancestor > 0:
			c.Confidence = ConfidenceMedium
		default:
			c.Confidence = ConfidenceLow
		}
		for _, key := range slices.Sorted(maps.Keys(d.HostMetadata)) {
			if v := r.host.Getenv(d.HostMetadata[key]); v != "" {
				if c.Metadata == nil {
					c.Metadata = map[string]string{}
				}
				c.Metadata[key] = v
			}
		}
		found = append(found, c)
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		if a.Ancestor > 0 && b.Ancestor > 0 {
			return cmp.Compare(a.Ancestor, b.Ancestor)
		}
		return cmp.Or(cmp.Compare(min(b.Ancestor, 1), min(a.Ancestor, 1)), cmp.Compare(b.own, a.own), cmp.Compare(len(b.Signals), len(a.Signals)))
	})
	list := make([]HostAgent, len(found))
	for i, c := range found {
		list[i] = c.HostAgent
	}
	return list
}

// isProgram reports whether a process of this name is the agent: its command or the script of its npm package.
func isProgram(program string, d adapter.Descriptor) bool {
	name := strings.TrimSuffix(program[strings.LastIndexAny(program, `/\`)+1:], ".exe")
	return name == d.Command || name == d.Command+".js" || slices.ContainsFunc(d.Install, func(m adapter.InstallMethod) bool {
		return m.Type == "npm" && m.Package != "" && strings.Contains(program, "/node_modules/"+m.Package+"/")
	})
}
