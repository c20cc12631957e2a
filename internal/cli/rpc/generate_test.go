package rpc

//go:generate go test . -run TestNoDrift -update

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/schema"
)

var update = flag.Bool("update", false, "write the generated files")

// TestNoDrift: clients/rpc.json and the clients' types are what the table of methods says.
func TestNoDrift(t *testing.T) {
	g := &types{names: map[reflect.Type]string{}, taken: map[string]reflect.Type{}}
	files := map[string]string{"clients/typescript/src/types.ts": g.typescript(), "clients/python/drawbar/types.py": g.python()}
	if len(g.faults) > 0 {
		t.Fatal(strings.Join(g.faults, "\n"))
	}
	rpc, err := schemaOfMethods()
	if err != nil {
		t.Fatal(err)
	}
	files["clients/rpc.json"] = rpc
	for name, want := range files {
		path := filepath.Join("..", "..", "..", filepath.FromSlash(name))
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // part of the source
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // part of the source
				t.Fatal(err)
			}
			continue
		}
		if have, err := os.ReadFile(path); err != nil || string(have) != want {
			t.Errorf("%s is not what the methods say: go generate ./internal/cli/rpc (%v)", name, err)
		}
	}
}

// schemaOfMethods is clients/rpc.json: the schema of the parameters and the result of each method, and of what the server sends.
func schemaOfMethods() (string, error) {
	type entry struct {
		Description string `json:"description"`
		Params      any    `json:"params"`
		Result      any    `json:"result,omitempty"`
	}
	of := func(doc string, params, result reflect.Type) (e entry, err error) {
		e.Description = doc
		if e.Params, err = schema.Of(params); err == nil && result != nil {
			e.Result, err = schema.Of(result)
		}
		return e, err
	}
	out := struct {
		Title           string           `json:"title"`
		ProtocolVersion string           `json:"protocolVersion"`
		Methods         map[string]entry `json:"methods"`
		ToClient        map[string]entry `json:"toClient"`
	}{"Drawbar rpc", Protocol, map[string]entry{}, map[string]entry{}}
	for _, m := range methods() {
		e, err := of(m.Doc, m.Params, m.Result)
		if err != nil {
			return "", fmt.Errorf("%s: %w", m.Name, err)
		}
		out.Methods[m.Name] = e
	}
	for _, n := range toClient() {
		e, err := of(n.Doc, n.Params, n.Result)
		if err != nil {
			return "", fmt.Errorf("%s: %w", n.Name, err)
		}
		out.ToClient[n.Name] = e
	}
	b, err := json.MarshalIndent(out, "", "  ")
	return string(b) + "\n", err
}

// types collects the named types of the methods.
type types struct {
	names  map[reflect.Type]string
	taken  map[string]reflect.Type
	order  []reflect.Type
	faults []string
}

// renamed are types whose names say too little outside their package.
var renamed = map[string]string{"control.Call": "ControlCall", "control.Reply": "ControlReply", "runstore.Run": "RecordedRun", "sessions.Listing": "SessionListing",
	"history.Session": "SessionContent", "rpc.Run": "RunRef", "rpc.Start": "RunStart", "rpc.Step": "GovernStep", "rpc.Approve": "GovernApprove", "rpc.Decline": "GovernDecline",
	"rpc.Control": "RunControl", "rpc.Initialize": "InitializeParams", "rpc.Place": "PlaceParams", "rpc.Agents": "AgentList", "rpc.Runs": "RunList", "rpc.Events": "EventList",
	"rpc.Error": "ErrorData", "rpc.Agent": "AgentInfo", "rpc.Project": "GovernProject", "rpc.ToolCall": "ToolCallParams",
	"history.Message": "SessionMessage", "history.ToolCall": "SessionToolCall", "history.ToolResult": "SessionToolResult"}

func (g *types) name(t reflect.Type) string {
	if n := g.names[t]; n != "" {
		return n
	}
	pkg := t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:]
	n := renamed[pkg+"."+t.Name()]
	if n == "" {
		n = t.Name()
	}
	if other := g.taken[n]; other != nil {
		g.faults = append(g.faults, fmt.Sprintf("%s and %s have the same name: add one to renamed", other, t))
	}
	g.names[t], g.taken[n], g.order = n, t, append(g.order, t)
	return n
}

// field is a member of an object.
type field struct {
	name     string
	typ      reflect.Type
	optional bool
}

// given are fields that the server fills in.
var given = map[reflect.Type][]string{
	reflect.TypeFor[execution.Request]():      {"schemaVersion", "assistantId", "turnId", "instructions", "run"},
	reflect.TypeFor[execution.Message]():      {"id", "receivedAt"},
	reflect.TypeFor[execution.Instructions](): {"systemPrompt"},
}

