package harness

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/internal/base/testenv"
	"github.com/drawbar/drawbar/transport/process"
)

func TestMain(m *testing.M) {
	process.MaybeKeeper()
	testenv.Setup(4)
	goleak.VerifyTestMain(m)
}
