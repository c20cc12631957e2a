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
	o := cliagent.Outcome{Reason: execution.TurnFailed, Failure: p.failure}
	switch {
	case p.aborted && exit.Stopped, p.final == nil && p.open && !p.aborted:
		return
	case p.aborted:
		o = cliagent.Outcome{Reason: execution.TurnInterrupted, Text: p.endSteps(s)}
	case p.final == nil:
		if o.Failure = startFailure(exit); o.Failure == nil {
			return
		}
	case o.Failure == nil && p.final.code == 0 && p.open:
		o = cliagent.Outcome{Reason: execution.TurnCompleted, Text: p.endSteps(s)}
	case o.Failure == nil:
		o.Failure = p.unexplained(exit)
	}
	o.Report(s)
	end := o.End(0)
	end.Cost = cost
	p.endTurn(end, s)
	o.Fill(res)
	res.TurnCount = 1
}

// unexplained returns the failure of a run whose last line alone reports it.
func (p *parser) unexplained(exit process.Exit) *cliagent.Failure {
	if f := startFailure(exit); f != nil {
		return f
	}
	if c := p.call; c != nil {
		return failure(cmp.Or(failures.Status(c.status), execution.CodeProvider), c.words())
	}
	return failure(execution.CodeAgentCrash, fmt.Sprintf("copilot ended with code %d and did not say why", p.final.code))
}

// endTurn ends the turn, if one is open, and what it left open.
func (p *parser) endTurn(end execution.TurnEnd, s *cliagent.Sink) {
	if p.open {
		p.endSteps(s)
		p.open = false
		s.Emit(end)
	}
}

// endSteps ends what the turn left open and returns the agent's last text.
func (p *parser) endSteps(s *cliagent.Sink) string {
	for _, id := range slices.Sorted(maps.Keys(p.subs)) {
		p.endStep(p.subs[id], s)
	}
	p.endStep(&p.main, s)
	return p.lastText
}
