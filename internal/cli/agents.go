package cli

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
)

// Agents returns the agents with these names or aliases, or all that have an adapter of their own. An unknown name is an
// error.
func (a *App) Agents(names ...string) ([]catalog.Entry, error) {
	c, err := a.Client()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		for _, i := range c.Adapters().List() {
			if i.Protocol == "" {
				names = append(names, i.Agent)
			}
		}
	}
	entries := make([]catalog.Entry, len(names))
	for i, name := range names {
		if entries[i], err = c.Adapters().Get(name); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// Agent returns the agent with a name or alias.
func (a *App) Agent(name string) (catalog.Entry, error) {
	entries, err := a.Agents(name)
	if err != nil {
		return catalog.Entry{}, err
	}
	return entries[0], nil
}

// Able returns the names of the agents that implement T.
func Able[T any](a *App) ([]string, error) {
	entries, err := a.Agents()
	entries = slices.DeleteFunc(entries, func(e catalog.Entry) bool { _, ok := adapter.As[T](e.Adapter); return !ok })
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Descriptor.Name
	}
	return names, err
}

// Offer returns an agent as a T. If the agent does not implement T, the error is that of Incapable.
func Offer[T any](a *App, name, what, capability string) (e catalog.Entry, t T, err error) {
	if e, err = a.Agent(name); err != nil {
		return e, t, err
	}
	if t, ok := adapter.As[T](e.Adapter); ok {
		return e, t, nil
	}
	return e, t, Incapable[T](a, e, what, capability)
}

// Incapable returns the error that an agent has no WHAT. Its hint lists the agents that implement T.
func Incapable[T any](a *App, e catalog.Entry, what, capability string) error {
	able, err := Able[T](a)
	if err != nil {
		return err
	}
	lacks := execution.Errorf(execution.CodeCapability, "%s has no %s", e.Descriptor.Name, what).WithHint("supported by: %s", strings.Join(able, ", "))
	lacks.Agent, lacks.Capability = e.Descriptor.Name, capability
	return lacks
}
