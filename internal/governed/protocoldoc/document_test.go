package protocoldoc

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/shape"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
	"github.com/drawbar/drawbar/internal/governed/governance/gate"
	"github.com/drawbar/drawbar/internal/governed/prompt"
)

const head = `# Protocol reference

Generated from the code by ` + "`go generate ./...`" + `. A field that may be absent is optional; "absent" in a meaning is what holds then.
Keys that are not listed are kept where a file is rewritten.
`

// files are the documents of the protocol, with the type that each begins at.
var files = []struct {
	title, where, about string
	of                  any
}{
	{"Run state", protocol.StateFile, "Where a governed run stands.", protocol.State{}},
	{"Turn result", protocol.StagedFile("<turn_id>"), "What a turn hands in. Normalization repairs what it can, validation decides.", protocol.TurnResult{}},
	{"Dispatch bundle: assignment", protocol.BundleDir("<turn_id>") + "/" + prompt.AssignmentFile, "What a turn has to do, and where.", protocol.Assignment{}},
	{"Dispatch bundle: manifest", protocol.BundleDir("<turn_id>") + "/MANIFEST.json", "The files of a bundle with their digests.", protocol.Manifest{}},
	{"Dispatch index", protocol.DispatchIndexFile, "The bundles of the active turns.", protocol.DispatchIndex{}},
	{"History", protocol.HistoryFile, "One line for each accepted turn, and for each that another one replaced.", protocol.HistoryEntry{}},
	{"Decision ledger: decisions", protocol.LedgerFile, "One line for each decision of an accepted turn.", protocol.LedgerDecision{}},
	{"Decision ledger: system lines", protocol.LedgerFile, "Lines without an id say what happened.", protocol.LedgerNote{}},
	{"Decisions of the repository", protocol.RepoLedgerFile, "Decisions that outlive their run.", protocol.RepoDecision{}},
	{"Events", protocol.EventsFile, "One line for each thing that happened.", protocol.Event{}},
	{"Session", protocol.SessionFile, "Where other tools take a run up.", protocol.Session{}},
	{"Coordinator: state", protocol.CoordinatorStateFile, "Where a run over several repositories stands.", protocol.CoordinatorState{}},
	{"Coordinator: barriers", protocol.BarriersFile, "An object: the id of each barrier, WORKSTREAM_completion, with the fields below.", protocol.Barrier{}},
	{"Coordinator: history", protocol.CoordinatorHistoryFile, "One line for each thing that happened in a run over several repositories. The other files are made from it.", protocol.CoordinatorEvent{}},
	{"Coordinator: context of a turn", protocol.BundleDir("<turn_id>") + "/" + protocol.CoordinatorContextName + ".json", "What a turn is told of the other repositories.", protocol.CoordinatorContext{}},
	{"Runs", protocol.RunHistoryFile, "One line for each run that has ended or was replaced.", protocol.RunSummary{}},
}

type document struct {
	strings.Builder
	shown []part
	empty []string // fields without a meaning
}

// part is an object that has a heading: a struct of package protocol, or an object of the configuration.
type part struct {
	heading string
	typ     reflect.Type
	node    *shape.Node
}

