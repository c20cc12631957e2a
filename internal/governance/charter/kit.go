package charter

import (
	"github.com/drawbar/drawbar/internal/governance/protocol"
)

// Semantics are the rules that the content of an artifact can be held to.
func Semantics() []string {
	return []string{"pm_signoff", "system_spec", "implementation_notes", "acceptance_matrix", "ship_verdict", "release_notes", "section_check"}
}

// KitTemplates are the known templates of a phase's kit.
func KitTemplates() []string {
	return []string{"planning-default", "implementation-default", "qa-default", "architecture-review", "security-review"}
}

func planned(file, semantics string, sections ...string) protocol.Artifact {
	a := protocol.Artifact{Path: protocol.PlanningDir + "/" + file, Semantics: semantics}
	if len(sections) > 0 {
		a.SemanticsConfig = &protocol.SemanticsConfig{RequiredSections: sections}
	}
	return a
}

// KitArtifacts are the artifacts of a template; nil for an unknown one.
func KitArtifacts(template string) []protocol.Artifact {
	switch template {
	case "planning-default":
		return []protocol.Artifact{planned("PM_SIGNOFF.md", "pm_signoff"), planned("SYSTEM_SPEC.md", "system_spec"), planned("ROADMAP.md", "")}
	case "implementation-default":
		return []protocol.Artifact{planned("IMPLEMENTATION_NOTES.md", "implementation_notes")}
	case "qa-default":
		return []protocol.Artifact{planned("acceptance-matrix.md", "acceptance_matrix"), planned("ship-verdict.md", "ship_verdict"),
			planned("RELEASE_NOTES.md", "release_notes")}
	case "architecture-review":
		return []protocol.Artifact{planned("ARCHITECTURE.md", "section_check", "## Context", "## Proposed Design", "## Trade-offs", "## Risks")}
	case "security-review":
		return []protocol.Artifact{planned("SECURITY_REVIEW.md", "section_check", "## Threat Model", "## Findings", "## Verdict")}
	}
	return nil
}

// expandKit gives every phase its artifacts: those of its template, replaced by path and followed by its own.
func expandKit(c *protocol.Config) *protocol.WorkflowKit {
	var k protocol.WorkflowKit
	if c.WorkflowKit == nil {
		for _, phase := range c.Phases() {
			if a := KitArtifacts(phase + "-default"); a != nil {
				k.Phases.Set(phase, protocol.KitPhase{Artifacts: a})
			}
		}
		return &k
	}
	k.Extra = c.WorkflowKit.Extra.Clone()
	for phase, p := range c.WorkflowKit.Phases.All() {
		all := KitArtifacts(p.Template)
		for _, own := range p.Artifacts {
			replaced := false
			for i := range all {
				if all[i].Path == own.Path {
					all[i], replaced = own, true
				}
			}
			if !replaced {
				all = append(all, own)
			}
		}
		k.Phases.Set(phase, protocol.KitPhase{Template: p.Template, Artifacts: all})
	}
	return &k
}

// Artifacts are the files a phase's gate needs, in order: those of requires_files, then those of the phase's kit that are
// required. Only a normalized configuration has the default kit.
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
