package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Sources of a requirement.
const (
	SourceGate = "gate" // requires_files of the exit gate
	SourceKit  = "kit"  // the phase's workflow kit
)

// Requirement is a file that a phase has to produce.
type Requirement struct {
	Path string
	// Semantics are the content rules that apply to the file; empty if it only has to exist.
	Semantics []string
	// Sections are those that section_check requires.
	Sections []string
	// Owner is the role that must have an accepted turn in the phase; empty if any role may produce the file.
	Owner string
	// Required is false for an optional file, which is checked only if it exists.
	Required bool
	// Sources are SourceGate, SourceKit or both.
	Sources []string
}

// Finding is a requirement and what is currently wrong with it.
type Finding struct {
	Requirement
	Missing  bool
	Problems []string
}

// Requirements are the files of a phase: those of its exit gate, then those of its workflow kit. They apply only if the
// phase has a declared exit gate; see Paths.
func Requirements(c *protocol.Config, phase string) []Requirement {
	var list []Requirement
	at := func(file string) *Requirement {
		if i := slices.IndexFunc(list, func(r Requirement) bool { return path.Clean(r.Path) == path.Clean(file) }); i >= 0 {
			return &list[i]
		}
		list = append(list, Requirement{Path: file})
		return &list[len(list)-1]
	}
	if _, g, ok := exitGate(c, phase); ok {
		for _, file := range g.RequiresFiles {
			r := at(file)
			r.Required = true
			r.Sources = merge(r.Sources, SourceGate)
			r.Semantics = merge(r.Semantics, semanticsOf(file))
		}
	}
	if c.WorkflowKit == nil {
		return list
	}
	for _, a := range Artifacts(c.WorkflowKit.Phases.At(phase)) {
		if a.Path == "" {
			continue
		}
		r := at(a.Path)
		r.Required = r.Required || a.Required == nil || *a.Required
		r.Sources = merge(r.Sources, SourceKit)
		r.Semantics = merge(r.Semantics, a.Semantics)
		if a.OwnedBy != "" {
			r.Owner = a.OwnedBy
		}
		if a.Semantics == SectionCheck && a.SemanticsConfig != nil {
			r.Sections = a.SemanticsConfig.RequiredSections
		}
	}
	return list
}

// isSignOff reports whether a file is a person's or role's sign-off, which is valid for one run.
func isSignOff(r Requirement) bool {
	return slices.Contains(r.Semantics, PMSignoff) || slices.Contains(r.Semantics, ShipVerdict)
}

// SignOffs are the sign-offs among the files of a phase's gate.
func SignOffs(c *protocol.Config, phase string) []string {
	if _, _, ok := exitGate(c, phase); !ok {
		return nil
	}
	var list []string
	for _, r := range Requirements(c, phase) {
		if isSignOff(r) {
			list = append(list, r.Path)
		}
	}
	return list
}

// Digest is the digest of a sign-off.
func Digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// merge adds a value that is neither empty nor present.
func merge(list []string, word string) []string {
	if word == "" || slices.Contains(list, word) {
		return list
	}
	return append(list, word)
}

// Paths are the files whose content a decision about leaving the phase needs: none without a declared gate.
func Paths(c *protocol.Config, phase string) []string {
	if _, _, ok := exitGate(c, phase); !ok {
		return nil
	}
	var list []string
	for _, r := range Requirements(c, phase) {
		list = append(list, r.Path)
	}
	return list
}

// Inspect checks every requirement of the current phase against the files and the turns.
func Inspect(in Input) []Finding {
	var list []Finding
	for _, r := range Requirements(in.Config, in.Phase) {
		f := Finding{Requirement: r}
		content, ok := in.Files[r.Path]
		f.Missing = !ok
		switch {
		case !ok && r.Required:
			f.Problems = append(f.Problems, "Required file missing: "+r.Path)
		case ok:
			for _, s := range r.Semantics {
				if why := checkContent(s, content, rule{path: r.Path, phase: in.Phase, sections: r.Sections}); why != "" {
					f.Problems = append(f.Problems, why)
				}
			}
			if len(f.Problems) == 0 && isSignOff(r) && in.Prior.Has(r.Path) && in.Prior.At(r.Path) == Digest(content) {
				f.Problems = append(f.Problems, fmt.Sprintf("%s was signed in an earlier run and has not changed since: sign it again, for example with the date.", r.Path))
			}
			if r.Owner != "" && !participated(in, r.Owner) {
				f.Problems = append(f.Problems, fmt.Sprintf("%s belongs to role %q, which has no accepted turn in phase %q.", r.Path, r.Owner, in.Phase))
			}
		}
		list = append(list, f)
	}
	return list
}
