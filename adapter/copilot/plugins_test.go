package copilot

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
)

// TestSearchWithoutAMarketplace: one that cannot be reached hides nothing that another one has, and is not taken for an empty one.
func TestSearchWithoutAMarketplace(t *testing.T) {
	commands := adaptertest.RecordedCommands(t, "testdata/plugins")
	delete(commands, "plugin marketplace browse awesome-copilot --json")
	var ran []string
	h := commands.Host(&ran)
	if found, err := (Adapter{}).SearchPlugins(t.Context(), h, "waves"); err != nil || len(found) != 1 {
		t.Errorf("%v %v", found, err)
	}
	if found, err := (Adapter{}).SearchPlugins(t.Context(), h, "no such thing"); err == nil {
		t.Errorf("%v and no error", found)
	}
}
