package declarative

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// TestFaults: each entry has exactly the faults listed, each with its line and what to write.
func TestFaults(t *testing.T) {
	t.Parallel()
	lines := func(rules string) string {
		return `{"command": ["x"], "output": {"format": "json-lines", "events": [` + rules + `]}}`
	}
	answer := `{"event": "text", "when": {"k": "v"}, "text": "t"}`
	for name, c := range map[string]struct{ entry, want string }{
		"nothing":           {``, `line 1: is not JSON`},
		"not JSON":          {"{\n]", `line 1: is not JSON`},
		"a list":            {`[]`, `line 1: is a list, not an object`},
		"null":              {`null`, `line 1: is null, not an object`},
		"empty":             {`{}`, `line 1: command is missing`},
		"unknown key":       {"{\"command\": [\"x\"],\n\"promt\": \"stdin\"}", `line 2: promt is not allowed here (did you mean prompt?)`},
		"duplicate key":     {"{\"command\": [\"x\"],\n\"command\": [\"y\"]}", `line 2: command appears twice`},
		"wrong type":        {"{\"command\":\n\"x\"}", `line 2: command is a string, not a list`},
		"not a word":        {`{"command": ["x", 1]}`, `line 1: command[1] is a number, not a string`},
		"no program":        {`{"command": []}`, `line 1: command has 0 entries, fewer than 1`},
		"blank program":     {`{"command": [""]}`, `line 1: command[0] is blank`},
		"command line":      {`{"command": ["x --flag"]}`, `line 1: command[0] is a command line: "x --flag" (one word per list element`},
		"program slot":      {`{"command": ["{prompt}"]}`, `line 1: prompt is stdin, but the command also passes the prompt|line 1: command[0] cannot be "{prompt}"`},
		"unknown slot":      {`{"command": ["x", "{promt}"]}`, `line 1: command[1] has an unknown placeholder {promt} (did you mean {prompt}?)`},
		"options inside":    {`{"command": ["x", "a{options}"]}`, `line 1: command[1] has {options} within an argument`},
		"options twice":     {`{"command": ["x", "{options}", "{options}"]}`, `line 1: command[2] is a second {options}`},
		"no prompt":         {`{"command": ["x"], "prompt": "argument"}`, `line 1: command does not pass the prompt (add an argument with {prompt}`},
		"no prompt file":    {`{"command": ["x", "{cwd}"], "prompt": "file"}`, `line 1: command does not pass the prompt (add an argument with {prompt_file}`},
		"two transports":    {`{"command": ["x", "{prompt}", "{prompt_file}"], "prompt": "file"}`, `line 1: command passes the prompt twice`},
		"prompt repeated":   {`{"command": ["x", "{prompt}", "{prompt}"], "prompt": "argument"}`, `line 1: command passes the prompt more than once`},
		"stdin and another": {`{"command": ["x", "{prompt}"]}`, `line 1: prompt is stdin, but the command also passes the prompt (write "prompt": "argument"`},
		"another transport": {`{"command": ["x"], "prompt": "mail"}`, `line 1: prompt cannot be "mail" (one of stdin, file, argument)`},
		"acp prompt":        {`{"command": ["x", "{prompt}"], "output": {"format": "acp"}}`, `line 1: command has a prompt, but acp carries it`},
		"acp transport":     {`{"command": ["x"], "prompt": "stdin", "output": {"format": "acp"}}`, `line 1: prompt does not apply to acp`},
		"acp resume":        {`{"command": ["x"], "output": {"format": "acp"}, "options": {"resume": ["{session}"]}}`, `line 1: options.resume does not apply to acp`},
		"option value":      {`{"command": ["x"], "options": {"model": ["--model"]}}`, `line 1: options.model does not pass the value (add {model})`},
		"option slot":       {`{"command": ["x"], "options": {"model": ["{prompt}", "{model}"]}}`, `line 1: options.model[0] has an unknown placeholder {prompt}`},
		"empty option":      {`{"command": ["x"], "options": {"ephemeral": []}}`, `line 1: options.ephemeral is empty`},
		"no efforts":        {`{"command": ["x"], "options": {"effort": ["{effort}"]}}`, `line 1: options.effort has no efforts`},
		"no effort":         {`{"command": ["x"], "options": {"efforts": {"low": "l"}}}`, `line 1: options.efforts has no arguments`},
		"strange effort":    {`{"command": ["x"], "options": {"effort": ["{effort}"], "efforts": {"huge": "l"}}}`, `line 1: options.efforts.huge "huge" is not a valid name here`},
		"transports":        {`{"command": ["x"], "options": {"mcpTransports": ["stdio"]}}`, `line 1: options.mcpTransports has no arguments`},
		"asks":              {`{"command": ["x"], "options": {"approval": {"prompt": []}}}`, `line 1: options.approval.prompt cannot be honoured`},
		"approval slot":     {`{"command": ["x"], "options": {"approval": {"yolo": ["{model}"]}}}`, `line 1: options.approval.yolo[0] has an unknown placeholder {model}`},
		"approval mode":     {`{"command": ["x"], "options": {"approval": {"maybe": []}}}`, `line 1: options.approval.maybe "maybe" is not a valid name here`},
		"fork":              {`{"command": ["x"], "options": {"fork": ["{session}"]}}`, `line 1: options.fork cannot be honoured`},
		"rules of text":     {`{"command": ["x"], "output": {"events": [` + answer + `]}}`, `line 1: output.events applies to json-lines only`},
		"no rules":          {`{"command": ["x"], "output": {"format": "json-lines"}}`, `line 1: output.events has no rule for the answer`},
		"rule of nothing":   {lines(answer + `, {"event": "usage", "when": {"k": "v"}}`), `line 1: output.events[1].usage is missing: an event usage needs it`},
		"rule for all":      {lines(answer + `, {"event": "ignore", "when": {}}`), `line 1: output.events[1].when matches nothing`},
		"rule with more":    {lines(answer + `, {"event": "ignore", "when": {"k": "v"}, "text": "t"}`), `line 1: output.events[1].text is not part of an event ignore`},
		"broken path":       {lines(answer + `, {"event": "result", "when": {"k": "v"}, "text": "a..b"}`), `line 1: output.events[1].text cannot be "a..b"`},
		"broken condition":  {lines(answer + `, {"event": "ignore", "when": {".k": "v"}}`), `line 1: output.events[1].when.".k" ".k" is not a valid name here`},
		"half a tool":       {lines(answer + `, {"event": "tool-end", "when": {"k": "v"}, "id": "i"}`), `line 1: output.events has a rule for the start or the end`},
		"no such event":     {lines(answer + `, {"event": "txt", "when": {"k": "v"}}`), `line 1: output.events[1].event cannot be "txt" (did you mean text?`},
		"expression":        {`{"command": ["x"], "errors": [{"code": "AUTH_ERROR", "pattern": "("}]}`, `line 1: errors[0].pattern is not a regular expression`},
		"error of nothing":  {`{"command": ["x"], "errors": [{"code": "AUTH_ERROR"}]}`, `line 1: errors[0] matches nothing`},
		"error code":        {`{"command": ["x"], "errors": [{"code": "AUTH", "exits": [2]}]}`, `line 1: errors[0].code cannot be "AUTH"`},
		"exit code":         {`{"command": ["x"], "errors": [{"code": "AUTH_ERROR", "exits": [0]}]}`, `line 1: errors[0].exits[0] cannot be 0 (1 to 255)`},
		"version":           {`{"command": ["x"], "version": {"args": ["-v"], "min": "new", "tested": ["1", "old"]}}`, `line 1: version.min cannot be "new"|line 1: version.tested[1] cannot be "old"`},
		"no version":        {`{"command": ["x"], "version": {"min": "1.0"}}`, `line 1: version.args is missing`},
		"install":           {`{"command": ["x"], "install": [{"platform": "all", "type": "npm", "package": "p"}]}`, `line 1: install[0] does not say what to type`},
		"install package":   {`{"command": ["x"], "install": [{"platform": "all", "type": "npm", "command": "npm i x"}]}`, `line 1: install[0] has no package for npm`},
		"install lines":     {`{"command": ["x"], "install": [{"platform": "all", "type": "script", "command": "a\nb"}]}`, `line 1: install[0].command has more than one line`},
		"signal":            {`{"command": ["x"], "hostSignals": ["KEY"], "login": {"variables": [{"name": "KEY"}]}}`, `line 1: hostSignals[0] is a variable of the login`},
		"variable":          {`{"command": ["x"], "environment": {"A B": "c"}}`, `line 1: environment."A B" "A B" is not a valid name here`},
		"claim":             {`{"command": ["x"], "capabilities": {"toolCalls": true}}`, `line 1: capabilities.toolCalls is claimed, but the output cannot deliver it (needs rules for tool-start`},
		"unknown claim":     {`{"command": ["x"], "capabilities": {"fly": true}}`, `line 1: capabilities.fly is not allowed here (known are`},
		"address":           {`{"command": ["x"], "docs": "ftp://x"}`, `line 1: docs cannot be "ftp://x"`},
		"several": {"{\"displayName\": 1,\n\"docs\": \"\",\n\"command\": [\"x\"], \"prompt\": \"file\"}",
			`line 1: displayName is a number|line 2: docs is blank|line 3: command does not pass the prompt`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, faults := Read([]byte(c.entry))
			want := strings.Split(c.want, "|")
			got := strings.Split(faults.Error(), "\n")
			if len(got) != len(want) {
				t.Fatalf("got %d faults:\n%s", len(got), faults.Error())
			}
			for i := range want {
				if !strings.HasPrefix(got[i], want[i]) {
					t.Errorf("got  %s\nwant %s", got[i], want[i])
				}
			}
		})
	}
}

