//go:build unix

package turnruntime

import (
	"context"
	"os"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

// BenchmarkLocalCLI is a turn of a trivial shell agent: what a runtime adds to it.
func BenchmarkLocalCLI(b *testing.B) {
	d := Dispatch{Root: b.TempDir(), Run: "run_1", Turn: protocol.Turn{TurnID: "turn_1"}, RoleID: "dev", RuntimeID: "sh", Environ: os.Environ()}
	d.BundleDir, d.StagedPath = d.Root+"/bundle", d.Root+"/staging/turn_1/turn-result.json"
	d.Runtime = protocol.Runtime{Type: protocol.RuntimeLocalCLI, Command: protocol.Words{List: []string{"/bin/sh", "-c",
		`printf '{"turn_id":"turn_1"}' > "$AGENTXCHAIN_STAGING_PATH"`}}}
	rt, err := For(d.Runtime, Deps{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		o, err := rt.Run(context.Background(), d, nil)
		if err != nil || !o.Staged {
			b.Fatalf("%+v %v", o, err)
		}
		_ = os.RemoveAll(d.BundleDir)
	}
}
