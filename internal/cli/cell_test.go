package cli

import (
	"bytes"
	"testing"
)

func TestTableCells(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := (&App{Out: &out}).Table("NAME", "ON", "N")
	w.Row("", true, 3)
	w.Row("x", false, "")
	w.Flush()
	if got, want := out.String(), "NAME  ON   N\n-     yes  3\nx     no   -\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Number(1, "run", "runs") + " " + Number(0, "run", "runs"); got != "1 run 0 runs" {
		t.Errorf("got %q", got)
	}
}
