package gemini

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
)

func TestShapes(t *testing.T) {
	t.Parallel()
	clitest.TestShapes(t, map[string]clitest.Shape{
		"apiShape": &apiShape, "lineShape": &lineShape, "sessionCallShape": &sessionCallShape,
		"sessionMessageShape": &sessionMessageShape, "sessionRecordShape": &sessionRecordShape,
		"sessionTokenShape": &sessionTokenShape, "statsShape": &statsShape, "tokenShape": &tokenShape,
		"usageLineShape": &usageLineShape,
	})
}
