// Package lazy initializes package variables on first use, so that commands do not pay for what they do not need.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp compiles an expression on first use, and panics if it is invalid.
func Regexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
