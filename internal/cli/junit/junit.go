// Package junit writes reports as continuous integration reads them.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"
)

// Case is one test.
type Case struct {
	Name    string
	Took    time.Duration
	Failure string // why it failed, in one line; empty if it did not
	Detail  string // more about the failure
	Skipped string // why it did not run; empty if it did
	Output  string // of a test that passed
}

type suite struct {
	XMLName  xml.Name   `xml:"testsuite"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Time     string     `xml:"time,attr"`
	Cases    []testcase `xml:"testcase"`
}

type testcase struct {
	Name    string  `xml:"name,attr"`
	Class   string  `xml:"classname,attr"`
	Time    string  `xml:"time,attr"`
	Failure *reason `xml:"failure"`
	Skipped *reason `xml:"skipped"`
	Output  string  `xml:"system-out,omitempty"`
}

type reason struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Write writes a report with a name, whose cases belong to a class.
func Write(w io.Writer, name, class string, cases []Case) error {
	s := suite{Name: name, Tests: len(cases)}
	var total time.Duration
	for _, c := range cases {
		total += c.Took
		one := testcase{Name: c.Name, Class: class, Time: seconds(c.Took), Output: c.Output}
		if c.Failure != "" {
			s.Failures++
			one.Failure = &reason{c.Failure, c.Detail}
		}
		if c.Skipped != "" {
			s.Skipped++
			one.Skipped = &reason{Message: c.Skipped}
		}
		s.Cases = append(s.Cases, one)
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

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
