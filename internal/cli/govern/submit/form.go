package submit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/goccy/go-yaml"
)

// mostForm bounds the size of a form.
const mostForm = 1 << 20

// blank is the form to fill in.
const blank = `# The result of your turn. Delete what you do not need; ids and changed files are filled in.
# Then: drawbar govern submit --from THIS-FILE

summary: ""            # what you did, in one sentence

objections: []         # your objections, such as
#  - severity: medium  # low, medium, high or blocking
#    statement: an empty name is not specified
#  - id: OBJ-001       # an open objection that you answer
#    status: resolved  # or acknowledged, escalated
#    statement: it is tested now

decisions: []          # your decisions, such as
#  - category: scope   # implementation, architecture, scope, process, quality or release
#    statement: one program, no options
#    rationale: the goal asks for no more

verification: skipped  # pass, fail or skipped
evidence: ""           # what you checked, or why nothing

next: human            # next role
phase: ""              # phase that should start
complete: false        # true asks for the end of the run
needs_human: ""        # what only a person can decide
# files: []            # only where git cannot see them
# propose:             # what a role that proposes would change: it does not change the files themselves
#  - path: src/cart.go
#    file: /tmp/cart.go  # the new content; or delete: true
`

// form is what a person fills in.
type form struct {
	Summary    string   `yaml:"summary"`
	Status     string   `yaml:"status"`
	NeedsHuman string   `yaml:"needs_human"`
	Objections []entry  `yaml:"objections"`
	Decisions  []entry  `yaml:"decisions"`
	Files      []string `yaml:"files"`
	Verify     string   `yaml:"verification"`
	Evidence   string   `yaml:"evidence"`
	Next       string   `yaml:"next"`
	Phase      string   `yaml:"phase"`
	Complete   bool     `yaml:"complete"`
	Propose    []change `yaml:"propose"`
}

// change is a file that a person proposes.
type change struct {
	Path   string `yaml:"path"`
	File   string `yaml:"file"` // with the new content
	Delete bool   `yaml:"delete"`
}

// mostProposed bounds the size of a proposed file.
const mostProposed = 8 << 20

// proposed reads what a person proposes.
func (c change) proposed() (p protocol.ProposedChange, err error) {
	p.Path = c.Path
	if c.Path == "" || c.Delete == (c.File != "") {
		return p, cli.Usage("a proposed file needs its path, and either the file with its content or delete").WithHint("--propose PATH=FILE, --propose-delete PATH")
	}
	if c.Delete {
		return p, nil
	}
	info, err := os.Stat(c.File)
	switch {
	case err != nil:
		return p, cli.Usage("--propose %s: %v", c.Path, err)
	case !info.Mode().IsRegular() || info.Size() > mostProposed:
		return p, cli.Usage("--propose %s: %s is not a regular file of at most %d MiB", c.Path, c.File, mostProposed>>20)
	}
	data, err := os.ReadFile(c.File)
	if err != nil {
		return p, cli.Usage("--propose %s: %v", c.Path, err)
	}
	if !utf8.Valid(data) {
		return p, cli.Usage("--propose %s: %s is not text in UTF-8, which a turn result contains", c.Path, c.File).WithHint("give the role write_authority authoritative for such files")
	}
	text := string(data)
	p.Content = &text
	return p, nil
}

// propose adds the values of flags to the form.
func (f *form) propose(files, deleted []string) error {
	for _, text := range files {
		path, file, ok := strings.Cut(text, "=")
		if !ok || file == "" {
			return fmt.Errorf("--propose %q: expected a path and the file with its content: src/cart.go=/tmp/cart.go", text)
		}
		f.Propose = append(f.Propose, change{Path: path, File: file})
	}
	for _, path := range deleted {
		f.Propose = append(f.Propose, change{Path: path, Delete: true})
	}
	return nil
}

type entry struct {
	ID         string `yaml:"id"`
	Severity   string `yaml:"severity"`
	Status     string `yaml:"status"`
	Statement  string `yaml:"statement"`
	Against    string `yaml:"against_turn_id"`
	Category   string `yaml:"category"`
	Rationale  string `yaml:"rationale"`
	Durability string `yaml:"durability"`
	Overrides  string `yaml:"overrides"`
}

// editForm opens the form in the person's editor, and returns the file.
func editForm(ctx context.Context, app *cli.App) (string, error) {
	file, err := app.Edit(ctx, cli.Editing{What: "--edit", Typed: "drawbar govern submit --edit", Instead: "drawbar govern submit --form > FILE",
		Pattern: "drawbar-turn-*.yaml", Text: blank})
	if e, ok := errors.AsType[*execution.Error](err); ok && file != "" {
		return "", e.WithHint("drawbar govern submit --from %s", file)
	}
	return file, err
}

