package claim

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Codes of faults.
const (
	CodeMismatch       = "artifact_mismatch"
	CodeDirtyTree      = "artifact_dirty_tree_mismatch"
	CodeVerification   = "undeclared_verification_outputs"
	CodeReserved       = "reserved_path"
	CodeEscape         = "path_escape"
	CodeEmptyWorkspace = "empty_workspace_artifact"
)

// Input is a turn's claim and the observed changes. Paths are relative to the root, with slashes.
type Input struct {
	Result      *protocol.TurnResult
	Authority   protocol.Authority
	RuntimeType string
	Phase       string
	// Observed are the files that the turn changed, as reported by the workspace; meaningless unless Available.
	Observed []string
	// Created are those of Observed that did not exist before: only they can be outputs of a verification.
	Created []string
	// Renamed maps files of Observed from their new names to their old ones: declaring the new name declares both.
	Renamed map[string]string
	// Committed are the files that a person's commits changed since the assignment: they are the turn's if it declares
	// them.
	Committed []string
	// BaselineDirty are the files that a person had changed before the assignment.
	BaselineDirty []string
	// Available is false if the workspace cannot be observed, as without git.
	Available bool
	// CheckpointedSince are the files of checkpoints made since the assignment, including this turn's own.
	CheckpointedSince []string
}

// Fault is one reason not to accept the turn: the files, and what to do.
type Fault struct {
	Code    string
	Message string
	Paths   []string
}

// Report is the result of the comparison.
type Report struct {
	Errors   []Fault
	Warnings []string
	// Files are credited to the turn, sorted: never operational files, never a file that only others changed.
	Files []string
	// Undeclared changed without being declared; Phantom were declared and did not change.
	Undeclared, Phantom []string
	// Ignored are existing outputs of verification that the turn wants to be removed.
	Ignored []string
}

// Compare compares a turn's claim with what was observed.
func Compare(in Input) Report {
	c := &comparison{in: in, observed: set(in.Observed)}
	if in.Result == nil {
		c.in.Result = &protocol.TurnResult{}
	}
	c.declare()
	c.reserve()
	switch {
	case !in.Available:
		c.warn("the workspace cannot be observed, so the declared changes were not checked; run git init to have them checked")
		c.creditDeclared(c.declared...)
	case c.remote():
		c.fromAfar()
	default:
		c.compare()
	}
	c.emptiness()
	slices.Sort(c.out.Files)
	c.out.Files = slices.Compact(c.out.Files)
	return c.out
}

type comparison struct {
	in       Input
	out      Report
	observed map[string]bool
	declared []string // cleaned, without operational paths, in the order of the result
	folders  []string // declared with a slash at the end: everything below
	covered  map[string]bool
}

func set(paths []string) map[string]bool {
	m := make(map[string]bool, len(paths))
	for _, p := range paths {
		m[p] = true
	}
	return m
}

func (c *comparison) warn(format string, args ...any) {
	c.out.Warnings = append(c.out.Warnings, fmt.Sprintf(format, args...))
}

func (c *comparison) fault(code string, paths []string, what, todo string) {
	c.out.Errors = append(c.out.Errors, Fault{Code: code, Message: what + ": " + list(paths) + "; " + todo, Paths: paths})
}

func (c *comparison) credit(paths ...string) {
	for _, p := range paths {
		if !protocol.Operational(p) && !protocol.Reserved(p) {
			c.out.Files = append(c.out.Files, p)
		}
	}
}

// creditDeclared credits declared files. Those of a proposal, or of an agent that cannot write, are not in the
// workspace: a file of that name there belongs to others.
func (c *comparison) creditDeclared(paths ...string) {
	for _, p := range paths {
		derived := strings.HasPrefix(p, protocol.ReviewsDir+"/") || strings.HasPrefix(p, protocol.ProposedDir+"/")
		if derived || !c.remote() && c.in.Authority != protocol.Proposed {
			c.credit(p)
		}
	}
}

// maxNamed bounds the files that a message names.
const maxNamed = 5

// list names files for a message.
func list(paths []string) string {
	if len(paths) > maxNamed {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:maxNamed], ", "), len(paths)-maxNamed)
	}
	return strings.Join(paths, ", ")
}

