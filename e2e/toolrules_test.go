//go:build e2e

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// A rule decides about a command before anybody is asked: one that denies holds even with --yolo, one that allows needs nobody, and a
// command with more in it than the rule allows has not run.
func TestToolRules(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		for _, tt := range []struct {
			name, command string
			flags         []string
			ran           bool
			reason        string
		}{
			{"denied", "touch ran", []string{"--yolo", "--deny-tool", "Bash(touch:*)"}, false, "denied by the rule Bash(touch:*)"},
			{"not denied", "touch ran", []string{"--yolo", "--deny-tool", "Bash(rm:*)"}, true, ""},
			{"allowed", "touch ran", []string{"--allow", "Bash(touch:*)"}, true, "by the rule Bash(touch:*)"},
			{"more than allowed", "touch ran; touch other", []string{"--allow", "Bash(touch ran)"}, false, "nobody can approve it"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				l := newLab(t, k, `{"turns":[{"text":"placeholder"}]}`)
				line := strings.ReplaceAll(tt.command, "touch ", "touch "+shellQuote(l.work)+"/")
				flags := append([]string{}, tt.flags...)
				for i, f := range flags {
					flags[i] = strings.ReplaceAll(f, "touch ran", "touch "+filepath.Join(l.work, "ran"))
				}
				l.script(`{"turns":[{"tools":[` + k.shell(line) + `]},{"text":"done"}],"onExhausted":"last"}`)
				agent := k.can(t).Agent
				if tt.name == "denied" || tt.name == "not denied" {
					if agent.RuntimeHooks.PreToolUse != execution.HookBlocking {
						partly(t, "a rule that denies needs a hook before each tool call; refused before anything starts: --deny-tool")
						l.nothingStarts(append(flags, "hi")...)
						return
					}
				} else if !slices.Contains(agent.ApprovalModes, execution.ApprovalPrompt) {
					l.refused(append(flags, "hi")...)
					return
				}
				o := l.run(append(flags, "hi")...)
				if agent.DenialEndsTurn && !tt.ran {
					partly(t, "a denial ends the turn")
				} else {
					o.completed(t)
				}
				if len(bodies[execution.ApprovalRequired](o)) == 0 && len(bodies[execution.ApprovalDenied](o)) == 0 && strings.Contains(tt.name, "allowed") {
					partly(t, "the agent runs such a command without asking")
					return
				}
				if got := there(filepath.Join(l.work, "ran")); got != tt.ran || there(filepath.Join(l.work, "other")) {
					t.Errorf("the command ran: %v", got)
				}
				var said []string
				for _, e := range o.events {
					switch b := e.Body.(type) {
					case execution.ApprovalGranted:
						said = append(said, b.Detail)
					case execution.ApprovalDenied:
						said = append(said, b.Reason)
					}
				}
				if !strings.Contains(strings.Join(said, "\n"), tt.reason) {
					t.Errorf("the decisions are %q", said)
				}
			})
		}
	})
}
