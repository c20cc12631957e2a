package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	numbers  = regexp.MustCompile(`\[(\d+)\]`)
	numbered = regexp.MustCompile(`^(\d+)\. [\w-]+: (.*)`)
)

// parse reads a table that write wrote, and the releases of its agents.
func parse(r io.Reader) (*table, map[string]string, error) {
	t, versions := newTable(), map[string]string{}
	var agents []string
	var noted []*cell // whose notes are numbers yet
	notes := map[string]string{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		if m := numbered.FindStringSubmatch(line); m != nil {
			notes[m[1]] = m[2]
		}
		row := strings.Split(strings.Trim(line, "|"), "|")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		switch name := row[0]; {
		case !strings.HasPrefix(line, "| ") || strings.HasPrefix(name, "*"):
			continue
		case name == "scenario":
			for _, head := range row[1:] {
				agent, version, _ := strings.Cut(head, " ")
				agents, versions[agent] = append(agents, agent), version
			}
		case len(row) != len(agents)+1:
			return nil, nil, fmt.Errorf("the row %s has %d cells, want %d", name, len(row)-1, len(agents))
		default:
			t.scenarios = append(t.scenarios, name)
			for i, text := range row[1:] {
				state, _, _ := strings.Cut(text, " [")
				if state == "-" {
					continue
				}
				c := t.cell(name, agents[i])
				c.state, c.ended = state, state != unended
				for _, m := range numbers.FindAllStringSubmatch(text, -1) {
					c.notes = append(c.notes, m[1])
				}
				noted = append(noted, c)
			}
		}
	}
	for _, c := range noted {
		for i, n := range c.notes {
			if notes[n] == "" {
				return nil, nil, fmt.Errorf("there is no note %s", n)
			}
			c.notes[i] = notes[n]
		}
	}
	return t, versions, lines.Err()
}

// over keeps the cells of a written table that this one does not have. They must be of the same releases.
func (t *table) over(written io.Reader, versions map[string]string) error {
	old, was, err := parse(written)
	if err != nil {
		return err
	}
	for _, agent := range slices.Sorted(maps.Keys(old.agents)) {
		if was[agent] != versions[agent] {
			return fmt.Errorf("it is of %s %s, not %s: run all scenarios", agent, was[agent], versions[agent])
		}
	}
	for _, s := range old.scenarios {
		for agent, c := range old.cells[s] {
			if here := t.cell(s, agent); here.state == "" && !here.ended {
				*here = *c
			}
		}
	}
	for _, s := range t.scenarios {
		if !slices.Contains(old.scenarios, s) {
			old.scenarios = append(old.scenarios, s)
		}
	}
	t.scenarios = old.scenarios
	return nil
}
