package conform

import (
	"encoding/xml"
	"fmt"
	"io"

	"github.com/drawbar/drawbar/adapter/adaptertest"
)

// The formats of a report.
const (
	text       = "text"
	jsonFormat = "json"
	junit      = "junit"
)

type suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Time     string   `xml:"time,attr"`
	Cases    []kase   `xml:"testcase"`
}

type kase struct {
	Name    string  `xml:"name,attr"`
	Class   string  `xml:"classname,attr"`
	Time    string  `xml:"time,attr"`
	Failure *reason `xml:"failure"`
	Skipped *reason `xml:"skipped"`
	Output  string  `xml:"system-out,omitempty"` // the warning of a check that passed
}

type reason struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes a report as continuous integration reads it.
func writeJUnit(w io.Writer, name string, rows []row) error {
	s := suite{Name: "drawbar conform " + name, Tests: len(rows)}
	seconds := func(ms int64) string { return fmt.Sprintf("%.3f", float64(ms)/1000) }
	total := int64(0)
	for _, r := range rows {
		total += r.Ms
		k := kase{Name: r.Check, Class: "drawbar.conformance." + name, Time: seconds(r.Ms)}
		switch r.Verdict {
		case adaptertest.Failing:
			s.Failures++
			k.Failure = &reason{r.Message, r.Spec}
		case adaptertest.Skipped:
			s.Skipped++
			k.Skipped = &reason{Message: r.Message}
		default:
			k.Output = r.Message
		}
		s.Cases = append(s.Cases, k)
	}
	s.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
