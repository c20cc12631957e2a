package google

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/modelapi/modelapitest"
	"github.com/drawbar/drawbar/execution"
)

func TestWire(t *testing.T) {
	modelapitest.Golden(t, Spec(), func(req *execution.Request) { req.Run.TopK = 3 })
}

func FuzzStream(f *testing.F) { modelapitest.Fuzz(f, Spec()) }
