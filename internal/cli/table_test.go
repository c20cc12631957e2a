package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

const hostile = "a\x1b[31mb\x07\u202ec\x9bd\u009be"

func TestForeignTextIsHarmless(t *testing.T) {
	t.Parallel()
	bad := func(t *testing.T, text string) {
		t.Helper()
		if strings.ContainsAny(text, "\x1b\x07\u202e\u009b\r") || strings.Contains(text, "\x9b") || text == "" {
			t.Errorf("got %q, want it without control characters", text)
		}
	}
	t.Run("table", func(t *testing.T) {
		var out bytes.Buffer
		w := (&App{Out: &out}).Table()
		fmt.Fprintf(w, "%s\t%s\n", hostile, "x")
		w.Flush()
		bad(t, out.String())
	})
	t.Run("cut", func(t *testing.T) {
		var out bytes.Buffer
		fmt.Fprint(&lines{to: &out, width: 5}, "abcdefgh\nabc\n")
		if got, want := out.String(), "abcd…\nabc\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("error", func(t *testing.T) {
		for _, err := range []error{errors.New(hostile + "\r"), Usage("x %s", hostile).WithHint("%s", hostile)} {
			var errs bytes.Buffer
			(&App{Err: &errs}).Fail(err)
			bad(t, errs.String())
		}
	})
	t.Run("warning and note", func(t *testing.T) {
		var errs bytes.Buffer
		a := &App{Err: &errs}
		a.Warnf("%s", hostile)
		a.Notef("%v", errors.New(hostile))
		bad(t, errs.String())
	})
	t.Run("output", func(t *testing.T) {
		var out bytes.Buffer
		(&App{Out: &out}).Printf("%s %v", hostile, errors.New(hostile))
		bad(t, out.String())
	})
	t.Run("event", func(t *testing.T) {
		for _, color := range []bool{true, false} {
			var out, errs bytes.Buffer
			r := NewRenderer(&App{Out: &out, Err: &errs, NoColor: !color, Getenv: func(string) string { return "" }}, false, nil)
			r.Event(execution.Event{Body: execution.ToolCallReady{ToolCallID: "1", ToolName: hostile}})
			bad(t, errs.String())
		}
	})
}
