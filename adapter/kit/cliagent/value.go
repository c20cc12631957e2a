package cliagent

import (
	"time"

	"github.com/drawbar/drawbar/transport/jsonscan"
)

// Count returns a number such as one of tokens, 0 for any other value.
func Count(v jsonscan.Value) int64 {
	n, ok := v.Int()
	if !ok {
		f, _ := v.Float()
		if f > 0 && f < 1<<50 {
			n = int64(f)
		}
	}
	if n < 0 || n > 1<<50 {
		return 0
	}
	return n
}

// Moment parses an RFC 3339 time, zero for anything else.
func Moment(v jsonscan.Value) time.Time {
	text, ok := v.Plain()
	if !ok {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return time.Time{}
	}
	return t
}
