package copilot

import (
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// negotiate adds limitations that depend on the session, the attachments and the environment.
func negotiate(req execution.Request) []execution.Reason {
	reasons := cliagent.NewReasons(req)
	reasons.Attachments(name, takes, req.Message.Attachments, func(kind cliagent.Media, _ string) bool {
		return kind == cliagent.MediaOther || kind == cliagent.MediaAudio || kind == cliagent.MediaPDF
	})
	return reasons
}
