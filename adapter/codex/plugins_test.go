package codex

import (
	"os"
	"path/filepath"
	"reflect"
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
	adaptertest.Plugins(t, Adapter{}, "plugin list --json", adapter.SpawnOutcome{Stdout: printed(t, "list")}, []adapter.InstalledPlugin{
		{PluginID: "greeter@corner-shop", Name: "greeter", Version: "1.2.0", Agent: name, Format: adapter.PluginDirectory, Enabled: true},
	})
	t.Run("none", func(t *testing.T) {
		var ran []string
		list, err := Adapter{}.ListPlugins(t.Context(), adaptertest.Commands{"plugin list --json": {Stdout: printed(t, "none")}}.Host(&ran))
		if err != nil || list == nil || len(list) != 0 {
			t.Errorf("%v %v", list, err)
		}
	})
}

func FuzzPlugins(f *testing.F) {
	adaptertest.FuzzPlugins(f, Adapter{}, printed(f, "list"), printed(f, "none"))
}

func TestSearchPlugins(t *testing.T) {
	var ran []string
	h := adaptertest.Commands{"plugin list --json --available": {Stdout: printed(t, "available")}}.Host(&ran)
	found, err := Adapter{}.SearchPlugins(t.Context(), h, "WAVER")
	want := []adapter.PluginListing{{PluginID: "waver@corner-shop", Name: "waver", LatestVersion: "0.1.0", Agents: []string{name},
		Formats: []string{adapter.PluginDirectory}, Registry: "corner-shop", Tags: []string{}}}
	if err != nil || !reflect.DeepEqual(found, want) {
		t.Errorf("%+v %v", found, err)
	}
	if found, err = (Adapter{}).SearchPlugins(t.Context(), h, "no such thing"); err != nil || found == nil || len(found) != 0 {
		t.Errorf("%v %v", found, err)
	}
}
