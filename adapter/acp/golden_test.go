package acp

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acpgolden"
)

// TestGoldens replays conversations with real agents, each as its row reads them.
func TestGoldens(t *testing.T) {
	t.Parallel()
	rows := map[string]acpagent.Agent{}
	for _, row := range named() {
		rows[row().About.Name] = row()
	}
	acpgolden.Test(t, 14, func(t *testing.T, name string) acpagent.Spec {
		agent, _, _ := strings.Cut(name, "-")
		row, ok := rows[agent]
		if !ok {
			t.Fatalf("no row for %s", agent)
		}
		return row.Spec()
	})
}
