package cli

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// Rows stay one line each and stand below each other, whatever the names and tools are called.
func TestLanes(t *testing.T) {
	t.Parallel()
	var l Lanes
	first, wide := l.Begin("a\nb\x1b[2J"), l.Begin("宽宽")
	l.Begin(strings.Repeat("long ", 20)).Say("waits\nfor it")
	first.Event(execution.Event{Body: execution.ToolCallReady{ToolName: "Ba\nsh"}})
	wide.Over("green")
	rows := l.rows()
	at := 0
	for i, row := range rows {
		if strings.ContainsAny(row, "\n\x1b") {
			t.Errorf("%q", row)
		}
		before, _, _ := strings.Cut(row, "0s · ")
		if n := Columns(before); i > 0 && n != at {
			t.Errorf("%q begins at %d, not at %d", row, n, at)
		} else {
			at = n
		}
	}
	if len(rows) != 3 || !strings.HasSuffix(rows[0], "Ba sh") || !strings.HasSuffix(rows[1], "green") || !strings.HasSuffix(rows[2], "waits for it") {
		t.Errorf("%q", rows)
	}
	wide.End()
	if len(l.rows()) != 2 {
		t.Errorf("%q", l.rows())
	}
}
