// Package lazy makes what package variables hold when it is first used: a command does not pay for what it does not need.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp compiles an expression at its first use, and panics then if it is none.
func Regexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
