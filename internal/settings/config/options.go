package config

import (
	"cmp"
	"encoding/json"
	"maps"

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
	return key == "agents" || key == CustomAgents || ok && o.Merged()
}

// Lay applies other options on top of these: scalars and lists replace, objects are merged one level deep.
func (o Options) Lay(over map[string]json.RawMessage) {
	for key, raw := range over {
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
