package drawbar

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/near"
)

// ModelDeclaration adds a model to an agent, or overrides one that the agent declares: stated fields replace
// the known ones.
type ModelDeclaration struct {
	Agent string // an agent's name, or * for every agent
	execution.Model
}

// Models answers questions about models from the agents' declarations and the client's options. It is safe for
// concurrent use.
type Models struct {
	registry *catalog.Registry
	declared []ModelDeclaration
}

// List returns the models of an agent. It is empty for an agent whose models are known only at run time.
func (m Models) List(agentName string) ([]execution.Model, error) {
	e, err := m.registry.Get(agentName)
	if err != nil {
		return nil, err
	}
	list, err := m.registry.Models(agentName)
	if err != nil {
		return nil, err
	}
	return m.merge(e.Descriptor.Name, list), nil
}

// merge applies the declarations to an agent's models. The caller owns the returned list.
func (m Models) merge(agentName string, list []execution.Model) []execution.Model {
	for _, d := range m.declared {
		if d.Agent != agentName && d.Agent != "*" {
			continue
		}
		i := slices.IndexFunc(list, func(have execution.Model) bool { return have.ID == d.ID })
		if i < 0 {
			list = append(slices.Clone(list), d.Model)
			continue
		}
		list = slices.Clone(list)
		have := &list[i]
		have.DisplayName, have.Provider = cmp.Or(d.DisplayName, have.DisplayName), cmp.Or(d.Provider, have.Provider)
		have.ContextWindow, have.MaxOutputTokens = cmp.Or(d.ContextWindow, have.ContextWindow), cmp.Or(d.MaxOutputTokens, have.MaxOutputTokens)
		have.Price, have.ThinkingBudget = cmp.Or(d.Price, have.Price), cmp.Or(d.ThinkingBudget, have.ThinkingBudget)
		have.Successor, have.DeprecatedSince = cmp.Or(d.Successor, have.Successor), cmp.Or(d.DeprecatedSince, have.DeprecatedSince)
		have.Thinking, have.Deprecated = have.Thinking || d.Thinking, have.Deprecated || d.Deprecated
		if d.Aliases != nil {
			have.Aliases = d.Aliases
		}
		if d.ThinkingEfforts != nil {
			have.ThinkingEfforts = d.ThinkingEfforts
		}
	}
	return list
}

// Model finds a model of an agent by id or alias. For an unknown model the error lists some known ones.
func (m Models) Model(agentName, id string) (execution.Model, error) {
	list, err := m.List(agentName)
	if err != nil {
		return execution.Model{}, err
	}
	var names []string
	for _, have := range list {
		if have.ID == id || slices.Contains(have.Aliases, id) {
			return have, nil
		}
		names = append(names, have.ID)
	}
	e := execution.Errorf(execution.CodeModelNotFound, "%s declares no model %s", agentName, id)
	if len(names) > 0 {
		return execution.Model{}, e.WithHint("it declares %s; any other id is passed on unchanged", strings.Join(names, ", "))
	}
	return execution.Model{}, e
}

// Price returns the price of an agent's model, found by id, alias or dated name; nil if unknown.
func (m Models) Price(agentName, id string) *execution.Price {
	list, err := m.List(agentName)
	if err != nil {
		return nil // the agent was unregistered
	}
	if have := execution.FindModel(list, id); have != nil {
		return have.Price
	}
	return nil
}

// ModelStatus says what is known of a model id.
type ModelStatus string

// The statuses of a model id.
const (
	ModelOK         ModelStatus = "ok"
	ModelAlias      ModelStatus = "alias"
	ModelDeprecated ModelStatus = "deprecated"
	ModelAmbiguous  ModelStatus = "ambiguous" // an alias of several models
	ModelUnknown    ModelStatus = "unknown"   // passed to the agent unchanged; its price is unknown, not zero
)

// ModelValidation reports whether an agent has a model (agent-mux specification, ModelValidationResult).
type ModelValidation struct {
	Valid       bool             `json:"valid"`
	Status      ModelStatus      `json:"status"`
	Message     string           `json:"message"`
	Model       *execution.Model `json:"model,omitempty"`
	ResolvedID  string           `json:"resolvedModelId,omitempty"`
	Successor   string           `json:"successorModelId,omitempty"`
	Suggestions []string         `json:"suggestions,omitempty"` // at most five
}

// Validate classifies a model id for an agent. The error is UNKNOWN_AGENT.
func (m Models) Validate(agentName, id string) (ModelValidation, error) {
	list, err := m.List(agentName)
	if err != nil {
		return ModelValidation{}, err
	}
	var found []execution.Model
	for _, have := range list {
		if have.ID == id {
			found = []execution.Model{have}
			break
		}
		if slices.Contains(have.Aliases, id) {
			found = append(found, have)
		}
	}
	switch len(found) {
	case 0:
		v := ModelValidation{Status: ModelUnknown, Suggestions: similar(id, list)}
		v.Message = fmt.Sprintf("%s declares no model %s; it is passed on unchanged, and its price is unknown", agentName, id)
		return v, nil
	case 1:
	default:
		v := ModelValidation{Status: ModelAmbiguous}
		for _, f := range found {
			v.Suggestions = append(v.Suggestions, f.ID)
		}
		v.Suggestions = v.Suggestions[:min(len(v.Suggestions), 5)]
		v.Message = fmt.Sprintf("%s is an alias of several models of %s: %s", id, agentName, strings.Join(v.Suggestions, ", "))
		return v, nil
	}
	have := found[0]
	v := ModelValidation{Valid: true, Status: ModelOK, Model: &have, ResolvedID: have.ID, Successor: have.Successor, Message: have.ID + " is a model of " + agentName}
	if have.ID != id {
		v.Status, v.Message = ModelAlias, fmt.Sprintf("%s is an alias of %s", id, have.ID)
	}
	if have.Deprecated {
		v.Status, v.Message = ModelDeprecated, have.ID+" is deprecated"
		if have.DeprecatedSince != "" {
			v.Message += " since " + have.DeprecatedSince
		}
		if have.Successor != "" {
			v.Message += "; its successor is " + have.Successor
		}
	}
	return v, nil
}

// similar returns at most five ids: those that share words with id, most shared words first, then those within
// a typing mistake of id.
func similar(id string, list []execution.Model) []string {
	words := strings.FieldsFunc(strings.ToLower(id), func(r rune) bool { return r == '-' || r == '.' || r == '/' || r == '_' })
	score, spelled := map[string]int{}, map[string]string{}
	for _, have := range list {
		for _, name := range append([]string{have.ID}, have.Aliases...) {
			spelled[strings.ToLower(name)] = have.ID
		}
	}
	var names []string
	for _, have := range list {
		for _, w := range words {
			if len(w) > 1 && strings.Contains(strings.ToLower(have.ID), w) {
				score[have.ID]++
			}
		}
		if score[have.ID] > 0 {
			names = append(names, have.ID)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(score[b], score[a]) })
	for _, n := range near.Words(id, spelled) {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names[:min(len(names), 5)]
}

// Estimate returns the price of a usage on a model in US dollars, nil if no price is known. The error is
// MODEL_NOT_FOUND or UNKNOWN_AGENT.
func (m Models) Estimate(agentName, id string, u execution.Usage) (*float64, error) {
	model, err := m.Model(agentName, id)
	if err != nil || model.Price == nil {
		return nil, err
	}
	return model.Price.Of(u), nil
}
