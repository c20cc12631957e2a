package cli

import (
	"cmp"
	"slices"
	"time"

	"github.com/drawbar/drawbar/internal/runstore"
)

// UnpricedModel is a model in use whose price is unknown.
type UnpricedModel struct {
	Agent, Model string
	Runs         int
}

// UnpricedModels returns the models that cost an unknown sum in the runs of the last 30 days and have no price now, most runs first.
func (a *App) UnpricedModels() ([]UnpricedModel, error) {
	client, err := a.Client()
	if err != nil {
		return nil, err
	}
	s, err := a.Store()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	runs, err := s.List(runstore.Filter{Since: time.Now().AddDate(0, 0, -30)})
	if err != nil {
		return nil, RecordError(err)
	}
	var list []UnpricedModel
	for _, r := range runs {
		if r.Cost == nil || r.Cost.TotalUSD != nil && !r.Cost.Unpriced || client.Models().Price(r.Agent, r.Model) != nil {
			continue
		}
		i := slices.IndexFunc(list, func(u UnpricedModel) bool { return u.Agent == r.Agent && u.Model == r.Model })
		if i < 0 {
			i, list = len(list), append(list, UnpricedModel{Agent: r.Agent, Model: r.Model})
		}
		list[i].Runs++
	}
	slices.SortStableFunc(list, func(a, b UnpricedModel) int { return cmp.Compare(b.Runs, a.Runs) })
	return list, nil
}
