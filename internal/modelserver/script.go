package modelserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/internal/base/jsontext"
	"github.com/drawbar/drawbar/internal/base/lazy"
)

// MaxScriptBytes bounds the size of a script that Parse reads.
const MaxScriptBytes = 16 << 20

// maxFaults bounds the stored faults, maxFaultsShown those in the text of a ScriptError.
const (
	maxFaults      = 1000
	maxFaultsShown = 50
)

// Fault is one fault of a script.
type Fault struct {
	// Path is the position, such as turns[0].tools[1].name; it is "script" for the whole.
	Path string
	// Message states the fault and the correction.
	Message string
}

// ScriptError is returned by Parse and lists every fault of the script, up to 1,000.
type ScriptError struct {
	Faults []Fault
	// Omitted counts the faults beyond those.
	Omitted int
}

// Error returns one line per fault, the first 50 of them.
func (e *ScriptError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "model script: %d fault(s)", len(e.Faults)+e.Omitted)
	for i, f := range e.Faults {
		if i == maxFaultsShown {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Faults)+e.Omitted-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s: %s", f.Path, f.Message)
	}
	return b.String()
}

// Script is a parsed script. It is immutable and safe for concurrent use; one Script may serve several servers, each
// of which counts for itself.
type Script struct {
	main  *conversation // nil if there are only named scripts
	named map[string]*conversation
}

// IDs returns the ids of the named scripts, sorted.
func (s *Script) IDs() []string { return slices.Sorted(maps.Keys(s.named)) }

// conversation is a list of turns and its settings.
type conversation struct {
	turns       []turn
	onExhausted string // error, last or text
	endText     string // for text
	model       string
	usage       usage
	side        side
}

// forever is the repeat of an unlimited turn.
const forever = -1

type turn struct {
	text, thinking string
	pieces         []string // the text as it is streamed; concatenates to text
	tools          []tool
	usage          usage
	delay          time.Duration
	pieceDelay     time.Duration
	status         int
	errorType      string
	errorMessage   string
	retryAfter     string
	headers        [][2]string
	hang           bool // before anything is sent
	stop           stopPoint
	garbage        *string
	match          *match
	repeat         int
	stopReason     string
}

// stopPoint is where a streamed answer ends early: after so many text pieces.
type stopPoint struct {
	kind  byte // 0 nowhere, 'c' cut, 'h' hang
	after int
}

type tool struct {
	name, namespace string
	custom          bool
	input           string // JSON of an object, or the text of a custom call
}

// usage counts tokens. input excludes cached ones, output includes thinking.
type usage struct{ input, output, cacheRead, cacheWrite, thinking int64 }

// prompt returns all input tokens, for wires with one number for them.
func (u usage) prompt() int64 { return u.input + u.cacheRead + u.cacheWrite }

// side is how side requests are answered; without a scripted text the answer fits the request.
type side struct {
	answer            turn
	hasText, hasUsage bool
	contains          []string
}

type match struct{ contains, model, system string }

func (m *match) fits(r *request) bool {
	if m == nil {
		return true
	}
	return strings.Contains(r.last, m.contains) && strings.Contains(r.system, m.system) &&
		(m.model == "" || jsontext.Wildcard(m.model, r.model, "*"))
}

// defaultUsage is the usage of an answer without one in the script.
var defaultUsage = usage{input: 100, output: 20}

// Parse parses a script of at most MaxScriptBytes. An error about the content is a *ScriptError with every fault; a
// script with faults is not served.
func Parse(data []byte) (*Script, error) {
	f := &faults{}
	if len(data) > MaxScriptBytes {
		f.add("", "%d bytes, more than %d", len(data), MaxScriptBytes)
		return nil, &ScriptError{f.list, f.omitted}
	}
	root, err := parseNode(data)
	if err != nil {
		f.add("", "%v", err)
		return nil, &ScriptError{f.list, f.omitted}
	}
	s := f.script(root)
	if len(f.list) > 0 {
		return nil, &ScriptError{f.list, f.omitted}
	}
	return s, nil
}

var scriptID = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