// declare reads the claim: the changed files and the artifacts of verification.
func (c *comparison) declare() {
	c.covered = map[string]bool{}
	paths := slices.Clone(c.in.Result.FilesChanged)
	var ignored []string
	for _, f := range c.in.Result.Verification.ProducedFiles {
		if f.Disposition == "ignore" {
			ignored = append(ignored, f.Path)
		} else {
			paths = append(paths, f.Path)
		}
	}
	var outside []string
	clean := func(p string) (string, bool) {
		p = strings.TrimPrefix(strings.ReplaceAll(p, `\`, "/"), "./")
		folder := strings.HasSuffix(p, "/")
		q := path.Clean(p)
		if p == "" || q == "." || q == ".." || path.IsAbs(q) || strings.HasPrefix(q, "../") || strings.ContainsRune(q, 0) {
			outside = append(outside, p)
			return "", false
		}
		if folder {
			q += "/"
		}
		return q, true
	}
	for _, p := range paths {
		q, ok := clean(p)
		switch {
		case !ok || c.covered[q]:
		case strings.HasSuffix(q, "/"):
			c.folders = append(c.folders, q)
		default:
			c.covered[q] = true
			c.declared = append(c.declared, q)
		}
	}
	for _, p := range ignored {
		if q, ok := clean(p); ok && c.observed[q] && !c.covered[q] {
			c.out.Ignored = append(c.out.Ignored, q)
		}
	}
	for _, p := range c.declared {
		if old, ok := c.in.Renamed[p]; ok {
			c.covered[old] = true
		}
	}
	if len(outside) > 0 {
		c.fault(CodeEscape, outside, "declared files are outside the project", "name files by their path from the project's root, with slashes")
	}
}

// reserve finds files that no turn may change, and removes the orchestrator's from the claim.
func (c *comparison) reserve() {
	var bad []string
	kept := c.declared[:0:0]
	staging := func(p string) bool { return strings.HasPrefix(p, protocol.StagingDir+"/") }
	for _, p := range c.declared {
		switch {
		case protocol.Reserved(p) && !staging(p):
			bad = append(bad, p)
		case !protocol.Operational(p):
			kept = append(kept, p)
		}
	}
	c.declared = kept
	for _, p := range c.in.Observed {
		if protocol.Reserved(p) && !staging(p) && !slices.Contains(bad, p) {
			bad = append(bad, p)
		}
	}
	if len(bad) > 0 {
		c.fault(CodeReserved, bad, "turns must not change the run's own files", "remove them from files_changed and restore them: only drawbar writes them")
	}
}

// remote reports whether the turn's agent has no access to the workspace.
func (c *comparison) remote() bool {
	return protocol.Remote(c.in.RuntimeType)
}

// fromAfar judges agents that cannot reach the files: what changed meanwhile is not theirs.
func (c *comparison) fromAfar() {
	if c.in.Authority == protocol.ReviewOnly {
		c.reviews()
	}
	c.creditDeclared(c.declared...)
	if others := c.undeclared(); len(others) > 0 {
		c.warn("changed while the turn ran, but not counted as the turn's because its runtime %s cannot write files: %s", c.in.RuntimeType, list(others))
	}
}

// undeclared are the observed files that the claim does not cover.
func (c *comparison) undeclared() []string {
	var list []string
	for _, p := range c.in.Observed {
		covered := c.covered[p] || slices.Contains(c.out.Ignored, p) || protocol.Operational(p) || protocol.Reserved(p) ||
			slices.ContainsFunc(c.folders, func(f string) bool { return strings.HasPrefix(p, f) })
		if !covered && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// phantoms are the declared files that did not change. Files that a commit or a checkpoint already contains did change.
func (c *comparison) phantoms() []string {
	taken := set(c.in.Committed)
	for _, p := range c.in.CheckpointedSince {
		taken[p] = true
	}
	var list []string
	for _, p := range c.declared {
		if !c.observed[p] && !taken[p] {
			list = append(list, p)
		}
	}
	for _, f := range c.folders {
		below := func(p string) bool { return strings.HasPrefix(p, f) }
		if !slices.ContainsFunc(c.in.Observed, below) && !slices.ContainsFunc(c.in.Committed, below) &&
			!slices.ContainsFunc(c.in.CheckpointedSince, below) {
			list = append(list, f)
		}
	}
	return list
}

func (c *comparison) compare() {
	c.out.Undeclared, c.out.Phantom = c.undeclared(), c.phantoms()
	switch c.in.Authority {
	case protocol.ReviewOnly:
		c.reviews()
	case protocol.Proposed:
		c.proposals()
	default:
		c.authoritative()
	}
	for _, p := range c.in.Observed {
		if !slices.Contains(c.out.Ignored, p) {
			c.credit(p)
		}
	}
	phantom := set(c.out.Phantom)
	for _, p := range c.declared {
		if !phantom[p] {
			c.creditDeclared(p)
		}
	}
	c.otherCase()
}

func (c *comparison) authoritative() {
	dirty, created := set(c.in.BaselineDirty), set(c.in.Created)
	var theirs, outputs, rest []string
	verified := len(c.in.Result.Verification.Commands) > 0 || len(c.in.Result.Verification.MachineEvidence) > 0
	for _, p := range c.out.Undeclared {
		switch {
		case dirty[p]:
			theirs = append(theirs, p)
		case verified && created[p]:
			outputs = append(outputs, p)
		default:
			rest = append(rest, p)
		}
	}
	if len(rest) > 0 {
		c.fault(CodeMismatch, rest, "changed but not declared", "add intended changes to files_changed, and undo the rest (git restore FILE, or remove it)")
	}
	if len(outputs) > 0 {
		c.fault(CodeVerification, outputs, "appeared in a turn that ran verification commands, but not declared",
			"list each under verification.produced_files with disposition \"ignore\" (it is removed) or \"artifact\" (it is kept), or in files_changed if the turn meant to write it")
	}
	if len(theirs) > 0 {
		c.fault(CodeDirtyTree, theirs, "had uncommitted changes when the turn was assigned, changed again since, and not declared",
			"add the turn's changes to files_changed; commit a person's changes (git commit FILE) before the next attempt")
	}
	if len(c.out.Phantom) > 0 {
		c.warn("declared in files_changed, but not changed since the turn was assigned and therefore not counted: %s", list(c.out.Phantom))
	}
}

// reviewable reports whether a reviewing role may write the path.
func reviewable(p string) bool {
	return strings.HasPrefix(p, protocol.PlanningDir+"/") || strings.HasPrefix(p, protocol.ReviewsDir+"/")
}

func (c *comparison) reviews() {
	var product []string
	changed := slices.Concat(c.declared, c.folders)
	if !c.remote() {
		changed = append(changed, c.in.Observed...)
	}
	for _, p := range changed {
		if !reviewable(p) && !protocol.Operational(p) && !protocol.Reserved(p) && !slices.Contains(c.out.Ignored, p) && !slices.Contains(product, p) {
			product = append(product, p)
		}
	}
	if len(product) > 0 {
		c.fault(CodeMismatch, product, "a review-only role must not change these files",
			fmt.Sprintf("undo the change (git restore FILE, or remove it), remove it from files_changed, and describe the needed change in an objection; %s/ and %s/ are allowed",
				protocol.PlanningDir, protocol.ReviewsDir))
	}
	phantom := slices.DeleteFunc(slices.Clone(c.out.Phantom), func(p string) bool {
		return slices.Contains(product, p)
	})
	if len(phantom) > 0 {
		c.fault(CodeMismatch, phantom, "declared in files_changed but not changed since the turn was assigned", "write the file, or remove it from files_changed")
	}
	undeclared := slices.DeleteFunc(slices.Clone(c.out.Undeclared), func(p string) bool { return slices.Contains(product, p) })
	if len(undeclared) > 0 {
		c.warn("changed but not declared in files_changed; counted as the turn's, because reviews may write there: %s", list(undeclared))
	}
}

func (c *comparison) proposals() {
	var written []string
	for _, p := range c.in.Observed {
		if !strings.HasPrefix(p, protocol.ProposedDir+"/") && !protocol.Operational(p) && !protocol.Reserved(p) && !slices.Contains(c.out.Ignored, p) {
			written = append(written, p)
		}
	}
	if len(written) > 0 {
		c.fault(CodeMismatch, written, "a role that only proposes must not change these files in the workspace",
			fmt.Sprintf("undo the change (git restore FILE, or remove it) and submit it in proposed_changes, or as a patch in %s/", protocol.ProposedDir))
	}
	c.out.Phantom = nil // proposals are not in the workspace
}

// otherCase explains a declared path that differs from the file's name only in case.
func (c *comparison) otherCase() {
	for _, p := range c.out.Phantom {
		for _, u := range c.out.Undeclared {
			if strings.EqualFold(p, u) {
				c.warn("%s is declared, but the file is named %s: names are case-sensitive", p, u)
			}
		}
	}
}

func (c *comparison) emptiness() {
	r := c.in.Result
	if r.Artifact.Type != "workspace" || r.Status != protocol.ResultCompleted || len(c.out.Files) > 0 || len(c.out.Errors) > 0 || len(c.folders) > 0 && !c.in.Available {
		return
	}
	where := ""
	if c.in.Phase != "" {
		where = " in phase " + c.in.Phase
	}
	c.out.Errors = append(c.out.Errors, Fault{Code: CodeEmptyWorkspace, Paths: c.out.Phantom,
		Message: "the artifact is workspace but the turn changed no file" + where + ": make the intended change and declare it in files_changed, or set artifact.type to review"})
}
