package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/internal/base/lazy"
)

// rule is the data of a content rule.
type rule struct {
	path     string
	phase    string
	sections []string
}

var (
	approvedLine = lazy.Regexp(`(?im)^Approved[ \t]*:[ \t]*(\S.*)$`)
	verdictLine  = lazy.Regexp(`(?im)^##[ \t]+Verdict[ \t]*:[ \t]*(\S.*)$`)
	matrixHeader = lazy.Regexp(`(?i)^\|\s*Req\s*#\s*\|`)
	separator    = lazy.Regexp(`^:?-+:?$`)
)

// checkContent checks a file against a rule and returns what is wrong; empty if nothing is. Unknown rules demand
// nothing: the check of the configuration reports them.
func checkContent(semantics, content string, r rule) string {
	content = strings.TrimPrefix(strings.ReplaceAll(content, "\r\n", "\n"), "\ufeff")
	switch semantics {
	case PMSignoff:
		return pmSignoff(content, r)
	case SystemSpec:
		return systemSpec(content, r)
	case ImplementationNotes:
		return notes(content, r, []string{"## Changes", "## Verification"}, r.phase+" can exit", "Dev", "implementation notes")
	case ReleaseNotes:
		return notes(content, r, []string{"## User Impact", "## Verification Summary"}, "ship approval can be requested", "QA", "release notes")
	case AcceptanceMatrix:
		return acceptanceMatrix(content, r)
	case ShipVerdict:
		return shipVerdict(content, r)
	case SectionCheck:
		return sectionCheck(content, r)
	}
	return ""
}

// token normalizes the case and white space of a value.
func token(s string) string { return strings.ToUpper(strings.Join(strings.Fields(s), " ")) }

func pmSignoff(content string, r rule) string {
	m := approvedLine().FindStringSubmatch(content)
	if m == nil {
		return fmt.Sprintf("PM signoff must declare `Approved: YES` in %s.", r.path)
	}
	if said := strings.TrimSpace(m[1]); token(said) != "YES" {
		return fmt.Sprintf(`PM signoff is not approved. Found "Approved: %s" in %s; set it to "Approved: YES".`, said, r.path)
	}
	return ""
}

func shipVerdict(content string, r rule) string {
	m := verdictLine().FindStringSubmatch(content)
	if m == nil {
		return fmt.Sprintf("Ship verdict must declare `## Verdict: YES` in %s.", r.path)
	}
	if said := strings.TrimSpace(m[1]); !slices.Contains([]string{"YES", "SHIP", "SHIP IT"}, token(said)) {
		return fmt.Sprintf(`Ship verdict is not affirmative. Found "## Verdict: %s" in %s; use "## Verdict: YES".`, said, r.path)
	}
	return ""
}

func systemSpec(content string, r rule) string {
	missing, empty := sections(content, []string{"## Purpose", "## Interface", "## Acceptance Tests"})
	switch {
	case len(missing) > 0:
		return fmt.Sprintf("%s must define %s before %s can exit.", r.path, strings.Join(missing, ", "), r.phase)
	case len(empty) > 0:
		return fmt.Sprintf("%s in %s holds only placeholder text. Write down what is agreed before %s can exit.", strings.Join(empty, ", "), r.path, r.phase)
	}
	return ""
}

// notes is the rule for implementation and release notes: the sections exist and contain more than placeholders.
func notes(content string, r rule, names []string, before, who, what string) string {
	missing, empty := sections(content, names)
	switch {
	case len(missing) > 0:
		return fmt.Sprintf("%s must define %s before %s.", r.path, strings.Join(missing, " and "), before)
	case len(empty) > 0:
		return fmt.Sprintf("%s in %s still contains only placeholder text. %s must replace placeholder content with real %s.", strings.Join(empty, " and "), r.path, who, what)
	}
	return ""
}

func sectionCheck(content string, r rule) string {
	missing, empty := sections(content, r.sections)
	switch {
	case len(missing) > 0:
		return fmt.Sprintf("%s must define %s.", r.path, strings.Join(missing, ", "))
	case len(empty) > 0:
		return fmt.Sprintf("%s in %s holds only placeholder text.", strings.Join(empty, ", "), r.path)
	}
	return ""
}

