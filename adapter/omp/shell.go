package omp

import (
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// shellOf reads a call that runs a command. Its content begins with the command, so the output is taken from the tool's own
// form, without the remarks of the tool behind it. That form has the exit code, unless it is 0.
func shellOf(c *acpagent.ToolCall) (acpagent.Shell, bool) {
	sh, ok := acpagent.DefaultShell(c)
	if !ok || c.InputField("command") == "" {
		return sh, ok
	}
	var parts []string
	c.OutputField("content").Array(func(_ int, part jsonscan.Value) bool {
		parts = append(parts, part.Get("text").Str())
		return true
	})
	sh.Output = strings.Join(parts, "\n")
	if end := strings.LastIndex(sh.Output, "\n\nWall time: "); end >= 0 {
		sh.Output = strings.TrimPrefix(sh.Output[:end], "(no output)")
	}
	details := c.OutputField("details")
	if code, stated := details.Get("exitCode").Int(); stated {
		sh.ExitCode = new(int(code))
	} else if c.Status == "completed" && details.Get("wallTimeMs").Exists() {
		sh.ExitCode = new(0)
	}
	return sh, true
}
