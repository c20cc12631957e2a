package product

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/drawbar/drawbar/internal/governed/governance/charter"
)

// checkConfig checks a configuration as when a project is loaded.
func checkConfig(_ context.Context, w *world, args struct {
	Config json.RawMessage `json:"config"`
}) (fields, error) {
	text, err := inflateConfig(args.Config)
	if err != nil {
		text = args.Config // the check reports anything but an object
	}
	_, problems := charter.Decode(text)
	if faults := charter.Errors(problems); len(faults) > 0 {
		return configFault(faults), nil
	}
	return fields{"result": "success", "errors": []string{}}, nil
}

// configFault is the answer to an invalid configuration: the first fault for which the protocol has a word, else the
// first of all.
func configFault(faults []charter.Problem) fields {
	first, kind := faults[0], "invalid_config"
	list := []string{}
	named := false
	for _, p := range faults {
		list = append(list, p.String())
		switch p.Type {
		case charter.UndeclaredRole, charter.UndeclaredRuntime, charter.UndeclaredGate, charter.WrongSchemaVersion:
			if !named {
				first, kind, named = p, p.Type, true
			}
		}
	}
	f := fields{"result": "error", "error_type": kind, "error_field": first.Field, "errors": list}
	maps.Copy(f, first.Detail)
	return f
}
