// Package procenv provides the environment of a program that a governed run starts: looking up variables and expanding
// them in settings.
package procenv

import (
	"fmt"
	"iter"
	"net/http"
	"runtime"
	"strings"
)

// Lookup finds a variable; false means that it is not set.
type Lookup func(name string) (string, bool)

// Of looks in lists of NAME=value; later entries and later lists take precedence. On Windows, names are
// case-insensitive.
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

// Or falls back to next for variables that l does not have.
func (l Lookup) Or(next Lookup) Lookup {
	return func(name string) (string, bool) {
		if v, ok := l(name); ok {
			return v, true
		}
		return next(name)
	}
}

// Getenv returns a Lookup for a function that cannot distinguish an empty variable from a missing one: both are
// missing.
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

// Expand replaces every ${NAME}. Missing names the variables that are not set, in order, without duplicates; their
// references are kept. A ${ that is not closed, or around an invalid name, is kept.
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

// MissingError lists the variables that a setting needs.
type MissingError struct {
	Where string   // the setting, such as runtimes.dev.env.API_KEY
	Names []string // at least one
}

// Error names the setting and the variables, never a value.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s needs %s, which the environment does not set", e.Where, "${"+strings.Join(e.Names, "} and ${")+"}")
}

// Headers returns the headers of a setting with their variables replaced from env, else from environ. used is told of each: its name, how it
// was written, and its value.
func Headers(where string, environ []string, env, headers iter.Seq2[string, string], used func(name, written, value string)) (http.Header, error) {
	var own []string
	for name, value := range env {
		own = append(own, name+"="+value)
	}
	lookup, out := Of(environ, own), http.Header{}
	for name, value := range headers {
		v, missing := Expand(value, lookup)
		if len(missing) > 0 {
			return nil, &MissingError{Where: where + ".headers." + name, Names: missing}
		}
		used(name, value, v)
		out.Set(name, v)
	}
	return out, nil
}
