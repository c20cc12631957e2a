package declarative

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// mcpNames is how most programs name the tools of MCP servers.
var mcpNames = toolcall.Table{MCP: toolcall.Naming{Prefix: "mcp__", Separator: "__"}}

// mapping is a rule whose paths are slots of a key set.
type mapping struct {
	event string
	when  []condition
	at    map[string]int // slot by the name of the field
}

type condition struct {
	slot int
	want string
}

// linesParser gives lines of JSON the meaning that the rules state.
type linesParser struct {
	cliagent.OneShot
	session
	failures
	message
	rules []mapping
	paths *jsonscan.KeySet
	found []jsonscan.Value
	calls toolcall.Calls

	step     int
	stepping bool
	known    bool // a line matched a rule
	ends     bool // the rules tell the end
	over     bool // a result was read
	answer   string
	failed   *cliagent.Failure
	usage    execution.Usage
	priced   *float64
	told     float64 // of it, in cost events
}

func newLines(f *form, one cliagent.OneShot, n session) *linesParser {
	p := &linesParser{OneShot: one, session: n, failures: f.failures(), calls: toolcall.NewCalls(&mcpNames, jsonscan.NewInterner(64)),
		ends: f.tells(eventResult)}
	var paths []string
	slot := func(path string) int { // a set fills only the first slot of a repeated path
		if i := slices.Index(paths, path); i >= 0 {
			return i
		}
		paths = append(paths, path)
		return len(paths) - 1
	}
	for _, r := range f.Output.Events {
		m := mapping{event: r.Event, at: map[string]int{}}
		for path, want := range r.When {
			m.when = append(m.when, condition{slot(path), want})
		}
		for _, x := range r.fields() {
			if x.path != "" {
				m.at[x.name] = slot(x.path)
			}
		}
		p.rules = append(p.rules, m)
	}
	p.paths, p.found = jsonscan.NewKeySet(paths...), make([]jsonscan.Value, len(paths))
	return p
}

// Open announces a session whose id is already known.
func (p *linesParser) Open(s *cliagent.Sink) { p.announce(s) }

// Line applies every rule that matches.
func (p *linesParser) Line(src process.Stream, line []byte, s *cliagent.Sink) {
	if src == process.Stdout && len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if src != process.Stdout || jsonscan.Fields(line, p.found, p.paths) != nil {
		s.Unknown(src, line)
		return
	}
	known := false
	for i := range p.rules {
		if m := &p.rules[i]; p.matches(m) && p.apply(m, s) {
			known = true
		}
	}
	if p.known = p.known || known; !known {
		s.Unknown(src, line)
	}
}

func (p *linesParser) matches(m *mapping) bool {
	for _, c := range m.when {
		v := p.found[c.slot]
		switch {
		case !v.Exists():
			return false
		case c.want == "*" || v.Kind() == jsonscan.String && v.IsStr(c.want):
		case v.Kind() == jsonscan.String || string(v.Raw()) != c.want:
			return false
		}
	}
	return true
}

// value returns a field of a rule, the zero Value if the rule or the line lacks it.
func (p *linesParser) value(m *mapping, name string) jsonscan.Value {
	if i, ok := m.at[name]; ok {
		return p.found[i]
	}
	return jsonscan.Value{}
}

// apply emits the events of a rule. It returns false if the line lacks a value that the event needs.
func (p *linesParser) apply(m *mapping, s *cliagent.Sink) bool {
	text := p.value(m, "text")
	switch m.event {
	case eventSession:
		id := p.value(m, "session").Str()
		p.begin(id, p.value(m, "model").Str(), s)
		return id != ""
	case eventStep:
		p.work(s)
		p.endStep(s)
		p.stepping = true
		s.Emit(execution.StepStart{StepIndex: p.step, StepType: "model"})
	case eventText:
		if text.Kind() != jsonscan.String {
			return false
		}
		p.work(s)
		p.add(cliagent.SpeechText, text.Str(), s)
	case eventMessage:
		if text.Kind() != jsonscan.String {
			return false
		}
		p.work(s)
		p.whole(text.Str(), s)
	case eventThinking:
		if text.Kind() != jsonscan.String {
			return false
		}
		p.work(s)
		p.add(cliagent.SpeechThinking, text.Str(), s)
	case eventToolStart, eventToolEnd:
		return p.tool(m, s)
	case eventUsage:
		cost := cliagent.AssembleCost(p.value(m, "usage").Raw())
		if cost == nil {
			return false
		}
		p.count(cost, s)
	case eventError:
		p.close(s)
		p.failed = p.failure("", words(p.value(m, "error")))
	case eventResult:
		return p.result(m, text, s)
	}
	return true
}

