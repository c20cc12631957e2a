package qwen

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
)

// printed is what the program printed.
func printed(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "plugins", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestPlugins(t *testing.T) {
	adaptertest.Plugins(t, Adapter{}, "extensions list", adapter.SpawnOutcome{Stdout: printed(t, "list")}, []adapter.InstalledPlugin{
		{PluginID: "greeter", Name: "greeter", Version: "1.2.0", Agent: name, Format: adapter.PluginExtension, Enabled: true, Description: "Greets people; twice"},
	})
	t.Run("none", func(t *testing.T) {
		var ran []string
		list, err := Adapter{}.ListPlugins(t.Context(), adaptertest.Commands{"extensions list": {Stdout: printed(t, "none")}}.Host(&ran))
		if err != nil || list == nil || len(list) != 0 {
			t.Errorf("%v %v", list, err)
		}
	})
}

func FuzzPlugins(f *testing.F) {
	adaptertest.FuzzPlugins(f, Adapter{}, printed(f, "list"), printed(f, "none"))
}