// fields are the members of a struct as JSON has them.
func fields(t reflect.Type) (list []field) {
	for f := range fieldsOf(t) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			list = append(list, fields(f.Type)...)
			continue
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			name = f.Name
		}
		list = append(list, field{name, f.Type, strings.Contains(rest, "omit") || slices.Contains(given[t], name)})
	}
	return list
}

func fieldsOf(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}

// language is how a client's language writes types.
type language struct {
	any, boolean, integer, number, text string
	list, dict, optional                string // with %s
	literal                             func([]string) string
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// of is a type in a language.
func (g *types) of(l language, t reflect.Type) string {
	enums := execution.EnumValues()
	switch {
	case t == reflect.TypeFor[execution.Event]():
		return "Event"
	case t == reflect.TypeFor[execution.Prompt](), t == reflect.TypeFor[time.Time]():
		return l.text
	case t == reflect.TypeFor[json.RawMessage]():
		return l.any
	case t.Kind() == reflect.String && strings.HasSuffix(t.PkgPath(), "/execution") && len(enums[t.Name()]) > 0 && t != reflect.TypeFor[execution.StreamMode]():
		var values []string
		for _, v := range enums[t.Name()] {
			values = append(values, fmt.Sprintf("%q", v))
		}
		return l.literal(values)
	case t.Kind() != reflect.Pointer && t.Kind() != reflect.String && (t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)):
		return l.any
	}
	switch t.Kind() {
	case reflect.Bool:
		return l.boolean
	case reflect.String:
		return l.text
	case reflect.Float32, reflect.Float64:
		return l.number
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return l.integer
	case reflect.Pointer:
		return fmt.Sprintf(l.optional, g.of(l, t.Elem()))
	case reflect.Slice, reflect.Array:
		return fmt.Sprintf(l.list, g.of(l, t.Elem()))
	case reflect.Map:
		return fmt.Sprintf(l.dict, g.of(l, t.Elem()))
	case reflect.Struct:
		if t.Name() != "" {
			return g.name(t)
		}
	}
	return l.any
}

// pythonHead is what every event has.
const pythonHead = `class EventHead(TypedDict):
    """What every event has. timestamp is in milliseconds since 1970."""

    schemaVersion: str
    runId: str
    agent: str
    timestamp: int
    seq: int
    turn: int
    assistantId: NotRequired[str]
    turnId: NotRequired[str]
    correlationSessionId: NotRequired[str]
    parentToolCallId: NotRequired[str]
    origin: NotRequired[str]
    raw: NotRequired[Any]


`

const notByHand = "Generated from the methods of drawbar rpc: go generate ./internal/cli/rpc. Not to be edited."

func (g *types) typescript() string {
	g.names, g.taken, g.order = map[reflect.Type]string{}, map[string]reflect.Type{}, nil
	l := language{"unknown", "boolean", "number", "number", "string", "%s[]", "Record<string, %s>", "%s | null",
		func(v []string) string { return "(" + strings.Join(v, " | ") + ")" }}
	var b, methodsText strings.Builder
	for _, m := range methods() {
		params, result := g.of(l, m.Params), g.of(l, m.Result)
		optional := ""
		if !slices.ContainsFunc(fields(m.Params), func(f field) bool { return !f.optional }) {
			optional = "?"
		}
		fmt.Fprintf(&methodsText, "  /** %s */\n  %q: { params%s: %s; result: %s };\n", m.Doc, m.Name, optional, params, result)
	}
	var toClientText strings.Builder
	for _, n := range toClient() {
		result := "void"
		if n.Result != nil {
			result = g.of(l, n.Result)
		}
		fmt.Fprintf(&toClientText, "  /** %s */\n  %q: { params: %s; result: %s };\n", n.Doc, n.Name, g.of(l, n.Params), result)
	}
	g.of(l, reflect.TypeFor[Error]())
	object := func(name, extends string, list []field) {
		fmt.Fprintf(&b, "export interface %s%s {\n", name, extends)
		for _, f := range list {
			mark, t := "", f.typ
			if f.optional {
				if mark = "?"; t.Kind() == reflect.Pointer {
					t = t.Elem()
				}
			}
			fmt.Fprintf(&b, "  %s%s: %s;\n", f.name, mark, g.of(l, t))
		}
		b.WriteString("}\n\n")
	}
	var events []string
	for _, typ := range execution.EventTypes() {
		body := reflect.TypeOf(execution.ZeroBody(typ))
		name := body.Name()
		if !strings.HasSuffix(name, "Event") {
			name += "Event"
		}
		g.taken[name] = body
		events = append(events, name)
		fmt.Fprintf(&b, "export interface %s extends EventHead {\n  type: %q;\n", name, typ)
		for _, f := range fields(body) {
			mark, t := "", f.typ
			if f.optional {
				if mark = "?"; t.Kind() == reflect.Pointer {
					t = t.Elem()
				}
			}
			fmt.Fprintf(&b, "  %s%s: %s;\n", f.name, mark, g.of(l, t))
		}
		b.WriteString("}\n\n")
	}
	for i := 0; i < len(g.order); i++ { // grows meanwhile
		object(g.names[g.order[i]], "", fields(g.order[i]))
	}
	return "// " + notByHand + "\n\nexport const protocolVersion = " + fmt.Sprintf("%q", Protocol) + ";\n\n" +
		"/** What every event has. */\nexport interface EventHead {\n  schemaVersion: string;\n  runId: string;\n  agent: string;\n  /** Milliseconds since 1970. */\n  timestamp: number;\n" +
		"  seq: number;\n  turn: number;\n  assistantId?: string;\n  turnId?: string;\n  correlationSessionId?: string;\n  /** The tool call of the sub-agent that it comes from. */\n  parentToolCallId?: string;\n" +
		"  origin?: string;\n  raw?: unknown;\n}\n\n" + b.String() + "/** Something that happened in a run. */\nexport type Event =\n  | " + strings.Join(events, "\n  | ") + ";\n\n" +
		"/** The methods of the server. */\nexport interface Methods {\n" + methodsText.String() + "}\n\n/** What the server sends. */\nexport interface ToClient {\n" + toClientText.String() + "}\n"
}

