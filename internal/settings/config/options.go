package config

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/drawbar/drawbar/execution"
)

// Options are a run's options by JSON name, so that stated options can be distinguished from unstated ones.
type Options map[string]json.RawMessage

// perAgent reports whether configuration files may state an option of runs, for all agents or for one. The
// agent and the profile of a run are chosen earlier and separately.
func perAgent(o execution.Option) bool {
	return o.In(execution.ReachUser) && o.Name != "agent" && o.Name != "profile"
}

// fileKey is an option's top-level key in a configuration file.
func fileKey(o execution.Option) string { return cmp.Or(o.Key, o.Name) }

// isMerged reports whether the objects of several layers are merged; other values replace each other.
func isMerged(key string) bool {
	o, ok := execution.OptionNamed(key)
	return key == "agents" || key == CustomAgents || key == worktrees || ok && o.Merged()
}

// joined returns the list of two layers if it is of an option that adds up; else what is on top.
func joined(key string, under, top json.RawMessage) json.RawMessage {
	o, _ := execution.OptionNamed(key)
	var list, more []string
	if !o.Adds && key != worktrees+".copy" || json.Unmarshal(under, &list) != nil || json.Unmarshal(top, &more) != nil {
		return top
	}
	for _, entry := range more {
		if !slices.Contains(list, entry) {
			list = append(list, entry)
		}
	}
	b, err := json.Marshal(list)
	if err != nil {
		return top
	}
	return b
}

// Lay applies other options on top of these: scalars replace, and so do lists unless they add up; objects are merged one level deep.
func (o Options) Lay(over map[string]json.RawMessage) {
	for key, raw := range over {
		raw = joined(key, o[key], raw)
		if key == "retryPolicy" {
			raw = oneSpelling(raw)
		}
		var under, top map[string]json.RawMessage
		if isMerged(key) && json.Unmarshal(o[key], &under) == nil && json.Unmarshal(raw, &top) == nil && under != nil {
			maps.Copy(under, top)
			if b, err := json.Marshal(under); err == nil {
				raw = b
			}
		}
		o[key] = raw
	}
}

// Decode converts the options to run options. An unknown key is an error.
func (o Options) Decode() (execution.RunOptions, error) {
	var run execution.RunOptions
	b, err := json.Marshal(o)
	if err != nil {
		return run, err
	}
	if err := strict(b, &run); err != nil {
		return run, err
	}
	return run, nil
}

// Of returns the options that run states: those with a non-zero value.
func Of(run execution.RunOptions) (Options, error) {
	b, err := json.Marshal(run)
	if err != nil {
		return nil, err
	}
	o := Options{}
	return o, json.Unmarshal(b, &o)
}
