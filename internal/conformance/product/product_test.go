package product

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbar/drawbar/internal/conformance"
)

// TestPublicFixtures runs the fixtures of the protocol's own suite, as far as they are on this machine: those beside the
// module, and those in the folder that AGENTXCHAIN_FIXTURES names.
func TestPublicFixtures(t *testing.T) {
	for _, dir := range []string{filepath.Join("..", "..", "..", "..", "shared", "conformance", "agentxchain", "fixtures"), os.Getenv("AGENTXCHAIN_FIXTURES")} {
		if _, err := os.Stat(dir); err != nil {
			t.Logf("SKIPPED: no public fixtures at %q", dir)
			continue
		}
		fixtures, err := conformance.Load(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		_, outcomes, err := conformance.Run(t.Context(), Target("test"), fixtures, conformance.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range outcomes {
			want := conformance.Pass
			if o.Tier == 3 {
				want = conformance.NotImplemented
			}
			if o.Status != want {
				t.Errorf("%s: %s: %s\n%s", o.FixtureID, o.Status, o.Message, o.Actual)
			}
		}
		t.Logf("%d fixtures of %s", len(outcomes), dir)
	}
}
