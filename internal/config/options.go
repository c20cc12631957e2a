package config

import (
	"encoding/json"
	"maps"

	"github.com/drawbar/drawbar/execution"
)

// Options are options of a run as their JSON names and values, so that what is stated can be told from what is not.
type Options map[string]json.RawMessage

// Lay puts other options over these: scalars and lists replace, env, thinkingOverride and retryPolicy are merged one level deep.
func (o Options) Lay(over map[string]json.RawMessage) {
	for key, raw := range over {
		if key == "retryPolicy" {
			raw = oneSpelling(raw)
		}
		var under, top map[string]json.RawMessage
		if (mergedObject(key) || key == "thinkingOverride") && json.Unmarshal(o[key], &under) == nil && json.Unmarshal(raw, &top) == nil && under != nil {
			maps.Copy(under, top)
			if b, err := json.Marshal(under); err == nil {
				raw = b
			}
		}
		o[key] = raw
	}
}

// Decode makes options of a run. An unknown key is an error.
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

// Of gives the options that are stated in run: those with another than the zero value.
func Of(run execution.RunOptions) (Options, error) {
	b, err := json.Marshal(run)
	if err != nil {
		return nil, err
	}
	o := Options{}
	return o, json.Unmarshal(b, &o)
}
