package external

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// FuzzLine: whatever a program prints, the parser does not panic, tells no end of the run but by its result, and a result that it
// accepts is valid for its status.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		introduced + "\n" + `{"jsonrpc":"2.0","id":2,"result":{"reasons":[]}}` + "\n" + completed,
		introduced + "\n" + `{"jsonrpc":"2.0","id":2,"error":{"code":-32601}}` + "\n" +
			`{"jsonrpc":"2.0","method":"event","params":{"type":"finished"}}` + "\n" + `{"jsonrpc":"2.0","id":3,"result":{"status":"failed","error":{}}}`,
		"noise", `{"jsonrpc":"2.0","id":"x","method":"ask"}`, `{"jsonrpc":"2.0","id":1,"error":null}`, `{"jsonrpc":"2.0","id":1,"result":null}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, printed string) {
		p := &parser{name: "fake", says: "fake"}
		s := cliagent.NewSink(true)
		p.Open(s)
		for line := range strings.SplitSeq(printed, "\n") {
			p.Line(process.Stdout, []byte(line), s)
		}
		res := p.Exit(process.Exit{}, s)
		for _, e := range s.Take() {
			if e.Terminal() {
				t.Errorf("a program ended its run with an event: %q", printed)
			}
		}
		if failed := res.Status == execution.StatusFailed || res.Status == execution.StatusUnsupported; failed && res.Error == nil {
			t.Errorf("a failure without an error: %q", printed)
		}
	})
}
