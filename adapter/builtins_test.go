package adapter

import "testing"

func TestBuiltins(t *testing.T) {
	builtins.mu.Lock()
	saved := builtins.list
	builtins.list = nil
	builtins.mu.Unlock()
	t.Cleanup(func() {
		builtins.mu.Lock()
		defer builtins.mu.Unlock()
		builtins.list = saved
	})
	if got := Builtins(); got == nil || len(got) != 0 {
		t.Errorf("Builtins of nothing = %#v", got)
	}
	Register(func() Descriptor { return Descriptor{Name: "b"} })
	Register(func() Descriptor {
		return Descriptor{Name: "a", Aliases: []string{"a-code"}, HostSignals: []string{"A"}, HostTraces: []string{"A_TRACE"}}
	})
	Register(func() Descriptor { return Descriptor{Name: "b", DisplayName: "second"} })
	got := Builtins()
	if len(got) != 2 || got[0].Name != "a" || got[0].DisplayName != "a" || got[1].Name != "b" || got[1].DisplayName != "second" {
		t.Errorf("Builtins = %v, want a and the second b", got)
	}
	got[0].Aliases[0] = "changed"
	if Builtins()[0].Aliases[0] != "a-code" {
		t.Error("a caller changed the list")
	}
	if m := HostMarkers(); len(m) != 2 || m[0] != "A" || m[1] != "A_TRACE" {
		t.Errorf("HostMarkers = %v", m)
	}
}
