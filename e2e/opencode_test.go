//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// opencodeWithoutProvider takes away the provider and OpenCode's own models, which need no login.
func opencodeWithoutProvider(l *lab) {
	l.env["OPENCODE_CONFIG_CONTENT"] = `{"autoupdate":false,"share":"disabled","disabled_providers":["opencode"]}`
}

// TestOpencodeSubagentAsks: what a sub-agent of OpenCode asks for is refused, because nobody hears of it over ACP. The run goes on, and
// the sub-agent's tokens are counted.
func TestOpencodeSubagentAsks(t *testing.T) {
	only(t, "opencode", func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"onExhausted":"text:done","turns":[{"tools":[%s]},{"tools":[%s]}]}`,
			`{"name":"task","input":{"description":"look","prompt":"look around","subagent_type":"general"}}`, k.shell("echo wombat > seen.txt")))
		o := l.run("go")
		o.completed(t)
		if there(l.work+"/seen.txt") || !slices.ContainsFunc(bodies[execution.Debug](o), func(d execution.Debug) bool {
			return d.Level == execution.DebugWarn && strings.Contains(d.Message, "its request for bash was refused")
		}) {
			t.Errorf("the command of a sub-agent ran unasked, or nothing says that it was refused: %+v", bodies[execution.Debug](o))
		}
		if n := int64(l.turns()); n < 3 || o.result.Usage.Input != 100*n {
			t.Errorf("%d calls, usage %+v", n, o.result.Usage)
		}
	})
}
