package codex

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
)

func TestShapes(t *testing.T) {
	t.Parallel()
	clitest.TestShapes(t, map[string]clitest.Shape{
		"apiShape": &apiShape, "appItemShape": &appItemShape, "callFaultShape": &callFaultShape, "commandShape": &commandShape,
		"itemShape": &itemShape, "lineShape": &lineShape, "metaShape": &metaShape, "printedShape": &printedShape,
		"recordShape": &recordShape, "threadShape": &threadShape, "tokenShape": &tokenShape, "tokensShape": &tokensShape,
		"turnShape": &turnShape, "usageLineShape": &usageLineShape,
	})
}
