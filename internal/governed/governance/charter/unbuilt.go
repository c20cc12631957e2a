package charter

import (
	"github.com/drawbar/drawbar/govern/protocol"
)

// Unbuilt lists legal settings that this version does not support, each with its key. They are warnings.
func Unbuilt(c *protocol.Config) []Problem {
	n := Normalize(c)
	var f findings
	if some(local(n.Notifications)) {
		f.warn(NotBuilt, "notifications.local", "drawbar config set notify '{\"desktop\":true}'", "has no effect: what happens on your machine is for your own configuration to say")
	}
	if some(n.MissionPlanner) {
		f.warn(NotBuilt, "mission_planner", "", "has no effect: missions are not supported yet")
	}
	if n.RunLoop != nil && n.RunLoop.Continuous != nil {
		for _, key := range n.RunLoop.Continuous.Extra.Keys() {
			f.warn(NotBuilt, "run_loop.continuous."+key, "", "has no effect: automatic continuation is not supported yet")
		}
	}
	return f.list
}

func local(notifications []byte) []byte {
	m, _ := decodeRaw[protocol.Extra](notifications)
	return m.At("local")
}

// some reports whether raw JSON has a value other than null, false or empty.
func some(raw []byte) bool {
	if !protocol.Is(raw) {
		return false
	}
	m, ok := decodeRaw[protocol.Extra](raw)
	return !ok || m.Len() > 0
}
