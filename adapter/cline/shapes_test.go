package cline

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
)

func TestShapes(t *testing.T) {
	t.Parallel()
	clitest.TestShapes(t, map[string]clitest.Shape{"aboutShape": &aboutShape, "documentShape": &documentShape, "messageShape": &messageShape})
}
