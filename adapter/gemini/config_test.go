package gemini

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
)

// The files in testdata/config were written by the agent's own commands.
func TestConfig(t *testing.T) {
	t.Parallel()
	adaptertest.Config(t, configSchema(), "testdata/config")
}
