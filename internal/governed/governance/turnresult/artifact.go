package turnresult

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// artifactStage checks paths, and what the role may deliver.
func artifactStage(s *subject, f *faults) {
	files := s.paths(f)
	a, _ := members(s.get("artifact"))
	kind := filled(a.At("type"))
	delivered := append(slices.Clone(files), s.clean(s.produced())...)
	products := slices.DeleteFunc(slices.Clone(files), func(p string) bool { return !product(p) })
	switch s.authority {
	case protocol.ReviewOnly:
		for i, name := range s.files() {
			if clean, fault := LexicalPath(name); fault == nil && !reviewable(clean) {
				f.list = append(f.list, Fault{Stage: f.stage, Type: "write_authority_violation", Field: shape.Item("files_changed", i), Path: name,
					Message:  quoted(name) + " is a product file, but the role " + s.roleID + " is review_only",
					Expected: "only files below " + protocol.PlanningDir + "/ or " + protocol.ReviewsDir + "/"})
			}
		}
		if kind != protocol.ArtifactReview {
			f.add("artifact_type_violation", "artifact.type", "is "+quoted(kind)+", but the role "+s.roleID+" is review_only", "review")
		}
		if list, _ := items(s.get("proposed_changes")); len(list) > 0 {
			f.warnf("proposed_changes of the review_only role %s are ignored", s.roleID)
		}
	case protocol.Authoritative:
		if kind == protocol.ArtifactReview && len(products) > 0 {
			f.add("artifact_type_violation", "artifact.type", "is review, but product files changed: "+strings.Join(cutList(products), ", "), "workspace or commit")
		}
		if kind == protocol.ArtifactWorkspace && len(delivered) == 0 {
			f.add("empty_workspace_artifact", "artifact.type", "is workspace, but no file changed", "the changed files in files_changed, or the type review")
		}
		if s.completed() && len(files) == 0 {
			f.warnf("the authoritative role %s completed without a changed file", s.roleID)
		}
	default:
		if kind == protocol.ArtifactWorkspace {
			f.add("artifact_type_violation", "artifact.type", fmt.Sprintf("is workspace, but the role %s is %s", s.roleID, s.authority), "patch or review")
		}
	}
	s.implementation(f, delivered)
	s.proposal(f)
}

// paths checks every path of the result and returns the cleaned ones of files_changed.
func (s *subject) paths(f *faults) []string {
	var files []string
	check := func(field, name string) {
		clean, fault := LexicalPath(name)
		if fault != nil {
			fault.Field = field
			f.list = append(f.list, *fault)
			return
		}
		if strings.HasPrefix(field, "files_changed") {
			files = append(files, clean)
		}
	}
	for i, name := range s.files() {
		check(shape.Item("files_changed", i), name)
	}
	for i, name := range texts(s.get("artifacts_created")) {
		check(shape.Item("artifacts_created", i), name)
	}
	v := s.verification()
	produced, _ := items(v.At("produced_files"))
	for i, raw := range produced {
		o, _ := members(raw)
		if name, ok := text(o.At("path")); ok && strings.TrimSpace(name) != "" {
			check(shape.Item("verification.produced_files", i)+".path", name)
		}
	}
	changes, _ := items(s.get("proposed_changes"))
	for i, raw := range changes {
		o, _ := members(raw)
		if name, ok := text(o.At("path")); ok {
			check(shape.Item("proposed_changes", i)+".path", name)
		}
	}
	a, _ := members(s.get("artifact"))
	if ref, ok := text(a.At("ref")); ok {
		check("artifact.ref", ref)
	}
	return files
}

// clean returns the cleaned forms of the valid paths.
func (s *subject) clean(names []string) []string {
	var out []string
	for _, name := range names {
		if clean, fault := LexicalPath(name); fault == nil {
			out = append(out, clean)
		}
	}
	return out
}

