package turnruntime

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/secret"
)

// counted applies the budgets for all runs to turns that report their own cost: it refuses a turn if a budget is used up, and records what
// the program's output or the result states. A turn that states nothing is not recorded, because most scripts cost nothing.
type counted struct {
	Runtime
	books govern.Spender
}

func (deps Deps) counted(r Runtime) Runtime {
	if books, ok := deps.Agents.(govern.Spender); ok {
		return counted{r, books}
	}
	return r
}

func (c counted) Run(ctx context.Context, d Dispatch, w Watch) (Outcome, error) {
	begun := time.Now()
	o := execution.RunOptions{Agent: d.Runtime.Type}
	if words, _, err := d.words(d.place()); err == nil && d.Runtime.Type == protocol.RuntimeLocalCLI {
		o.Command = []string{strings.TrimSuffix(filepath.Base(words[0]), ".exe")}
	}
	req := d.request(begun, "", o)
	if err := c.books.Afford(req); err != nil {
		return refused(err, &secret.Redactor{}), nil
	}
	out, err := c.Runtime.Run(ctx, d, w)
	cost := d.stated(out)
	if cost == nil {
		return out, err
	}
	req = d.request(begun, d.text(), o)
	res := out.record(begun, time.Now())
	if out.Meta != nil {
		req.Run.Model = out.Meta.Model
	}
	res.Usage, res.Cost = new(cost.Usage()), cost
	if err := c.books.Spent(req, res); err != nil {
		d.say("The record of turn %s is incomplete: %v", d.Turn.TurnID, err)
	}
	return out, err
}

// stated is the cost that the program's output or the result states, with a price from the table if it states tokens alone; nil for none.
func (d Dispatch) stated(o Outcome) *execution.Cost {
	said := o.Cost
	if said == nil {
		raw, err := decode(d.look().data)
		if err != nil || json.Unmarshal(raw.At("cost"), &said) != nil || said == nil {
			return nil
		}
	}
	u := execution.Usage{Input: said.InputTokens, Output: said.OutputTokens, Total: said.InputTokens + said.OutputTokens}
	switch {
	case said.USD > 0:
		return new(execution.CostOf(u, &said.USD, execution.CostFromAgent))
	case u.Total > 0 && o.Meta != nil && o.Meta.Model != "":
		return new(execution.CostOf(u, d.price(o.Meta.Model, false, u.Input, u.Output), execution.CostFromTable))
	}
	return nil
}

// record is how a turn ended that is recorded like a run.
func (o Outcome) record(begun, now time.Time) execution.Result {
	r := execution.Result{Status: execution.StatusCompleted, ExitReason: execution.ExitCompleted, DurationMs: now.Sub(begun).Milliseconds(), TurnCount: 1,
		Trace: &execution.Trace{Summary: execution.TraceSummary{StartedAt: begun.UTC(), CompletedAt: now.UTC()}}}
	switch {
	case o.Cancelled:
		r.Status, r.ExitReason, r.Error = execution.StatusFailed, execution.ExitInterrupted, execution.NewResultError(execution.CodeInterrupted, o.Detail)
	case !o.Staged:
		r.Status, r.Error = execution.StatusFailed, execution.NewResultError(o.code(), o.Detail)
	}
	return r
}

// code is the error code of an outcome without a result.
func (o Outcome) code() execution.ErrorCode {
	switch o.Class {
	case ClassExit:
		if o.ExitCode == 0 {
			return execution.CodeInvalidOutput
		}
		return execution.CodeAgentCrash
	case ClassNoResult:
		return execution.CodeInvalidOutput
	case ClassSubprocess:
		return execution.CodeAgentCrash
	case ClassSpawn:
		return execution.CodeSpawn
	case ClassNoOutput, ClassStalled:
		return execution.CodeInactivityTimeout
	}
	switch execution.ErrorClass(o.Class) {
	case execution.ClassAuthFailure:
		return execution.CodeAuth
	case execution.ClassModelNotFound:
		return execution.CodeModelNotFound
	case execution.ClassInvalidRequest:
		return execution.CodeInvalidRequest
	case execution.ClassContextOverflow:
		return execution.CodeContextExceeded
	case execution.ClassRateLimited:
		return execution.CodeRateLimited
	case execution.ClassTimeout:
		return execution.CodeTimeout
	case execution.ClassResponseParseFailure, execution.ClassExtractionFailure:
		return execution.CodeInvalidOutput
	}
	return execution.CodeProvider
}
