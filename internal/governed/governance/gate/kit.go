package gate

import (
	"path"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Content rules for artifacts.
const (
	PMSignoff           = "pm_signoff"
	SystemSpec          = "system_spec"
	ImplementationNotes = "implementation_notes"
	AcceptanceMatrix    = "acceptance_matrix"
	ShipVerdict         = "ship_verdict"
	ReleaseNotes        = "release_notes"
	SectionCheck        = "section_check"
)

// Semantics lists all content rules.
func Semantics() []string {
	return []string{PMSignoff, SystemSpec, ImplementationNotes, AcceptanceMatrix, ShipVerdict, ReleaseNotes, SectionCheck}
}

// Files of the default templates. Except for the roadmap, their paths imply their content rules wherever a gate names
// them.
const (
	PMSignoffFile           = protocol.PlanningDir + "/PM_SIGNOFF.md"
	SystemSpecFile          = protocol.PlanningDir + "/SYSTEM_SPEC.md"
	RoadmapFile             = protocol.PlanningDir + "/ROADMAP.md"
	ImplementationNotesFile = protocol.PlanningDir + "/IMPLEMENTATION_NOTES.md"
	AcceptanceMatrixFile    = protocol.PlanningDir + "/acceptance-matrix.md"
	ShipVerdictFile         = protocol.PlanningDir + "/ship-verdict.md"
	ReleaseNotesFile        = protocol.PlanningDir + "/RELEASE_NOTES.md"
	ArchitectureFile        = protocol.PlanningDir + "/ARCHITECTURE.md"
	SecurityReviewFile      = protocol.PlanningDir + "/SECURITY_REVIEW.md"
)

// semanticsOf is the content rule that a path implies when a gate requires it.
func semanticsOf(file string) string {
	switch path.Clean(file) {
	case PMSignoffFile:
		return PMSignoff
	case SystemSpecFile:
		return SystemSpec
	case ImplementationNotesFile:
		return ImplementationNotes
	case AcceptanceMatrixFile:
		return AcceptanceMatrix
	case ShipVerdictFile:
		return ShipVerdict
	case ReleaseNotesFile:
		return ReleaseNotes
	}
	return ""
}

// Templates are the names of the phase templates.
func Templates() []string {
	return []string{"planning-default", "implementation-default", "qa-default", "architecture-review", "security-review"}
}

// Template returns the artifacts of a phase template; false for an unknown name.
func Template(name string) ([]protocol.Artifact, bool) {
	sections := func(file string, names ...string) []protocol.Artifact {
		return []protocol.Artifact{{Path: file, Semantics: SectionCheck, SemanticsConfig: &protocol.SemanticsConfig{RequiredSections: names}}}
	}
	switch name {
	case "planning-default":
		return []protocol.Artifact{{Path: PMSignoffFile, Semantics: PMSignoff}, {Path: SystemSpecFile, Semantics: SystemSpec}, {Path: RoadmapFile}}, true
	case "implementation-default":
		return []protocol.Artifact{{Path: ImplementationNotesFile, Semantics: ImplementationNotes}}, true
	case "qa-default":
		return []protocol.Artifact{{Path: AcceptanceMatrixFile, Semantics: AcceptanceMatrix}, {Path: ShipVerdictFile, Semantics: ShipVerdict}, {Path: ReleaseNotesFile, Semantics: ReleaseNotes}}, true
	case "architecture-review":
		return sections(ArchitectureFile, "## Context", "## Proposed Design", "## Trade-offs", "## Risks"), true
	case "security-review":
		return sections(SecurityReviewFile, "## Threat Model", "## Findings", "## Verdict"), true
	}
	return nil, false
}

// DefaultKit is the workflow kit of a configuration without one: the phases planning, implementation and qa get their
// templates, others nothing.
func DefaultKit(phases []string) *protocol.WorkflowKit {
	var kit protocol.WorkflowKit
	for _, phase := range phases {
		if phase != "planning" && phase != "implementation" && phase != "qa" {
			continue
		}
		p := protocol.KitPhase{Template: phase + "-default"}
		p.Artifacts = Artifacts(p)
		kit.Phases.Set(phase, p)
	}
	return &kit
}

// Artifacts are the files of a phase's kit: those of its template, overridden by path by its own, followed by its other
// own ones. It is idempotent.
func Artifacts(p protocol.KitPhase) []protocol.Artifact {
	list, _ := Template(p.Template)
	for _, a := range p.Artifacts {
		if i := slices.IndexFunc(list, func(b protocol.Artifact) bool { return path.Clean(b.Path) == path.Clean(a.Path) }); i >= 0 {
			list[i] = a
			continue
		}
		list = append(list, a)
	}
	return list
}