var keywords = []string{"from", "import", "class", "def", "global", "pass", "return", "in", "is", "not", "or", "and", "if", "else", "with", "as", "for", "while", "None", "True", "False"}

func (g *types) python() string {
	g.names, g.taken, g.order = map[reflect.Type]string{}, map[string]reflect.Type{}, nil
	l := language{"Any", "bool", "int", "float", "str", "list[%s]", "dict[str, %s]", "%s | None", func(v []string) string { return "Literal[" + strings.Join(v, ", ") + "]" }}
	var b, methodsText strings.Builder
	for _, m := range methods() {
		fmt.Fprintf(&methodsText, "    async def %s(self, params: %s) -> %s:\n        \"\"\"%s\"\"\"\n        return await self.call(%q, params)\n\n", strings.ReplaceAll(m.Name, ".", "_"), g.of(l, m.Params), g.of(l, m.Result), m.Doc, m.Name)
	}
	for _, n := range toClient() {
		g.of(l, n.Params)
		if n.Result != nil {
			g.of(l, n.Result)
		}
	}
	g.of(l, reflect.TypeFor[Error]())
	// A key that is a word of the language needs the other form of a dictionary's type, which the class then extends.
	object := func(name, base, typ string, list []field) {
		put := func(form string, f field) {
			t := f.typ
			if f.optional && t.Kind() == reflect.Pointer {
				t = t.Elem()
			}
			text := g.of(l, t)
			if f.optional {
				text = "NotRequired[" + text + "]"
			}
			fmt.Fprintf(&b, form, f.name, text)
		}
		odd := slices.DeleteFunc(slices.Clone(list), func(f field) bool { return !slices.Contains(keywords, f.name) })
		if len(odd) > 0 {
			fmt.Fprintf(&b, "_%s = TypedDict(\"_%s\", {\n", name, name)
			for _, f := range odd {
				put("    %q: %s,\n", f)
			}
			b.WriteString("})\n\n\n")
			base = strings.TrimPrefix(base+", _"+name, "TypedDict, ")
		}
		fmt.Fprintf(&b, "class %s(%s):\n%s", name, base, typ)
		for _, f := range list {
			if !slices.Contains(keywords, f.name) {
				put("    %s: %s\n", f)
			}
		}
		if len(list) == len(odd) && typ == "" {
			b.WriteString("    pass\n")
		}
		b.WriteString("\n\n")
	}
	var events []string
	for _, typ := range execution.EventTypes() {
		body := reflect.TypeOf(execution.ZeroBody(typ))
		name := body.Name()
		if !strings.HasSuffix(name, "Event") {
			name += "Event"
		}
		events = append(events, name)
		object(name, "EventHead", fmt.Sprintf("    type: Literal[%q]\n", typ), fields(body))
	}
	for i := 0; i < len(g.order); i++ { // grows meanwhile
		object(g.names[g.order[i]], "TypedDict", "", fields(g.order[i]))
	}
	return "# " + notByHand + "\n# pyright: reportIncompatibleVariableOverride=false\nfrom __future__ import annotations\n\nfrom typing import Any, Literal, NotRequired, TypedDict, Union\n\nPROTOCOL_VERSION = " + fmt.Sprintf("%q", Protocol) +
		"\n\n\n" + pythonHead + b.String() + "# Something that happened in a run.\nEvent = Union[\n    " + strings.Join(events, ",\n    ") + ",\n]\n\n\nclass Methods:\n    \"\"\"The methods of the server, one for each.\"\"\"\n\n" +
		"    async def call(self, method: str, params: Any) -> Any:\n        raise NotImplementedError\n\n" + strings.TrimSuffix(methodsText.String(), "\n")
}