func (f *faults) script(root *node) *Script {
	o := f.object(root, "turns", "onExhausted", "defaults", "side", "scripts")
	s := &Script{named: map[string]*conversation{}}
	top := f.conversation(o, &conversation{usage: defaultUsage}, "")
	scripts := f.object(o["scripts"])
	for _, id := range slices.Sorted(maps.Keys(scripts)) {
		n := scripts[id]
		if !scriptID().MatchString(id) {
			f.add(n.path, "id must be letters, digits, dot, dash and underscore, up to 100")
		}
		sub := f.object(n, "turns", "onExhausted", "defaults", "side")
		if n.kind == '{' && sub["turns"] == nil && sub["onExhausted"] == nil {
			f.add(n.path, `has no turns; give "turns"`)
		}
		s.named[id] = f.conversation(sub, top, n.path)
	}
	if o["turns"] != nil || o["onExhausted"] != nil {
		s.main = top
	} else if len(s.named) == 0 && root.kind == '{' {
		f.add("", `has no turns; give "turns" or "scripts"`)
	}
	return s
}

// conversation reads the members o of a script at path; missing defaults and side come from outer.
func (f *faults) conversation(o map[string]*node, outer *conversation, path string) *conversation {
	c := &conversation{model: outer.model, usage: outer.usage, side: outer.side, onExhausted: "error"}
	if n := o["defaults"]; n != nil {
		d := f.object(n, "usage", "model")
		c.usage = f.usage(d["usage"], c.usage)
		if d["model"] != nil {
			if c.model = f.str(d["model"]); c.model == "" && d["model"].kind == '"' {
				f.add(d["model"].path, "empty; leave it out to report the requested model")
			}
		}
	}
	if o["side"] != nil {
		c.side = f.side(o["side"], c.usage)
	}
	if !c.side.hasUsage {
		c.side.answer.usage = c.usage
	}
	list := f.elements(o["turns"])
	for _, n := range list {
		c.turns = append(c.turns, f.turn(n, c.usage))
	}
	f.exhausted(o["onExhausted"], c)
	for i := range c.turns {
		if c.turns[i].repeat == forever && c.turns[i].match == nil && i+1 < len(c.turns) {
			f.add(list[i+1].path, "never reached: turns[%d] is repeated for ever", i)
			break
		}
	}
	return c
}

func (f *faults) exhausted(n *node, c *conversation) {
	if n == nil {
		return
	}
	word := f.str(n)
	text, isText := strings.CutPrefix(word, "text:")
	switch {
	case isText:
		c.onExhausted, c.endText = "text", text
	case word == "last" && len(c.turns) == 0:
		f.add(n.path, `"last" needs a turn to repeat`)
	case word == "last" || word == "error":
		c.onExhausted = word
	case n.kind == '"':
		f.add(n.path, `want "error", "last" or "text:SOME TEXT", have %q`, word)
	}
}

func (f *faults) usage(n *node, outer usage) usage {
	if n == nil {
		return outer
	}
	const most = 1_000_000_000_000
	o := f.object(n, "input", "output", "cacheRead", "cacheWrite", "thinking")
	u := outer
	for key, field := range map[string]*int64{
		"input": &u.input, "output": &u.output, "cacheRead": &u.cacheRead, "cacheWrite": &u.cacheWrite, "thinking": &u.thinking,
	} {
		if o[key] != nil {
			*field = f.integer(o[key], 0, most)
		}
	}
	if u.thinking > u.output {
		f.add(n.path, "thinking %d is more than output %d, which includes it", u.thinking, u.output)
	}
	return u
}

func (f *faults) side(n *node, defaults usage) side {
	o := f.object(n, sideKeys...)
	s := side{hasText: o["text"] != nil, hasUsage: o["usage"] != nil}
	for _, item := range f.elements(o["contains"]) {
		text := f.str(item)
		if text == "" && item.kind == '"' {
			f.add(item.path, "empty; it would make every request a side request")
		}
		s.contains = append(s.contains, text)
	}
	s.answer = f.fields(o, defaults)
	return s
}
