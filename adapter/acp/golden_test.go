package acp

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acpgolden"
)

// TestGoldens replays conversations with real agents, each as its row reads them.
func TestGoldens(t *testing.T) {
	t.Parallel()
	rows := map[string]acpagent.Spec{}
	for _, row := range named() {
		rows[row().About.Name] = row().Spec()
	}
	acpgolden.Test(t, rows, 6)
}