// everything is an entry with every key.
const everything = `{"displayName": "E", "docs": "https://e.example", "command": ["e", "{options}"], "prompt": "stdin", "output": {"format": "text"},
	"options": {"model": ["{model}"], "effort": ["{effort}"], "efforts": {"max": "m"}, "systemPrompt": ["{system_prompt}"], "replaceSystemPrompt": ["{system_prompt_file}"],
	"approval": {"deny": ["-n"]}, "mcp": ["{mcp_file}"], "mcpTransports": ["sse"], "newSession": ["{session}"], "resume": ["{session}"], "ephemeral": ["-x"]},
	"environment": {"A": ""}, "login": {"provider": "P", "variables": [{"name": "K", "description": "d", "required": true}], "command": ["e", "login"]},
	"version": {"args": ["-v"], "min": "1.0", "tested": ["1.2.3"]}, "install": [{"platform": "all", "type": "npm", "package": "e", "command": "npm i e", "notes": "n"}],
	"hostSignals": ["E_CHILD"], "errors": [{"code": "AUTH_ERROR", "exits": [2], "phrases": ["p"], "pattern": "x+"}], "capabilities": {"requiresGit": true},
	"notes": ["n"], "documented": "https://e.example/docs", "defaultModel": "m"}`

// TestTableAndTypes: every key of the table is a field of Entry, and every field a key.
func TestTableAndTypes(t *testing.T) {
	t.Parallel()
	var compare func(at string, n, of *shape.Node)
	compare = func(at string, n, of *shape.Node) {
		if n.Kind == shape.List && of.Kind == shape.List {
			compare(at+"[]", n.Of, of.Of)
			return
		}
		if n.Kind != shape.Object || of.Kind != shape.Object {
			return
		}
		have, want := of.KeyNames(), n.KeyNames()
		slices.Sort(have)
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Errorf("%s: the table has %v, the type %v", at, want, have)
			return
		}
		for i := range n.Keys {
			k, _ := of.Find(n.Keys[i].Name)
			compare(at+"."+k.Name, &n.Keys[i].Node, &k.Node)
		}
	}
	of := shape.Of(reflect.TypeFor[Entry]())
	compare("entry", Keys(), &of)
	var check func(at string, n *shape.Node)
	check = func(at string, n *shape.Node) {
		for i := range n.Keys {
			if k := &n.Keys[i]; k.Doc == "" {
				t.Errorf("%s.%s has no meaning", at, k.Name)
			} else {
				check(at+"."+k.Name, &k.Node)
			}
		}
		if n.Of != nil {
			check(at+"[]", n.Of)
		}
	}
	check("entry", Keys())
}

// FuzzRead: any text is an entry or has faults, an entry without faults has a descriptor, and its positions are in the text.
func FuzzRead(f *testing.F) {
	for _, s := range []string{textEntry, linesEntry, streamEntry, acpEntry, `{"command": null}`, everything, "\xef\xbb\xbf{}", `{"command":["x"],"errors":[{"code":"AUTH_ERROR","exits":[2.0,1e1]}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		e, faults := Read(text)
		for _, x := range faults {
			if x.Line < 1 || x.Column < 1 || x.Message == "" {
				t.Fatalf("%+v", x)
			}
		}
		if len(faults) > 0 {
			return
		}
		d := Describe("mine", e)
		if err := catalog.NewRegistry(nil, adapter.Host{}).Register(d); err != nil {
			t.Fatalf("the registry refuses what has no faults: %v", err)
		}
		if err := d.New().Capabilities().Validate(); err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(d.New().Capabilities()); err != nil {
			t.Fatal(err)
		}
	})
}
