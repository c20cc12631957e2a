package conform

import (
	"io"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/internal/cli/junit"
)

// The formats of a report.
const (
	text        = "text"
	jsonFormat  = "json"
	junitFormat = "junit"
)

// writeJUnit writes a report as continuous integration reads it.
func writeJUnit(w io.Writer, name string, rows []row) error {
	cases := make([]junit.Case, len(rows))
	for i, r := range rows {
		cases[i] = junit.Case{Name: r.Check, Took: time.Duration(r.Ms) * time.Millisecond}
		switch r.Verdict {
		case adaptertest.Failing:
			cases[i].Failure, cases[i].Detail = r.Message, r.Spec
		case adaptertest.Skipped:
			cases[i].Skipped = r.Message
		default:
			cases[i].Output = r.Message // a warning
		}
	}
	return junit.Write(w, "drawbar conform "+name, "drawbar.conformance."+name, cases)
}
