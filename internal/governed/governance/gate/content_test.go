package gate

import (
	"strings"
	"testing"
)

func TestContent(t *testing.T) {
	const head = "| Req # | Requirement | Status |\n|---|:---:|---|\n"
	for _, tc := range []struct {
		name      string
		semantics string
		content   string
		want      string // "" passes
	}{
		{"approved", PMSignoff, "# Signoff\n\nApproved: YES\n", ""},
		{"approved in other letters", PMSignoff, "approved :  yes  \r\nmore", ""},
		{"behind a byte order mark", PMSignoff, "\ufeffApproved: YES", ""},
		{"not approved", PMSignoff, "Approved: NO\nApproved: YES\n", `PM signoff is not approved. Found "Approved: NO" in f.md; set it to "Approved: YES".`},
		{"approved with conditions", PMSignoff, "Approved: YES, if tests pass\n", `PM signoff is not approved. Found "Approved: YES, if tests pass" in f.md; set it to "Approved: YES".`},
		{"nothing said", PMSignoff, "Approved:\n\nYES\n", "PM signoff must declare `Approved: YES` in f.md."},
		{"not a line of its own", PMSignoff, "It is not Approved: YES\n", "PM signoff must declare `Approved: YES` in f.md."},
		{"empty file", PMSignoff, "", "PM signoff must declare `Approved: YES` in f.md."},

		{"ship it", ShipVerdict, "## Verdict: ship   it\n", ""},
		{"ship", ShipVerdict, "## Verdict: SHIP\n", ""},
		{"yes", ShipVerdict, "##  Verdict : YES\r\n", ""},
		{"pending", ShipVerdict, "## Verdict: PENDING\n", `Ship verdict is not affirmative. Found "## Verdict: PENDING" in f.md; use "## Verdict: YES".`},
		{"no verdict", ShipVerdict, "# Verdict: YES\n", "Ship verdict must declare `## Verdict: YES` in f.md."},

		{"spec", SystemSpec, "## Purpose\nx\n## Interface\n- y\n## Acceptance Tests\n- [ ] z\n", ""},
		{"spec without tests", SystemSpec, "## Purpose\nx\n## Interface\ny\n", "f.md must define ## Acceptance Tests before phase can exit."},
		{"spec without anything", SystemSpec, "# Spec\n", "f.md must define ## Purpose, ## Interface, ## Acceptance Tests before phase can exit."},
		{
			"spec as scaffolded", SystemSpec,
			"## Purpose\n\n(Say why.)\n\n## Interface\n\n(Say how.)\n\n## Acceptance Tests\n\n- [ ] Name the executable checks that prove it.\n",
			"## Purpose, ## Interface, ## Acceptance Tests in f.md holds only placeholder text. Write down what is agreed before phase can exit.",
		},
		{"a word that only begins so", SystemSpec, "## Purposes\nx\n## Interface\ny\n## Acceptance Tests\nz", "f.md must define ## Purpose before phase can exit."},

		{"notes", ImplementationNotes, "## Changes\n\nparser\n\n## Verification\n\ngo test\n", ""},
		{"notes below a heading of their own", ImplementationNotes, "## Changes\n### Parser\nnew\n## Verification of it\ngo test\n", ""},
		{"notes without verification", ImplementationNotes, "## Changes\nx\n", "f.md must define ## Verification before phase can exit."},
		{"notes without anything", ImplementationNotes, "", "f.md must define ## Changes and ## Verification before phase can exit."},
		{
			"notes half filled", ImplementationNotes, "## Changes\n\nx\n\n## Verification\n<!-- later -->\n(later)\n\n# End\ntext\n",
			"## Verification in f.md still contains only placeholder text. Dev must replace placeholder content with real implementation notes.",
		},
		{
			"notes as scaffolded", ImplementationNotes, "## Changes\n\n(Dev fills this)\n\n## Verification\n\n(Dev fills this)\n",
			"## Changes and ## Verification in f.md still contains only placeholder text. Dev must replace placeholder content with real implementation notes.",
		},
		{"the second section of a name is filled", ImplementationNotes, "## Changes\n(x)\n## Changes\ny\n## Verification\nz", ""},

		{"release notes", ReleaseNotes, "## User Impact\nfaster\n## Verification Summary\nall pass\n", ""},
		{"release notes missing", ReleaseNotes, "## User Impact\nfaster\n", "f.md must define ## Verification Summary before ship approval can be requested."},
		{
			"release notes as scaffolded", ReleaseNotes, "## User Impact\n(x)\n## Verification Summary\n(y)\n",
			"## User Impact and ## Verification Summary in f.md still contains only placeholder text. QA must replace placeholder content with real release notes.",
		},

		{"matrix", AcceptanceMatrix, head + "| 1 | a | pass |\n| 2 | b | Passed |\n| 3 | c \\| d | ok |\n| 4 | e | YES\n\nmore | text", ""},
		{"matrix indented", AcceptanceMatrix, "  |req#|x|\n\n  |--|--|\n  | 1 | ok |", ""},
		{"matrix without its header", AcceptanceMatrix, "| Requirement | Status |\n|---|---|\n| 1 | pass |\n", "Acceptance matrix needs the table that begins with `| Req # |` in f.md."},
		{"matrix with a failing row", AcceptanceMatrix, head + "| 1 | a | pass |\n| 2 | b | fail |\n| 3 | c | |\n", "Acceptance matrix has rows that do not pass in f.md: 2=fail, 3=missing. The last cell of every row must be PASS, PASSED, OK or YES."},
		{"matrix as scaffolded", AcceptanceMatrix, head + "| (QA fills this from ROADMAP.md) | - | - |\n", "Acceptance matrix has no real requirement verdict rows. Replace the scaffold placeholder with QA-owned requirement results before requesting ship approval."},
		{"matrix with rows after its end", AcceptanceMatrix, head + "\n| 1 | a | pass |\n", "Acceptance matrix has no real requirement verdict rows. Replace the scaffold placeholder with QA-owned requirement results before requesting ship approval."},

		{"sections", SectionCheck, "## Why\nx\n### How\ny\n", ""},
		{"a section missing", SectionCheck, "## Why\nx\n", "f.md must define How."},
		{"a section with a placeholder", SectionCheck, "## Why\n(Content here.)\n# How\nx", "## Why in f.md holds only placeholder text."},
		{"a rule that does not exist", "vibes", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := checkContent(tc.semantics, tc.content, rule{path: "f.md", phase: "phase", sections: []string{"## Why", "How"}}); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

func FuzzContent(f *testing.F) {
	f.Add("| Req # |\n|---|\n| 1 | pass |\n")
	f.Add("## Changes\n(x)\n## Verification\n- [ ] Name the executable checks \n")
	f.Add("Approved: \r\n## Verdict: \x00|\\|")
	f.Fuzz(func(t *testing.T, content string) {
		for _, s := range Semantics() {
			why := checkContent(s, content, rule{path: "f.md", phase: "qa", sections: []string{"## Why", ""}})
			if strings.TrimSpace(content) == "" && why == "" {
				t.Errorf("%s lets an empty file pass", s)
			}
		}
	})
}