// read reads a form from a file, or from standard input for "-".
func read(app *cli.App, name string) (f form, err error) {
	r := app.In
	if name != "-" {
		info, err := os.Lstat(name)
		switch {
		case err != nil:
			return f, cli.Usage("--from: %v", err).WithHint("drawbar govern submit --form > FILE")
		case !info.Mode().IsRegular():
			return f, cli.Usage("--from %s: not a regular file", name).WithHint("drawbar govern submit --form > FILE")
		}
		file, err := os.Open(name)
		if err != nil {
			return f, cli.Usage("--from: %v", err)
		}
		defer file.Close()
		r = file
	}
	data, err := io.ReadAll(io.LimitReader(r, mostForm+1))
	switch {
	case err != nil:
		return f, err
	case len(data) > mostForm:
		return f, cli.Usage("--from %s: larger than %d KiB", name, mostForm>>10).WithHint("remove the content of files from the form")
	case len(strings.TrimSpace(string(data))) == 0:
		return f, cli.Usage("--from %s: the form is empty", name).WithHint("drawbar govern submit --form > FILE")
	}
	if err := yaml.UnmarshalWithOptions(data, &f, yaml.DisallowUnknownField()); err != nil {
		return f, cli.Usage("--from %s: %s", name, first(err)).WithHint("compare it with: drawbar govern submit --form")
	}
	return f, nil
}

// first is the first line of the parser's message.
func first(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(yaml.FormatError(err, false, false)), "\n")
	return line
}

// submission is the form as the engine takes it.
func (f form) submission() (govern.Submission, error) {
	s := govern.Submission{Status: protocol.ResultStatus(f.Status), Summary: strings.TrimSpace(f.Summary), NeedsHuman: strings.TrimSpace(f.NeedsHuman),
		Files: f.Files, NextRole: f.Next, Phase: f.Phase, Complete: f.Complete,
		Verification: protocol.Verification{Status: f.Verify, EvidenceSummary: f.Evidence}}
	for _, e := range f.Objections {
		s.Objections = append(s.Objections, protocol.Objection{ID: e.ID, Severity: e.Severity, Status: e.Status, Statement: e.Statement, AgainstTurnID: e.Against})
	}
	for _, e := range f.Decisions {
		s.Decisions = append(s.Decisions, protocol.Decision{ID: e.ID, Category: e.Category, Statement: e.Statement, Rationale: e.Rationale, Durability: e.Durability,
			Overrides: e.Overrides})
	}
	for _, c := range f.Propose {
		p, err := c.proposed()
		if err != nil {
			return s, err
		}
		s.Proposes = append(s.Proposes, p)
	}
	return s, nil
}

// add adds the values of flags to the form.
func (f *form) add(objections, resolved, decisions []string) error {
	for _, text := range objections {
		severity, statement, ok := strings.Cut(text, ":")
		if severity = strings.TrimSpace(severity); !ok || rank(severity) < 0 {
			severity, statement = "medium", text
		}
		f.Objections = append(f.Objections, entry{Severity: severity, Statement: strings.TrimSpace(statement)})
	}
	for _, text := range resolved {
		id, why, ok := strings.Cut(text, "=")
		if !ok || strings.TrimSpace(why) == "" {
			return fmt.Errorf("--resolve %q: expected an id and its resolution: OBJ-001=\"it is tested now\"", text)
		}
		f.Objections = append(f.Objections, entry{ID: strings.TrimSpace(id), Status: protocol.ObjectionResolved, Statement: strings.TrimSpace(why)})
	}
	for _, text := range decisions {
		statement, why, ok := strings.Cut(text, ", because ")
		if !ok {
			return fmt.Errorf("--decision %q: expected a decision and its reason: \"one program, because the goal asks for no more\"", text)
		}
		category, rest, ok := strings.Cut(statement, ":")
		if !ok || !known(strings.TrimSpace(category)) {
			category, rest = "process", statement
		}
		f.Decisions = append(f.Decisions, entry{Category: strings.TrimSpace(category), Statement: strings.TrimSpace(rest), Rationale: strings.TrimSpace(why)})
	}
	return nil
}

func rank(severity string) int {
	for i, s := range protocol.Severities() {
		if s == severity {
			return i
		}
	}
	return -1
}

func known(category string) bool {
	return slices.Contains(protocol.Categories(), category)
}

var errEmpty = errors.New("a summary is required: what you did, in one sentence")
