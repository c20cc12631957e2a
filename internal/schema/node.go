package schema

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/drawbar/drawbar/internal/base/shape"
)

// ofNode returns the schema of a node of the table.
func ofNode(n *shape.Node) *jsonschema.Schema {
	s := &jsonschema.Schema{Description: n.Doc}
	if n.Default != nil {
		raw, err := json.Marshal(n.Default)
		if err != nil {
			panic(fmt.Sprintf("default of %s: %v", n.Doc, err)) // the table holds plain values
		}
		s.Default = raw
	}
	switch n.Kind {
	case shape.Object:
		s.Type = "object"
		s.Properties = map[string]*jsonschema.Schema{}
		for _, k := range n.Keys {
			s.Properties[k.Name] = ofNode(&k.Node)
			s.PropertyOrder = append(s.PropertyOrder, k.Name)
			if k.Required {
				s.Required = append(s.Required, k.Name)
			}
		}
		if n.Closed {
			s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
		}
	case shape.Map:
		s.Type = "object"
		s.AdditionalProperties = ofNode(n.Of)
		if n.Names != "" {
			s.PropertyNames = &jsonschema.Schema{Pattern: n.Names}
		}
	case shape.List:
		s.Type = "array"
		s.Items = ofNode(n.Of)
		limits(s, n)
	case shape.Words:
		one := 1
		s.AnyOf = []*jsonschema.Schema{{Type: "string", MinLength: &one}, {Type: "array", Items: &jsonschema.Schema{Type: "string"}, MinItems: &one}}
	case shape.String, shape.Integer, shape.Number, shape.Boolean:
		s.Type = string(n.Kind)
		bounds(s, n)
	}
	if n.Null && s.Type != "" {
		s.Types, s.Type = []string{s.Type, "null"}, ""
		if len(s.Enum) > 0 {
			s.Enum = append(s.Enum, nil)
		}
	}
	return s
}

func bounds(s *jsonschema.Schema, n *shape.Node) {
	for _, e := range n.Enum {
		s.Enum = append(s.Enum, e)
	}
	s.Pattern = n.Pattern
	if n.Kind == shape.String && !n.Blank && len(n.Enum) == 0 && n.Pattern == "" {
		one := 1
		s.MinLength = &one
	}
	if n.MaxLen > 0 {
		s.MaxLength = &n.MaxLen
	}
	if s.Minimum = n.Min; n.Above {
		s.Minimum, s.ExclusiveMinimum = nil, n.Min
	}
	s.Maximum = n.Max
}

func limits(s *jsonschema.Schema, n *shape.Node) {
	if n.MinItems > 0 {
		s.MinItems = &n.MinItems
	}
	if n.MaxItems > 0 {
		s.MaxItems = &n.MaxItems
	}
}
