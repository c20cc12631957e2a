package omp

import (
	"encoding/json"
	"slices"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
)

// models are listed with the providers that have a login.
var models = declared.ModelTable{Args: []string{"models", "--json"}, Rows: func(said adapter.SpawnOutcome) (list []execution.Model, err error) {
	var found struct {
		Models []struct {
			Provider, Selector, Name string
			ContextWindow, MaxTokens float64
			Reasoning                *bool
			Thinking, Input          []string
			Cost                     struct {
				Input, Output         float64
				CacheRead, CacheWrite *float64
			}
		}
	}
	err = json.Unmarshal([]byte(said.Stdout), &found)
	for _, m := range found.Models {
		one := execution.Model{ID: m.Selector, DisplayName: m.Name, Provider: m.Provider, ContextWindow: declared.Tokens(m.ContextWindow),
			MaxOutputTokens: declared.Tokens(m.MaxTokens), ThinkingEfforts: declared.Efforts(m.Thinking),
			Price: declared.PriceOf(m.Cost.Input, m.Cost.Output, m.Cost.CacheRead, m.Cost.CacheWrite)}
		one.Thinking = m.Reasoning
		if len(m.Input) > 0 {
			one.ImageInput = new(slices.Contains(m.Input, "image"))
		}
		list = append(list, one)
	}
	return list, err
}}
