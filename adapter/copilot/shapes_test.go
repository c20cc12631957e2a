package copilot

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
)

func TestShapes(t *testing.T) {
	t.Parallel()
	clitest.TestShapes(t, map[string]clitest.Shape{
		"lineShape":    &lineShape,
		"metricShape":  &metricShape,
		"requestShape": &requestShape, "resultShape": &resultShape, "sessionAnswerShape": &sessionAnswerShape,
		"sessionRecordShape": &sessionRecordShape, "sessionResultShape": &sessionResultShape,
		"tokenShape":     &tokenShape,
		"usageLineShape": &usageLineShape,
	})
}
