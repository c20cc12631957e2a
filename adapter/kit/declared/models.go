package declared

import (
	"cmp"
	"context"
	"slices"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// ModelTable describes the command with which an agent lists its models.
type ModelTable struct {
	Args  []string
	Env   map[string]string
	Stdin string
	// Rows parses the output.
	Rows func(said adapter.SpawnOutcome) ([]execution.Model, error)
}

// ModelsOf implements adapter.ModelLister from the table.
type ModelsOf[D Declares] struct{}

// ListModels runs the command.
func (ModelsOf[D]) ListModels(ctx context.Context, h adapter.Host) ([]execution.Model, error) {
	t := of[D]()
	m := t.Models
	said, err := command(ctx, h, t.Agent, execution.CodeInvalidOutput,
		adapter.SpawnRequest{Command: t.Command, Args: m.Args, Env: m.Env, Stdin: []byte(m.Stdin)})
	if err != nil {
		return nil, err
	}
	list, err := m.Rows(said)
	if list = unique(list); err == nil && len(list) > 0 {
		return list, nil
	}
	e := execution.Errorf(execution.CodeInvalidOutput, "%s listed no models: %s", t.Agent, cmp.Or(lastLines(said.Stderr), lastLines(said.Stdout), "no output"))
	e.Agent, e.Cause = t.Agent, err
	return nil, e.WithHint("log in first, or check whether this version is supported: drawbar doctor")
}

// unique omits models without an id, and later ones with the same id.
func unique(list []execution.Model) []execution.Model {
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(list, func(m execution.Model) bool {
		had := seen[m.ID]
		seen[m.ID] = true
		return had
	})
}

// Efforts converts an agent's names of thinking efforts; the highest of those above high is EffortMax.
func Efforts(names []string) []execution.ThinkingEffort {
	var list []execution.ThinkingEffort
	for _, e := range []execution.ThinkingEffort{execution.EffortLow, execution.EffortMedium, execution.EffortHigh} {
		if slices.Contains(names, string(e)) {
			list = append(list, e)
		}
	}
	if slices.Contains(names, "xhigh") || slices.Contains(names, "max") {
		list = append(list, execution.EffortMax)
	}
	return list
}

// PriceOf returns a price as agents state it, per million tokens; nil if it states none or only zeros: that is how a price that
// an agent does not know looks.
func PriceOf(input, output float64, cacheRead, cacheWrite *float64) *execution.Price {
	if input <= 0 || output <= 0 {
		return nil
	}
	p := execution.Price{Input: input, Output: output}
	if cacheRead != nil && *cacheRead > 0 {
		p.CacheRead = cacheRead
	}
	if cacheWrite != nil && *cacheWrite > 0 {
		p.CacheWrite = cacheWrite
	}
	return &p
}

// Tokens returns a number of tokens, 0 for one that cannot be.
func Tokens(n float64) int64 {
	if n > 0 && n < 1<<40 {
		return int64(n)
	}
	return 0
}
