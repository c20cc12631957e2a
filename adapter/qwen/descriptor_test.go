package qwen

import (
	"slices"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/catalog"
)

func TestDescriptor(t *testing.T) {
	t.Parallel()
	if r := catalog.NewRegistry([]adapter.Descriptor{Descriptor()}, adapter.Host{}); len(r.List()) != 1 {
		t.Fatal("the registry does not know the agent")
	}
	a, b := Descriptor(), Descriptor()
	a.Models[0].ID, a.Keys[0], a.HostSignals[0] = "x", "x", "x"
	if b.Models[0].ID == "x" || b.Keys[0] == "x" || b.HostSignals[0] == "x" || Descriptor().Keys[0] == "x" {
		t.Error("descriptors share memory")
	}
	names := map[string]bool{}
	for _, m := range b.Models {
		if m.Price != nil && (m.Price.Input <= 0 || m.Price.Output <= m.Price.Input) {
			t.Errorf("the price of %s is %+v", m.ID, m.Price)
		}
		// A price that depends on the length of the prompt is none.
		if m.Price != nil && m.ID != "qwen-max" {
			t.Errorf("model %s has one price", m.ID)
		}
		if m.ContextWindow == 0 {
			t.Errorf("model %s has no window", m.ID)
		}
		for _, name := range append(m.Aliases, m.ID) {
			if names[name] {
				t.Errorf("%s is said of two models", name)
			}
			names[name] = true
		}
	}
	for _, key := range b.Keys {
		if slices.Contains(b.HostSignals, key) {
			t.Errorf("%s is a key and a marker", key)
		}
	}
	if b.New() == nil {
		t.Error("there is no adapter")
	}
}
