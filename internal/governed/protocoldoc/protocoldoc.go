// Package protocoldoc makes docs/PROTOCOL.md, the tables of the governed protocol, from the code that implements it: the types of
// govern/protocol with their comments, the words of the other packages below internal/governed/governance, and the
// variables of role prompts. Nothing that a table says is written here; the test fails when the file differs.
package protocoldoc

//go:generate go test . -run TestProtocolDocument -update

import (
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance/gate"
	"github.com/drawbar/drawbar/internal/governed/prompt"
)

const head = `# Protocol reference

Generated from the code by ` + "`go generate ./...`" + `. A field that may be absent is optional; "absent" in a meaning is what holds then.
Keys that are not listed are kept where a file is rewritten.
`

// files are the documents of the protocol, with the type that each begins at.
var files = []struct{ title, where, typ string }{
	{"Configuration", protocol.ConfigFile, "Config"},
	{"Run state", protocol.StateFile, "State"},
	{"Turn result", protocol.StagedFile("<turn_id>"), "TurnResult"},
	{"Dispatch bundle: assignment", protocol.BundleDir("<turn_id>") + "/" + prompt.AssignmentFile, "Assignment"},
	{"Dispatch bundle: manifest", protocol.BundleDir("<turn_id>") + "/MANIFEST.json", "Manifest"},
	{"Dispatch index", protocol.DispatchIndexFile, "DispatchIndex"},
	{"History", protocol.HistoryFile, "HistoryEntry"},
	{"Decision ledger: decisions", protocol.LedgerFile, "LedgerDecision"},
	{"Decision ledger: system lines", protocol.LedgerFile, "LedgerNote"},
	{"Decisions of the repository", protocol.RepoLedgerFile, "RepoDecision"},
	{"Events", protocol.EventsFile, "Event"},
	{"Session", protocol.SessionFile, "Session"},
	{"Runs", protocol.RunHistoryFile, "RunSummary"},
}

// Generate makes the document from the sources below dir, the folder internal/governed/governance.
func Generate(dir string) ([]byte, error) {
	src, err := load(dir)
	if err != nil {
		return nil, fmt.Errorf("read the sources of the protocol: %w", err)
	}
	var b strings.Builder
	b.WriteString(head)
	shown := map[string]bool{}
	for _, f := range files {
		if err := src.file(&b, shown, f.title, f.where, f.typ); err != nil {
			return nil, err
		}
	}
	src.words(&b)
	section(&b, "Event types", "What `event_type` of an event may be.")
	list(&b, protocol.EventTypes())
	section(&b, "Validation", "Stages in their order, with the error class of each. The first that fails ends the validation.")
	rows := [][]string{}
	for _, s := range protocol.Stages() {
		rows = append(rows, []string{code(string(s)), code(s.Class())})
	}
	table(&b, []string{"Stage", "Error class"}, rows)
	section(&b, "Hook phases", "")
	list(&b, protocol.HookPhases())
	src.blocked(&b)
	section(&b, "Workflow kit", "Content rules that an artifact may be held to (`semantics`):")
	list(&b, gate.Semantics())
	rows = nil
	for _, name := range gate.Templates() {
		artifacts, _ := gate.Template(name)
		var paths []string
		for _, a := range artifacts {
			paths = append(paths, code(a.Path))
		}
		rows = append(rows, []string{code(name), strings.Join(paths, ", ")})
	}
	table(&b, []string{"Template", "Artifacts"}, rows)
	section(&b, "Prompt variables", "A role's prompt, `"+protocol.PromptsDir+"/<role>.md` or the file that `prompts` names, may use them as `{{name}}`. "+
		"An unknown name stays as it is, with a warning; `${{ ... }}` is left alone.")
	rows = nil
	for _, v := range prompt.Variables() {
		rows = append(rows, []string{code(v.Name), v.Doc})
	}
	table(&b, []string{"Variable", "Value"}, rows)
	src.errors(&b)
	text := b.String()
	for strings.Contains(text, "\n\n\n") {
		text = strings.ReplaceAll(text, "\n\n\n", "\n\n")
	}
	return []byte(strings.TrimRight(text, "\n") + "\n"), nil
}

func section(b *strings.Builder, title, text string) {
	fmt.Fprintf(b, "\n## %s\n\n", title)
	if text != "" {
		fmt.Fprintf(b, "%s\n\n", text)
	}
}

func table(b *strings.Builder, header []string, rows [][]string) {
	line := func(cells []string) {
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(strings.Join(strings.Fields(c), " "), "|", `\|`)
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
	line(header)
	b.WriteString("|" + strings.Repeat(" --- |", len(header)) + "\n")
	for _, r := range rows {
		line(r)
	}
	b.WriteByte('\n')
}

func list(b *strings.Builder, words []string) {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = code(w)
	}
	fmt.Fprintf(b, "%s\n\n", strings.Join(quoted, ", "))
}

func code(s string) string { return "`" + s + "`" }
