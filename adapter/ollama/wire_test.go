package ollama

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/modelapi/modelapitest"
	"github.com/drawbar/drawbar/execution"
)

func TestWire(t *testing.T) {
	modelapitest.Golden(t, Spec(), func(req *execution.Request) {
		req.Message.Attachments = append(req.Message.Attachments[:1], req.Message.Attachments[2])
	})
}

func FuzzStream(f *testing.F) { modelapitest.Fuzz(f, Spec()) }
