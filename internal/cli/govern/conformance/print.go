package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/internal/governed/conformance"
)

// print prints the outcomes in the requested form.
func (c *command) print(claims conformance.Capabilities, outcomes []conformance.Outcome) error {
	switch {
	case c.app.JSON:
		return c.app.Line(outcomes)
	case c.report:
		return c.printReport(claims, outcomes)
	}
	return c.printTable(claims, outcomes)
}

func (c *command) printReport(claims conformance.Capabilities, outcomes []conformance.Outcome) error {
	r := conformance.Summarize(claims, outcomes, c.tier, time.Now())
	if c.suite != "" {
		dir := c.path(c.suite)
		r.FixtureRoot = &dir
	}
	if strings.HasPrefix(c.target, "http") {
		r.Remote = &c.target
	} else if c.target != "" {
		r.TargetRoot = &c.target
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	_, err = c.app.Out.Write(append(b, '\n'))
	return err
}

// printTable prints counts by surface, then the fixtures that did not pass, then what to type next.
func (c *command) printTable(claims conformance.Capabilities, outcomes []conformance.Outcome) error {
	count := map[string]map[conformance.Status]int{}
	total := map[conformance.Status]int{}
	var surfaces []string
	for _, o := range outcomes {
		key := fmt.Sprintf("%d\t%s", o.Tier, o.Surface)
		if count[key] == nil {
			count[key] = map[conformance.Status]int{}
			surfaces = append(surfaces, key)
		}
		count[key][o.Status]++
		total[o.Status]++
	}
	slices.Sort(surfaces)
	w := c.app.Table()
	fmt.Fprintf(w, "TIER\tSURFACE\tPASS\tFAIL\tERROR\tNOT IMPLEMENTED\n")
	for _, key := range surfaces {
		n := count[key]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\n", key, n[conformance.Pass], n[conformance.Fail], n[conformance.Error], n[conformance.NotImplemented])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	var first *conformance.Outcome
	for _, o := range outcomes {
		if o.Status != conformance.Fail && o.Status != conformance.Error {
			continue
		}
		if first == nil {
			first = &o
			c.app.Printf("\n")
		}
		c.app.Printf("%-5s  %s  %s: %s\n", o.Status, o.FixtureID, o.Surface, strings.ReplaceAll(o.Message, "\n", "; "))
	}
	c.app.Printf("\n%s: %d passed, %d failed, %d errors, %d not implemented\n", claims.Implementation, total[conformance.Pass], total[conformance.Fail],
		total[conformance.Error], total[conformance.NotImplemented])
	if first != nil {
		c.app.Notef("  try: drawbar govern conformance%s --surface %s --report", c.again(), first.Surface)
	}
	return nil
}

// again returns the flags that select the same fixtures and target.
func (c *command) again() string {
	var s string
	dir := c.dir
	if here, err := os.Getwd(); err == nil && here == dir {
		dir = ""
	}
	for _, f := range [][2]string{{"--cwd", dir}, {"--suite", c.suite}, {"--target", c.target}} {
		switch {
		case f[1] == "":
		case strings.ContainsAny(f[1], " \t'\"\\"):
			s += fmt.Sprintf(" %s %q", f[0], f[1])
		default:
			s += " " + f[0] + " " + f[1]
		}
	}
	return s
}
