package charter

import (
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance/gate"
)

// Semantics are the content rules for artifacts.
func Semantics() []string { return gate.Semantics() }

// KitTemplates are the known templates of a phase's kit.
func KitTemplates() []string { return gate.Templates() }

// KitArtifacts are the artifacts of a template; nil for an unknown one.
func KitArtifacts(template string) []protocol.Artifact {
	list, _ := gate.Template(template)
	return list
}

// expandKit gives every phase its artifacts: those of its template, overridden by path and followed by its own.
func expandKit(c *protocol.Config) *protocol.WorkflowKit {
	if c.WorkflowKit == nil {
		return gate.DefaultKit(c.Phases())
	}
	k := protocol.WorkflowKit{Extra: c.WorkflowKit.Extra.Clone()}
	for phase, p := range c.WorkflowKit.Phases.All() {
		k.Phases.Set(phase, protocol.KitPhase{Template: p.Template, Artifacts: gate.Artifacts(p)})
	}
	return &k
}

// Artifacts are the files that a phase's gate requires, in order: those of requires_files, then the required ones of
// the phase's kit. Only a normalized configuration has the default kit.
func Artifacts(c *protocol.Config, phase string) []protocol.Artifact {
	var all []protocol.Artifact
	at := map[string]int{}
	p, _ := c.Phase(phase)
	if g, ok := c.Gate(p.ExitGate); ok {
		for _, path := range g.RequiresFiles {
			if _, twice := at[path]; !twice {
				at[path] = len(all)
				all = append(all, protocol.Artifact{Path: path})
			}
		}
	}
	if c.WorkflowKit == nil {
		return all
	}
	for _, a := range c.WorkflowKit.Phases.At(phase).Artifacts {
		if a.Required != nil && !*a.Required {
			continue
		}
		if i, ok := at[a.Path]; ok {
			all[i] = a
			continue
		}
		at[a.Path] = len(all)
		all = append(all, a)
	}
	return all
}
