package copilot

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// final is the last line of a run.
type final struct {
	code     int64
	metadata map[string]any
}

var resultShape jsonscan.Shape[struct {
	_                   jsonscan.Camel
	SessionID, ExitCode jsonscan.Value
	Usage               struct {
		PremiumRequests, TotalAPIDurationMs jsonscan.Value
		CodeChanges                         struct{ LinesAdded, LinesRemoved, FilesModified jsonscan.Value }
	}
}]

// result handles the last line.
func (p *parser) result(line []byte, s *cliagent.Sink) bool {
	v, _ := resultShape.Read(line)
	code, ok := v.ExitCode.Int()
	if !ok {
		return false
	}
	if id := v.SessionID.Str(); id != "" && id != p.session {
		// So far the id that Copilot was told to use was reported; the one in its result is authoritative.
		p.session = id
		p.begun = false
	}
	p.begin(s)
	f := &final{code: code, metadata: map[string]any{}}
	changes := &v.Usage.CodeChanges
	for key, value := range map[string]jsonscan.Value{"premiumRequests": v.Usage.PremiumRequests, "apiDurationMs": v.Usage.TotalAPIDurationMs,
		"linesAdded": changes.LinesAdded, "linesRemoved": changes.LinesRemoved} {
		if n, ok := value.Float(); ok {
			f.metadata[key] = n
		}
	}
	var files []string
	for _, file := range changes.FilesModified.Array {
		files = append(files, file.Str())
	}
	if len(files) > 0 {
		f.metadata["filesModified"] = files
	}
	p.final = f
	s.Done()
	return true
}

// usage is the content of Copilot's usage file.
type usage struct {
	total   execution.Usage
	model   string
	credits float64 // in billionths of an AI credit
	known   bool
}

// readUsage sums the usage file by model. Its input includes cached tokens.
func readUsage(file []byte) (u usage) {
	whole, err := jsonscan.Parse(bytes.TrimSpace(file))
	if err != nil || whole.Kind() != jsonscan.Object {
		return usage{}
	}
	for _, m := range whole.Get("modelMetrics").Object {
		var f metricForm
		if !metricShape.From(m, &f) || !f.Usage.InputTokens.Exists() {
			continue
		}
		u.total, u.known = u.total.Add(f.Usage.used()), true
	}
	u.model = whole.Get("currentModel").Str()
	u.credits, _ = whole.Get("totalNanoAiu").Float()
	return u
}

// Exit returns the outcome of the run. The usage file exists by now, so the turn ends here.
func (p *parser) Exit(exit process.Exit, s *cliagent.Sink) execution.Result {
	u := readUsage(s.Output(usageFile))
	if p.model == "" {
		p.model = u.model
	}
	res := execution.Result{Model: p.model, Retries: p.retries, Metadata: map[string]any{}}
	if p.begun {
		res.SessionID = p.session
	}
	var cost *execution.Cost
	if u.known && !u.total.IsZero() {
		c := execution.CostOf(u.total, nil, execution.CostFromAgent)
		res.Usage, res.Cost, cost = &u.total, &c, &c
		s.Emit(u.total.Event())
		s.Emit(execution.CostEvent{Cost: c})
	}
	if u.credits > 0 {
		res.Metadata["aiCredits"] = u.credits / 1e9
	}
	if p.final != nil {
		maps.Copy(res.Metadata, p.final.metadata)
	}
	p.conclude(exit, cost, &res, s)
	return res
}

// conclude judges how the run ended. A result without a status leaves the judgement to the kit: exit code 0 proves
// nothing, because Copilot has it after a signal too.
func (p *parser) conclude(exit process.Exit, cost *execution.Cost, res *execution.Result, s *cliagent.Sink) {
	f := p.failure
	switch {
	case p.aborted && exit.Stopped, p.final == nil && p.open && !p.aborted:
		return
	case p.aborted:
		p.endTurn(execution.TurnEnd{Reason: execution.TurnInterrupted, Text: p.lastText, Cost: cost}, s)
		fail(res, &failure{code: execution.CodeInterrupted, message: "the turn was interrupted"})
		res.ExitReason = execution.ExitInterrupted
		return
	case p.final == nil:
		if f = startFailure(exit); f == nil {
			return
		}
	case f == nil && p.final.code == 0 && p.open:
		p.endTurn(execution.TurnEnd{Reason: execution.TurnCompleted, Text: p.lastText, Cost: cost}, s)
		res.Status, res.ExitReason, res.TurnCount = execution.StatusCompleted, execution.ExitCompleted, 1
		res.Output = &execution.Output{Text: p.lastText}
		return
	case f == nil:
		f = p.unexplained(exit)
	}
	f.announce(s)
	p.endTurn(execution.TurnEnd{Reason: execution.TurnFailed, Cost: cost, Error: execution.NewResultError(f.code, f.message)}, s)
	fail(res, f)
	res.ExitReason = execution.ExitCompleted // the process ended in order, whatever its exit code
}

// unexplained returns the failure of a run whose last line alone reports it.
func (p *parser) unexplained(exit process.Exit) *failure {
	if f := startFailure(exit); f != nil {
		return f
	}
	if c := p.call; c != nil {
		return &failure{code: cmp.Or(failures.Status(c.status), execution.CodeProvider), message: c.words()}
	}
	return &failure{code: execution.CodeAgentCrash, message: fmt.Sprintf("copilot ended with code %d and did not say why", p.final.code)}
}

// endTurn ends the turn, if one is open, and what it left open.
func (p *parser) endTurn(end execution.TurnEnd, s *cliagent.Sink) {
	if !p.open {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(p.subs)) {
		p.endStep(p.subs[id], s)
	}
	p.endStep(&p.main, s)
	p.open = false
	s.Emit(end)
}

func fail(res *execution.Result, f *failure) {
	res.Status, res.Error, res.TurnCount = execution.StatusFailed, execution.NewResultError(f.code, f.message), 1
}
