package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// drift is what is different with a release of an agent's program that the table was not made with.
type drift struct {
	Agent     string   `json:"agent"`
	Tested    string   `json:"tested"`
	Version   string   `json:"version,omitempty"`
	Error     string   `json:"error,omitempty"`   // why it was not run
	Scenarios int      `json:"scenarios"`         // that were run
	Changes   []change `json:"changes,omitempty"` // of their states
}

type change struct {
	Scenario string `json:"scenario"`
	Was      string `json:"was"` // empty for one that the table does not have
	Now      string `json:"now"`
	Why      string `json:"why,omitempty"` // of a failure
}

// compare compares the states of an agent's scenarios with those of a written table.
func (t *table) compare(d *drift, written io.Reader) error {
	old, _, err := parse(written)
	if err != nil {
		return err
	}
	for _, s := range t.scenarios {
		c := t.cells[s][d.Agent]
		if c == nil {
			continue
		}
		d.Scenarios++
		now := change{Scenario: s, Now: c.text()}
		if was := old.cells[s][d.Agent]; was != nil {
			now.Was = was.text()
		}
		if now.Now == now.Was {
			continue
		}
		if now.Now == failed || !c.ended {
			now.Why = c.said[:min(len(c.said), 300)]
		}
		d.Changes = append(d.Changes, now)
	}
	return nil
}

// write writes it for people.
func (d drift) write(w io.Writer) {
	switch {
	case d.Error != "":
		fmt.Fprintf(w, "%s %s: not compared: %s\n", d.Agent, d.Tested, d.Error)
	case d.Version == d.Tested:
		fmt.Fprintf(w, "%s %s: the tested release is the newest\n", d.Agent, d.Tested)
	case len(d.Changes) == 0:
		fmt.Fprintf(w, "%s %s, tested %s: nothing changed in %d scenarios\n", d.Agent, d.Version, d.Tested, d.Scenarios)
	default:
		fmt.Fprintf(w, "%s %s, tested %s: %d of %d scenarios changed\n", d.Agent, d.Version, d.Tested, len(d.Changes), d.Scenarios)
		for _, c := range d.Changes {
			was := c.Was
			if was == "" {
				was = "not in the table"
			}
			fmt.Fprintf(w, "  %s: %s, was %s\n", c.Scenario, c.Now, was)
			if c.Why != "" {
				fmt.Fprintf(w, "    %s\n", c.Why)
			}
		}
	}
}

// report reads the output of the tests with a release, unless there is a reason why they were not run, and writes what changed.
func report(d drift, in io.Reader, written io.Reader, asJSON bool, out io.Writer) error {
	if d.Error == "" && d.Version != d.Tested {
		t, err := read(in)
		if err == nil {
			err = t.compare(&d, written)
		}
		if err != nil {
			d.Error = err.Error()
		}
	}
	if asJSON {
		return json.NewEncoder(out).Encode(d)
	}
	d.write(out)
	return nil
}
