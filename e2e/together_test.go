//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// TestTwoOfEveryAgentAtOnce: two runs of an agent in two directories do not disturb each other, nor those of the other agents.
func TestTwoOfEveryAgentAtOnce(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		var wg sync.WaitGroup
		var said [2]outcome
		for i := range said {
			l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"%s %d"}]}`, k.shell("sleep 0.3; echo x"), k.name, i))
			wg.Go(func() { said[i] = l.run("--approve", "yolo", "go") })
		}
		wg.Wait()
		for i, o := range said {
			if want := fmt.Sprintf("%s %d", k.name, i); o.result.Output == nil || o.result.Output.Text != want {
				t.Errorf("%s: %s %+v", want, o.result.Status, o.result.Error)
			}
		}
	})
}

// TestTwoInOneHome: a run that begins while another of the same user goes on is not disturbed by the end of that.
func TestTwoInOneHome(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"x"}]}`)
		until := func(message, file string) string {
			return fmt.Sprintf(`{"match":{"contains":%q},"tools":[%s]}`, message, k.shell("until test -e "+file+"; do sleep 0.1; done; echo x"))
		}
		l = relab(t, l, `{"turns":[`+until("the first", "one")+`,`+until("the second", "two")+`,{"text":"done","repeat":true}]}`)
		end := func() {}
		if k.shares != nil {
			end = k.shares(l)
		}
		var runs []*started
		for _, message := range []string{"the first", "the second"} {
			s := l.start("--approve", "yolo", message)
			await[execution.ToolCallReady](s)
			runs = append(runs, s)
		}
		for i, file := range []string{"one", "two"} {
			if err := os.WriteFile(filepath.Join(l.work, file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if o := runs[i].end(); o.result.Output == nil || o.result.Output.Text != "done" {
				t.Errorf("run %d: %s %+v", i, o.result.Status, o.result.Error)
			}
		}
		end()
		l.noSurvivors()
	})
}
