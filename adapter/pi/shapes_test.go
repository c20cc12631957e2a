package pi

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
)

func TestShapes(t *testing.T) {
	t.Parallel()
	clitest.TestShapes(t, map[string]clitest.Shape{"lineShape": &lineShape, "modelShape": &modelShape, "compactionShape": &compactionShape,
		"callShape": &callShape, "messageShape": &messageShape,
		"resultShape": &resultShape, "gateShape": &gateShape})
}

// The files in testdata/config have the form of docs/settings.md.
func TestConfig(t *testing.T) {
	t.Parallel()
	adaptertest.Config(t, configSchema(), "testdata/config")
}

func FuzzPlugins(f *testing.F) { adaptertest.FuzzPlugins(f, Adapter{}) }

func FuzzModels(f *testing.F) { adaptertest.FuzzModels(f, Adapter{}) }