// implementation requires a completed turn of the phase implementation to change the product, unless an earlier turn
// has.
func (s *subject) implementation(f *faults, delivered []string) {
	if s.authority != protocol.Authoritative || s.phase != "implementation" || !s.completed() {
		return
	}
	products := slices.DeleteFunc(slices.Clone(delivered), func(p string) bool { return !product(p) })
	switch {
	case len(products) == 0:
		if !slices.ContainsFunc(s.History, func(h protocol.HistoryEntry) bool {
			return h.Phase == s.phase && h.Status == string(protocol.ResultCompleted) && slices.ContainsFunc(h.FilesChanged, product)
		}) {
			f.add("no_product_change", "files_changed", "a completed turn in the phase implementation changed no product file",
				"at least one file of the product, or another status")
		}
	case !slices.ContainsFunc(products, func(p string) bool { return !test(p) }):
		f.warnf("the turn in the phase implementation changed only tests: %s", strings.Join(cutList(products), ", "))
	}
}

// proposal checks proposed_changes, the only output of a runtime without the workspace.
func (s *subject) proposal(f *faults) {
	changes, _ := items(s.get("proposed_changes"))
	runtime := s.Config.Runtimes.At(filled(s.get("runtime_id"))).Type
	if s.authority == protocol.Proposed && protocol.Remote(runtime) && s.completed() && len(changes) == 0 && !s.completion() {
		f.add("missing_proposed_changes", "proposed_changes", "a completed turn on the runtime type "+runtime+" proposes no changes",
			"the proposed files, each with path, action and content")
	}
	s.proposedPaths(f, changes)
	for i, raw := range changes {
		o, _ := members(raw)
		field := shape.Item("proposed_changes", i)
		if protocol.Kind(o.At("path")) != "string" {
			f.add("missing_field", field+".path", "is missing", relativePath)
		}
		switch action, _ := text(o.At("action")); {
		case !slices.Contains([]string{"create", "modify", "delete"}, action):
			f.add("invalid_enum_value", field+".action", "is "+shown(orNull(o.At("action"))), "create, modify or delete")
		case action != "delete" && protocol.Kind(o.At("content")) != "string":
			f.add("missing_field", field+".content", "is missing, but the action is "+action, "the whole new content of the file")
		}
	}
}

// proposedPaths requires that each path is proposed once, is no folder of another, and is not a name that the proposal's
// own files have.
func (s *subject) proposedPaths(f *faults, changes []json.RawMessage) {
	seen := map[string]bool{}
	var folded []string
	for i, raw := range changes {
		o, _ := members(raw)
		name, _ := text(o.At("path"))
		clean, fault := LexicalPath(name)
		if fault != nil {
			folded = append(folded, "")
			continue // already reported
		}
		fold := foldPath(clean)
		field := shape.Item("proposed_changes", i) + ".path"
		switch {
		case seen[fold]:
			f.add("duplicate_path", field, "is proposed twice: "+quoted(clean), "each file once")
		case slices.Contains(proposalNames, fold):
			f.add("reserved_path_violation", field, quoted(clean)+" is the name of one of the proposal's own files", "another name, or a folder")
		}
		seen[fold] = true
		folded = append(folded, fold)
	}
	for i, name := range folded {
		if name != "" && slices.ContainsFunc(folded, func(o string) bool { return strings.HasPrefix(o, name+"/") }) {
			f.add("invalid_path", shape.Item("proposed_changes", i)+".path", "is proposed as a file and as a folder: "+name, "one of them")
		}
	}
}

// proposalNames are the folded names of the files that describe a proposal, in the folder that also has the proposed ones.
var proposalNames = []string{strings.ToLower(protocol.ProposalFile), "source_snapshot.json", "applied.json", "rejected.json"}

func cutList(names []string) []string {
	if len(names) > 5 {
		return append(slices.Clone(names[:5]), fmt.Sprintf("and %d more", len(names)-5))
	}
	return names
}