func generate(words string) (string, []string) {
	d := &document{}
	d.WriteString(head)
	d.section("Configuration", code(protocol.ConfigFile)+". What a governed project is, who works in it, and by which rules.")
	d.nodes("Configuration", charter.Keys())
	for _, f := range files {
		d.section(f.title, code(f.where)+". "+f.about)
		d.structs(f.title, reflect.TypeOf(f.of))
	}
	d.WriteString("\n" + words)
	d.runtimes()
	d.section("Event types", "What `event_type` of an event may be.")
	list := protocol.EventTypes()
	for i, w := range list {
		list[i] = code(w)
	}
	fmt.Fprintf(d, "%s\n\n", strings.Join(list, ", "))
	d.section("Workflow kit", "The artifacts of each template of a phase's kit.")
	var rows [][]string
	for _, name := range gate.Templates() {
		artifacts, _ := gate.Template(name)
		var paths []string
		for _, a := range artifacts {
			paths = append(paths, code(a.Path))
		}
		rows = append(rows, []string{code(name), strings.Join(paths, ", ")})
	}
	d.table([]string{"Template", "Artifacts"}, rows)
	d.section("Prompt variables", "A role's prompt, `"+protocol.PromptsDir+"/<role>.md` or the file that `prompts` names, may use them as `{{name}}`. "+
		"An unknown name is kept as it is, with a warning; `${{ ... }}` is left alone.")
	rows = nil
	for _, v := range prompt.Variables {
		rows = append(rows, []string{code(v.Name), v.Doc})
	}
	d.table([]string{"Variable", "Value"}, rows)
	text := regexp.MustCompile(`\n{3,}`).ReplaceAllString(d.String(), "\n\n")
	return strings.TrimRight(text, "\n") + "\n", d.empty
}

// runtimes shows which authority a role may have on which runtime, and what follows.
func (d *document) runtimes() {
	d.section("Runtime matrix", "What a role can write, by the type of its runtime and its authority, see \"Words\"; `invalid` pairs are refused. The last three columns "+
		"are what a runtime's `capabilities` may restate.")
	authorities := []protocol.Authority{protocol.Authoritative, protocol.Proposed, protocol.ReviewOnly}
	header := []string{"Type"}
	for _, a := range authorities {
		header = append(header, code(string(a)))
	}
	header = append(header, code("can_write_files"), code("proposal_support"), code("workflow_artifact_ownership"))
	var rows [][]string
	for _, typ := range charter.RuntimeTypes() {
		rt := protocol.Runtime{Type: typ}
		row := []string{code(typ)}
		for _, a := range authorities {
			row = append(row, code(charter.WritePath(a, rt)))
		}
		c := charter.Contract(rt)
		rows = append(rows, append(row, code(c.CanWriteFiles), code(c.ProposalSupport), code(c.WorkflowArtifactOwnership)))
	}
	d.table(header, rows)
}

func (d *document) section(title, text string) { fmt.Fprintf(d, "\n## %s\n\n%s\n\n", title, text) }

func (d *document) table(header []string, rows [][]string) {
	line := func(cells []string) {
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(strings.Join(strings.Fields(c), " "), "|", `\|`)
		}
		fmt.Fprintf(d, "| %s |\n", strings.Join(cells, " | "))
	}
	line(header)
	d.WriteString("|" + strings.Repeat(" --- |", len(header)) + "\n")
	for _, r := range rows {
		line(r)
	}
	d.WriteByte('\n')
}

// link is where a part is shown: in a section of its own, or below the one where it was first met.
func (d *document) link(s part) string {
	h := s.heading
	if i := slices.IndexFunc(d.shown, func(o part) bool {
		return o.typ == s.typ && (s.node == nil || reflect.DeepEqual(o.node.Keys, s.node.Keys))
	}); i >= 0 {
		h = d.shown[i].heading
	} else {
		d.shown = append(d.shown, s)
	}
	if i := fileOf(s); i >= 0 {
		h = files[i].title
	}
	anchor := regexp.MustCompile(`[^a-z0-9_ -]`).ReplaceAllString(strings.ToLower(h), "")
	return "[" + h + "](#" + strings.ReplaceAll(anchor, " ", "-") + ")"
}

// fileOf is the file that is of that part, or -1.
func fileOf(s part) int {
	for i, f := range files {
		if reflect.TypeOf(f.of) == s.typ {
			return i
		}
	}
	return -1
}

// tables writes the table of a first part, and of all that it leads to.
func (d *document) tables(first part, rows func(part) [][]string) {
	for s, at := first, len(d.shown); ; at++ {
		list := rows(s)
		for _, r := range list {
			if r[2] == "" {
				d.empty = append(d.empty, s.heading+": "+r[0])
			}
		}
		d.table([]string{"Field", "Type", "Meaning"}, list)
		for at < len(d.shown) && fileOf(d.shown[at]) >= 0 {
			at++
		}
		if at == len(d.shown) {
			return
		}
		s = d.shown[at]
		fmt.Fprintf(d, "### %s\n\n", s.heading)
	}
}

