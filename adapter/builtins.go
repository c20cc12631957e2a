package adapter

import (
	"maps"
	"slices"
	"sync"
)

var builtins struct {
	mu   sync.Mutex
	list map[string]Descriptor
}

// Register adds a built-in agent to the list of this process. The init functions of the adapters call it; a program adds
// agents of its own with catalog.Registry.Register. A second agent of the same name takes the place of the first. Whether
// the descriptor is valid is found out when a registry first needs the agent. It is safe for concurrent use.
func Register(d Descriptor) {
	d = d.Clone()
	builtins.mu.Lock()
	defer builtins.mu.Unlock()
	if builtins.list == nil {
		builtins.list = map[string]Descriptor{}
	}
	builtins.list[d.Name] = d
}

// Builtins is a copy of the list that Register fills, sorted by name.
func Builtins() []Descriptor {
	builtins.mu.Lock()
	defer builtins.mu.Unlock()
	list := make([]Descriptor, 0, len(builtins.list))
	for _, name := range slices.Sorted(maps.Keys(builtins.list)) {
		list = append(list, builtins.list[name].Clone())
	}
	return list
}

// HostMarkers are the variables by which built-in agents tell their children where they run: their signals and traces.
func HostMarkers() (names []string) {
	builtins.mu.Lock()
	defer builtins.mu.Unlock()
	for _, d := range builtins.list {
		names = append(append(names, d.HostSignals...), d.HostTraces...)
	}
	return names
}
