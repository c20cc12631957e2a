package adapter

import (
	"maps"
	"slices"
	"sync"
)

var builtins struct {
	mu      sync.Mutex
	list    []func() Descriptor
	markers []string // the answer of HostMarkers, nil if it is not known
}

// Register adds a built-in agent to this process's list. The adapters' init functions call it; a program adds
// its own agents with catalog.Registry.Register. describe is called when the list is read and returns a fresh
// descriptor each time. A later agent replaces an earlier one of the same name. A registry validates a
// descriptor when it first needs the agent. Register is safe for concurrent use.
func Register(describe func() Descriptor) {
	builtins.mu.Lock()
	defer builtins.mu.Unlock()
	builtins.list, builtins.markers = append(builtins.list, describe), nil
}

// Builtins returns the descriptors of the registered built-in agents, sorted by name.
func Builtins() []Descriptor {
	builtins.mu.Lock()
	defer builtins.mu.Unlock()
	return listBuiltins()
}

// listBuiltins is Builtins; the caller holds mu.
func listBuiltins() []Descriptor {
	byName := map[string]Descriptor{}
	for _, describe := range builtins.list {
		d := describe().completed()
		byName[d.Name] = d
	}
	list := make([]Descriptor, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, byName[name])
	}
	return list
}

// HostMarkers returns the variables by which built-in agents mark their child processes: signals and traces.
// Every run needs them.
func HostMarkers() []string {
	builtins.mu.Lock()
	defer builtins.mu.Unlock()
	if builtins.markers == nil {
		builtins.markers = []string{}
		for _, d := range listBuiltins() {
			builtins.markers = append(append(builtins.markers, d.HostSignals...), d.HostTraces...)
		}
	}
	return slices.Clone(builtins.markers)
}
