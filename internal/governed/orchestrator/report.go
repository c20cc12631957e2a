package orchestrator

import (
	"fmt"
	"strings"
	"time"

	"github.com/drawbar/drawbar/govern"
)

// line is the report of a turn in one line.
func line(r govern.Report) string {
	text := fmt.Sprintf("turn %s of %s", r.TurnID, r.Role)
	if r.DurationMS > 0 {
		text += ", " + govern.Took(time.Duration(r.DurationMS)*time.Millisecond)
	}
	if r.Cost != nil && r.Cost.USD > 0 {
		text += fmt.Sprintf(", $%.4f", r.Cost.USD)
	}
	switch {
	case r.Summary != "":
		text += ": " + strings.Join(strings.Fields(r.Summary), " ")
	case len(r.Errors) > 0:
		text += ": " + joined(r.Errors)
	}
	if r.EnteredPhase != "" {
		text += "; phase " + r.EnteredPhase + " begins"
	}
	return text
}
