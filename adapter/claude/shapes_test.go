package claude

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
)

func TestShapes(t *testing.T) {
	t.Parallel()
	clitest.TestShapes(t, map[string]clitest.Shape{
		"askShape": &askShape, "assistantShape": &assistantShape, "compactShape": &compactShape,
		"deniedShape": &deniedShape, "initShape": &initShape, "iterationShape": &iterationShape, "lifecycleShape": &lifecycleShape,
		"limitShape": &limitShape, "metaShape": &metaShape, "modelShape": &modelShape, "modelSumShape": &modelSumShape,
		"patchShape": &patchShape, "progressShape": &progressShape, "recordShape": &recordShape, "responseShape": &responseShape,
		"resultShape": &resultShape, "retryShape": &retryShape,
		"sessionUsageShape": &sessionUsageShape, "shellShape": &shellShape, "taskShape": &taskShape,
		"usageLineShape": &usageLineShape, "usageShape": &usageShape, "userShape": &userShape,
	})
}
