package race

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/internal/cli"
)

// Entry is an agent, at will with its model, that takes part so many times.
type Entry struct {
	Agent string // AGENT or AGENT/MODEL
	Times int
}

const most = 16

// Entries reads a list such as claude,codex:2,gemini. A number after the last colon says how often; other colons belong to the model.
func Entries(list string) (entries []Entry, err error) {
	hint := "--race claude,codex:2,gemini"
	total := 0
	for part := range strings.SplitSeq(list, ",") {
		e := Entry{strings.TrimSpace(part), 1}
		if i := strings.LastIndexByte(e.Agent, ':'); i >= 0 {
			if n, err := strconv.Atoi(e.Agent[i+1:]); err == nil {
				e.Agent, e.Times = e.Agent[:i], n
			}
		}
		switch {
		case e.Agent == "":
			return nil, cli.Usage("--race %q names no agent between two commas", list).WithHint("%s", hint)
		case e.Times < 1 || e.Times > most:
			return nil, cli.Usage("--race %s: %d is not a number from 1 to %d", e.Agent, e.Times, most).WithHint("%s", hint)
		}
		total += e.Times
		entries = append(entries, e)
	}
	if total < 2 || total > most {
		return nil, cli.Usage("a race needs 2 to %d racers, and --race %s has %d", most, list, total).WithHint("%s", hint)
	}
	return entries, nil
}

// Names returns a name for each racer of a list, in its order: what the list says, with a number if that takes part more than once.
func Names(entries []Entry) (names [][]string) {
	total, given := map[string]int{}, map[string]int{}
	for _, e := range entries {
		total[e.Agent] += e.Times
	}
	for _, e := range entries {
		var list []string
		for range e.Times {
			name := e.Agent
			if total[name] > 1 {
				given[name]++
				name = fmt.Sprintf("%s-%d", name, given[name])
			}
			list = append(list, name)
		}
		names = append(names, list)
	}
	return names
}
