package copilot

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/adapter/kit/usagescan/usagetest"
)

// The files are real ones, with long texts cut.
func TestUsageGolden(t *testing.T) {
	usagetest.Golden(t, Adapter{}, "testdata/usage", "testdata/usage.golden", *clitest.Update)
}

func FuzzUsageLog(f *testing.F) { usagetest.Fuzz(f, Adapter{}, "testdata/usage") }
