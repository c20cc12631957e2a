package jsonscan_test

import (
	"fmt"

	"github.com/drawbar/drawbar/transport/jsonscan"
)

var keys = jsonscan.NewKeySet("type", "event.delta.text", "message")

func ExampleFields() {
	line := []byte(`{"type":"stream_event","event":{"delta":{"text":"two\nlines"},"index":0}}`)
	var dst [3]jsonscan.Value
	if err := jsonscan.Fields(line, dst[:], keys); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(dst[0].IsStr("stream_event"), dst[2].Exists())
	fmt.Printf("%q\n", dst[1].Str())
	// Output:
	// true false
	// "two\nlines"
}
