// Package version parses, finds and compares version numbers.
package version

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// maxVersion bounds the length of a version, so that comparing a program's output is cheap.
const maxVersion = 256

// Version is a parsed semantic version. The zero value is 0.0.0. Values are immutable and safe for concurrent use.
type Version struct {
	core       [3]string // digits without leading zeros, empty for 0: no number overflows
	prerelease []string
}

// Parse parses a semantic version (semver.org 2.0.0). It also accepts what agents print: a leading v, a missing minor
// or patch number, which counts as 0, and leading zeros, as in the calendar version 2025.09.18. Anything around the
// version is an error: see Find. Build metadata is checked and dropped, because it does not affect the order.
func Parse(s string) (Version, error) {
	var v Version
	if len(s) > maxVersion {
		return v, fmt.Errorf("version %q...: longer than %d characters", s[:40], maxVersion)
	}
	rest := s
	if len(rest) > 1 && (rest[0] == 'v' || rest[0] == 'V') {
		rest = rest[1:]
	}
	rest, build, hasBuild := strings.Cut(rest, "+")
	core, pre, hasPre := strings.Cut(rest, "-")
	numbers := strings.Split(core, ".")
	if len(numbers) > len(v.core) {
		return v, fmt.Errorf("version %q: more than three numbers", s)
	}
	for i, n := range numbers {
		if !isDigits(n) {
			return Version{}, fmt.Errorf("version %q: %q is not a number, want a version like 1.2.3", s, n)
		}
		v.core[i] = strings.TrimLeft(n, "0")
	}
	if hasPre {
		v.prerelease = strings.Split(pre, ".")
		if err := checkIdentifiers(v.prerelease); err != nil {
			return Version{}, fmt.Errorf("version %q: pre-release %w", s, err)
		}
	}
	if hasBuild {
		if err := checkIdentifiers(strings.Split(build, ".")); err != nil {
			return Version{}, fmt.Errorf("version %q: build %w", s, err)
		}
	}
	return v, nil
}

var versionInText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\d+\.\d+(?:\.\d+)?(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?`)
})

// Find returns the first version in a program's output, such as "0.169.0" in "codex-cli 0.169.0"; it needs at least a
// major and a minor number. It returns an empty string if there is none; the result always parses.
func Find(text string) string {
	for {
		at := versionInText().FindStringIndex(text)
		if at == nil {
			return ""
		}
		// A digit inside a word or a longer dotted number (python3.11, 127.0.0.1) does not start a version; v1.2
		// does.
		if found := text[at[0]:at[1]]; startsVersion(text[:at[0]]) && endsVersion(found, text[at[1]:]) {
			if _, err := Parse(found); err == nil {
				return found
			}
		}
		text = text[at[1]:]
		if i := strings.IndexFunc(text, func(r rune) bool { return !isWord(r) && r != '.' }); i >= 0 {
			text = text[i:]
		} else {
			return ""
		}
	}
}

func startsVersion(before string) bool {
	n := len(before)
	if n > 0 && (before[n-1] == 'v' || before[n-1] == 'V') {
		n--
	}
	return n == 0 || !isWord(rune(before[n-1])) && (before[n-1] != '.' || n == 1 || !isWord(rune(before[n-2])))
}

// endsVersion finds 1.2.3 in 1.2.3rc1, but nothing in 1.5s.
func endsVersion(found, after string) bool {
	switch {
	case after == "":
		return true
	case after[0] == '.':
		return len(after) == 1 || after[1] < '0' || after[1] > '9'
	}
	return !isWord(rune(after[0])) || strings.Count(found, ".") > 1
}

func isWord(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// Compare returns -1, 0 or 1 as v precedes w, has equal precedence, or follows it. It is a total order: numbers by
// value, a pre-release before its release, pre-release identifiers one by one, numeric ones by value and before
// others.
func (v Version) Compare(w Version) int {
	for i := range v.core {
		if c := compareDigits(v.core[i], w.core[i]); c != 0 {
			return c
		}
	}
	switch {
	case len(v.prerelease) == 0 && len(w.prerelease) == 0:
		return 0
	case len(v.prerelease) == 0:
		return 1
	case len(w.prerelease) == 0:
		return -1
	}
	return slices.CompareFunc(v.prerelease, w.prerelease, compareIdentifiers)
}

// String returns the version with three numbers and its pre-release. It parses to an equal version.
func (v Version) String() string {
	var b strings.Builder
	for i, n := range v.core {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(cmp.Or(n, "0"))
	}
	if len(v.prerelease) > 0 {
		b.WriteString("-" + strings.Join(v.prerelease, "."))
	}
	return b.String()
}

// Compare compares two version texts; see Version.Compare. An error names the one that does not parse.
func Compare(a, b string) (int, error) {
	v, err := Parse(a)
	if err != nil {
		return 0, err
	}
	w, err := Parse(b)
	if err != nil {
		return 0, err
	}
	return v.Compare(w), nil
}

func compareIdentifiers(a, b string) int {
	switch x, y := isDigits(a), isDigits(b); {
	case x && y:
		return compareDigits(strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0"))
	case x:
		return -1
	case y:
		return 1
	}
	return strings.Compare(a, b)
}

// compareDigits compares numbers of any size, given without leading zeros.
func compareDigits(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

func isDigits(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return c < '0' || c > '9' })
}

func checkIdentifiers(ids []string) error {
	for _, id := range ids {
		if id == "" {
			return fmt.Errorf("has an empty identifier")
		}
		for _, r := range id {
			if r == '_' || r != '-' && !isWord(r) {
				return fmt.Errorf("identifier %q has %q, want letters, digits and -", id, r)
			}
		}
	}
	return nil
}

// AtLeast reports whether a version is at least minimum. It is false for an unknown version, true for a known one
// without a minimum, and false if they cannot be compared.
func AtLeast(version, minimum string) bool {
	if version == "" {
		return false
	}
	if minimum == "" {
		return true
	}
	c, err := Compare(version, minimum)
	return err == nil && c >= 0
}

// Within reports whether a version lies between the lowest and the highest of the tested ones.
func Within(version string, tested []string) bool {
	v, err := Parse(version)
	if err != nil {
		return false
	}
	low, high := false, false
	for _, t := range tested {
		w, err := Parse(t)
		if err != nil {
			continue
		}
		c := v.Compare(w)
		low, high = low || c >= 0, high || c <= 0
	}
	return low && high
}
