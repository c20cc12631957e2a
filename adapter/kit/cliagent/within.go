package cliagent

import (
	"slices"
	"strings"
)

// withinVar lists the agents of the configuration that the processes around this one run.
const withinVar = "DRAWBAR_WITHIN"

// Within returns how many of the runs around this process are those of an agent, and the variable that makes its own processes
// part of another one. Only the agents of a configuration need it: their commands may lead back to themselves.
func Within(getenv func(string) string, agent string) (times int, env map[string]string) {
	around := strings.FieldsFunc(getenv(withinVar), func(r rune) bool { return r == ',' })
	for _, name := range around {
		if name == agent {
			times++
		}
	}
	return times, map[string]string{withinVar: strings.Join(append(slices.Clone(around), agent), ",")}
}
