package charter

import (
	"fmt"

	"github.com/drawbar/drawbar/internal/governance/protocol"
)

// Unbuilt lists what the configuration asks for, is legal, and is not carried out by this version: each by the key that
// asks. What would change the run is an error; what only another command would have read is a warning.
func Unbuilt(c *protocol.Config) []Problem {
	n := Normalize(c)
	var f findings
	f.unbuiltRoles(n)
	for phase, p := range n.Routing.All() {
		if p.Concurrency() > 1 {
			f.unbuilt(Path("routing", phase, "max_concurrent_turns"), "set it to 1", "turns do not run at the same time yet")
		}
	}
	if some(n.Notifications) {
		f.unbuilt("notifications", "remove it; use a hook of type http", "nobody is notified yet")
	}
	if some(n.Schedules) {
		f.unbuilt("schedules", "remove it; start runs from cron or CI", "runs do not start by themselves yet")
	}
	if some(n.MissionPlanner) {
		f.warn(NotBuilt, "mission_planner", "", "has no effect: there are no missions yet")
	}
	if n.RunLoop != nil && some(n.RunLoop.Extra.At("continuous")) {
		f.warn(NotBuilt, "run_loop.continuous", "", "has no effect: runs do not continue by themselves yet")
	}
	return f.list
}

// unbuiltRoles looks at the roles that routing lets take turns: another one's runtime is never started.
func (f *findings) unbuiltRoles(c *protocol.Config) {
	seen := map[string]bool{}
	for _, p := range c.Routing.All() {
		for _, id := range routed(c, p) {
			if seen[id] {
				continue
			}
			seen[id] = true
			role := c.Roles.At(id)
			name, rt, ok := c.RuntimeOf(id)
			if !ok {
				continue
			}
			field := Path("runtimes", name, "type")
			if role.FirstEdition() {
				field = Path("roles", id, "adapter")
			}
			switch rt.Type {
			case protocol.RuntimeManual, protocol.RuntimeLocalCLI, protocol.RuntimeAgent:
			case protocol.RuntimeAPIProxy, protocol.RuntimeMCP, protocol.RuntimeRemoteAgent:
				f.unbuilt(field, "use a runtime of type manual, local_cli or agent", fmt.Sprintf("the role %s needs %s, which does not run yet", id, rt.Type))
			default:
				f.unbuilt(field, "use manual or local_cli, or a runtime", fmt.Sprintf("the role %s needs the custom adapter %s, which does not run yet", id, rt.Type))
			}
			if role.WriteAuthority == protocol.Proposed {
				f.warn(NotBuilt, Path("roles", id, "write_authority"), "", "its proposals are recorded, but no command applies them yet")
			}
		}
	}
}

func (f *findings) unbuilt(field, hint, message string) {
	f.add(Problem{Type: NotBuilt, Field: field, Message: message, Hint: hint, Detail: map[string]any{"key": field}})
}

// some reports whether raw JSON says anything.
func some(raw []byte) bool {
	if !protocol.Is(raw) {
		return false
	}
	m, ok := decodeRaw[protocol.Extra](raw)
	return !ok || m.Len() > 0
}
