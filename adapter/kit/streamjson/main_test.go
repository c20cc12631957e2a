package streamjson_test

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/adapter/kit/streamjson/streamtest"
)

const (
	exampleVar   = "FAKE_KITE"
	exampleState = "FAKE_KITE_STATE"
)

func TestMain(m *testing.M) { clitest.Main(m, exampleVar, streamtest.Play) }