// acceptanceMatrix checks for a table of requirements with at least one real row, each with a passing last cell.
func acceptanceMatrix(content string, r rule) string {
	lines := strings.Split(content, "\n")
	head := slices.IndexFunc(lines, func(l string) bool { return matrixHeader().MatchString(strings.TrimSpace(l)) })
	if head < 0 {
		return fmt.Sprintf("Acceptance matrix needs the table that begins with `| Req # |` in %s.", r.path)
	}
	rows, failing := 0, []string(nil)
	begun := false
	for _, line := range lines[head+1:] {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "|") {
			if begun {
				break
			}
			continue
		}
		begun = true
		row := cells(line)
		if len(row) == 0 || !slices.ContainsFunc(row, func(c string) bool { return !separator().MatchString(c) }) || row[0] == "" || placeholder(row[0]) {
			continue
		}
		rows++
		if status := row[len(row)-1]; !slices.Contains([]string{"PASS", "PASSED", "OK", "YES"}, token(status)) {
			if status == "" {
				status = "missing"
			}
			failing = append(failing, row[0]+"="+status)
		}
	}
	switch {
	case rows == 0:
		return "Acceptance matrix has no real requirement verdict rows. Replace the scaffold placeholder with QA-owned requirement results before requesting ship approval."
	case len(failing) > 0:
		return fmt.Sprintf("Acceptance matrix has rows that do not pass in %s: %s. The last cell of every row must be PASS, PASSED, OK or YES.", r.path, strings.Join(failing, ", "))
	}
	return ""
}

// cells are the cells of a table row. An escaped bar belongs to its cell.
func cells(line string) []string {
	line = strings.ReplaceAll(strings.TrimPrefix(line, "|"), `\|`, "\x00")
	line = strings.TrimSuffix(strings.TrimSpace(line), "|")
	var list []string
	for c := range strings.SplitSeq(line, "|") {
		list = append(list, strings.TrimSpace(strings.ReplaceAll(c, "\x00", "|")))
	}
	return list
}

// sections looks for headings by their whole text, including "## ", and returns the missing ones and those without
// content. A name without number signs matches a heading of any level.
func sections(content string, names []string) (missing, empty []string) {
	lines := strings.Split(content, "\n")
	for _, name := range names {
		found, filled := false, false
		for i := 0; i < len(lines) && !filled; i++ {
			level := headingLevel(lines[i])
			if level == 0 || !heads(lines[i], name) {
				continue
			}
			found = true
			for _, line := range lines[i+1:] {
				if l := headingLevel(line); l > 0 && l <= level {
					break
				}
				if line = strings.TrimSpace(line); line != "" && !placeholder(line) {
					filled = true
					break
				}
			}
		}
		switch {
		case !found:
			missing = append(missing, name)
		case !filled:
			empty = append(empty, name)
		}
	}
	return missing, empty
}

// headingLevel is the level of a heading; 0 for any other line.
func headingLevel(line string) int {
	line = strings.TrimSpace(line)
	rest := strings.TrimLeft(line, "#")
	if n := len(line) - len(rest); n > 0 && n <= 6 && strings.HasPrefix(rest, " ") {
		return n
	}
	return 0
}

// heads reports whether the heading is the named one, or begins with its words.
func heads(line, name string) bool {
	line, name = strings.TrimSpace(line), strings.TrimSpace(name)
	if !strings.HasPrefix(name, "#") {
		line = strings.TrimSpace(strings.TrimLeft(line, "#"))
	}
	rest, ok := strings.CutPrefix(line, name)
	return ok && (rest == "" || !isWord(rest[0]))
}

func isWord(b byte) bool {
	return b == '_' || b >= 0x80 || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// placeholder reports whether a line is left from a scaffold: a line in parentheses or a comment, or the first item of
// the scaffold's checklist.
func placeholder(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "(") && strings.HasSuffix(line, ")") ||
		strings.HasPrefix(line, "<!--") && strings.HasSuffix(line, "-->") ||
		strings.HasPrefix(line, "- [ ] Name the executable checks ")
}
