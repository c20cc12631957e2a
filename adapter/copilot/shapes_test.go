package copilot

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
)

func TestShapes(t *testing.T) {
	t.Parallel()
	clitest.TestShapes(t, map[string]clitest.Shape{
		"callShape": &callShape, "doneShape": &doneShape, "errorShape": &errorShape, "lineShape": &lineShape,
		"messageShape": &messageShape, "metricShape": &metricShape, "modelUsageShape": &modelUsageShape,
		"requestShape": &requestShape, "resultShape": &resultShape, "sessionAnswerShape": &sessionAnswerShape,
		"sessionRecordShape": &sessionRecordShape, "sessionResultShape": &sessionResultShape, "sessionUsageShape": &sessionUsageShape,
		"shellShape": &shellShape, "subagentShape": &subagentShape, "tokenShape": &tokenShape, "toolDeltaShape": &toolDeltaShape,
		"usageLineShape": &usageLineShape,
	})
}
