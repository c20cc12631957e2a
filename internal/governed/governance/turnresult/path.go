package turnresult

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lazy"
)

var (
	drivePattern = lazy.Regexp(`^[A-Za-z]:`)
	// shortPattern matches Windows' short names of .git and .agentxchain.
	shortPattern = lazy.Regexp(`^(git|agentx)~\d+$`)
)

// maxPath is the longest path on the supported systems.
const maxPath = 4096

const relativePath = "a path relative to the project's root, with slashes, that stays inside it"

// LexicalPath is the clean form of a path that a result names: relative, with slashes, without detours. It is a fault
// of the artifact stage if the path is empty, absolute on any system, leads out of the project, is not a valid path, or
// belongs to git or to the orchestrator, in any case and in the other spellings that Windows and macOS accept for the
// same name. Links are not followed: internal/governed/workspace resolves paths. The fault has no Field.
func LexicalPath(p string) (clean string, fault *Fault) {
	bad := func(kind, message, expected string) (string, *Fault) {
		return "", &Fault{Stage: protocol.StageArtifact, Type: kind, Path: p, Message: message, Expected: expected}
	}
	switch {
	case strings.TrimSpace(p) == "":
		return bad("empty_path", "is an empty path", relativePath)
	case len(p) > maxPath:
		return bad("invalid_path", fmt.Sprintf("%s... has %d bytes", quoted(p[:40]), len(p)), fmt.Sprintf("a path of at most %d bytes", maxPath))
	case !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl):
		return bad("invalid_path", quoted(p)+" has characters that are not allowed in a path", relativePath)
	}
	s := strings.ReplaceAll(p, `\`, "/")
	if strings.HasPrefix(s, "/") || drivePattern().MatchString(s) || strings.HasPrefix(strings.ToLower(s), "file:") {
		return bad("path_escape", quoted(p)+" is an absolute path", relativePath)
	}
	clean = path.Clean(s)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return bad("path_escape", quoted(p)+" leaves the project", relativePath)
	}
	if clean == "." {
		return bad("invalid_path", quoted(p)+" names the project's root", "a file inside the project")
	}
	names := strings.Split(clean, "/")
	for i, name := range names {
		folded := foldName(name)
		if folded == "" {
			return bad("invalid_path", quoted(p)+" has a name of dots and spaces only", relativePath)
		}
		names[i] = folded
		if folded == ".git" || shortPattern().MatchString(folded) && strings.HasPrefix(folded, "git") {
			return bad("reserved_path_violation", quoted(p)+" belongs to git, and only Drawbar commits", "files of the project")
		}
	}
	if folded := strings.Join(names, "/"); folded == protocol.Dir || protocol.Reserved(folded) || shortPattern().MatchString(names[0]) {
		return bad("reserved_path_violation", quoted(p)+" is reserved for the orchestrator's record", "files of the project")
	}
	return clean, nil
}

// foldPath is a clean path as systems compare it that ignore case.
func foldPath(clean string) string {
	names := strings.Split(clean, "/")
	for i, n := range names {
		names[i] = foldName(n)
	}
	return strings.Join(names, "/")
}

// foldName is a file name as compared by systems that ignore case, trailing dots and spaces, streams and invisible
// characters.
func foldName(name string) string {
	if before, _, _ := strings.Cut(name, ":"); before != "" {
		name = before
	}
	name = strings.TrimRight(name, ". ")
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		least := r
		for n := unicode.SimpleFold(r); n != r; n = unicode.SimpleFold(n) {
			least = min(least, n)
		}
		return unicode.ToLower(least)
	}, name)
}

// product reports whether a clean path is the project's own: not planning, reviews or staging.
func product(clean string) bool {
	return !reviewable(clean) && !strings.HasPrefix(clean, protocol.StagingDir+"/")
}

// reviewable reports whether a reviewer may write the path.
func reviewable(clean string) bool {
	return strings.HasPrefix(clean, protocol.PlanningDir+"/") || strings.HasPrefix(clean, protocol.ReviewsDir+"/")
}

var testPattern = lazy.Regexp(`(?i)(^|/)(tests?|__tests__|spec|specs)/|(_test|\.test|\.spec|_spec)\.[a-z0-9]+$|(^|/)test_[^/]*\.py$`)

// test reports whether a path looks like a test.
func test(clean string) bool { return testPattern().MatchString(clean) }
