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

// Register adds a built-in agent to this process's list. The adapters' init functions call it; a program adds
// its own agents with catalog.Registry.Register. A later agent replaces an earlier one of the same name. A
// registry validates a descriptor when it first needs the agent. Register is safe for concurrent use.
func Register(d Descriptor) {
	d = d.Clone()
	builtins.mu.Lock()
	defer builtins.mu.Unlock()
	if builtins.list == nil {
		builtins.list = map[string]Descriptor{}
	}
	builtins.list[d.Name] = d
}

// Builtins returns a copy of the registered built-in agents, sorted by name.
func Builtins() []Descriptor {
	builtins.mu.Lock()
	defer builtins.mu.Unlock()
	list := make([]Descriptor, 0, len(builtins.list))
	for _, name := range slices.Sorted(maps.Keys(builtins.list)) {
		list = append(list, builtins.list[name].Clone())
	}
	return list
}

// HostMarkers returns the variables by which built-in agents mark their child processes: signals and traces.
func HostMarkers() (names []string) {
	builtins.mu.Lock()
	defer builtins.mu.Unlock()
	for _, d := range builtins.list {
		names = append(append(names, d.HostSignals...), d.HostTraces...)
	}
	return names
}
