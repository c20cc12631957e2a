package pty_test

import (
	"fmt"

	"github.com/drawbar/drawbar/transport/pty"
)

// A sequence may be cut anywhere between two pieces.
func ExampleStripper() {
	var s pty.Stripper
	var text []byte
	for _, piece := range []string{"a \x1b[1;3", "1mred\x1b[0m word", " and a \x1b]0;title\x07line"} {
		text = s.Strip(text, []byte(piece))
	}
	fmt.Printf("%s\n", s.Flush(text))
	// Output: a red word and a line
}