// words returns a string, or anything else as JSON.
func words(v jsonscan.Value) string {
	if v.Kind() == jsonscan.String {
		return v.Str()
	}
	if v.Exists() {
		return string(v.Raw())
	}
	return "the agent reported an error and did not say which"
}

// whole emits a message that was not streamed, or ends one that was.
func (p *linesParser) whole(text string, s *cliagent.Sink) {
	if p.said.Kind != cliagent.SpeechText {
		p.add(cliagent.SpeechText, text, s)
	}
	p.close(s)
}

func (p *linesParser) endStep(s *cliagent.Sink) {
	p.close(s)
	if p.stepping {
		p.stepping = false
		s.Emit(execution.StepEnd{StepIndex: p.step})
		p.step++
	}
}

// tool handles the start and the end of a tool call.
func (p *linesParser) tool(m *mapping, s *cliagent.Sink) bool {
	id := words(p.value(m, "id"))
	if !p.value(m, "id").Exists() {
		return false
	}
	if m.event == eventToolStart {
		name := p.value(m, "name").Str()
		if name == "" {
			return false
		}
		p.work(s)
		p.close(s)
		p.calls.Called(p.calls.Start(id, name, "", s), p.value(m, "input"), s)
		return true
	}
	if p.calls.Open(id) == nil {
		return false // it did not start, or has ended
	}
	p.close(s)
	end := toolcall.End{Output: toolcall.Raw(p.value(m, "output"), "null"), Failed: p.value(m, "failed").IsTrue()}
	if end.Failed {
		end.Error = "the tool failed"
		if v := p.value(m, "error"); v.Exists() {
			end.Error = words(v)
		}
	}
	p.calls.End(p.calls.Expect(id, ""), end, s)
	return true
}

func (p *linesParser) count(cost *execution.Cost, s *cliagent.Sink) {
	u := cost.Usage()
	if !u.IsZero() {
		p.work(s)
		p.usage = p.usage.Add(u)
		s.Emit(u.Event())
	}
	if cost.TotalUSD != nil {
		sum := *cost.TotalUSD
		if p.priced != nil {
			sum += *p.priced
		}
		p.priced = &sum
		p.told += *cost.TotalUSD
		s.Emit(execution.CostEvent{Cost: execution.CostOf(u, cost.TotalUSD, execution.CostFromAgent)})
	}
}

// result handles the end of a run that succeeded. Its usage is the total of the run: only the rest is new.
func (p *linesParser) result(m *mapping, text jsonscan.Value, s *cliagent.Sink) bool {
	p.work(s)
	p.close(s)
	if cost := cliagent.AssembleCost(p.value(m, "usage").Raw()); cost != nil {
		total := execution.CostOf(beyond(cost.Usage(), p.usage), nil, execution.CostFromAgent)
		p.count(&total, s)
		if cost.TotalUSD != nil {
			p.priced = cost.TotalUSD
		}
	}
	if p.answer = text.Str(); p.answer != "" && p.last == "" {
		p.whole(p.answer, s)
	}
	p.over, p.failed = true, nil
	return true
}

// Exit returns the outcome that the lines state, else that of the exit code.
func (p *linesParser) Exit(exit process.Exit, s *cliagent.Sink) execution.Result {
	res := execution.Result{SessionID: p.id, Model: p.model}
	var cost *execution.Cost
	if !p.usage.IsZero() {
		c := execution.CostOf(p.usage, p.priced, execution.CostFromAgent)
		cost = &c
		res.Usage, res.Cost = &p.usage, cost
	}
	if p.failed == nil && !p.over {
		p.failed = p.judge(exit, p.said.Said())
	}
	done := p.over || !p.ends && p.known && exit.Code == 0 && exit.Signal == "" && !exit.Stopped
	if !done && p.failed == nil {
		return res
	}
	p.endStep(s)
	if cost != nil && p.told == 0 {
		s.Emit(execution.CostEvent{Cost: *cost})
	} else if p.priced != nil && *p.priced > p.told { // the end stated more than the calls
		rest := *p.priced - p.told
		s.Emit(execution.CostEvent{Cost: execution.CostOf(execution.Usage{}, &rest, execution.CostFromAgent)})
	}
	p.end(&res, cmp.Or(p.answer, p.last), p.failed, s)
	return res
}
