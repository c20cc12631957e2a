package drawbar

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/vendormodel"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/agentdata/modelcache"
	"github.com/drawbar/drawbar/internal/base/near"
)

// ModelDeclaration adds a model to an agent, or overrides one that the agent declares: stated fields replace
// the known ones.
type ModelDeclaration struct {
	Agent string // an agent's name, or * for every agent
	execution.Model
	PricedOn string // the date of the price, as 2026-11-28; empty if unknown
}

// ModelSource says who described a model.
type ModelSource string

// The sources of models. The later ones override the earlier ones, field by field.
const (
	ModelBundled    ModelSource = "bundled"       // Drawbar
	ModelFromAgent  ModelSource = "agent"         // the agent's program, when it was asked last: Models.Refresh
	ModelConfigured ModelSource = "configuration" // Options.Models
)

// OfferedModel is a model as an agent offers it.
type OfferedModel struct {
	Agent     string `json:"agent"`
	IsDefault bool   `json:"isDefault,omitempty"`
	execution.Model
	// ArgKey and ArgValue choose the model on the command line of the agent's program; they are empty if it is chosen
	// otherwise.
	ArgKey      string      `json:"cliArgKey,omitempty"`
	ArgValue    string      `json:"cliArgValue,omitempty"`
	Source      ModelSource `json:"source"`                // the last one that described it
	LastUpdated string      `json:"lastUpdated,omitempty"` // the date of that description; empty for the configuration
	PriceSource ModelSource `json:"priceSource,omitempty"` // who stated the price; empty without one
	PricedOn    string      `json:"pricedOn,omitempty"`    // the date of the price, if it is known
}

// Models answers questions about models: what Drawbar knows of them, what the agents' programs said when they were
// asked, and what the client's options add. It is safe for concurrent use.
type Models struct {
	registry *catalog.Registry
	declared []ModelDeclaration
	host     adapter.Host
	cache    *modelcache.Cache
}

// List returns the models of an agent. It is empty for an agent whose models are known only at run time.
func (m Models) List(agentName string) ([]execution.Model, error) {
	e, err := m.registry.Get(agentName)
	if err != nil {
		return nil, err
	}
	return m.of(e.Descriptor), nil
}

// Offered returns the models of an agent with the source and the age of what is known of them.
func (m Models) Offered(agentName string) ([]OfferedModel, error) {
	e, err := m.registry.Get(agentName)
	if err != nil {
		return nil, err
	}
	return m.offered(e.Descriptor), nil
}

// of returns an agent's models. The caller owns the list.
func (m Models) of(d adapter.Descriptor) []execution.Model {
	offered := m.offered(d)
	list := make([]execution.Model, len(offered))
	for i, o := range offered {
		list[i] = o.Model
	}
	return list
}

func (m Models) offered(d adapter.Descriptor) []OfferedModel {
	list := []OfferedModel{}
	add := func(source ModelSource, date, priced string, models ...execution.Model) {
		for _, model := range models {
			i := slices.IndexFunc(list, func(have OfferedModel) bool { return have.ID == model.ID })
			if i < 0 {
				i = len(list)
				list = append(list, OfferedModel{Agent: d.Name, Model: execution.Model{ID: model.ID}})
			}
			if model.Price != nil {
				list[i].PriceSource, list[i].PricedOn = source, priced
			}
			list[i].Model, list[i].Source, list[i].LastUpdated = override(list[i].Model, model), source, date
		}
	}
	add(ModelBundled, vendormodel.UpdatedOn, vendormodel.UpdatedOn, d.Clone().Models...)
	if said := m.cache.Lookup(d.Name); !said.Time.IsZero() {
		date := said.Time.UTC().Format(time.DateOnly)
		add(ModelFromAgent, date, date, said.Models...)
	}
	for _, own := range m.declared {
		if own.Agent == d.Name || own.Agent == "*" {
			add(ModelConfigured, "", own.PricedOn, own.Model)
		}
	}
	for i := range list {
		o := &list[i]
		o.Model, o.IsDefault = vendormodel.Describe(o.Model), o.ID == d.DefaultModel
		if d.ModelFlag != "" {
			o.ArgKey, o.ArgValue = d.ModelFlag, o.ID
		}
	}
	return list
}

// override returns a model with what a later description of it states.
func override(have, with execution.Model) execution.Model {
	have.DisplayName, have.Provider = cmp.Or(with.DisplayName, have.DisplayName), cmp.Or(with.Provider, have.Provider)
	have.ContextWindow, have.MaxOutputTokens = cmp.Or(with.ContextWindow, have.ContextWindow), cmp.Or(with.MaxOutputTokens, have.MaxOutputTokens)
	have.Price, have.ThinkingBudget = cmp.Or(with.Price, have.Price), cmp.Or(with.ThinkingBudget, have.ThinkingBudget)
	have.Successor, have.DeprecatedSince = cmp.Or(with.Successor, have.Successor), cmp.Or(with.DeprecatedSince, have.DeprecatedSince)
	have.Protocol, have.Deprecated = cmp.Or(with.Protocol, have.Protocol), have.Deprecated || with.Deprecated
	have.Abilities = with.Abilities.Or(have.Abilities)
	if with.Aliases != nil {
		have.Aliases = with.Aliases
	}
	if with.ThinkingEfforts != nil {
		have.ThinkingEfforts = with.ThinkingEfforts
	}
	return have
}

// refreshTime bounds a program's answer about its models. Some wait for their network first.
const refreshTime = time.Minute

// Refresh asks an agent's program for its models and keeps the answer, until the next one, for this and later clients
// with the same state directory. Drawbar itself uses no network. The error is a CAPABILITY_ERROR for an agent whose program
// lists no models.
func (m Models) Refresh(ctx context.Context, agentName string) ([]OfferedModel, error) {
	e, err := m.registry.Get(agentName)
	if err != nil {
		return nil, err
	}
	name := e.Descriptor.Name
	lister, err := capable[adapter.ModelLister](m.registry, name, "command that lists models without a conversation", "models.refresh")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, refreshTime, execution.Errorf(execution.CodeTimeout, "%s did not list its models within %s", name, refreshTime))
	defer cancel()
	models, err := lister.ListModels(ctx, m.host)
	if err != nil {
		return nil, err
	}
	if err := m.cache.Store(name, modelcache.List{Time: time.Now().UTC().Truncate(time.Second), Models: models}); err != nil {
		return nil, execution.Errorf(execution.CodeInternal, "keep the models of %s: %w", name, err)
	}
	return m.offered(e.Descriptor), nil
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
// a typing mistake of id, which all have a place.
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
	mistyped := near.Words(id, spelled)
	names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(mistyped, n) })
	return append(names[:min(len(names), 5-len(mistyped))], mistyped...)
}

// Estimate returns the price of a model call's usage in US dollars, nil if no price is known. The error is
// MODEL_NOT_FOUND or UNKNOWN_AGENT.
func (m Models) Estimate(agentName, id string, u execution.Usage) (*float64, error) {
	model, err := m.Model(agentName, id)
	if err != nil || model.Price == nil {
		return nil, err
	}
	return model.Price.Of(u), nil
}