func (d *document) structs(title string, t reflect.Type) {
	d.tables(part{heading: title, typ: t}, func(s part) [][]string { return d.fields(s.typ) })
}

func (d *document) fields(t reflect.Type) (rows [][]string) {
	for f := range t.Fields() {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			rows = append(rows, d.fields(f.Type)...)
		case name != "" && name != "-":
			typ := d.typeName(f.Type)
			if strings.Contains(rest, "omit") {
				typ += ", optional"
			}
			rows = append(rows, []string{code(name), typ, meaning(f.Tag.Get("doc"))})
		}
	}
	return rows
}

// typeName says in words of JSON what a Go type is.
func (d *document) typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[protocol.Time]():
		return "time"
	case reflect.TypeFor[protocol.Words]():
		return "string or array of strings"
	}
	if at, ok := reflect.PointerTo(t).MethodByName("At"); ok { // Ordered
		return "object of " + strings.TrimSuffix(d.typeName(at.Type.Out(0)), " or null")
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.String:
		return "string"
	case reflect.Pointer:
		return d.typeName(t.Elem()) + " or null"
	case reflect.Struct:
		return d.link(part{heading: t.Name(), typ: t})
	}
	if t.Kind() != reflect.Slice || t.Elem().Kind() == reflect.Uint8 {
		return "any JSON"
	}
	return "array of " + d.typeName(t.Elem())
}

func (d *document) nodes(title string, root *shape.Node) {
	d.tables(part{heading: title, node: root}, func(s part) (rows [][]string) {
		for i := range s.node.Keys {
			k := &s.node.Keys[i]
			typ := d.nodeName(&k.Node, strings.TrimPrefix(s.heading+"."+k.Name, title+"."))
			if !k.Required {
				typ += ", optional"
			}
			rows = append(rows, []string{code(k.Name), typ, meaning(k.Doc + allowed(&k.Node))})
		}
		return rows
	})
}

func (d *document) nodeName(n *shape.Node, path string) string {
	switch n.Kind {
	case shape.Object:
		return d.link(part{heading: path, node: n})
	case shape.Map:
		return "object of " + d.nodeName(n.Of, path)
	case shape.List:
		return "array of " + d.nodeName(n.Of, path)
	case shape.Words:
		return "string or array of strings"
	case shape.Any:
		return "any JSON"
	}
	return string(n.Kind)
}

// allowed is what else a node says of its values.
func allowed(n *shape.Node) (text string) {
	if n.Kind == shape.List {
		text += allowed(n.Of)
	}
	if len(n.Enum) > 0 {
		text += ": `" + strings.Join(n.Enum, "`, `") + "`"
	}
	if n.MaxLen > 0 {
		text += fmt.Sprintf("; at most %d characters", n.MaxLen)
	}
	switch {
	case n.Min != nil && n.Max != nil:
		text += fmt.Sprintf("; %v to %v", *n.Min, *n.Max)
	case n.Min != nil && n.Above:
		text += fmt.Sprintf("; more than %v", *n.Min)
	case n.Min != nil && *n.Min > 0:
		text += fmt.Sprintf("; %v or more", *n.Min)
	}
	if n.Default != nil {
		text += fmt.Sprintf(" (absent: %s)", code(fmt.Sprint(n.Default)))
	}
	return text
}

var key = regexp.MustCompile("`[^`]*`|\\S*<[^>]+>[^\\s,;)]*|\\b[a-z]+(_[a-z0-9]+)+\\b")

// meaning puts keys and words of files into code.
func meaning(text string) string {
	return key.ReplaceAllStringFunc(text, func(w string) string { return code(strings.Trim(w, "`")) })
}

func code(s string) string { return "`" + s + "`" }
