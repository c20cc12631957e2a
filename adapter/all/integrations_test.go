package all

import (
	"path/filepath"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/cliagent/clitest"
)

// TestIntegrations holds what every built-in adapter declares beside its runs against the golden in its testdata.
func TestIntegrations(t *testing.T) {
	for _, d := range adapter.Builtins() {
		t.Run(d.Name, func(t *testing.T) {
			adaptertest.Integrations(t, d.New(), filepath.Join("..", d.Name, "testdata"), *clitest.Update)
		})
	}
}
