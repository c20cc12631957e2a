package cline

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
)

// shellOf reads a call of run_commands, whose output states what became of each command.
func shellOf(c *acpagent.ToolCall) (acpagent.Shell, bool) {
	var input struct{ Commands []string }
	if json.Unmarshal(c.Input, &input) != nil || len(input.Commands) == 0 {
		return acpagent.DefaultShell(c)
	}
	sh := acpagent.Shell{Command: strings.Join(input.Commands, "\n")}
	var results []struct {
		Result, Error string
		Success       bool
	}
	if json.Unmarshal(c.Output, &results) != nil || len(results) == 0 {
		return sh, true
	}
	sh.ExitCode = new(0)
	for _, r := range results {
		_, text, failed := strings.Cut(r.Result, "[Command exited with code ")
		if code, rest, ok := strings.Cut(text, "]\n"); failed && ok {
			r.Result = rest
			if n, err := strconv.Atoi(code); err == nil {
				sh.ExitCode = &n
			}
		} else if !r.Success {
			sh.ExitCode = nil // it did not run, or Cline ended it
		}
		sh.Output += r.Result
	}
	return sh, true
}
