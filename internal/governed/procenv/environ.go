// Package procenv is the environment of a program that a governed run starts: looking up variables and expanding them in
// settings.
package procenv

import (
	"fmt"
	"runtime"
	"strings"
)

// Lookup finds a variable; false means that it is not set.
type Lookup func(name string) (string, bool)

// Of looks in lists of NAME=value; a later entry of a name wins, and a later list over an earlier one. On Windows the case
// of names does not count.
func Of(environs ...[]string) Lookup {
	vars := map[string]string{}
	for _, list := range environs {
		for _, entry := range list {
			if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
				vars[key(name)] = value
			}
		}
	}
	return func(name string) (string, bool) {
		v, ok := vars[key(name)]
		return v, ok
	}
}

// Or asks the next one for what this one does not know.
func (l Lookup) Or(next Lookup) Lookup {
	return func(name string) (string, bool) {
		if v, ok := l(name); ok {
			return v, true
		}
		return next(name)
	}
}

// Getenv makes a Lookup of a function that cannot tell an empty variable from a missing one: both are missing.
func Getenv(get func(string) string) Lookup {
	return func(name string) (string, bool) {
		if get == nil {
			return "", false
		}
		v := get(name)
		return v, v != ""
	}
}

func key(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// Expand replaces every ${NAME}. Missing names the variables that are not set, in their order, each once; what stands for
// them stays. An opening ${ without its end, or around something that is no name, is left alone.
func Expand(text string, lookup Lookup) (expanded string, missing []string) {
	var b strings.Builder
	seen := map[string]bool{}
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String(), missing
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || !isName(name) {
			b.WriteString("${")
			text = rest
			continue
		}
		v, ok := lookup(name)
		if !ok {
			v = "${" + name + "}"
			if !seen[name] {
				seen[name] = true
				missing = append(missing, name)
			}
		}
		b.WriteString(v)
		text = after
	}
}

func isName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// MissingError says which variables a setting needs.
type MissingError struct {
	Where string   // the setting, such as runtimes.dev.env.API_KEY
	Names []string // at least one
}

// Error names the setting and the variables, never a value.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s needs %s, which the environment does not set", e.Where, "${"+strings.Join(e.Names, "} and ${")+"}")
}
