package qwen

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
)

func TestShapes(t *testing.T) {
	t.Parallel()
	clitest.TestShapes(t, map[string]clitest.Shape{
		"messageShape": &messageShape, "callUsageShape": &callUsageShape,
		"eventShape": &eventShape, "fallbackShape": &fallbackShape, "initShape": &initShape, "resultShape": &resultShape,
		"retryShape": &retryShape, "sessionRecordShape": &sessionRecordShape,
		"taskShape": &taskShape, "usageLineShape": &usageLineShape, "usageShape": &usageShape,
	})
}
